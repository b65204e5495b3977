"""The ledger of tool calls: one row an attempt, how surely it took effect, and what proves it.

Three layers stay apart: what the bytes say (`recorded_outcome`), what follows by a named rule (`derived_outcome`), what
somebody saw in the world afterwards (`observed_outcome`). Certainty follows from the first two alone.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recovery_kit.records.journal import BatchCall, ToolBatch, ToolCallDone

from .approvals import passes_unasked, surely_asked
from .events import Event
from .lives import Life, SilentStandIn, is_stand_in, life_at, silent_stand_ins
from .windows import text_of

Certainty = Literal["done", "unknown", "not_started", "stood_in"]
Outcome = Literal["succeeded", "failed", "blocked", "denied", "indeterminate"]

BY_PREFIX: tuple[tuple[str, Outcome, str], ...] = (
    ("[error]", "failed", "error_prefix"),
    ("[denied]", "denied", "denied_prefix"),
    ("[blocked]", "blocked", "blocked_prefix"),
    ("[unavailable]", "failed", "unavailable_prefix"),
)
"""How a result's text tells that the call failed: prefix, outcome, name of the rule (leviath-run-directory 2.2)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at a tool call."""

    call_id: str
    execution_id: str | None
    """None where the engine recorded none."""
    name: str
    arguments: str
    """As handed out: a string that should hold JSON."""
    iteration: int
    stage_index: int
    visit_id: str | None
    requested_by: str | None
    offset: int
    """Of the batch's record."""
    place: int
    position: int
    """Which call of its batch."""
    started_at: int
    """Unix seconds of the batch; a call may have waited for a person first."""
    ended_at: int | None
    certainty: Certainty
    evidence_offset: int | None
    """What proves the certainty."""
    result: str | None
    """The tool's answer as text; None where none is held, and for a stand-in."""
    recorded_outcome: Outcome | None
    derived_outcome: Outcome | None
    rule: str | None
    """Name of the rule behind `derived_outcome`."""
    stood_in_by: int | None
    """Index of the life that made up the result."""
    ambiguous: bool
    """Nothing tells which of several calls a result belongs to."""
    inline: bool
    """Answered by the dispatcher itself, inside the batch's record."""
    behind_tear: bool
    why: str

    @property
    def is_unknown(self) -> bool:
        """Whether a person has to look: it may have happened, wholly, partly or not at all."""
        return self.certainty in ("unknown", "stood_in")


@dataclass(frozen=True, slots=True)
class _Handed:
    """A call of a batch, with the completions that can be its own."""

    event: Event
    batch: ToolBatch
    position: int
    call: BatchCall


_Key = tuple[int, str, str]
"""Batch's place, call id, execution id: calls that share it cannot be told apart."""


def calls(events: Sequence[Event], all_lives: Sequence[Life]) -> tuple[Call, ...]:
    """Every attempt at a call, in file order, with its certainty (frames: `calls_df`)."""
    handed = [
        _Handed(event, event.record, position, call)
        for event in events
        if event.kind == "ToolBatch"
        for position, call in enumerate(event.record.calls)
    ]
    groups: dict[_Key, list[_Handed]] = defaultdict(list)
    for item in handed:
        if item.call.result is None:
            groups[_key(item)].append(item)
    results = _pair(events, handed)
    refused = _refusals(events, all_lives, groups, results)
    open_ids = {key[1] for key in groups if not results.get(key)}
    silent = _silent(events, groups, results, open_ids)
    rows = []
    for item in handed:
        key = _key(item)
        if item.call.result is not None:
            rows.append(_inline(item))
        else:
            rows.append(_row(item, groups[key], results.get(key, []), refused.get(key), silent.get(key), all_lives))
    return tuple(rows)


def _key(item: _Handed) -> _Key:
    return item.event.place, item.call.id, item.call.execution_id


