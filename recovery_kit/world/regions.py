"""Writing into the regions of a live window, as values: what a region takes, what it lets go for it, what it refuses.

A window goes in, a window comes out. Keyed writes and checklists are in `keyed`; which result goes where is in
`results`. Rules: leviath-run-directory 6, leviath-runtime T4, T5.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from recovery_kit.records.blueprint import RegionSpec
from recovery_kit.records.engines import Engine
from recovery_kit.records.window import AssistantTurn, Entry, Region, ToolResult, Window

from .blocks import kind_of

EVICTABLE = frozenset({"temporary", "clearable", "sliding_window", "compacting"})
"""Kinds that let their oldest groups go for a new entry, with `admission = "evict"`; all others refuse (T5.1)."""

Why = Literal["missing", "full", "rejected", "at_item_limit", "no_key"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a region did not take an entry. Numbers are tokens."""

    region: str
    why: Why
    held: int = 0
    wanted: int = 0
    ceiling: int = 0

    @property
    def free(self) -> int:
        return max(0, self.ceiling - self.held)

    def __str__(self) -> str:
        sentences = {
            "missing": f"there is no region {self.region}",
            "no_key": f"region {self.region} is a hashmap and takes nothing without a key",
            "at_item_limit": f"region {self.region} takes no more items and rejects what does not fit",
        }
        figures = f"region {self.region} is full: {self.held} + {self.wanted} > {self.ceiling} tokens"
        return sentences.get(self.why, figures)


@dataclass(frozen=True, slots=True)
class Written:
    """A window after a write, or as it was where the write was refused."""

    window: Window
    refusal: Refusal | None = None
    let_go: tuple[Entry, ...] = ()
    """Entries that left for it, oldest first."""
    marked: bool = False
    """A sliding window with strategy `compact` is past its mark: to be summarised when there is pressure."""

    @property
    def accepted(self) -> bool:
        return self.refusal is None


def region_of(window: Window, name: str) -> Region | None:
    """The first region of that name."""
    return next((region for region in window.regions if region.name == name), None)


def retotalled(window: Window) -> Window:
    """The window with its total brought up to date: the sum over all regions, hidden ones included (T4)."""
    return replace(window, total_tokens=sum(region.current_tokens for region in window.regions))


def holding(region: Region, entries: Sequence[Entry]) -> Region:
    """The region with these entries and the sum of their tokens."""
    return replace(region, entries=tuple(entries), current_tokens=sum(entry.tokens for entry in entries))


def placed(window: Window, region: Region) -> Window:
    """The window with the first region of that name replaced. Its total stays as it was."""
    place = next(n for n, old in enumerate(window.regions) if old.name == region.name)
    return replace(window, regions=(*window.regions[:place], region, *window.regions[place + 1 :]))


def groups(entries: Sequence[Entry]) -> Iterator[tuple[Entry, ...]]:
    """What leaves together: a turn with the results right behind it; any other entry alone (6)."""
    group: list[Entry] = []
    for entry in entries:
        joins = bool(group) and isinstance(entry.kind, ToolResult) and isinstance(group[0].kind, AssistantTurn)
        if group and not joins:
            yield tuple(group)
            group = []
        group.append(entry)
    if group:
        yield tuple(group)


def add(window: Window, name: str, entry: Entry, spec: RegionSpec | None, rules: Engine) -> Written:
    """Append an entry to any region but a hashmap (T5.1); never an error, a refusal is an answer.

    `spec` is the region's definition in force; without one the defaults of its kind hold. A custom region's script is
    not run: such a region takes what fits.
    """
    region = region_of(window, name)
    if region is None:
        return Written(window, Refusal(name, "missing", wanted=entry.tokens))
    spec = spec or RegionSpec(name, kind=kind_of(region))
    refusal = _unadmitted(region, entry, spec, rules)
    if refusal is not None:
        return Written(window, refusal)
    kept, let_go = _making_room(region, entry, spec, rules)
    if sum(old.tokens for old in kept) + entry.tokens > region.max_tokens:
        return Written(window, _refusal(region, entry, "full"))
    entries, gone, marked = _limited([*kept, entry], region, spec)
    after = retotalled(placed(window, holding(region, entries)))
    return Written(after, None, (*let_go, *gone), marked)


