"""What a notebook or a terminal shows for an object of the kit: the same words as text and as HTML.

Belongs here: cards of runs, collections, moments and verdicts, and `mimebundle`, which picks by type.
"""

from collections.abc import Callable
from typing import Any

from recovery_kit.display import (
    Card,
    Cell,
    Masker,
    Note,
    Row,
    Tone,
    card_text,
    count_text,
    shown,
    table_text,
    time_text,
)
from recovery_kit.history.fold import Point
from recovery_kit.history.loom_story import LoomVerdict
from recovery_kit.history.loom_story import Moment as Boundary
from recovery_kit.history.verdict import Verdict
from recovery_kit.history.windows import WindowView
from recovery_kit.records.window import Region, Window
from recovery_kit.runs.collection import AnyRun, Runs
from recovery_kit.runs.loom_run import LoomRun, LoomState
from recovery_kit.runs.moment import State, Totals
from recovery_kit.runs.run import Run

from .looms import loom_card, loom_state_card, loom_verdict_html, moment_card
from .markup import Pen, Safe, el, join
from .styles import twin
from .tables import Column, table_html
from .verdict import headline, status_badge, verdict_html

MOST_RUNS = 60
_VALUE, _NOTE = 400, 2000


def card_html(card: Card, masker: Masker | None = None) -> Safe:
    """A card: title, rows, notes. Tones have a word or a sign of their own in the text; colour only repeats it."""
    pen = Pen(masker)
    rows = [
        el(
            "tr",
            el("th", pen.line(row.label, 80), scope="row", class_="rk-t rk-muted"),
            el("td", _toned(pen, row.value, row.tone, _VALUE), class_="rk-t"),
        )
        for row in card.rows
    ]  # fmt: skip
    return el(
        "div",
        el("div", pen.line(card.title, _VALUE), class_="rk-name"),
        el("div", pen.line(card.subtitle, _VALUE), class_="rk-muted") if card.subtitle else None,
        el("table", el("tbody", rows)) if rows else None,
        [el("p", _toned(pen, note.text, note.tone, _NOTE)) for note in card.notes],
        class_="rk-card",
    )


_SIGNS: dict[Tone, str] = {"attention": "! ", "bad": "!! "}


def _toned(pen: Pen, text: str, tone: Tone, limit: int) -> Safe:
    words = join([_SIGNS.get(tone, ""), pen.line(text, limit)])
    return words if tone == "plain" else el("span", words, class_=f"rk-{tone}")


# -- a run -----------------------------------------------------------------------------------------------------------


def run_card(run: AnyRun) -> Card:
    """A run in a few rows. What needs every record to be read is in its verdict."""
    if isinstance(run, LoomRun):
        return loom_card(run)
    verdict, meta = run.verdict, run.meta
    words, tone = headline(verdict)
    where = f"{verdict.stage or '–'}, turn {count_text(verdict.iteration)}"
    size = (
        count_text(len(run.records)),
        count_text(len(run.points), "point"),
        count_text(verdict.lives, "life", "lives"),
    )
    damage = f"{len(verdict.damage)} of warning or worse" if verdict.damage else "none of warning or worse"
    waits = (verdict.wait.reason or "").replace("_", " ")
    rows = [
        Row("status", (verdict.status or "cannot be read").replace("_", " "), "plain" if verdict.status else "bad"),
        Row("effects", words, tone),
        Row("stage", where),
        Row("waits on", waits, "attention" if verdict.wait.needs_person else "plain") if waits else None,
        Row("title", meta.title) if meta and meta.title else None,
        Row("task", verdict.task) if verdict.task else None,
        Row("last moved", time_text(verdict.moved_at)),
        Row("records", ", ".join(size)),
        Row("bills", _bills(verdict)),
        Row("findings", damage, "attention" if verdict.damage else "plain"),
    ]  # fmt: skip
    written = f"{run.runtime}, written by {run.written_by or 'an engine nobody can tell'}"
    return Card(
        run.id, f"{meta.agent_name} · {written}" if meta else written, tuple(row for row in rows if row is not None)
    )