def _pair(events: Sequence[Event], handed: Sequence[_Handed]) -> dict[_Key, list[Event]]:
    """Completions by the calls they can belong to: by execution id where it is there, else by iteration and call id."""
    by_execution: dict[str, list[_Key]] = defaultdict(list)
    by_call: dict[tuple[int, str], list[_Key]] = defaultdict(list)
    iterations: dict[int, int] = {}
    for item in handed:
        if item.call.result is None:
            key = _key(item)
            iterations[key[0]] = item.batch.iteration
            if item.call.execution_id:
                by_execution[item.call.execution_id].append(key)
            by_call[item.batch.iteration, item.call.id].append(key)
    paired: dict[_Key, list[Event]] = defaultdict(list)
    for event in events:
        if event.kind != "ToolCallDone":
            continue
        done: ToolCallDone = event.record
        named = [k for k in by_execution.get(done.execution_id, ()) if k[0] < event.place] if done.execution_id else []
        if named:  # an id that several batches have is taken for the batch of that turn
            turn = [k for k in named if (iterations[k[0]], k[1]) == (done.iteration, done.call_id)]
            paired[(turn or named)[-1]].append(event)
            continue
        earlier = [k for k in by_call.get((done.iteration, done.call_id), ()) if k[0] < event.place]
        fitting = {k for k in earlier if not (done.execution_id and k[2])}
        newest = [k for k in fitting if k[0] == max(fitting)[0]]
        if len(newest) == 1:  # of several executions that it could be of, it is given to none
            paired[newest[0]].append(event)
    return paired


def _refusals(
    events: Sequence[Event],
    all_lives: Sequence[Life],
    groups: Mapping[_Key, list[_Handed]],
    results: Mapping[_Key, list[Event]],
) -> dict[_Key, Event]:
    """Calls without a result of which a refusal is on record, and no other call can be meant by it."""
    batches = [event for event in events if event.kind == "ToolBatch"]
    asked: dict[tuple[int, str], list[Event]] = defaultdict(list)
    granted: dict[tuple[int, str], bool] = {}
    lasting: set[tuple[int, str]] = set()  # by life: no grant survives a restart
    for event in events:
        if event.kind != "Interaction" or event.record.kind != "tool_approval":
            continue
        life, tool = life_at(all_lives, event.place), event.record.tool
        batch = _asked_by(event, batches, life)
        if batch is not None and tool is not None:
            asked[batch.place, tool].append(event)
            if _grants(event):
                lasting.add((life.index, tool))
            granted[batch.place, tool] = (life.index, tool) in lasting
    found: dict[_Key, Event] = {}
    for batch in batches:
        for tool in {place_tool[1] for place_tool in asked if place_tool[0] == batch.place}:
            open_calls = [call for call in batch.record.calls if call.result is None and call.name == tool]
            keys = [(batch.place, call.id, call.execution_id) for call in open_calls]
            answers = [results.get(key, []) for key in keys]
            unasked = [
                not _denied(answer) and (granted[batch.place, tool] or passes_unasked(call.name, call.arguments))
                for call, answer in zip(open_calls, answers, strict=True)
            ]
            fits = [[_fits(question, answer) for answer in answers] for question in asked[batch.place, tool]]
            for place, number in surely_asked(fits, unasked).items():
                if _is_refusal(asked[batch.place, tool][number]):
                    found[keys[place]] = asked[batch.place, tool][number]
    return {key: event for key, event in found.items() if len(groups.get(key, ())) == 1}


def _fits(question: Event, results: Sequence[Event]) -> bool:
    """Whether a settled question can have been about a call with those results."""
    if _is_refusal(question):
        return not _answered(results)
    allowed = getattr(question.record.settlement, "answered", None) is not None
    return not (allowed and _denied(results))


def _denied(results: Sequence[Event]) -> bool:
    return any(derived(text_of(e.record.result))[0] == "denied" for e in results)


