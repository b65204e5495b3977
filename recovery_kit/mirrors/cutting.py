"""A cut as a value: which records of a run lie before it, how it stood there, what becomes of a batch that was out.

Nothing is written here. A cut knows what the journal knew at its place; what the source recorded later comes in only
where it was asked for (`complete`). Rules: leviath-run-directory 4.2, 4.4, 8.4; 0.5-to-0.6 N16.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from recovery_kit.errors import CannotMirror
from recovery_kit.formats.journal import Journal, Reading
from recovery_kit.history.fold import Fold, Pending, Point, fold, landed, settled, step
from recovery_kit.history.windows import WindowView
from recovery_kit.records.journal import ToolBatch, ToolCallDone
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import AssistantTurn, Window
from recovery_kit.restore.batch import restore_pending_batch
from recovery_kit.runs.points_named import PointName, point_name, records_until
from recovery_kit.runs.run import Run
from recovery_kit.world.regions import holding, placed, region_of, retotalled
from recovery_kit.world.results import placing_of

from .after import AfterCut, done_after

Batch = Literal["keep", "complete", "drop"]
BATCHES: tuple[Batch, ...] = ("keep", "complete", "drop")

BY_DEFAULT: dict[str, Batch] = {
    "end": "keep",
    "record": "keep",
    "point": "drop",
    "iteration": "drop",
    "call": "drop",
}
"""What becomes of a batch that was out, by how the moment was named: only who names a record cuts inside a turn."""


@dataclass(frozen=True, slots=True)
class CutCall:
    """A call of the batch that was out at the cut."""

    call_id: str
    name: str
    known: bool
    """Its result is in the mirror."""
    recorded_later: bool
    """The source recorded its result after the cut."""

    @property
    def is_open(self) -> bool:
        return not self.known


@dataclass(frozen=True)
class Cut:
    """Where a run is cut, and how it stood there."""

    run: Run = field(repr=False)
    asked: PointName
    records: int
    """Readable records before it: what a copy of the history would hold. 0 where no journal folds."""
    end: int
    """Byte of the journal behind the last of them."""
    how: Batch
    """What becomes of a batch that was out."""
    meta: RunMeta = field(repr=False)
    """As the last record before the cut carries it."""
    window: Window = field(repr=False)
    at: int
    """Unix seconds of the last record before the cut."""
    batch: ToolBatch | None = field(repr=False)
    """Pending in the mirror."""
    held: tuple[ToolCallDone, ...] = field(repr=False)
    """Records before the cut of results for it."""
    added: tuple[ToolCallDone, ...] = field(repr=False)
    """Records behind the cut of results for it: only where it is completed."""
    calls: tuple[CutCall, ...]
    """The calls of the batch that was out at the cut, kept or not."""
    said: tuple[str, ...]
    """What follows from the cut, a sentence each; texts are raw."""
    out_offset: int | None = None
    """Where the source's journal has the batch that was out, kept or not."""

    @property
    def open_calls(self) -> tuple[CutCall, ...]:
        """Calls that are pending in the mirror without a result: a reload tells the model they were interrupted."""
        return tuple(call for call in self.calls if call.is_open) if self.batch is not None else ()

    @cached_property
    def journal_sha256(self) -> str | None:
        """Digest of the source's journal up to the cut."""
        return prefix_sha256(self.run.journal, self.end) if self.records else None

    @cached_property
    def after(self) -> AfterCut:
        """What the source is known to have done after the cut."""
        return done_after(self.run, self.end, self.meta)


@dataclass(frozen=True, slots=True)
class _Moment:
    """How a run stood after some records."""

    records: int
    meta: RunMeta
    window: Window | WindowView
    pending: Pending | None

    def whole(self) -> Window:
        return self.window if isinstance(self.window, Window) else self.window.window()


