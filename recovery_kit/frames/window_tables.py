"""The journal's frames and the windows it can rebuild.

`records_df`, `points_df`, `regions_df`, `messages_df`, `changes_df`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, get_args

from recovery_kit.formats.skim import MetaSkim
from recovery_kit.history.chain import Explanation
from recovery_kit.history.changes import Link, changes
from recovery_kit.history.entries import ROLES, messages
from recovery_kit.history.fold import Point
from recovery_kit.history.listing import listing
from recovery_kit.history.regions import RegionAt, regions_at
from recovery_kit.records.journal import KINDS, ContextTransaction
from recovery_kit.records.meta import Status
from recovery_kit.records.window import EntryKind, Taint
from recovery_kit.runs.run import Run

from .columns import AnyRuns, Column, Table, build, words_of

if TYPE_CHECKING:
    import pandas as pd

RECORDS = Table(
    "records",
    "a frame of the journal",
    lambda run: listing(run.told.journal, run.told.reading(), run.told.events),
    (
        Column("point", "point", "offset", "the last point before it"),
        Column("offset", "u64", "offset", "of its length prefix in `run.lvr`"),
        Column("bytes", "u64", "size", "size of its payload"),
        Column("kind", "word", "kind", "the kind of record", tuple(KINDS)),
        Column("at", "time", "at", "its time; of a `Header` the run's creation"),
        Column("readable", "flag", "readable", "whether the newest engine reads it"),
        Column("makes_point", "flag", "makes_point", "whether it changes the window"),
        Column("behind_tear", "flag", "behind_tear", "no reader of the engine sees it"),
        Column("why", "text", "why", "why it does not read"),
    ),
)


class _PointRow(NamedTuple):
    point: Point
    meta: MetaSkim
    revision: str | None

    @property
    def changed(self) -> str | None:
        return None if self.point.changed is None else ", ".join(self.point.changed)


def _points(run: Run, revisions: bool) -> Iterator[_PointRow]:
    story = run.told
    names = [named.revision for named in story.named_points] if revisions else [None] * len(story.points)
    return (_PointRow(p, p.skim_meta(), name) for p, name in zip(story.points, names, strict=True))


_POINT_COLUMNS = (
    Column("point", "u64", "point.index", "its index: `run.at(point)`"),
    Column("offset", "u64", "point.offset", "of its record"),
    Column("at", "time", "point.at", "time of its record"),
    Column(
        "kind",
        "word",
        "point.kind",
        "the kind of record",
        tuple(name for name, kind in KINDS.items() if kind.makes_point),
    ),
    Column("status", "word", "meta.status", "how the run stood", words_of(Status)),
    Column("stage", "text", "point.window.stage_name", "the stage, by its window"),
    Column("stage_index", "u64", "meta.stage_index", "its number"),
    Column("iteration", "u64", "meta.iteration", "answered stage calls so far"),
    Column("prompt_tokens", "u64", "meta.prompt_tokens", "total so far"),
    Column("completion_tokens", "u64", "meta.completion_tokens", "total so far"),
    Column("cached_tokens", "u64", "meta.cached_tokens", "total so far"),
    Column("cache_write_tokens", "u64", "meta.cache_write_tokens", "total so far"),
    Column("tool_calls", "u64", "meta.tool_calls", "total so far"),
    Column("window_tokens", "u64", "point.window.total_tokens", "in the window"),
    Column("window_max_tokens", "u64", "point.window.max_tokens", "its budget"),
    Column("regions", "u64", lambda row: len(row.point.window.regions), "regions in the window"),
    Column("changed", "text", "changed", "regions that its record speaks of; a gap for a whole window"),
    Column(
        "revision",
        "text",
        "revision",
        "`cw1-…` of the window as the kit computes it; a gap where the order of regions is not known",
    ),
)

POINTS = Table("points", "a moment that the journal can rebuild", partial(_points, revisions=True), _POINT_COLUMNS)

REGION_KINDS = (
    "pinned",
    "temporary",
    "clearable",
    "sliding_window",
    "compacting",
    "compact_history",
    "hashmap",
    "custom",
    "checklist",
    "sliding",
    "history",
)


class _RegionRow(NamedTuple):
    at: RegionAt
    digest: str | None


def _regions(run: Run, digests: bool) -> Iterator[_RegionRow]:
    name = run.told.revisions.region
    return (_RegionRow(row, name(row.view) if digests else None) for row in regions_at(run.told.points))


_REGION_COLUMNS = (
    Column("point", "u64", "at.point.index", "the point"),
    Column("offset", "u64", "at.point.offset", "of its record"),
    Column("region", "text", "at.view.name", "name of the region"),
    Column("kind", "word", "at.view.kind", "how it is kept, as spelled by the engine that wrote it", REGION_KINDS),
    Column("entries", "u64", "at.entries", "entries in it"),
    Column("tokens", "u64", "at.view.current_tokens", "as the engine counted them"),
    Column("max_tokens", "u64", "at.view.max_tokens", "its budget"),
    Column("changed", "flag", "at.changed", "whether the point's record speaks of it"),
    Column("digest", "text", "digest", "`rg1-…` of its entries"),
)
REGIONS = Table("regions", "a region at a point", partial(_regions, digests=True), _REGION_COLUMNS)

MESSAGES = Table(
    "messages",
    "an entry of a window, for as long as it stood there",
    lambda run: messages(run.told.points, run.told.window),
    (
        Column("point", "u64", "standing.first_point", "the first point at which it stood in the window"),
        Column("offset", "u64", "standing.offset", "of the record that first shows it"),
        Column("last_point", "u64", "standing.last_point", "the last point at which it stood there"),
        Column("stands", "flag", "standing.stands", "whether it is in the window after the last record"),
        Column("region", "text", "standing.region", "its region"),
        Column("index", "u64", "standing.index", "its place in the region when it was seen last"),
        Column("kind", "word", "kind", "what it is", tuple(str(k.__struct_config__.tag) for k in get_args(EntryKind))),
        Column("role", "own_word", "role", "who speaks, where its kind says so", tuple(ROLES.values())),
        Column("key", "text", "entry.key", "its key"),
        Column("text", "long", "text", "how it reads", offset="standing.offset"),
        Column("parts", "u64", "parts", "parts of a content that is a list"),
        Column("tokens", "u64", "entry.tokens", "as the engine counted them"),
        Column("taint", "word", "entry.taint", "how confidential it is", get_args(Taint)),
        Column("call_id", "text", "call_id", "the call it answers"),
        Column("tool", "text", "tool", "the tool it comes from"),
        Column("calls", "u64", "n_calls", "calls that the turn asks for"),
        Column("is_error", "flag", "is_error", "as the bytes say; the text's beginning says more"),
    ),
)

CHANGES = Table(
    "changes",
    "a change of one region",
    lambda run: changes(run.told.events, run.told.chain),
    (
        Column("point", "point", "offset", "the last point before its record"),
        Column("offset", "u64", "offset", "of its record"),
        Column("at", "time", "at", "when"),
        Column("cause", "word", "cause", "what changed it", words_of(ContextTransaction.__annotations__["cause"])),
        Column("execution_id", "text", "execution_id", "the execution behind it"),
        Column("region", "text", "region", "the region; a gap for a change that names none"),
        Column("revision_before", "text", "revision_before", "`cw1-…` of the window before"),
        Column("revision_after", "text", "revision_after", "`cw1-…` of the window after"),
        Column("link", "own_word", "link", "whether it begins where the change before it ended", get_args(Link)),
        Column("explained_by", "own_word", "explained_by", "what makes a gap lawful", get_args(Explanation)),
        Column("digest_before", "text", "digest_before", "`rg1-…` of the region before"),
        Column("digest_after", "text", "digest_after", "`rg1-…` of the region after"),
        Column("tokens_before", "u64", "tokens_before", "of the region"),
        Column("tokens_after", "u64", "tokens_after", "of the region"),
        Column("token_delta", "i64", "token_delta", "after less before"),
        Column("entries_before", "u64", "entries_before", "of the region"),
        Column("entries_after", "u64", "entries_after", "of the region"),
        Column("entries_added", "u64", "entries_added", "put in"),
        Column("entries_left", "u64", "entries_left", "gone away"),
        Column("behind_tear", "flag", "behind_tear", "told by a record that no reader of the engine sees"),
    ),
)


def records_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a frame, those that do not read and those behind a tear included and marked (docs/tables.md)."""
    return build(RECORDS, runs, text)


def points_df(runs: AnyRuns, *, text: bool = False, revisions: bool = True) -> "pd.DataFrame":
    """A row a point (docs/tables.md). Without `revisions` no window is decoded and that column is empty."""
    return build(Table("points", POINTS.doc, partial(_points, revisions=revisions), _POINT_COLUMNS), runs, text)


def regions_df(runs: AnyRuns, *, text: bool = False, digests: bool = True) -> "pd.DataFrame":
    """A row a region of a point (docs/tables.md). Without `digests` no entry is decoded and that column is empty."""
    return build(Table("regions", REGIONS.doc, partial(_regions, digests=digests), _REGION_COLUMNS), runs, text)


def messages_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row an entry that ever stood in a window, with its first and last point (docs/tables.md)."""
    return build(MESSAGES, runs, text)


def changes_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a change of one region, with its place in the chain of windows (docs/tables.md)."""
    return build(CHANGES, runs, text)
