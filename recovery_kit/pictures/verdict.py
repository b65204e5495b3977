"""The verdict as a picture: plain words on top, what to look at below. And what a restart would do.

Belongs here: the words' order and weight. What they say is said by `history.verdict` and `recovery.outlook`.
"""

from recovery_kit.display import Masker, Tone, count_text, duration_text
from recovery_kit.history.loom_story import LoomVerdict
from recovery_kit.history.verdict import Verdict, look_for
from recovery_kit.recovery.outlook import Outlook

from .looms import loom_headline
from .markup import Child, Pen, Safe, el, join
from .tables import left_out
from .vocabulary import CERTAINTY, LOOM_STATUS, STATUS, Look, badge

_MOST_UNKNOWN = 20


def headline(verdict: Verdict | LoomVerdict, now: int | None = None) -> tuple[str, Tone]:
    """The one thing to know, and how bad it is. `now`: Unix seconds at which it is read, for how long there has been no
    sign."""
    if isinstance(verdict, LoomVerdict):
        return loom_headline(verdict)
    silent = ""
    if now is not None and verdict.heartbeat_at is not None and verdict.terminal is not True:
        silent = f"; no sign for {duration_text(max(now - verdict.heartbeat_at, 0))}"
    n = len(verdict.unknown)
    if n:
        return (
            f"{count_text(n, 'effect')} unknown: look before {'it is' if n == 1 else 'they are'} done again{silent}",
            "bad",
        )
    if verdict.wait.needs_person and not verdict.terminal:
        return f"A person is needed{silent}", "attention"
    if any(row.severity == "error" for row in verdict.damage):
        return f"Its files are damaged or contradictory{silent}", "bad"
    if verdict.status is None:
        return "Nothing tells how it stands", "bad"
    if verdict.status in ("error", "cancelled"):
        return _ENDED[verdict.status], "bad" if verdict.status == "error" else "plain"
    if verdict.terminal:
        return "It is complete, and every effect is accounted for", "good"
    return f"Every effect is accounted for{silent}", "plain"


_ENDED = {
    "error": "It ended in an error; every effect is accounted for",
    "cancelled": "It was cancelled; every effect is accounted for",
}


def status_badge(status: str | None) -> Safe:
    """The status on disk."""
    known = LOOM_STATUS | STATUS
    return badge(known.get(status or "", Look(status or "no status", "·", "open", "", "muted")))


def verdict_html(verdict: Verdict, masker: Masker | None = None, now: int | None = None) -> Safe:
    """What happened and how surely: the headline, the sentences of the verdict, and each unknown effect with what to
    look for."""
    pen = Pen(masker)
    words, tone = headline(verdict, now)
    told: list[list[Child]] = []
    for sentence in verdict.sentences():
        if not sentence.startswith("  "):
            told.append([pen.line(sentence, 700)])
        elif len(told[-1]) == 1:  # what is indented stands under its sentence: the unknown effects
            told[-1].append(_to_look_at(pen, verdict))
    inside = [el("p", words, class_=f"rk-headline rk-{tone}"), el("ul", [el("li", sentence) for sentence in told])]
    return el("div", inside, class_=f"rk-verdict rk-edge-{tone}")


def _to_look_at(pen: Pen, verdict: Verdict) -> Safe:
    rows = [
        el(
            "li",
            badge(CERTAINTY[c.certainty]),
            " ",
            el("code", pen.line(f"{c.call_id} {c.name}", 120)),
            ": ",
            pen.line(look_for(c), 200),
        )
        for c in verdict.unknown[:_MOST_UNKNOWN]
    ]
    return join([el("ul", rows), left_out(len(verdict.unknown) - _MOST_UNKNOWN, "unknown effect")])


def restart_html(ahead: Outlook, engine: str, masker: Masker | None = None) -> Safe:
    """What the engine would do with the run if it started now."""
    pen = Pen(masker)
    if not ahead.resumes:
        said = [f"Engine {engine} would leave it alone: ", pen.line(ahead.why_text or ahead.why, 300), "."]
        return join(
            [el("p", said), el("p", "Resuming, pausing or a message would page it in.") if ahead.on_demand else None]
        )
    after = [
        ("status then", (ahead.status_after or "–").replace("_", " ")),
        ("stage", pen.line(ahead.stage_name, 80)),
        ("turn", count_text(ahead.iteration)),
        ("window from", "run.lvr" if ahead.window_source == "journal" else "context.json"),
        ("calls told to the model as interrupted", pen.line(", ".join(ahead.interrupted) or "none", 200)),
        (
            "calls to look after before they are repeated",
            pen.line(", ".join(ahead.check_before_repeating) or "none", 200),
        ),
        (
            "the newest answered turn",
            {True: "is asked for and paid for again", False: "is kept", None: "–"}[ahead.turn_repeated],
        ),
    ]
    rows = [
        el("tr", el("th", name, scope="row", class_="rk-t"), el("td", value, class_="rk-t")) for name, value in after
    ]
    return join([el("p", f"Engine {engine} would bring it back when it starts."), el("table", el("tbody", rows))])