def rewrite(window: Window, name: str, entry: Entry, spec: RegionSpec | None, rules: Engine) -> Written:
    """Clear a region, then add: an entry too large for it leaves it **empty** (T5.1)."""
    region = region_of(window, name)
    if region is None:
        return Written(window, Refusal(name, "missing", wanted=entry.tokens))
    done = add(clear(window, (name,)), name, entry, spec, rules)
    return Written(done.window, done.refusal, (*region.entries, *done.let_go), done.marked)


def clear(window: Window, names: Collection[str]) -> Window:
    """The window with these regions emptied."""
    regions = tuple(holding(region, ()) if region.name in names else region for region in window.regions)
    return retotalled(replace(window, regions=regions))


def oldest_off(window: Window, name: str, count: int) -> Written:
    """Let the oldest entries go, at least `count` of them: whole groups leave (leviath-runtime T7.2)."""
    region = region_of(window, name)
    if region is None:
        return Written(window, Refusal(name, "missing"))
    kept, gone = _rolled_off(region.entries, most_items=max(0, len(region.entries) - count))
    return Written(retotalled(placed(window, holding(region, kept))), None, gone)


def _refusal(region: Region, entry: Entry, why: Why) -> Refusal:
    return Refusal(region.name, why, region.current_tokens, entry.tokens, region.max_tokens)


def _unadmitted(region: Region, entry: Entry, spec: RegionSpec, rules: Engine) -> Refusal | None:
    """What is refused before anything is moved."""
    kind = kind_of(region)
    if kind == "hashmap":
        return _refusal(region, entry, "no_key")
    if spec.admission == "reject" and rules.knows_admission:
        if region.current_tokens + entry.tokens > region.max_tokens:
            return _refusal(region, entry, "rejected")
        if kind == "sliding_window" and len(region.entries) >= spec.max_items:
            return _refusal(region, entry, "at_item_limit")
    return None


def _making_room(
    region: Region, entry: Entry, spec: RegionSpec, rules: Engine
) -> tuple[Sequence[Entry], tuple[Entry, ...]]:
    """What stays for a new entry, and what goes; nothing goes where it would not help."""
    may = rules.evicts_to_make_room and spec.admission == "evict" and kind_of(region) in EVICTABLE
    if not may or entry.tokens > region.max_tokens:
        return region.entries, ()
    return _rolled_off(region.entries, most_tokens=region.max_tokens - entry.tokens)


def _rolled_off(
    entries: Sequence[Entry], most_tokens: int | None = None, most_items: int | None = None
) -> tuple[Sequence[Entry], tuple[Entry, ...]]:
    """Oldest groups off, until what is left has no more than so many tokens or items."""
    tokens, gone = sum(entry.tokens for entry in entries), 0
    for group in groups(entries):
        too_large = most_tokens is not None and tokens > most_tokens
        if not too_large and (most_items is None or len(entries) - gone <= most_items):
            break
        gone += len(group)
        tokens -= sum(entry.tokens for entry in group)
    return entries[gone:], tuple(entries[:gone])


def _limited(
    entries: Sequence[Entry], region: Region, spec: RegionSpec
) -> tuple[Sequence[Entry], tuple[Entry, ...], bool]:
    """A sliding window held to its number of items after a write; and whether it is marked (6)."""
    if kind_of(region) != "sliding_window":
        return entries, (), False
    limit, marked = spec.max_items, False
    if spec.strategy == "bulk":
        limit += spec.overflow
    elif spec.strategy == "compact":
        marked = len(entries) > limit + spec.compact_count
        limit += 2 * spec.compact_count
    if len(entries) <= limit:
        return entries, (), marked
    kept, gone = _rolled_off(entries, most_items=spec.max_items)
    return kept, gone, False