def _asked_by(event: Event, batches: Sequence[Event], life: Life) -> Event | None:
    """The batch during which a question was asked: the newest of its life before its record and not later than it."""
    before = [b for b in batches if life.first <= b.place < event.place and b.at <= event.record.asked_at]
    return before[-1] if before else None


def _is_refusal(event: Event) -> bool:
    answer = getattr(event.record.settlement, "answered", None)
    return answer is not None and answer.approved is False


def _grants(event: Event) -> bool:
    """Whether an approval covers later calls too, which are then not asked for."""
    answer = getattr(event.record.settlement, "answered", None)
    return answer is not None and answer.approved is True and answer.scope in ("stage", "session", "run")


def _answered(done: Sequence[Event]) -> bool:
    """Whether a tool answered; the refusal itself comes back as a text too."""
    return any(not is_stand_in(e) and derived(text_of(e.record.result))[0] != "denied" for e in done)


def _silent(
    events: Sequence[Event],
    groups: Mapping[_Key, list[_Handed]],
    results: Mapping[_Key, list[Event]],
    open_ids: set[str],
) -> dict[_Key, SilentStandIn]:
    """Stand-ins of engines that write no record of them, by the calls they stand for."""
    if not open_ids:
        return {}
    shown = {s.call_id: s for s in silent_stand_ins(events, open_ids.__contains__)}
    found: dict[_Key, SilentStandIn] = {}
    for key in sorted(groups, reverse=True):  # the newest batch of an id before it was shown
        stand_in = shown.get(key[1])
        if stand_in and key[0] < stand_in.place and not results.get(key) and stand_in not in found.values():
            found[key] = stand_in
    return found


def derived(text: str) -> tuple[Outcome | None, str | None]:
    """What a result's text says of its call, by rule."""
    for prefix, outcome, rule in BY_PREFIX:
        if text.startswith(prefix):
            return outcome, rule
    return None, None


def _inline(item: _Handed) -> Call:
    assert item.call.result is not None
    text = text_of(item.call.result)
    outcome, rule = derived(text)
    return _call(
        item, certainty="done", evidence_offset=item.event.offset, ended_at=item.event.at, result=text,
        derived_outcome=outcome, rule=rule, inline=True, why="answered inline: the batch's own record holds its result",
    )  # fmt: skip


def _row(
    item: _Handed,
    group: Sequence[_Handed],
    results: Sequence[Event],
    refusal: Event | None,
    silent: SilentStandIn | None,
    all_lives: Sequence[Life],
) -> Call:
    answers = [event for event in results if not is_stand_in(event)]
    stand_ins = [event for event in results if is_stand_in(event)]
    if len(group) > 1:
        return _of_twins(item, len(group), answers, stand_ins, all_lives)
    if refusal is not None and not _answered(answers):
        return _call(
            item, certainty="not_started", evidence_offset=refusal.offset, ended_at=refusal.at, derived_outcome="denied",
            rule="refusal_on_record", why="a person refused it: the refusal is on record",
        )  # fmt: skip
    if answers:
        done = answers[-1]
        text = text_of(done.record.result)
        outcome, rule = derived(text)
        return _call(
            item, certainty="done", evidence_offset=done.offset, ended_at=done.at, result=text,
            recorded_outcome=done.record.outcome, derived_outcome=outcome, rule=rule, why="its completion holds a result",
            behind_tear=item.event.behind_tear or done.behind_tear,
        )  # fmt: skip
    if stand_ins:
        return _stood_in(item, stand_ins[0], all_lives)
    if silent is not None:
        return _call(
            item, certainty="stood_in", evidence_offset=silent.offset, derived_outcome="indeterminate",
            rule="interrupted_text", stood_in_by=life_at(all_lives, silent.place).index,
            why="no completion is held; the window shows the text that a restart puts in the place of a lost result",
        )  # fmt: skip
    return _call(
        item, certainty="unknown", evidence_offset=item.event.offset,
        why="it was handed out and no result is held",
    )  # fmt: skip


