"""Regions at points: their sizes, without decoding what is in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from .fold import Point
from .windows import RegionView

_pieces = msgspec.json.Decoder(list[msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class RegionAt:
    """A region in the window of a point."""

    point: Point
    view: RegionView
    entries: int
    changed: bool
    """Whether the point's record speaks of it; a whole window speaks of every region."""


def regions_at(points: Sequence[Point]) -> Iterator[RegionAt]:
    """Every region of every point, in the order of its window. A region that stays the same is counted once."""
    counts: dict[int, tuple[RegionView, int]] = {}
    for point in points:
        changed = None if point.changed is None else set(point.changed)
        for view in point.window.regions:
            yield RegionAt(point, view, _count(view, counts), changed is None or view.name in changed)


def _count(view: RegionView, counts: dict[int, tuple[RegionView, int]]) -> int:
    total, waiting = 0, [view]
    while True:
        at = waiting[-1]
        known = counts.get(id(at))
        if known is not None and known[0] is at:
            total = known[1]
            waiting.pop()
            break
        if at.before is None:
            break
        waiting.append(at.before)
    for at in reversed(waiting):
        total += len(_pieces(at.json))
        counts[id(at)] = (at, total)
    return total