def cut(run: Run, at: str | int | PointName = "end", batch: Batch | None = None) -> Cut:
    """Cut a run at a moment (verified).

    `batch`: what becomes of a batch that was out: `keep` it pending with what was known then, `complete` it with the
    results that the source recorded later, or `drop` it, so that its turn is done again. By default as `BY_DEFAULT`.
    Raises UnknownMoment, and CannotMirror for a run that tells nothing of how it stood.
    """
    name = at if isinstance(at, PointName) else point_name(at)
    if batch is not None and batch not in BATCHES:
        raise CannotMirror(run.id, "batch is keep, complete or drop")
    how = batch or BY_DEFAULT[name.naming]
    if run.journal.error == "newer_version":
        raise CannotMirror(run.id, "its journal is of a newer format, which this kit cannot read whole")
    if name.naming == "end" and run.story.fold() is None:
        return _json_pair(run, name, how)
    count = records_until(run, name)
    out: Pending | None
    if name.naming == "call":
        moment, out, said = _before_call(run, count)
    else:
        moment = _after_records(run, count)
        out, said = moment.pending, []
    return _settled_cut(run, name, how, moment, out, said)


def _settled_cut(run: Run, name: PointName, how: Batch, moment: _Moment, out: Pending | None, said: list[str]) -> Cut:
    reading = run.story.reading()
    held = _results_held(reading, out, moment.records) if out else ()
    later = _results_later(reading, out, moment.records) if out else ()
    added = later if how == "complete" else ()
    calls = tuple(_calls(out, held + added, later)) if out else ()
    meta = moment.meta
    if out is not None and how != "drop" and meta.iteration != out.batch.iteration:
        meta = replace(meta, iteration=out.batch.iteration)  # else no reader would hold the batch for pending (4.2)
    stays = out is not None and how != "drop"
    last = reading.frames[moment.records - 1]
    return Cut(
        run, name, moment.records, reading.offset(last) + 8 + run.journal.framing.lengths[last], how, meta,
        moment.whole(), _time(reading, moment.records - 1), out.batch if out and stays else None,
        held if stays else (), added if stays else (), calls,
        (*said, *_consequences(how, calls), *_elsewhere(run, name)), out.offset if out else None,
    )  # fmt: skip


def _json_pair(run: Run, name: PointName, how: Batch) -> Cut:
    meta, window = run.files.meta, run.files.context
    if meta is None or window is None:
        raise CannotMirror(run.id, "neither its journal nor context.json and meta.json tell how it stood")
    said = ("the journal does not fold: the mirror is made from context.json and meta.json",)
    return Cut(run, name, 0, 0, how, meta, window, meta.updated_at, None, (), (), (), said)


# How it stood.


def batch_out(run: Run, records: int) -> int | None:
    """Where the batch begins that is out after the first records; None where none is."""
    if not 0 < records <= len(run.story.reading()):
        return None
    out = _after_records(run, records).pending
    return out.offset if out else None


def _after_records(run: Run, count: int) -> _Moment:
    """The state after the first records, from the points that are known already where they tell it."""
    reading, points = run.story.reading(), run.points
    place = bisect_right(points, count - 1, key=lambda point: point.place) - 1
    if place < 0 or reading.kinds[:count].count("Header") > 1:
        state = fold(reading, count)
        meta = state.read_meta() if state else None
        if state is None or meta is None:
            raise CannotMirror(run.id, f"nothing folds after {count} records")
        return _Moment(count, meta, state.window, state.pending)
    point = points[place]
    return _Moment(count, point.read_meta(), point.window, _pending(reading, point, count))


def _pending(reading: Reading, point: Point, count: int) -> Pending | None:
    """The batch that is out after `count` records, given the last point before: the same `step` from its record on."""
    begin = next((place for place in range(count - 1, -1, -1) if reading.kinds[place] == "ToolBatch"), None)
    if begin is None:
        return None
    state = Fold(reading.rules, meta=point.meta, window=point.window)
    for place in range(begin, count):
        kind = reading.kinds[place]
        if kind in ("ToolBatch", "ToolCallDone"):
            frame = reading.frames[place]
            state = step(state, kind, reading.skim(frame, kind), reading.offset(frame))
    return settled(state).pending


