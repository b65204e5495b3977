"""From two windows to the delta between them, and from two windows to the name of a change (leviath-run-directory 3.4;
0.5-to-0.6 N5.8, N7). Pure functions of decoded windows; nothing here knows who changed what.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from recovery_kit.history.windows import region_digest, window_revision
from recovery_kit.records.journal import Cause, ContextTransaction, RegionCommit
from recovery_kit.records.window import Append, Delta, Entry, Region, RegionName, RegionOp, Window


def delta_between(old: Window, new: Window) -> Delta | None:
    """The smallest delta that makes a reader's `old` into `new`, by the writer's rules of 3.4.

    Region by region it is exact, so it differs from the engine's where that one loses something: a region that is
    emptied and changed otherwise is set, not cleared; a changed description or reasoning counts as a change. What no
    delta can say is the order: readers put a region they do not know yet behind all others (4.1). None where `new` has
    two regions of one name: a whole window has to be written.
    """
    names = [region.name for region in new.regions]
    if len(set(names)) < len(names):
        return None
    times = Counter(region.name for region in old.regions)
    known = {region.name: region for region in old.regions if times[region.name] == 1}
    doubled = [name for name, count in times.items() if count > 1 and name in names]
    ops = [RegionOp(remove=RegionName(name)) for name in doubled]
    ops += [op for region in new.regions for op in _change(known.get(region.name), region)]
    ops += [RegionOp(remove=RegionName(name)) for name in times if name not in names]
    return Delta(new.stage_name, new.total_tokens, new.max_tokens, tuple(ops))


def _change(old: Region | None, new: Region) -> Iterator[RegionOp]:
    """What happened to one region: nothing, or one change."""
    if old == new:
        return
    if old is None or (old.kind, old.max_tokens, old.description) != (new.kind, new.max_tokens, new.description):
        yield RegionOp(set=new)
    elif not new.entries and old.entries and new.current_tokens == 0:
        yield RegionOp(clear=RegionName(new.name))
    elif new.entries[: len(old.entries)] == old.entries:
        yield RegionOp(append=Append(new.name, new.entries[len(old.entries) :], new.current_tokens))
    else:
        yield RegionOp(set=new)


class Names:
    """Revisions of windows and digests of regions; a region object that stays the same is hashed once."""

    def __init__(self) -> None:
        self._digests: dict[int, tuple[Region, str]] = {}

    def region(self, region: Region) -> str:
        """`rg1-…` of a region's entries."""
        known = self._digests.get(id(region))
        if known is None or known[0] is not region:
            known = self._digests[id(region)] = (region, region_digest(region.entries))
        return known[1]

    def window(self, window: Window) -> str:
        """`cw1-…` of a window whose regions are in layout order."""
        rows = [(r.name, r.kind, r.current_tokens, r.max_tokens, self.region(r)) for r in window.regions]
        held = {id(region) for region in window.regions}
        self._digests = {key: value for key, value in self._digests.items() if key in held}
        return window_revision(window.total_tokens, window.max_tokens, rows)


def transaction(
    before: Window,
    after: Window,
    cause: Cause,
    at: int,
    *,
    execution_id: str = "",
    added: Mapping[str, int] | None = None,
    names: Names | None = None,
) -> ContextTransaction | None:
    """The record of an attributed change; None where the window is named as it was, which is never written (N5.8).

    `execution_id` only for a change that an inline call made itself. `added` tells how many entries came to a region,
    by name, where that cannot be read off the two windows (entries of the middle left in the same change).
    """
    names = names or Names()
    olds = {region.name: region for region in before.regions}
    digests = {name: names.region(region) for name, region in olds.items()}
    first = names.window(before)
    last = names.window(after)
    if first == last:
        return None
    commits = []
    for region in (*after.regions, *(Region(r.name, r.kind, 0, r.max_tokens) for r in _lost(before, after))):
        old = olds.get(region.name) or Region(region.name, region.kind, 0, region.max_tokens)
        was, now = digests.get(region.name) or region_digest(()), names.region(region)
        if (was, old.current_tokens) != (now, region.current_tokens):
            more = (added or {}).get(region.name, _added(old.entries, region.entries))
            commits.append(
                RegionCommit(
                    region.name, was, now, old.current_tokens, region.current_tokens, len(old.entries),
                    len(region.entries), more,
                )
            )  # fmt: skip
    return ContextTransaction(
        revision_before=first, revision_after=last, cause=cause, regions=tuple(commits), execution_id=execution_id,
        at=at,
    )  # fmt: skip


def _lost(before: Window, after: Window) -> list[Region]:
    left = {region.name for region in after.regions}
    return [region for region in before.regions if region.name not in left]


def _added(old: Sequence[Entry], new: Sequence[Entry]) -> int:
    """Entries behind the longest stretch of the old ones' end with which the new ones begin: the oldest leave first."""
    for kept in range(min(len(old), len(new)), -1, -1):
        if tuple(old[len(old) - kept :]) == tuple(new[:kept]):
            return len(new) - kept
    return len(new)
