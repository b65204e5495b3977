"""One `step` over the records of a journal, and the three things made of it: the state, its points, any moment.

What the engine's own fold gives (leviath-run-directory 4.2, 4.3; 0.5-to-0.6 N8). No file is opened here.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import msgspec
from msgspec import structs
from msgspec.structs import replace

from recovery_kit.formats.journal import Reading
from recovery_kit.formats.skim import MetaSkim, read_meta, skim_meta
from recovery_kit.records.engines import Engine
from recovery_kit.records.journal import KINDS, BatchCall, Identity, ToolBatch
from recovery_kit.records.meta import RunMeta, Status
from recovery_kit.records.window import AssistantTurn, Content, Window

from .windows import NO_WINDOW, WindowView, applied, touched, whole


class Pending(msgspec.Struct, frozen=True):
    """A batch that was handed out, and what is held of its calls."""

    batch: ToolBatch
    offset: int
    """Of its record."""
    results: tuple[Content | None, ...]
    """By call; None where no result is held."""
    result_offsets: tuple[int | None, ...]

    def calls(self) -> Iterator[tuple[BatchCall, Content | None]]:
        return zip(self.batch.calls, self.results, strict=True)


class Fold(msgspec.Struct, frozen=True):
    """Everything a journal says up to some record."""

    rules: Engine
    identity: Identity | None = None
    owner_machine: str = ""
    owner_world: str = ""
    meta: msgspec.Raw | None = None
    """Metadata as JSON: of the last record that carried some."""
    status: Status | None = None
    """A later status than the metadata's own, from `StatusChanged`."""
    window: WindowView = NO_WINDOW
    tool_calls: int = 0
    inferences: int = 0
    usages: int = 0
    messages: int = 0
    pending: Pending | None = None
    """As it stands while folding; `settled` says what is left of it."""
    at: int | None = None
    """Time of the last record that had one."""

    def read_meta(self) -> RunMeta | None:
        """The metadata, whole."""
        if self.meta is None:
            return None
        meta = read_meta(self.meta)
        return meta if self.status is None else structs.replace(meta, status=self.status)

    def skim_meta(self) -> MetaSkim | None:
        """The metadata's position and totals."""
        if self.meta is None:
            return None
        meta = skim_meta(self.meta)
        return meta if self.status is None else structs.replace(meta, status=self.status)


def _header(fold: Fold, skim: Any, offset: int) -> Fold:
    identity = skim.identity
    return replace(
        fold, identity=identity, owner_machine=identity.machine_id, owner_world=identity.world_id, meta=skim.meta,
        status=None, at=identity.created_at,
    )  # fmt: skip


def _ownership(fold: Fold, record: Any, offset: int) -> Fold:
    return replace(fold, owner_machine=record.machine_id, owner_world=record.world_id, at=record.at)


def _inference(fold: Fold, record: Any, offset: int) -> Fold:
    return replace(fold, inferences=fold.inferences + 1, at=record.at)


def _usage(fold: Fold, record: Any, offset: int) -> Fold:
    return replace(fold, inferences=fold.inferences + 1, usages=fold.usages + 1, at=record.at)


def _batch(fold: Fold, record: ToolBatch, offset: int) -> Fold:
    results = tuple(call.result for call in record.calls)
    pending: Pending | None = Pending(record, offset, results, tuple(r if r is None else offset for r in results))
    if fold.rules.settles_inline and None not in results:
        pending = None
    return replace(fold, tool_calls=fold.tool_calls + len(record.calls), pending=pending, at=record.at)


def _done(fold: Fold, record: Any, offset: int) -> Fold:
    held = fold.pending
    if held is not None and held.batch.iteration == record.iteration:
        for place, call in enumerate(held.batch.calls):
            if call.id == record.call_id:
                results, offsets = list(held.results), list(held.result_offsets)
                results[place], offsets[place] = record.result, offset
                held = replace(held, results=tuple(results), result_offsets=tuple(offsets))
                break
    return replace(fold, pending=held, at=record.at)


def _context_checkpoint(fold: Fold, skim: Any, offset: int) -> Fold:
    return replace(fold, window=whole(skim.snapshot), at=skim.at)


def _context_diff(fold: Fold, skim: Any, offset: int) -> Fold:
    return replace(fold, window=applied(fold.window, skim.delta), at=skim.at)


def _message(fold: Fold, record: Any, offset: int) -> Fold:
    return replace(fold, messages=fold.messages + 1, at=record.at)


def _status(fold: Fold, record: Any, offset: int) -> Fold:
    return replace(fold, status=record.status, at=record.at)


def _checkpoint(fold: Fold, skim: Any, offset: int) -> Fold:
    return replace(fold, meta=skim.meta, status=None, window=whole(skim.context), at=skim.at)


def _progress(fold: Fold, skim: Any, offset: int) -> Fold:
    return replace(fold, meta=skim.meta, status=None, window=applied(fold.window, skim.delta), at=skim.at)


STEPS: dict[str, Callable[[Fold, Any, int], Fold]] = {
    "Header": _header,
    "OwnershipChanged": _ownership,
    "Inference": _inference,
    "InferenceUsage": _usage,
    "ToolBatch": _batch,
    "ToolCallDone": _done,
    "ContextCheckpoint": _context_checkpoint,
    "ContextDiff": _context_diff,
    "Message": _message,
    "StatusChanged": _status,
    "Checkpoint": _checkpoint,
    "Progress": _progress,
}
"""Kinds that change the state. The others are lists of their own and leave it as it is."""