def _before_call(run: Run, count: int) -> tuple[_Moment, Pending, list[str]]:
    """The window that the reply with this batch was asked with (4.4): `count` records lie before the batch.

    The `Progress` behind the batch holds that window, unless the batch was so quick that its turn is in it already.
    """
    reading = run.story.reading()
    batch = cast(ToolBatch, reading.record(reading.frames[count]))
    results = tuple(call.result for call in batch.calls)
    out = Pending(batch, reading.offset(reading.frames[count]), results, (None,) * len(results))
    place = bisect_right(run.points, count, key=lambda point: point.place)
    behind = run.points[place] if place < len(run.points) else None
    if behind is not None and behind.skim_meta().iteration == batch.iteration:
        window = behind.window.window()
        asked = window if not landed(batch, window) else _without_turn(run, place, batch, window)
        if asked is not None:
            said = ["what inline tools of this turn did to the window is in it already"] if _inline(batch) else []
            # Only the batch's own record lies before the cut; the point behind it is read for its window.
            return _Moment(max(count, 1), behind.read_meta(), asked, None), out, said
    before = _after_records(run, count)
    if before.pending is not None:
        landed_one = _with_the_one_before(run, before, before.pending)
        if landed_one is not None:
            said = ["the batch before was put into the window by the engine's rules"]
            return _with_window(before, landed_one), out, said
    said = ["nothing shows the window that this turn was asked with: the mirror has the last one before it"]
    return _with_window(before, before.window), out, said


def _with_window(moment: _Moment, window: Window | WindowView) -> _Moment:
    """The same moment with another window and nothing pending."""
    return _Moment(moment.records, moment.meta, window, None)


def _inline(batch: ToolBatch) -> bool:
    return any(call.result is not None for call in batch.calls)


def _without_turn(run: Run, place: int, batch: ToolBatch, window: Window) -> Window | None:
    """The window of a point as it was before a turn landed in it; None where more than appending happened."""
    before = run.points[place - 1].window.window() if place else None
    region = region_of(window, "conversation")
    old = region_of(before, "conversation") if before else None
    if before is None or region is None or old is None:
        return None
    turns = [n for n, e in enumerate(region.entries) if isinstance(e.kind, AssistantTurn) and _is(e.kind, batch)]
    others = [r for r in window.regions if r is not region]
    same = others == [r for r in before.regions if r.name != "conversation"]
    grown = region.entries[: len(old.entries)] == old.entries
    if not (turns and same and grown and turns[0] >= len(old.entries)):
        return None
    return retotalled(placed(window, holding(region, region.entries[: turns[0]])))


def _is(turn: AssistantTurn, batch: ToolBatch) -> bool:
    return [call.id for call in turn.tool_calls] == [call.id for call in batch.calls]


def _with_the_one_before(run: Run, before: _Moment, out: Pending) -> Window | None:
    """The window with the batch before in it, as the engine puts it there (6); None where a result is not held."""
    if None in out.results:
        return None
    rules, blueprint = run.story.reading().rules, run.story.blueprint
    index = before.meta.stage_index
    stage = blueprint.stages[index] if blueprint and index < len(blueprint.stages) else None
    batch = restore_pending_batch(out, (), rules)
    return batch.applied(before.whole(), placing_of(blueprint, stage, (), rules), rules).window if batch else None


# What is said of a batch.


def _results_held(reading: Reading, out: Pending, count: int) -> tuple[ToolCallDone, ...]:
    """Completions of a batch among the first records, as far as the fold uses them."""
    held = {offset for offset in out.result_offsets if offset is not None and offset != out.offset}
    begin = _place_of(reading, out.offset)
    return tuple(
        cast(ToolCallDone, reading.record(reading.frames[place]))
        for place in range(begin, count)
        if reading.kinds[place] == "ToolCallDone" and reading.offset(reading.frames[place]) in held
    )


