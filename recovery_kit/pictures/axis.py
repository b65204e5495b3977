"""Where a record stands on a time axis: in the order of the file, with long silences made short and marked.

Records carry whole seconds and many share one, so the order of the file is what is certain; time stretches it. Belongs
here: places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import log2

from recovery_kit.history.events import Event

_MOST_GAPS = 6
_GAP_SHARE = 0.05
"""Of the width, for each marked silence."""
SHORTEST_GAP = 20
"""Seconds. Shorter silences are not marked."""


@dataclass(frozen=True)
class Gap:
    """A silence: no record between two neighbours."""

    left: float
    right: float
    """Shares of the width."""
    seconds: int


class Axis:
    """Maps records to shares of the width, 0 to 1."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.n = len(events)

    @cached_property
    def _silences(self) -> list[int]:
        """Seconds before each record but the first; a clock that went back counts as none."""
        at = [event.at for event in self.events]
        return [max(later - earlier, 0) for earlier, later in zip(at, at[1:], strict=False)]

    @cached_property
    def _marked(self) -> frozenset[int]:
        """Places of the records behind the longest silences."""
        longest = sorted(range(len(self._silences)), key=lambda i: (-self._silences[i], i))[:_MOST_GAPS]
        wall = sum(self._silences)
        return frozenset(i + 1 for i in longest if self._silences[i] >= max(SHORTEST_GAP, wall / 50))

    @cached_property
    def _edges(self) -> list[float]:
        """Left edge of each record's slot, and the right edge of the last."""
        steps = [0.0] + [log2(1 + min(s, SHORTEST_GAP)) for s in self._silences]
        plain = self.n + sum(step for place, step in enumerate(steps) if place not in self._marked)
        gap = plain * _GAP_SHARE / (1 - _GAP_SHARE * len(self._marked))
        before = [gap if place in self._marked else step for place, step in enumerate(steps)]
        ends = list(accumulate(1 + b for b in before))
        whole = ends[-1] if ends else 1.0
        self._waits = [b / whole for b in before]
        return [0.0, *(end / whole for end in ends)]

    def left(self, place: int) -> float:
        """Where a record's own slot begins, behind the silence before it."""
        return self._edges[place] + self._waits_of(place)

    def _waits_of(self, place: int) -> float:
        self._edges  # noqa: B018 - fills `_waits`
        return self._waits[place]

    def right(self, place: int) -> float:
        """Where a record's slot ends."""
        return self._edges[place + 1]

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """The marked silences, oldest first."""
        edges = self._edges
        return tuple(Gap(edges[p], edges[p] + self._waits_of(p), self._silences[p - 1]) for p in sorted(self._marked))
