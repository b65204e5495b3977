"""The records of a journal as one list, those behind a tear after the others and marked.

Everything that is told of a run beside its fold (calls, prompts, trips, lives, the clock) is read off this list, so it
is decoded once. Windows stay the JSON they are.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from recovery_kit.formats.journal import Journal, Reading
from recovery_kit.formats.skim import MetaSkim, skim_meta
from recovery_kit.records.engines import engine

_META = frozenset({"Header", "Progress", "Checkpoint"})


class Event(msgspec.Struct, frozen=True):
    """A record that the newest reader takes, or one behind a tear."""

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
    framing = reading.journal.framing
    for place, (frame, kind) in enumerate(reading, first):
        record = reading.skim(frame, kind)
        at = record.identity.created_at if kind == "Header" else record.at
        meta = skim_meta(record.meta) if kind in _META else None
        yield Event(place, framing.offsets[frame], framing.lengths[frame], kind, record, at, meta, behind_tear)
