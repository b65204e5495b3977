"""Tables of what a run did: calls with their certainty, trips and failures, bills by stage and model, questions,
findings, files.

Belongs here: one function a table, values in, HTML out. Text of the run goes through the pen.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from recovery_kit.display import Masker, bytes_text, count_text, duration_text, time_text
from recovery_kit.history.calls import Call
from recovery_kit.history.prompts import Prompt
from recovery_kit.history.stored import FinalAnswer, ProducedFile
from recovery_kit.history.story import Story
from recovery_kit.history.trips import Attempt, Bill, Cost, Failover, Trips
from recovery_kit.history.verdict import look_for
from recovery_kit.records.findings import Finding
from recovery_kit.runs.run import FileEvidence

from .markup import Child, Pen, Safe, el, join
from .tables import Column, fold, nothing, table_html
from .vocabulary import CERTAINTY, SETTLEMENT, SEVERITY, TRIP, Look, badge, legend

MOST_ROWS = 500
MOST_TEXT = 4000
"""Characters of arguments, results and answers."""
_FOLD_FROM = 80
_OPEN_UP_TO = 20
"""Calls that are listed without a click, where none needs a look."""


def _byte(offset: int | None) -> str:
    return "–" if offset is None else f"byte {count_text(offset)}"


def _long(pen: Pen, text: str | None, most: int = MOST_TEXT) -> Safe:
    """A text in a cell: as it is if short and on one line, else behind its beginning."""
    if text is None:
        return Safe("–")
    if len(text) <= _FOLD_FROM and "\n" not in text.rstrip("\n"):
        return el("code", pen.line(text, _FOLD_FROM))
    return fold(el("code", pen.line(text, 60)), pen.whole(text, most), inner=False)


# -- effects ---------------------------------------------------------------------------------------------------------


def effects_html(story: Story, masker: Masker | None = None, most: int = MOST_ROWS) -> Safe:
    """The ledger of tool calls: first those somebody has to look at, then all in file order, each with its certainty
    and its proof."""
    calls = story.calls
    if not calls:
        return nothing("No tool call was handed out.")
    counts = Counter[str](call.certainty for call in calls)
    summary = legend([(look, str(counts[word])) for word, look in CERTAINTY.items() if counts[word]])
    pen, unknown = Pen(masker), [call for call in calls if call.is_unknown]
    columns = _call_columns(pen, story)
    parts = [el("p", f"{count_text(len(calls), 'call')} handed out."), summary]
    if unknown:
        caption = "It may have happened, wholly, partly or not at all: look before it is done again"
        told = [column for column in columns if column.heading != "result"]  # there is none
        parts.append(table_html(caption, [*told[:3], _look_at(pen), *told[3:]], unknown, most))
    whole = table_html("All calls, in the order of the file", columns, calls, most)
    parts.append(
        fold(
            f"All {count_text(len(calls), 'call')}",
            whole,
            is_open=not unknown and len(calls) <= _OPEN_UP_TO,
            inner=False,
        )
    )
    return join(parts)


def _look_at(pen: Pen) -> Column:
    return Column("look for", lambda c: pen.line(look_for(c), 200), "x")


def _call_columns(pen: Pen, story: Story) -> list[Column]:
    return [
        Column("call", lambda c: pen.line(c.call_id, 40)),
        Column("tool", lambda c: pen.line(c.name, 60)),
        Column("certainty", _certainty),
        Column("arguments", lambda c: _long(pen, c.arguments), "x"),
        Column("result", lambda c: _long(pen, c.result), "x"),
        Column("turn, stage", lambda c: join([c.iteration, ", ", pen.line(story.stage_of(c), 40)])),
        Column("proof", lambda c: fold(_byte(c.evidence_offset), el("div", pen.line(c.why, 300), class_="rk-x")), "w"),
        Column("handed out", lambda c: time_text(c.started_at), "w"),
    ]


def _certainty(call: Call) -> Safe:
    notes = [f"by restart {call.stood_in_by}" if call.stood_in_by else "", "ambiguous" if call.ambiguous else ""]
    notes += ["behind a tear" if call.behind_tear else "", _outcome(call)]
    return join(
        [badge(CERTAINTY[call.certainty]), el("br"), el("small", ", ".join(filter(None, notes)), class_="rk-muted")]
    )


def _outcome(call: Call) -> str:
    word = call.recorded_outcome or call.derived_outcome
    return word if word and word != "succeeded" else ""


# -- trips and money -------------------------------------------------------------------------------------------------


def attempts_html(trips: Trips, masker: Masker | None = None, most: int = MOST_ROWS) -> Safe:
    """Trips to models that failed, answers without a bill, models given up; trips that went well are counted."""
    pen = Pen(masker)
    if not trips.attempts and not trips.failovers:
        return nothing("No trip to a model is on record; engines before 0.6.4 write none.")
    failed = [trip for trip in trips.attempts if not trip.succeeded]
    went_well = len(trips.attempts) - len(failed)
    parts: list[Child] = [
        el("p", f"{count_text(len(trips.attempts), 'trip')}: {went_well} answered, {len(failed)} failed.")
    ]
    if failed:
        parts.append(table_html("Trips that failed", _trip_columns(pen), failed, most))
    if trips.failovers:
        parts.append(table_html("Models given up", _failover_columns(pen), trips.failovers, most))
    if trips.unbilled:
        parts.append(table_html("Answered, and no bill is on record", _trip_columns(pen), trips.unbilled, most))
    return join(parts)


def _model(pen: Pen, provider: str, model: str) -> Safe:
    return pen.line(f"{provider}/{model}", 80)


def _trip_columns(pen: Pen) -> list[Column]:
    def came(trip: Attempt) -> Safe:
        look = TRIP["answered" if trip.succeeded else "failed"]
        return join([badge(look), " ", pen.line(trip.failure_kind or "", 80)])

    return [
        Column("model", lambda t: _model(pen, t.record.provider, t.record.model)),
        Column("trip", lambda t: t.record.attempt, "n"),
        Column("came back", came),
        Column("then", lambda t: pen.line((t.next or "").replace("_", " "), 40)),
        Column("took", lambda t: duration_text(t.record.duration_ms / 1000), "n"),
        Column("waited before", lambda t: duration_text(t.record.backoff_ms / 1000), "n"),
        Column("stage", lambda t: pen.line(t.record.stage, 40)),
        Column("at", lambda t: time_text(t.record.at), "w"),
        Column("record", lambda t: _byte(t.offset), "w"),
    ]


def _failover_columns(pen: Pen) -> list[Column]:
    def pair(left: bool) -> Column:
        def cell(f: Failover) -> Safe:
            r = f.record
            return _model(pen, r.from_provider, r.from_model) if left else _model(pen, r.to_provider, r.to_model)

        return Column("from" if left else "to", cell)

    return [
        pair(True),
        pair(False),
        Column("reason", lambda f: pen.line(f.record.reason, 80)),
        Column("turn", lambda f: f.record.iteration, "n"),
        Column("stage", lambda f: pen.line(f.record.stage, 40)),
        Column("at", lambda f: time_text(f.record.at), "w"),
        Column("record", lambda f: _byte(f.offset), "w"),
    ]


@dataclass(frozen=True, slots=True)
class _Spent:
    """Bills of one stage, purpose and model."""

    stage: str
    kind: str
    model: str
    bills: tuple[Bill, ...]

    def sum(self, member: str) -> int:
        return sum(getattr(bill.record, member) for bill in self.bills)


_TOKENS = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "from cache": "cached_tokens",
    "into cache": "cache_write_tokens",
}


def spending_html(trips: Trips, cost: Cost, masker: Masker | None = None, most: int = MOST_ROWS) -> Safe:
    """Tokens and cost by stage, purpose and model. Unknown is never shown as free."""
    if not trips.bills:
        return nothing("No bill is on record.")
    pen = Pen(masker)
    groups: dict[tuple[str, str, str], list[Bill]] = defaultdict(list)
    for bill in trips.bills:
        groups[bill.record.stage, bill.record.kind, f"{bill.record.provider}/{bill.record.model}"].append(bill)
    rows = [_Spent(*key, tuple(bills)) for key, bills in groups.items()]
    total = _Spent("", "", "", trips.bills)
    columns = [
        Column("stage", lambda s: pen.line(s.stage, 60)),
        Column("for", lambda s: s.kind),
        Column("model", lambda s: pen.line(s.model, 80)),
        Column("bills", lambda s: count_text(len(s.bills)), "n"),
        *(_tokens(heading, member) for heading, member in _TOKENS.items()),
        Column("USD", _money, "n"),
    ]
    sums = [
        "all",
        "",
        "",
        count_text(len(trips.bills)),
        *(count_text(total.sum(m)) for m in _TOKENS.values()),
        _money(total),
    ]
    return join([table_html("Tokens and cost, by stage and model", columns, rows, most, sums), el("p", _cost(cost))])


def _tokens(heading: str, member: str) -> Column:
    return Column(heading, lambda spent: count_text(spent.sum(member)), "n")


def _money(spent: _Spent) -> str:
    figures = [bill.record.cost_usd for bill in spent.bills if bill.record.cost_usd is not None]
    if not figures:
        return "no figure"
    missing = len(spent.bills) - len(figures)
    return f"{sum(figures):.4f}" + (f" + {missing} without a figure" if missing else "")


def _cost(cost: Cost) -> str:
    if cost.total_usd is not None:
        sentence = f"All in all {cost.total_usd:.4f} USD" + (
            ", exact: the providers' own figures." if cost.exact else ", not exact."
        )
    else:
        missing = count_text(cost.unpriced_calls, "bill")
        sentence = f"{cost.priced_usd:.4f} USD are known; {missing} without a figure, so the sum is not."
    behind = f" Behind a tear, in no sum above: {cost.behind_tear_usd:.4f} USD." if cost.behind_tear_usd else ""
    return sentence + behind


# -- the answer ------------------------------------------------------------------------------------------------------


def answer_html(
    answer: FinalAnswer | None, files: Sequence[ProducedFile] = (), masker: Masker | None = None, most: int = MOST_ROWS
) -> Safe:
    """What the run answered, and the files that came with it; their bytes are named, never shown."""
    if answer is None and not files:
        return nothing("There is no answer.")
    pen, parts = Pen(masker), list[Child]()
    if answer is not None and answer.missing:
        parts.append(el("p", "An answer is described, and its file is not there.", class_="rk-bad"))
    if answer is not None and answer.text is not None:
        parts.append(pen.whole(answer.text, MOST_TEXT))
    if files:
        columns = [
            Column("file", lambda f: pen.line(f.name, 120)),
            Column("type", lambda f: pen.line(f.mime_type, 60)),
            Column("size", lambda f: bytes_text(f.size), "n"),
            Column("its bytes are", lambda f: f.state, "w"),
            Column("SHA-256", lambda f: el("code", pen.line(f.sha256 or "–", 64)), "w"),
            Column("record", lambda f: _byte(f.offset), "w"),
        ]
        parts.append(table_html(count_text(len(files), "produced file"), columns, files, most))
    return join(parts)


# -- questions, findings, files --------------------------------------------------------------------------------------


def prompts_html(prompts: Sequence[Prompt], masker: Masker | None = None, most: int = MOST_ROWS) -> Safe:
    """Questions to people and what came of them; those that stand open first."""
    if not prompts:
        return nothing("No question to a person is on record.")
    pen = Pen(masker)
    rows = sorted(prompts, key=lambda prompt: prompt.settlement not in ("open", "lost"))
    columns = [
        Column("question", lambda p: pen.line(p.kind or p.reason or "question", 40).replace("_", " ")),
        Column("came to", lambda p: badge(SETTLEMENT[p.settlement]), "w"),
        Column("asked", lambda p: _long(pen, p.prompt), "x"),
        Column("tool", lambda p: pen.line(p.tool, 60)),
        Column("answer", lambda p: _answer(pen, p)),
        Column("stage or point", lambda p: pen.line(p.stage, 60)),
        Column("asked at", lambda p: time_text(p.asked_at), "w"),
        Column("settled at", lambda p: time_text(p.settled_at), "w"),
        Column("record", lambda p: _byte(p.offset), "w"),
    ]
    return table_html(count_text(len(prompts), "question"), columns, rows, most)


def _answer(pen: Pen, prompt: Prompt) -> Safe:
    """What the person said, member by member."""
    said: list[Child] = []
    if prompt.approved is not None:
        said.append(
            f"{'approved' if prompt.approved else 'denied'}{f', for the {prompt.scope}' if prompt.scope else ''}"
        )
    if prompt.choice is not None:
        said.append(f"choice {prompt.choice}")
    said += [_long(pen, text) for text in (prompt.text, prompt.feedback) if text]
    return join(said, " ") if said else Safe("–")


def findings_html(findings: Sequence[Finding], masker: Masker | None = None, most: int = MOST_ROWS) -> Safe:
    """What is damaged, contradictory, lost or suspicious; the worst first."""
    if not findings:
        return nothing("Nothing in its files is damaged, contradictory or lost.")
    pen, order = Pen(masker), list(SEVERITY)
    rows = sorted(findings, key=lambda finding: order.index(finding.severity))
    columns = [
        Column("finding", lambda f: f.kind.replace("_", " ")),
        Column("weight", lambda f: badge(SEVERITY[f.severity]), "w"),
        Column("what", lambda f: pen.line(f.sentence, 600)),
        Column("where", lambda f: _where(pen, f)),
        Column("what the engine does", lambda f: pen.line(f.engine_does, 400, "") if f.engine_does else "–"),
    ]
    return table_html(count_text(len(findings), "finding"), columns, rows, most)


def _where(pen: Pen, finding: Finding) -> Safe:
    place = f", {_byte(finding.offset)}" if finding.offset is not None else ""
    return join([pen.line(finding.file, 80), place])


def evidence_html(files: Sequence[FileEvidence], masker: Masker | None = None, most: int = MOST_ROWS) -> Safe:
    """The files this rests on, so that somebody can check that it was these."""
    if not files:
        return nothing("No file is there.")
    pen = Pen(masker)
    columns = [
        Column("file", lambda f: pen.line(f.name, 200)),
        Column("size", lambda f: bytes_text(f.size), "n"),
        Column("bytes", lambda f: count_text(f.size), "n"),
        Column("SHA-256", lambda f: el("code", f.sha256 or "–"), "w"),
        Column("read as", lambda f: _read_as(pen, f)),
    ]
    return table_html(count_text(len(files), "file"), columns, files, most)


def _read_as(pen: Pen, file: FileEvidence) -> Safe:
    if file.why:
        return join([badge(Look("cannot be read", "×", "solid", "", "bad")), " ", pen.line(file.why, 120)])
    return pen.line(file.parsed_as or "not parsed", 60)
