"""Runs of workflows: the pictures of any run, with boundaries, Calls and questions instead of windows and turns.

Belongs here: what differs. What is said is said by `history.loom_story`.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from recovery_kit.display import Card, Masker, Row, Tone, count_text, time_text
from recovery_kit.history.loom_story import LoomCall, LoomPrompt, LoomVerdict, Moment, says
from recovery_kit.records.loom import LoomFinding
from recovery_kit.runs.loom_run import LoomRun, LoomState

from .markup import Child, Pen, Safe, el, join
from .tables import Column, left_out, nothing, table_html
from .vocabulary import CERTAINTY, LOOM_STATUS, SETTLEMENT, Look, badge

_MOST_UNKNOWN = 20
_MOST_TEXT = 400


def loom_headline(verdict: LoomVerdict) -> tuple[str, Tone]:
    """The one thing to know, and how bad it is."""
    n = len(verdict.unknown)
    if n:
        return f"{count_text(n, 'Call')} of unknown outcome: look before anything of it is done again", "bad"
    if verdict.damage:
        return "Its files are damaged or contradictory", "bad"
    if verdict.status is None:
        return "Nothing tells how it stands", "bad"
    if verdict.prompt is not None or verdict.status == "paused":
        return "A person is needed", "attention"
    if verdict.status == "failed":
        return "It failed; every Call is accounted for", "bad"
    done = "It is complete, and every Call is accounted for"
    return (done, "good") if verdict.terminal else ("Every Call is accounted for", "plain")


def loom_badge(status: str | None) -> Safe:
    """The status of the newest checkpoint."""
    return badge(LOOM_STATUS.get(status or "", Look("no status", "·", "open", "", "muted")))


def loom_card(run: LoomRun) -> Card:
    """A Run in a few rows."""
    verdict = run.verdict
    words, tone = loom_headline(verdict)
    size = count_text(len(run.records), "checkpoint"), count_text(verdict.lives, "instance")
    asks = verdict.prompt.request_id if verdict.prompt else ""
    rows = [
        Row("status", verdict.status or "cannot be read", "plain" if verdict.status else "bad"),
        Row("effects", words, tone),
        Row("at", f"{verdict.stage or '–'}, {(verdict.boundary or '–').replace('_', ' ')}"),
        Row("asks", asks, "attention") if asks else None,
        Row("intent", verdict.task) if verdict.task else None,
        Row("last moved", time_text(verdict.moved_at)),
        Row("saved", ", ".join(size)),
        Row("commits", count_text(verdict.commits)),
        Row("findings", count_text(len(verdict.damage)), "attention" if verdict.damage else "plain"),
    ]
    about = f"{verdict.agent or 'a workflow nobody can tell'} · {run.runtime}, {run.written_by}"
    return Card(run.id, about, tuple(row for row in rows if row is not None))


def loom_state_card(state: LoomState) -> Card:
    """A boundary of a Run: where it stood, and what was open."""
    rows = (
        Row("status", state.status),
        Row("at", f"{state.stage}/{state.step}"),
        Row("saved", time_text(state.at)),
        Row("State", "none" if state.state is None else _json(state.state)),
        Row("Call", f"{state.pending.kind} {state.pending.call_id}" if state.pending else "none open"),
        Row("question", _json(state.prompt.request), "attention") if state.prompt else Row("question", "none"),
    )
    return Card(state.run_id, f"point {state.point}: {state.boundary.replace('_', ' ')}", rows)


def moment_card(moment: Moment) -> Card:
    """A saved boundary."""
    where = f"checkpoint {moment.offset}, {time_text(moment.at)}"
    rows = (Row("status", moment.status), Row("at", str(moment.cursor)), Row("Call", moment.call_id or "none"))
    return Card(f"point {moment.index}: {moment.boundary.replace('_', ' ')}", where, rows)


def loom_verdict_html(verdict: LoomVerdict, masker: Masker | None = None) -> Safe:
    """What happened and how surely: the headline, then the verdict's sentences, each unknown Call under its own."""
    pen = Pen(masker)
    words, tone = loom_headline(verdict)
    told: list[Child] = []
    for sentence in verdict.sentences():
        if not sentence.startswith("  "):
            unknown = [el("li", _call(pen, call)) for call in verdict.unknown[:_MOST_UNKNOWN]]
            more = left_out(len(verdict.unknown) - _MOST_UNKNOWN, "unknown Call")
            below = [el("ul", unknown), more] if verdict.unknown and "unknown outcome" in sentence else None
            told.append(el("li", pen.line(sentence, 700), below))
    inside = [el("p", words, class_=f"rk-headline rk-{tone}"), el("ul", told)]
    return el("div", inside, class_=f"rk-verdict rk-edge-{tone}")


