"""Where the time of a run went and who owned it: `time_df`, `incarnations_df`, `stages_df`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from recovery_kit.history.clock import BUCKETS, Interval
from recovery_kit.history.incarnations import incarnations
from recovery_kit.history.places import StageNames
from recovery_kit.history.stays import Basis, Stay, stays
from recovery_kit.records.sidecars import StageRecord
from recovery_kit.runs.run import Run

from .columns import AnyRuns, Column, Table, build, words_of

if TYPE_CHECKING:
    import pandas as pd


def _intervals(run: Run) -> tuple[Interval, ...]:
    account = run.told.time_account
    return account.intervals if account else ()


TIME = Table(
    "time",
    "an interval of a run's life, in exactly one bucket",
    _intervals,
    (
        Column("point", "point", "evidence_offset", "the last point before the evidence"),
        Column("offset", "u64", "evidence_offset", "of the record that shows it; a gap where none does"),
        Column("start", "time", "start", "when it begins"),
        Column("stop", "time", "stop", "when it ends"),
        Column("bucket", "own_word", "bucket", "where the time went; of several the first in this order", BUCKETS),
        Column("seconds", "u64", "seconds", "whole seconds; per run they add up to the wall clock"),
    ),
)

INCARNATIONS = Table(
    "incarnations",
    "a life of the process that owned the run",
    lambda run: incarnations(run.told.events, run.told.lives),
    (
        Column("point", "point", "life.offset", "the last point before the record that names it"),
        Column("offset", "u64", "life.offset", "of the record that names it; a gap if it died before it wrote one"),
        Column("life", "u64", "life.index", "its index, from 0"),
        Column("world_id", "text", "life.world_id", "id of the process"),
        Column("machine_id", "text", "machine_id", "id of its machine"),
        Column("named_by", "own_word", "named_by", "kind of the record that names it", ("Header", "OwnershipChanged")),
        Column("began_at", "time", "life.began_at", "creation of the run, or the restart's first record"),
        Column("ended_at", "time", "life.ended_at", "its last record; that it lived no longer is not said"),
        Column("records", "u64", "records", "records that it wrote"),
        Column("resume_offset", "u64", "resume_offset", "of the `resume` change with which the restart begins"),
        Column("checkpoint_offset", "u64", "checkpoint_offset", "of the whole window that follows its name"),
        Column("stand_ins", "u64", lambda row: len(row.stand_ins), "results that it made up"),
        Column("stood_in_for", "text", lambda row: ", ".join(row.stand_ins), "ids of those calls"),
        Column("behind_tear", "flag", "life.behind_tear", "told by records that no reader of the engine sees"),
    ),
)


def _stays(run: Run) -> Iterator[Stay]:
    story = run.told
    return stays(story.files.stages, story.trips.bills, StageNames(story.events, story.files.stages))


STAGES = Table(
    "stages",
    "a stay in a stage",
    _stays,
    (
        Column("point", "point", "offset", "the last point before its first bill, where it is rebuilt"),
        Column("offset", "u64", "offset", "of its first bill, where it is rebuilt"),
        Column(
            "basis",
            "own_word",
            "basis",
            "what tells of it; bills tell only of the time from the first to the last",
            get_args(Basis),
        ),
        Column("stage", "text", "stage", "name of the stage"),
        Column("stage_index", "u64", "stage_index", "its number"),
        Column("visit", "u64", "visit", "which stay in this stage, from 0; a gap for sums over all"),
        Column("visit_id", "text", "visit_id", "its id"),
        Column(
            "status",
            "word",
            "status",
            "of the stage now, not of the stay",
            words_of(StageRecord.__annotations__["status"]),
        ),
        Column("entered_at", "time", "entered_at", "when it was entered"),
        Column("left_at", "time", "left_at", "when it was left"),
        Column("prompt_tokens", "u64", "prompt_tokens", "in it"),
        Column("completion_tokens", "u64", "completion_tokens", "in it"),
        Column("cached_tokens", "u64", "cached_tokens", "in it"),
        Column("cache_write_tokens", "u64", "cache_write_tokens", "in it"),
        Column("cost_usd", "usd", "cost_usd", "a gap if one bill has no figure"),
        Column("priced_usd", "usd", "priced_usd", "sum of the figures that are known"),
        Column("unpriced_calls", "u64", "unpriced_calls", "bills without a figure"),
        Column("cost_is_exact", "flag", "cost_is_exact", "whether every figure is the provider's own"),
    ),
)


def time_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row an interval; per run the seconds add up to the wall clock (docs/tables.md)."""
    return build(TIME, runs, text)


def incarnations_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a life of the process that owned the run, and what its restart put into the record (docs/tables.md)."""
    return build(INCARNATIONS, runs, text)


def stages_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a stay in a stage: of the ledger, or rebuilt from bills and marked so (docs/tables.md)."""
    return build(STAGES, runs, text)
