"""Where a record stands among the points, and what the stage of a number or a visit is called."""

from bisect import bisect_left
from collections.abc import Sequence

from recovery_kit.formats.journal import Reading
from recovery_kit.records.journal import KINDS
from recovery_kit.records.sidecars import StageRecord

from .events import Event
from .fold import begins


def point_offsets(reading: Reading) -> tuple[int, ...]:
    """Offsets of the points' records, in order, without building their windows: those of `walk_points`."""
    if not begins(reading) or reading.frames[0] != 0:
        return ()
    return tuple(reading.offset(frame) for frame, kind in reading if KINDS[kind].makes_point)


def n_points(reading: Reading) -> int:
    """How many points the journal has, without building any."""
    if not begins(reading) or reading.frames[0] != 0:
        return 0
    return sum(reading.kinds.count(name) for name, kind in KINDS.items() if kind.makes_point)


def point_before(offset: int | None, offsets: Sequence[int]) -> int | None:
    """Index of the last point before a record; None before the first one and for what has no record."""
    if offset is None:
        return None
    index = bisect_left(offsets, offset) - 1
    return index if index >= 0 else None


class StageNames:
    """Names of stages: by visit where the ledger holds it, else by number as metadata and ledger tell it."""

    def __init__(self, events: Sequence[Event], ledger: Sequence[StageRecord]) -> None:
        self._by_index = {e.meta.stage_index: e.meta.current_stage for e in events if e.meta and e.meta.current_stage}
        self._by_index |= {stage.index: stage.name for stage in ledger}
        self._by_visit = {visit.id: stage.name for stage in ledger for visit in stage.visits if visit.id}

    def name(self, stage_index: int, visit_id: str | None = None) -> str | None:
        """The name, or None where no file tells it."""
        return self._by_visit.get(visit_id or "") or self._by_index.get(stage_index)

    def index(self, name: str) -> int | None:
        """The number of a stage; None where no file tells it, or several stages have the name."""
        found = [index for index, known in self._by_index.items() if known == name]
        return found[0] if len(found) == 1 else None