def _call(pen: Pen, call: LoomCall) -> Safe:
    what = el("code", pen.line(f"{call.call_id or '(no id)'} {call.kind}", 120))
    return join([badge(CERTAINTY[call.certainty]), " ", what, " at ", pen.line(f"{call.name}: {call.why}", 300)])


def loom_heading(run: LoomRun, title: str = "") -> Safe:
    """The head of a report: what it is about."""
    pen, verdict = Pen(run.masker), run.verdict
    about = pen.line(f"{verdict.agent or 'a workflow nobody can tell'} · {run.runtime}, {run.written_by} ", 200)
    return join(
        [
            el("h1", pen.line(title or run.id, 200)),
            el("p", el("code", pen.line(run.id, 200)), class_="rk-muted") if title else None,
            el("p", about, loom_badge(verdict.status), class_="rk-muted"),
            el("p", "Intent: ", pen.line(verdict.task, 400)) if verdict.task else None,
        ]
    )


def boundaries_html(run: LoomRun, most: int = 500) -> Safe:
    """Every saved boundary, in order."""
    if not run.points:
        return nothing("No checkpoint can be read.")
    pen = Pen(run.masker)
    columns = [
        Column("checkpoint", lambda m: count_text(m.offset), "n"),
        Column("saved", lambda m: time_text(m.at), "w"),
        Column("boundary", lambda m: m.boundary.replace("_", " ") + (" (on hold)" if m.is_paused else ""), "w"),
        Column("Stage/Step", lambda m: pen.line(str(m.cursor), 80)),
        Column("status", lambda m: m.status, "w"),
        Column("Call", lambda m: el("code", pen.line(m.call_id, 60)) if m.call_id else "–"),
        Column("says", lambda m: pen.line(says(m), _MOST_TEXT), "x"),
    ]
    return table_html(count_text(len(run.points), "boundary", "boundaries"), columns, run.points, most)


def loom_effects_html(calls: Sequence[LoomCall], masker: Masker | None = None, most: int = 500) -> Safe:
    """The ledger of Calls and commits, in the order of the files."""
    if not calls:
        return nothing("No Call has begun.")
    pen = Pen(masker)
    columns = [
        Column("Call", lambda c: el("code", pen.line(c.call_id or "(no id)", 60))),
        Column("kind", lambda c: c.kind, "w"),
        Column("Stage/Step", lambda c: pen.line(c.name, 80)),
        Column("certainty", lambda c: badge(CERTAINTY[c.certainty]), "w"),
        Column("proof", lambda c: f"checkpoint {c.evidence_offset}", "w"),
        Column("why", lambda c: pen.line(c.why, _MOST_TEXT), "x"),
        Column("result", lambda c: pen.line(c.result, _MOST_TEXT) if c.result else "–", "x"),
    ]
    return table_html(count_text(len(calls), "Call or commit", "Calls and commits"), columns, calls, most)


def loom_prompts_html(prompts: Sequence[LoomPrompt], masker: Masker | None = None, most: int = 500) -> Safe:
    """Questions to people, with their answers."""
    if not prompts:
        return nothing("Nobody was asked anything.")
    pen = Pen(masker)
    columns = [
        Column("question", lambda p: el("code", pen.line(p.request_id, 60))),
        Column("asked", lambda p: time_text(p.asked_at), "w"),
        Column("state", lambda p: badge(SETTLEMENT[p.settlement]), "w"),
        Column("asks", lambda p: pen.line(_json(p.request), _MOST_TEXT), "x"),
        Column("answer", lambda p: "–" if p.answer is None else pen.line(_json(p.answer), _MOST_TEXT), "x"),
        Column("outlives a restart", lambda p: {True: "yes", False: "no", None: "not told"}[p.recoverable], "w"),
    ]
    return table_html(count_text(len(prompts), "question"), columns, prompts, most)


def loom_findings_html(findings: Sequence[LoomFinding], masker: Masker | None = None, most: int = 500) -> Safe:
    """What keeps a start from reading or continuing."""
    if not findings:
        return nothing("Nothing is damaged or contradictory.")
    pen = Pen(masker)
    columns = [
        Column("problem", lambda f: f.problem.replace("_", " "), "w"),
        Column("what", lambda f: pen.line(f.detail, _MOST_TEXT), "x"),
        Column("file", lambda f: el("code", pen.line(f.path, 200))),
    ]
    return table_html(count_text(len(findings), "finding"), columns, findings, most)


def sentences_html(begin: str, sentences: Iterable[str], masker: Masker | None = None) -> Safe:
    """What is said of something, a point each."""
    pen = Pen(masker)
    return join([el("p", begin), el("ul", [el("li", pen.line(sentence, 700)) for sentence in sentences])])


def _json(value: Any) -> str:
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