def _results_later(reading: Reading, out: Pending, count: int) -> tuple[ToolCallDone, ...]:
    """Real results that the source recorded after the cut for calls that have none before it."""
    open_ids = [c.id for c, result in zip(out.batch.calls, out.results, strict=True) if result is None]
    found = []
    for place in range(max(count, _place_of(reading, out.offset) + 1), len(reading)):
        kind = reading.kinds[place]
        if kind == "ToolBatch":
            break
        if kind != "ToolCallDone":
            continue
        done = cast(ToolCallDone, reading.record(reading.frames[place]))
        if done.iteration == out.batch.iteration and done.call_id in open_ids and done.outcome != "indeterminate":
            open_ids.remove(done.call_id)
            found.append(done)
    return tuple(found)


def _place_of(reading: Reading, offset: int) -> int:
    offsets = reading.journal.framing.offsets
    return bisect_right(reading.frames, offset, key=offsets.__getitem__) - 1


def _calls(out: Pending, held: tuple[ToolCallDone, ...], later: tuple[ToolCallDone, ...]) -> Iterator[CutCall]:
    have, come = [done.call_id for done in held], [done.call_id for done in later]
    for call in out.batch.calls:
        known = call.result is not None or call.id in have
        if call.result is None and call.id in have:
            have.remove(call.id)
        yield CutCall(call.id, call.name, known, call.id in come)


def _consequences(how: Batch, calls: tuple[CutCall, ...]) -> Iterator[str]:
    if not calls:
        return
    names = ", ".join(f"{call.call_id} ({call.name})" for call in calls)
    if how == "drop":
        yield f"the batch that was out is left out, and its turn is done again: {names}"
        return
    for call in calls:
        if call.known:
            continue
        end = f"call {call.call_id} ({call.name}) is pending: a reload tells the model that it was interrupted"
        yield f"{end}, although the source recorded its result later" if call.recorded_later else end
    if how == "complete" and any(call.recorded_later for call in calls):
        yield f"results that the source recorded after the cut are in the mirror: {names}"


def _elsewhere(run: Run, name: PointName) -> Iterator[str]:
    if name.naming != "end":
        return
    behind = len(run.journal.salvage.frames)
    if behind:
        yield f"{behind} records lie behind a tear, where no reader of the engine looks: they are not in the mirror"
    hidden = run.story.hidden_batch
    if hidden is not None:
        names = ", ".join(f"{call.call_id} ({call.name})" for call in hidden.calls)
        yield f"a batch whose end is unknown is not pending for the engine: nobody tells the model of it: {names}"


def _time(reading: Reading, place: int) -> int:
    frame, kind = reading.frames[place], reading.kinds[place]
    record: Any = reading.skim(frame, kind)
    return int(record.identity.created_at if kind == "Header" else record.at)


# The digest of what lies before a cut.

_STRIDE = 4 * 1024 * 1024
_HASHED: "WeakKeyDictionary[Journal, list[tuple[int, Any]]]" = WeakKeyDictionary()
"""By journal: digests up to every stride, so that a thousand mirrors of one run hash its journal once."""


def prefix_sha256(journal: Journal, end: int) -> str:
    """SHA-256 of the first bytes of a journal."""
    known = _HASHED.setdefault(journal, [(0, hashlib.sha256())])
    data = memoryview(journal.data)
    while known[-1][0] + _STRIDE <= end:
        at, digest = known[-1][0], known[-1][1].copy()
        digest.update(data[at : at + _STRIDE])
        known.append((at + _STRIDE, digest))
    at, digest = known[min(end // _STRIDE, len(known) - 1)]
    digest = digest.copy()
    digest.update(data[at:end])
    return str(digest.hexdigest())
