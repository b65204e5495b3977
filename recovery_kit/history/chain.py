"""The chain of window names that the engine's own changes form, held against the windows themselves (0.5-to-0.6 N5.8, N7).

Nothing is called broken that the engine's own writer does: a gap at a restart or at a change of stage is lawful.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from .events import Event
from .fold import Point
from .lives import Life, life_at
from .windows import RegionView, WindowView, digest_name, feed, window_revision

Explanation = Literal["resume", "stage_transition", "produced_part"]
Order = Callable[[Point], Sequence[str] | None]
"""The layout order of a point's regions by name, or None where it cannot be known (leviath-requests R3)."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A change that does not begin where the last one ended."""

    offset: int
    explained_by: Explanation | None


@dataclass(frozen=True, slots=True)
class NamedPoint:
    """A point and the revision of its window as the kit computes it."""

    index: int
    offset: int
    revision: str | None
    """None where the order of its regions in memory is not known."""


@dataclass(frozen=True, slots=True)
class Chain:
    transactions: int
    gaps: tuple[Gap, ...]
    unnamed_points: tuple[NamedPoint, ...]
    intact: bool | None
    """None where no change was recorded: nothing to hold the windows against."""


class Revisions:
    """Computes revisions of windows. A region that stays the same is hashed once, and one that grew by what it got."""

    def __init__(self) -> None:
        self._digests: dict[int, tuple[RegionView, hashlib._Hash, str]] = {}

    def region(self, view: RegionView) -> str:
        """`rg1-…` of a region."""
        known = self._digests.get(id(view))
        return known[2] if known is not None and known[0] is view else self._hashed(view)

    def _hashed(self, view: RegionView) -> str:
        waiting, digest = [view], hashlib.sha256()
        while (before := waiting[-1].before) is not None:
            known = self._digests.get(id(before))
            if known is not None and known[0] is before:
                digest = known[1].copy()
                break
            waiting.append(before)
        for piece in reversed(waiting):
            feed(digest, piece.json)
        name = digest_name(digest)
        self._digests[id(view)] = (view, digest, name)
        return name

    def window(self, view: WindowView, order: Sequence[str] | None = None) -> str:
        """`cw1-…` of a window, its regions in layout order."""
        regions = ordered(view.regions, order)
        rows = ((r.name, r.kind, r.current_tokens, r.max_tokens, self.region(r)) for r in regions)
        return window_revision(view.total_tokens, view.max_tokens, rows)


def ordered(regions: Sequence[RegionView], order: Sequence[str] | None) -> Sequence[RegionView]:
    """Regions in layout order; those the layout does not name come after, as they are."""
    if order is None:
        return regions
    rank = {name: place for place, name in enumerate(order)}
    return sorted(regions, key=lambda region: rank.get(region.name, len(rank)))


def name_points(points: Sequence[Point], order: Order, revisions: Revisions) -> tuple[NamedPoint, ...]:
    """The revision of each point, where it can be computed."""
    whole = False
    named = []
    names: tuple[str, ...] = ()
    for point in points:
        now = tuple(region.name for region in point.window.regions)
        # The order of a checkpoint is that of memory; it stays so while no region comes or goes.
        whole = True if point.changed is None else whole and now == names
        names = now
        layout = order(point)
        known = layout is not None or whole
        named.append(NamedPoint(point.index, point.offset, revisions.window(point.window, layout) if known else None))
    return tuple(named)


def chain(events: Sequence[Event], points: Sequence[NamedPoint], all_lives: Sequence[Life]) -> Chain:
    """The changes' chain, its gaps, and the points whose window no change names. Of what the engine reads only.

    A life that recorded no change (an older engine, a copy written by hand) names no window, so its points are not held
    against anything.
    """
    changes = [e for e in events if e.kind == "ContextTransaction" and not e.behind_tear]
    gaps = tuple(
        Gap(now.offset, _explain(events, before, now))
        for before, now in zip(changes, changes[1:], strict=False)
        if now.record.revision_before != before.record.revision_after
    )
    names = {name for e in changes for name in (e.record.revision_before, e.record.revision_after)}
    naming = {life_at(all_lives, e.place).index for e in changes}
    place = {e.offset: e.place for e in events}
    unnamed = tuple(
        p
        for p in points
        if p.revision is not None and p.revision not in names and life_at(all_lives, place[p.offset]).index in naming
    )
    intact = not unnamed and all(gap.explained_by for gap in gaps) if changes else None
    return Chain(len(changes), gaps, unnamed, intact)


def _explain(events: Sequence[Event], before: Event, now: Event) -> Explanation | None:
    if now.record.cause == "resume":
        return "resume"
    if before.record.cause == "produced_part":  # the engine drops such a part again when the turn has calls to run
        return "produced_part"
    return "stage_transition" if _entered_a_stage(events, before, now) else None


def _entered_a_stage(events: Sequence[Event], before: Event, now: Event) -> bool:
    """Whether the run entered a stage since its last turn: what an edge does to the window has no record of its own.

    The metadata that tells of it may stand on either side of the change, so all from the turn before to the next
    metadata after are looked at.
    """
    turn = next((e.place for e in reversed(events[: before.place]) if _is_turn(e)), 0)
    start = next((e.place for e in reversed(events[: turn + 1]) if e.meta is not None), 0)
    stop = next((e.place for e in events[now.place :] if e.meta is not None), len(events) - 1)
    metas = (e.meta for e in events[start : stop + 1] if e.meta is not None)
    return len({(meta.stage_index, meta.current_stage) for meta in metas}) > 1


def _is_turn(event: Event) -> bool:
    return event.kind == "ToolBatch" or (event.kind == "ContextTransaction" and event.record.cause == "model_reply")
