"""`scan`: one look over many runs, spread over whatever does the work; the same tables whoever did it.

Belongs here: putting summaries together in the order of their places, and the findings about those that failed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from recovery_kit.frames.columns import Column, Table, frame_of
from recovery_kit.frames.runs_table import RUNS_BARE, SEVERITIES
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.places import AnySource, Unlisted, list_places
from recovery_kit.runs.run import Run

from .batches import BATCH_BYTES, Batch, Executor, Told, batches, done, read_batch
from .cluster import as_dask
from .summary import NAMES, Summary, summary_of, unreadable

if TYPE_CHECKING:
    import pandas as pd

FLEET_FINDINGS = Table(
    "fleet_findings",
    "a run or a folder that could not be read",
    lambda run: (),
    (
        Column("kind", "text", "kind", "`run_unreadable` or `folder_unreadable`"),
        Column("severity", "own_word", "severity", "how grave it is", SEVERITIES),
        Column("sentence", "text", "sentence", "why, in one sentence"),
    ),
)


@dataclass(frozen=True)
class Scan:
    """What one look over many runs found, in the order of their paths."""

    label: str
    summaries: tuple[Summary, ...] = field(repr=False)
    unlisted: tuple[Unlisted, ...] = ()

    def __len__(self) -> int:
        return len(self.summaries)

    @property
    def fetched(self) -> int:
        """Bytes that were read for it."""
        return sum(summary.fetched for summary in self.summaries)

    @cached_property
    def runs_df(self) -> "pd.DataFrame":
        """`runs_df` of all runs that could be read, without findings."""
        return table_of(self.summaries)

    @cached_property
    def findings_df(self) -> "pd.DataFrame":
        """A row for each run and folder that could not be read."""
        return troubles_of(self.summaries, self.unlisted)


def scan(
    source: AnySource | Runs,
    executor: Executor = None,
    *,
    verified: bool = False,
    batch_bytes: int = BATCH_BYTES,
    timeout: float | None = None,
    progress: Told | None = None,
) -> Scan:
    """Look at every run of a folder, an archive, a URL, or a list of those.

    `executor`: `"serial"`, `"processes"`, a dask `Client`, or None for the first two by size. `verified`: whether each
    frame is judged (`open_runs`). `batch_bytes`: bytes of a task. `timeout`: seconds after which other processes that
    give nothing are left. `progress` is called with runs done and runs in all. A run that cannot be read is a row of
    `findings_df` and stops nothing. Raises NotARun where there is nothing, MissingExtra, ValueError.
    """
    runs = _handed_in(source)
    if runs is not None:
        return Scan(runs.label, tuple(_each(runs, progress)))
    assert not isinstance(source, Mapping)
    listing = list_places(source)
    work = batches(listing.places, batch_bytes)
    found: dict[str, Summary] = {}
    for batch in done(work, executor, verified=verified, timeout=timeout):
        found.update((read.summary.source, read.summary) for read in batch)
        if progress:
            progress(len(found), len(listing.places))
    return Scan(listing.label, tuple(found[place.source] for place in listing.places), listing.unlisted)


def scan_distributed(source: AnySource, *, verified: bool = False, batch_bytes: int = BATCH_BYTES) -> Any:
    """`runs_df` of all runs as a `dask.dataframe`, a partition a batch, which stays where it is made:
    `.to_parquet(…)` writes it from the workers. Raises NotARun, MissingExtra."""
    work = batches(list_places(source).places, batch_bytes)
    return as_dask(scan_batch, work, table_of(()), verified)


def scan_batch(batch: Batch, verified: bool = False) -> "pd.DataFrame":
    """The table of one batch of places: what to hand to an engine that the kit does not know.

    Runs that cannot be read are left out; `scan` tells of them. Never raises for a run.
    """
    return table_of(read.summary for read in read_batch(batch, verified))


def scan_batches(source: AnySource, batch_bytes: int = BATCH_BYTES) -> list[Batch]:
    """The batches of a source, plain values that can be sent anywhere. Raises NotARun."""
    return batches(list_places(source).places, batch_bytes)


def _handed_in(source: AnySource | Runs) -> Runs | None:
    """Runs that are at hand already, or bytes that have no place: they are read here, one by one."""
    if isinstance(source, Runs):
        return source
    if isinstance(source, Mapping):
        return open_runs(cast(Mapping[str, bytes], source))
    return None


def _each(runs: Runs, progress: Told | None) -> Iterable[Summary]:
    for number, run in enumerate(sorted(runs.agent_runs, key=lambda run: run.source), 1):
        yield summary_or_trouble(run)
        if progress:
            progress(number, len(runs.agent_runs))


def summary_or_trouble(run: Run) -> Summary:
    """The summary of a run at hand. Never raises for a run."""
    try:
        return summary_of(run)
    except Exception as flaw:
        return unreadable(run.source, flaw)


def table_of(summaries: Iterable[Summary]) -> "pd.DataFrame":
    """`runs_df` of summaries, those without a row left out."""
    rows = [summary.cells for summary in summaries if summary.trouble is None]
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else ([] for _ in NAMES)
    return frame_of(RUNS_BARE, {name: list(cells) for name, cells in zip(NAMES, columns, strict=True)})


def told_troubles(summaries: Iterable[Summary], unlisted: Iterable[Unlisted]) -> list[tuple[str, str, str]]:
    """(path, kind, sentence) of each run and folder that could not be read."""
    rows = [(s.source, "run_unreadable", s.trouble) for s in summaries if s.trouble is not None]
    return rows + [(u.source, "folder_unreadable", f"it cannot be listed ({u.why})") for u in unlisted]


def troubles_of(summaries: Iterable[Summary], unlisted: Iterable[Unlisted]) -> "pd.DataFrame":
    """The table of what could not be read."""
    rows = told_troubles(summaries, unlisted)
    return frame_of(
        FLEET_FINDINGS,
        {
            "run_id": [source.rsplit("/", 1)[-1] for source, _, _ in rows],
            "source": [source for source, _, _ in rows],
            "kind": [kind for _, kind, _ in rows],
            "severity": ["error"] * len(rows),
            "sentence": [sentence for _, _, sentence in rows],
        },
    )
