"""Entries of windows through time: when each came into the window, and when it stood there last.

An entry has no id. Within a region it goes on while an entry of the same bytes stands in the next window; one that
comes back after it was gone is a new one.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from recovery_kit.records.window import AssistantTurn, Entry, ToolResult, UserMessage, Window

from .fold import Point
from .windows import RegionView, text_of

_pieces = msgspec.json.Decoder(list[msgspec.Raw]).decode
_entry = msgspec.json.Decoder(Entry).decode

ROLES: dict[type, str] = {UserMessage: "user", AssistantTurn: "assistant", ToolResult: "tool"}
"""Who speaks, where the kind of the entry says so. A plain text is sent as its region asks for."""


@dataclass(slots=True)
class Standing:
    """An entry and the points at which it stood in its region."""

    region: str
    index: int
    """Its place in the region when it was seen last."""
    raw: msgspec.Raw
    first_point: int | None
    last_point: int | None
    """The last point of the run if it stands in the window now."""
    offset: int | None
    """Of the record that first shows it."""
    stands: bool = True
    """Whether it is in the window after the last record."""

    def message(self) -> "Message":
        return Message(self, _entry(self.raw))


@dataclass(frozen=True)
class Message:
    """An entry of a window, decoded."""

    standing: Standing
    entry: Entry

    @cached_property
    def text(self) -> str:
        return text_of(self.entry.content)

    @property
    def kind(self) -> str:
        return str(type(self.entry.kind).__struct_config__.tag)

    @property
    def role(self) -> str | None:
        return ROLES.get(type(self.entry.kind))

    @property
    def parts(self) -> int | None:
        """Parts of a content that is a list; None for plain text."""
        return None if isinstance(self.entry.content, str) else len(self.entry.content)

    @property
    def call_id(self) -> str | None:
        """Of the call that it answers."""
        return self.entry.kind.tool_call_id if isinstance(self.entry.kind, ToolResult) else None

    @property
    def tool(self) -> str | None:
        return self.entry.kind.tool_name if isinstance(self.entry.kind, ToolResult) else None

    @property
    def n_calls(self) -> int | None:
        """Calls that the turn asks for."""
        return len(self.entry.kind.tool_calls) if isinstance(self.entry.kind, AssistantTurn) else None

    @property
    def is_error(self) -> bool | None:
        return self.entry.kind.is_error if isinstance(self.entry.kind, ToolResult) else None


def messages(points: Sequence[Point], window: Window | None) -> Iterator[Message]:
    """Every entry that ever stood in a window of the journal, by its first point; without points those of `window`."""
    if points:
        yield from (standing.message() for standing in standings(points))
        return
    for region in window.regions if window else ():
        for index, entry in enumerate(region.entries):
            yield Message(Standing(region.name, index, msgspec.Raw(b""), None, None, None), entry)


_Place = tuple[str, int]
"""Name of a region, and which of those with that name."""


def standings(points: Sequence[Point]) -> list[Standing]:
    """Entries by the point at which they came. Only what a point's record speaks of is looked at."""
    found: list[Standing] = []
    held: dict[_Place, tuple[RegionView, list[Standing]]] = {}
    for point in points:
        now: dict[_Place, tuple[RegionView, list[Standing]]] = {}
        counts: dict[str, int] = defaultdict(int)
        for view in point.window.regions:
            place = (view.name, counts[view.name])
            counts[view.name] += 1
            old = held.get(place)
            now[place] = old if old is not None and old[0] is view else (view, _follow(view, old, point, found))
        for place, (_, rows) in held.items():
            kept = {id(row) for row in now[place][1]} if place in now else set()
            if place not in now or now[place][1] is not rows:
                for row in rows:
                    if id(row) not in kept:
                        row.last_point, row.stands = point.index - 1, False
        held = now
    for _, rows in held.values():
        for row in rows:
            row.last_point = points[-1].index
    return found


def _follow(
    view: RegionView, old: tuple[RegionView, list[Standing]] | None, point: Point, found: list[Standing]
) -> list[Standing]:
    """The entries of a region that changed: those that were there go on, the others are new."""
    if old is not None and view.before is old[0]:
        new = _new(view.name, len(old[1]), _pieces(view.json), point)
        found += new
        old[1].extend(new)
        return old[1]
    alive: dict[bytes, deque[Standing]] = defaultdict(deque)
    for row in old[1] if old else ():
        alive[bytes(row.raw)].append(row)
    rows: list[Standing] = []
    for index, raw in enumerate(_all_pieces(view)):
        same = alive.get(bytes(raw))
        if same:
            row = same.popleft()
            row.index = index
        else:
            (row,) = _new(view.name, index, [raw], point)
            found.append(row)
        rows.append(row)
    return rows


def _new(region: str, start: int, raws: Sequence[msgspec.Raw], point: Point) -> list[Standing]:
    return [Standing(region, n, raw, point.index, None, point.offset) for n, raw in enumerate(raws, start)]


def _all_pieces(view: RegionView) -> list[msgspec.Raw]:
    pieces, at = [], view
    while at is not None:
        pieces.append(_pieces(at.json))
        at = at.before  # type: ignore[assignment]
    return [raw for piece in reversed(pieces) for raw in piece]