def _bills(verdict: Verdict) -> str:
    cost = verdict.cost
    money = (
        f"{cost.total_usd:.4f} USD" if cost.total_usd is not None else f"{cost.priced_usd:.4f} USD known, not the whole"
    )
    return f"{count_text(verdict.tokens.calls)}, {money}" if verdict.tokens.calls else "none"


def run_html(run: AnyRun) -> Safe:
    """A run as a card."""
    return card_html(run_card(run), run.masker)


def run_text(run: AnyRun) -> str:
    """A run as a card in words."""
    return card_text(run_card(run), run.masker)


# -- several runs ----------------------------------------------------------------------------------------------------


def _short(run: AnyRun) -> list[Cell | str | int | None]:
    """A run by its metadata alone: a folder of thousands is listed without reading a journal."""
    if isinstance(run, LoomRun):
        told = run.verdict
        asked = told.prompt.kind.replace("_", " ") if told.prompt else ""
        return [told.status or Cell("cannot be read", "bad"), told.agent, told.stage, asked, time_text(told.moved_at)]
    meta = run.meta
    if meta is None:
        return [Cell("cannot be read", "bad"), None, None, None, None]
    waits = meta.waiting_on and str(type(meta.waiting_on).__struct_config__.tag).replace("_", " ")
    return [
        meta.status.replace("_", " "),
        meta.agent_name,
        meta.current_stage,
        waits or "",
        time_text(meta.last_progress_at),
    ]


_HEADS = ("run", "status", "agent", "stage", "waits on", "last moved")


def runs_html(runs: Runs, most: int = MOST_RUNS) -> Safe:
    """Runs by their metadata, a row each, without reading a journal."""
    rows = [(key, run) for key, run in runs.items()]
    columns = [
        Column("run", lambda row: Pen(row[1].masker).line(row[0], 120)),
        Column("status", lambda row: status_badge(_status(row[1])), "w"),
        *(_short_column(name, place) for place, name in enumerate(_HEADS[2:], 1)),
    ]
    return table_html(count_text(len(runs), "run"), columns, rows, most)


def _status(run: AnyRun) -> str | None:
    if isinstance(run, LoomRun):
        return run.verdict.status
    return run.meta.status if run.meta else None


def _short_column(heading: str, place: int) -> Column:
    def cell(row: tuple[str, AnyRun]) -> Safe:
        value = _short(row[1])[place]
        return Pen(row[1].masker).line(None if value is None or isinstance(value, Cell) else str(value), 80)

    return Column(heading, cell)


def runs_text(runs: Runs, most: int = MOST_RUNS) -> str:
    """Runs by their metadata, a line each."""
    rows = []
    for key, run in list(runs.items())[:most]:
        cells = [key, *_short(run)]
        rows.append([shown(cell, run.masker, 60, str) if isinstance(cell, str) else cell for cell in cells])
    more = len(runs) - len(rows)
    text = table_text(_HEADS, rows, width=140)
    return text + (f"\n{count_text(more, 'more run')} not shown here" if more > 0 else "")


# -- moments ---------------------------------------------------------------------------------------------------------


def state_card(state: State) -> Card:
    """A moment of a run: where it stood and what its window holds."""
    window, pending, totals = state.window, state.pending, state.totals
    moment = "the end" if state.point is None else f"point {state.point}"
    out = f"{count_text(len(pending.batch.calls), 'call')} of turn {pending.batch.iteration}" if pending else ""
    regions = [Row(r.name, f"{count_text(len(r.entries), 'entry', 'entries')}, {_region(r)}") for r in window.regions]
    rows = [
        Row("status", (state.status or "–").replace("_", " ")),
        Row("stage", f"{state.stage or '–'}, turn {count_text(state.iteration)}"),
        Row("at", time_text(state.at)),
        Row("window", f"{_filled(window)}; {state.revision or 'no revision can be named'}"),
        Row("pending", out or "nothing", "attention" if out else "plain"),
        Row("so far", _spent(totals)) if totals else None,
        *regions,
    ]  # fmt: skip
    note = (
        ()
        if state.source == "journal"
        else (Note("Told by context.json and meta.json: no journal folds.", "attention"),)
    )
    return Card(state.run_id, moment, tuple(row for row in rows if row is not None), note)