def step(fold: Fold, kind: str, record: Any, offset: int) -> Fold:
    """The state after one more record. `record` is what `Reading.skim` gives for its frame."""
    change = STEPS.get(kind)
    return fold if change is None else change(fold, record, offset)


def settled(fold: Fold) -> Fold:
    """The state as the engine ends its fold: a batch of another iteration, or whose turn has landed, is gone (4.2)."""
    if fold.pending is None:
        return fold
    meta = fold.skim_meta()
    gone = meta is None or meta.iteration != fold.pending.batch.iteration or landed(fold.pending.batch, fold.window)
    return replace(fold, pending=None) if gone else fold


def landed(batch: ToolBatch, window: WindowView | Window) -> bool:
    """Whether some turn of the window has a call with the id of the batch's first. An empty batch never landed."""
    if not batch.calls:
        return False
    first = batch.calls[0].id
    regions = window.regions if isinstance(window, Window) else tuple(view.region() for view in window.regions)
    entries = (entry for region in regions for entry in region.entries)
    return any(call.id == first for e in entries if isinstance(e.kind, AssistantTurn) for call in e.kind.tool_calls)


def begins(reading: Reading) -> bool:
    """Whether the records fold at all: the first one that reads has to be a `Header` (4.2)."""
    return bool(reading.kinds) and reading.kinds[0] == "Header"


def fold(reading: Reading, upto: int | None = None) -> Fold | None:
    """The engine's fold of a journal, or of its first `upto` readable records; None where nothing folds.

    Windows before the last whole one are not looked at, and metadata only where it counts: the same state for less.
    Depth: that of the reading.
    """
    if not begins(reading):
        return None
    stop = len(reading) if upto is None else upto
    if stop <= 0:
        return None
    return settled(_run(reading, stop))


_WHOLE = frozenset({"ContextCheckpoint", "Checkpoint"})
_WITH_META = frozenset({"Header", "Progress", "Checkpoint"})


def _run(reading: Reading, stop: int) -> Fold:
    kinds, frames = reading.kinds, reading.frames
    anchor, last_meta, last_batch = (_last(kinds, stop, those) for those in (_WHOLE, _WITH_META, {"ToolBatch"}))
    state = Fold(reading.rules)
    for place in range(stop):
        kind = kinds[place]
        if kind not in STEPS:
            continue
        if KINDS[kind].makes_point and place < anchor and (place < last_meta or kind not in _WITH_META):
            continue  # its window is replaced, and its metadata too
        if place < last_batch and kind in _BEFORE_A_BATCH:
            how = _BEFORE_A_BATCH[kind]
            state = state if how is None else how(state, reading.count_calls(frames[place]))
            continue
        if kind in _ONLY_COUNTED and place < stop - 1:
            state = _ONLY_COUNTED[kind](state)
            continue
        state = step(state, kind, reading.skim(frames[place], kind), reading.offset(frames[place]))
    return state


def _last(kinds: Sequence[str], stop: int, those: Set[str]) -> int:
    return next((place for place in range(stop - 1, -1, -1) if kinds[place] in those), 0)


def _count_calls(state: Fold, calls: int) -> Fold:
    return replace(state, tool_calls=state.tool_calls + calls)


_BEFORE_A_BATCH: dict[str, Callable[[Fold, int], Fold] | None] = {"ToolBatch": _count_calls, "ToolCallDone": None}
"""What is left to do for a record of an earlier batch: a later one takes its place whatever became of it."""

_ONLY_COUNTED: dict[str, Callable[[Fold], Fold]] = {
    "Inference": lambda state: replace(state, inferences=state.inferences + 1),
    "InferenceUsage": lambda state: replace(state, inferences=state.inferences + 1, usages=state.usages + 1),
    "Message": lambda state: replace(state, messages=state.messages + 1),
}
"""Records that are counted and not looked into: `STEPS` without their time, which only the last record's counts."""


class Point(msgspec.Struct, frozen=True):
    """A moment that the journal can rebuild (4.3)."""

    index: int
    place: int
    """Which of the readable records it is."""
    offset: int
    at: int
    kind: str
    meta: msgspec.Raw
    status: Status | None
    window: WindowView
    changed: tuple[str, ...] | None
    """Names of the regions that its record speaks of; None for a whole window."""

    def skim_meta(self) -> MetaSkim:
        """Position and totals as the point carries them."""
        meta = skim_meta(self.meta)
        return meta if self.status is None else structs.replace(meta, status=self.status)

    def read_meta(self) -> RunMeta:
        """The metadata as the point carries it, whole."""
        meta = read_meta(self.meta)
        return meta if self.status is None else structs.replace(meta, status=self.status)


def walk_points(reading: Reading, skim: Callable[[int], Any] | None = None) -> Iterator[Point]:
    """The points of a journal as the engine streams them; none unless its very first frame is a `Header`.

    `skim` gives the skim of the n-th readable record, from somebody who has it already. Depth: that of the reading.
    """
    if not begins(reading) or reading.frames[0] != 0:
        return
    state, index = Fold(reading.rules), 0
    for place, (frame, kind) in enumerate(reading):
        makes_point = KINDS[kind].makes_point
        if not makes_point and kind not in ("Header", "StatusChanged"):
            continue
        record = reading.skim(frame, kind) if skim is None else skim(place)
        state = step(state, kind, record, reading.offset(frame))
        if makes_point:
            delta = getattr(record, "delta", None)
            changed = None if delta is None else tuple(name for _, name in touched(delta))
            assert state.meta is not None and state.at is not None  # a Header came first
            yield Point(
                index, place, reading.offset(frame), state.at, kind, state.meta, state.status, state.window, changed
            )
            index += 1
