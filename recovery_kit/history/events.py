"""The records of a journal as one list, those behind a tear after the others and marked.

Everything that is told of a run beside its fold (calls, prompts, trips, lives, the clock) is read off this list, so it
is decoded at most once. Windows stay the JSON they are.
"""

from collections.abc import Callable, Iterator
from typing import Any

from recovery_kit.formats.journal import Journal, Reading
from recovery_kit.formats.skim import MetaSkim, skim_meta
from recovery_kit.records.engines import engine

_META = frozenset({"Header", "Progress", "Checkpoint"})


class Event:
    """A record that the newest reader takes, or one behind a tear. What it says is decoded when somebody asks.

    At seen depth asking raises `formats.journal.Doubtful` for a record that does not read after all.
    """

    __slots__ = ("_frame", "_reading", "at", "behind_tear", "kind", "meta", "offset", "place", "record", "size")

    place: int
    """Order in the list."""
    offset: int
    """Of its length prefix in the file."""
    size: int
    """Bytes of the payload."""
    kind: str
    record: Any
    """The record; of kinds with a window or metadata only a skim."""
    at: int
    """Unix seconds. A `Header` counts as of the run's creation."""
    meta: MetaSkim | None
    """How the run stood by it, where it says."""
    behind_tear: bool
    _reading: Reading
    _frame: int

    def __init__(
        self, place: int, offset: int, size: int, kind: str, record: Any, at: int, meta: MetaSkim | None,
        behind_tear: bool,
    ) -> None:  # fmt: skip
        self.place, self.offset, self.size, self.kind = place, offset, size, kind
        self.record, self.at, self.meta, self.behind_tear = record, at, meta, behind_tear

    def __getattr__(self, name: str) -> Any:
        """Called for what is not known yet."""
        find = _FIND.get(name)
        if find is None:
            raise AttributeError(name)
        value = find(self)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"<Event {self.place}: {self.kind} at byte {self.offset}>"


_FIND: dict[str, Callable[[Event], Any]] = {
    "record": lambda event: event._reading.skim(event._frame, event.kind),
    "at": lambda event: event._reading.at(event._frame, event.kind),
    "meta": lambda event: skim_meta(event.record.meta),
}


def events(journal: Journal, *, verified: bool = True) -> tuple[Event, ...]:
    """All records, in file order; behind a tear only when `verified` (looking there needs each frame judged)."""
    rules = engine("kit")
    found = list(_events(journal.read(rules, verified=verified), False, 0))
    if verified and journal.salvage.frames:
        inside = {event.offset for event in found}
        more = _events(journal.behind.read(rules), True, len(found))
        found += [event for event in more if event.offset not in inside]
    return tuple(found)


def _events(reading: Reading, behind_tear: bool, first: int) -> Iterator[Event]:
    framing, new = reading.journal.framing, Event.__new__
    offsets, lengths = framing.offsets, framing.lengths
    for place, ((frame, kind), at) in enumerate(zip(reading, reading.times(), strict=True), first):
        event = new(Event)
        event._reading, event._frame = reading, frame
        event.place, event.offset, event.size, event.kind = place, offsets[frame], lengths[frame], kind
        event.behind_tear = behind_tear
        if at is not None:
            event.at = at
        if kind not in _META:
            event.meta = None
        yield event
