"""Every frame of a journal in the order of the file: read, stepped over, or behind a tear."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recovery_kit.formats.journal import Journal, Reading, Unread
from recovery_kit.records.journal import KINDS

from .events import Event


class Listed(NamedTuple):
    """A frame."""

    offset: int
    size: int
    """Bytes of the payload."""
    kind: str | None
    """As far as its first bytes name one."""
    at: int | None
    """Unix seconds, of a record that reads."""
    readable: bool
    makes_point: bool
    behind_tear: bool
    why: str | None
    """Why it cannot be read."""


def listing(journal: Journal, reading: Reading, events: Sequence[Event]) -> tuple[Listed, ...]:
    """Readable frames from the list of records, the others from what the reader stepped over."""
    makes_point = {name: kind.makes_point for name, kind in KINDS.items()}
    rows = [Listed(e.offset, e.size, e.kind, e.at, True, makes_point[e.kind], e.behind_tear, None) for e in events]
    unread = list(_unread(reading.unread, False))
    if reading.verified and journal.salvage.frames:
        held = {row.offset for row in rows} | {row.offset for row in unread}
        unread += [row for row in _unread(journal.behind.read().unread, True) if row.offset not in held]
    return tuple(sorted(rows + unread) if unread or any(e.behind_tear for e in events[-1:]) else rows)


def _unread(frames: Sequence[Unread], behind_tear: bool) -> Iterator[Listed]:
    return (Listed(f.offset, f.size, f.kind, None, False, False, behind_tear, f.why) for f in frames)