def _stood_in(item: _Handed, stand_in: Event, all_lives: Sequence[Life], ambiguous: bool = False) -> Call:
    return _call(
        item, certainty="stood_in", evidence_offset=stand_in.offset, recorded_outcome=stand_in.record.outcome,
        stood_in_by=_writer(stand_in, all_lives), ambiguous=ambiguous,
        why="a restart gave it up: the text that stands as its result is the restart's own",
        behind_tear=item.event.behind_tear or stand_in.behind_tear,
    )  # fmt: skip


def _writer(stand_in: Event, all_lives: Sequence[Life]) -> int:
    for life in all_lives:
        if stand_in.offset in life.stand_in_offsets:
            return life.index
    return life_at(all_lives, stand_in.place).index


def _of_twins(
    item: _Handed, n: int, answers: Sequence[Event], stand_ins: Sequence[Event], all_lives: Sequence[Life]
) -> Call:
    """A call among several that share both ids: with as many results all are done, with fewer none is for certain."""
    if len(answers) >= n:
        why = "as many results are held as calls share its ids; which of them is its own cannot be told"
        return _call(item, certainty="done", evidence_offset=None, ended_at=answers[-1].at, ambiguous=True, why=why)
    if not answers and stand_ins:
        return _stood_in(item, stand_ins[0], all_lives, ambiguous=True)
    why = f"{n} calls share its ids and {len(answers)} of their results are held: whose they are cannot be told"
    return _call(item, certainty="unknown", evidence_offset=item.event.offset, ambiguous=True, why=why)


def _call(
    item: _Handed, *, certainty: Certainty, evidence_offset: int | None, why: str, ended_at: int | None = None,
    result: str | None = None, recorded_outcome: Outcome | None = None, derived_outcome: Outcome | None = None,
    rule: str | None = None, stood_in_by: int | None = None, ambiguous: bool = False, inline: bool = False,
    behind_tear: bool | None = None,
) -> Call:  # fmt: skip
    batch, call, event = item.batch, item.call, item.event
    return Call(
        call.id, call.execution_id or None, call.name, call.arguments, batch.iteration, batch.stage_index,
        batch.visit_id or None, batch.requested_by or None, event.offset, event.place, item.position, batch.at, ended_at,
        certainty, evidence_offset, result, recorded_outcome, derived_outcome, rule, stood_in_by, ambiguous, inline,
        event.behind_tear if behind_tear is None else behind_tear, why,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Execution:
    """A row of the engine's own list of executions, as its API gives it (0.5-to-0.6 N8)."""

    execution_id: str
    call_id: str
    unfinished: bool
    result_offset: int | None
    outcome: Outcome | None


@dataclass(slots=True)
class _Running:
    execution_id: str
    call_id: str
    iteration: int
    result_offset: int | None
    outcome: Outcome | None


def executions(events: Sequence[Event]) -> tuple[Execution, ...]:
    """The engine's list: by execution id alone where a completion has one, else the newest unfinished of that call."""
    rows: list[_Running] = []
    for event in events:
        if event.behind_tear:
            continue
        if event.kind == "ToolBatch":
            for call in event.record.calls:
                offset = event.offset if call.result is not None else None
                rows.append(_Running(call.execution_id, call.id, event.record.iteration, offset, None))
        elif event.kind == "ToolCallDone":
            row = _meant(rows, event.record)
            if row is not None:
                row.result_offset, row.outcome = event.offset, event.record.outcome
    return tuple(
        Execution(r.execution_id, r.call_id, r.result_offset is None, r.result_offset, r.outcome) for r in rows
    )


def _meant(rows: Sequence[_Running], done: ToolCallDone) -> _Running | None:
    if done.execution_id:
        return next((r for r in rows if r.execution_id == done.execution_id), None)
    same: Callable[[_Running], bool] = lambda r: (r.call_id, r.iteration) == (done.call_id, done.iteration)  # noqa: E731
    return next((r for r in reversed(rows) if same(r) and r.result_offset is None), None)
