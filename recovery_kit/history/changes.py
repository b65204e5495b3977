"""Attributed changes of the window, one row a region, with the place of each in the chain (0.5-to-0.6 N5.8)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from recovery_kit.records.journal import ContextChange, ContextTransaction, RegionCommit

from .chain import Chain, Explanation
from .events import Event

Link = Literal["follows", "first", "explained_gap", "gap"]


class Change(NamedTuple):
    """What one change did to one region."""

    offset: int
    at: int
    cause: str
    execution_id: str | None
    revision_before: str | None
    revision_after: str | None
    link: Link | None
    """Whether it begins where the change before it ended; None where there is no chain to be in."""
    explained_by: Explanation | None
    region: str | None
    """None for a change that names no region."""
    digest_before: str | None
    digest_after: str | None
    tokens_before: int | None
    tokens_after: int | None
    token_delta: int | None
    entries_before: int | None
    entries_after: int | None
    entries_added: int | None
    entries_left: int | None
    """Entries that went away."""
    behind_tear: bool


def changes(events: Sequence[Event], chain: Chain) -> Iterator[Change]:
    """Changes in file order. The chain is the one of the engine's reading: a change behind a tear is in none."""
    gaps = {gap.offset: gap.explained_by for gap in chain.gaps}
    first = True
    for event in events:
        if event.kind == "ContextTransaction":
            link = None if event.behind_tear else _link(event, first, gaps)
            first = first and event.behind_tear
            yield from _transaction(event, link, gaps.get(event.offset))
        elif event.kind == "ContextChange":
            yield _older(event)


def _link(event: Event, first: bool, gaps: Mapping[int, Explanation | None]) -> Link:
    if event.offset in gaps:
        return "explained_gap" if gaps[event.offset] else "gap"
    return "first" if first else "follows"


def _transaction(event: Event, link: Link | None, explained_by: Explanation | None) -> Iterator[Change]:
    record: ContextTransaction = event.record
    for commit in record.regions or (None,):
        yield Change(
            event.offset, event.at, record.cause, record.execution_id or None, record.revision_before,
            record.revision_after, link, explained_by, *_of_region(commit), event.behind_tear,
        )  # fmt: skip


_Text = str | None
_Number = int | None
_Region = tuple[_Text, _Text, _Text, _Number, _Number, _Number, _Number, _Number, _Number, _Number]


def _of_region(commit: RegionCommit | None) -> _Region:
    if commit is None:
        return (None,) * 10
    return (
        commit.region, commit.digest_before, commit.digest_after, commit.tokens_before, commit.tokens_after,
        commit.tokens_after - commit.tokens_before, commit.entries_before, commit.entries_after, commit.entries_added,
        commit.entries_left,
    )  # fmt: skip


def _older(event: Event) -> Change:
    record: ContextChange = event.record
    return Change(
        event.offset, event.at, record.cause, None, None, None, None, None, record.region, None, None, None, None,
        record.token_delta, None, None, record.entries_added, record.entries_removed, event.behind_tear,
    )  # fmt: skip