def _filled(window: Window | WindowView) -> str:
    return f"{count_text(window.total_tokens)} of {count_text(window.max_tokens, 'token')}"


def _region(region: Region) -> str:
    return f"{count_text(region.current_tokens)} of {count_text(region.max_tokens, 'token')}"


def _spent(totals: Totals) -> str:
    tokens = f"{count_text(totals.prompt_tokens)} prompt and {count_text(totals.completion_tokens)} completion tokens"
    return f"{count_text(totals.tool_calls, 'tool call')}, {tokens}"


def state_html(state: State, masker: Masker | None = None) -> Safe:
    """A moment as a card."""
    return card_html(state_card(state), masker)


def point_card(point: Point) -> Card:
    """A point of the journal."""
    meta = point.skim_meta()
    changed = "a whole window" if point.changed is None else ", ".join(point.changed) or "nothing of the window"
    return Card(
        f"point {point.index}", f"{point.kind} at byte {count_text(point.offset)}, {time_text(point.at)}",
        (
            Row("status", meta.status.replace("_", " ")),
            Row("stage", f"{point.window.stage_name or meta.current_stage}, turn {count_text(meta.iteration)}"),
            Row("window", _filled(point.window)),
            Row("changed", changed),
        ),
    )  # fmt: skip


def point_html(point: Point, masker: Masker | None = None) -> Safe:
    """A point as a card."""
    return card_html(point_card(point), masker)


def verdict_text(verdict: Verdict | LoomVerdict, masker: Masker | None = None) -> str:
    """The verdict's sentences, a line each."""
    return "\n".join(shown(line, masker, 700) for line in verdict.sentences())


# -- by type ---------------------------------------------------------------------------------------------------------

_Faces = tuple[Callable[[Any, Masker | None], str], Callable[[Any, Masker | None], Safe]]


def _text_of(card: Callable[[Any], Card]) -> Callable[[Any, Masker | None], str]:
    return lambda thing, masker: card_text(card(thing), masker)


def _html_of(card: Callable[[Any], Card]) -> Callable[[Any, Masker | None], Safe]:
    return lambda thing, masker: card_html(card(thing), masker)


FACES: dict[type, _Faces] = {
    Run: (lambda run, _: run_text(run), lambda run, _: run_html(run)),
    Runs: (lambda runs, _: runs_text(runs), lambda runs, _: runs_html(runs)),
    State: (lambda state, masker: card_text(state_card(state), masker), state_html),
    Point: (lambda point, masker: card_text(point_card(point), masker), point_html),
    Verdict: (verdict_text, verdict_html),
    LoomRun: (lambda run, _: run_text(run), lambda run, _: run_html(run)),
    LoomState: (_text_of(loom_state_card), _html_of(loom_state_card)),
    Boundary: (_text_of(moment_card), _html_of(moment_card)),
    LoomVerdict: (verdict_text, loom_verdict_html),
    Card: (card_text, card_html),
}
"""What an object is shown as: text, and HTML."""


def mimebundle(thing: Any, masker: Masker | None = None) -> dict[str, str]:
    """`text/plain` and `text/html` of an object of the kit, the HTML with its styles inline. Raises TypeError for other
    things.

    `masker`: that of its run; a `Run` and `Runs` know their own.
    """
    for kind, (as_text, as_html) in FACES.items():
        if isinstance(thing, kind):
            return {"text/plain": as_text(thing, masker), "text/html": twin(as_html(thing, masker))}
    raise TypeError(f"nothing shows a {type(thing).__name__}")
