"""What is kept of a run among thousands: its row of `runs_df` and the sums that questions about many need.

A `Summary` is plain values, masked and small, so it can be sent between processes and kept in an index. Everything in
it is read off the run's story; nothing is folded here.
"""

import re
from collections import defaultdict
from typing import Any

import msgspec

from recovery_kit.display import Masker, storable
from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats import rundir
from recovery_kit.formats.framing import OTHER
from recovery_kit.frames.columns import add_cells
from recovery_kit.frames.runs_table import RUNS_BARE as TABLE
from recovery_kit.history.clock import BUCKETS
from recovery_kit.history.prompts import Prompt
from recovery_kit.history.story import Story
from recovery_kit.records.journal import InferenceUsage
from recovery_kit.runs.places import CountedSource, Place, run_at
from recovery_kit.runs.run import Run

NAMES = TABLE.names
TEXT_LIMIT = 2000
"""Characters of a task, an error or an answer that are kept for searching."""


class Spend(msgspec.Struct, frozen=True, array_like=True):
    """Bills of one run by stage and model, before any tear."""

    stage: str
    model: str
    """`provider/model`."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    priced_usd: float
    unpriced_calls: int


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """How a run failed, so that those that failed alike can be found."""

    stage: str | None
    tool: str | None
    """The last call that was handed out, if the stage is still that of the failure."""
    text: str
    """The error without what differs from run to run: numbers, ids, paths, quoted words."""


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """One run in short. Texts are masked."""

    source: str
    cells: list[Any]
    """Its row of `runs_df`, in the order of `NAMES`; empty where it could not be read."""
    seconds: list[int]
    """By bucket of the clock, in order; empty where no record tells."""
    spend: list[Spend]
    failure: Failure | None
    asked_at: int | None
    """Since when the open question waits for a person (Unix seconds); None where none does or none tells."""
    task: str | None
    error: str | None
    answer: str | None
    cost_exact: bool
    """Whether the row's cost is exact, the run's own word where no bill is on record."""
    journal: int
    """Bytes of the journal."""
    crc: int
    """CRC-32 of the journal, where an index keeps it: whether it is the same one, longer, is seen by it."""
    fetched: int
    """Bytes that were read for it."""
    trouble: str | None
    """Why it could not be read, in one sentence; then everything else is empty."""

    @property
    def row(self) -> dict[str, Any]:
        """Its cells by name."""
        return dict(zip(NAMES, self.cells, strict=False))


def summary_at(place: Place, *, verified: bool = False) -> Summary:
    """The summary of the run at a place. Never raises: a run that cannot be read is told of in `trouble`."""
    try:
        return counted_summary(run_at(place, verified=verified))
    except Exception as no:  # a run in ten thousand that cannot be taken must not stop the others
        return unreadable(place.source, no)


def counted_summary(run: Run) -> Summary:
    """The summary of a run that nobody has read so far, with the bytes that it took. Raises what reading raises.

    Where a look at the frames shows damage the run is judged whatever its depth: what lies behind a tear counts.
    """
    counted = CountedSource(run._source)
    run._source = counted
    framing = run.journal.framing
    if framing.torn_at is not None or OTHER in framing.kinds or 0 in framing.lengths:
        run._verified = True
    return summary_of(run, counted)


def unreadable(source: str, no: Exception) -> Summary:
    """The summary of a run that could not be read. Of an error only its kind is told: its text may be text of a run."""
    why = "it cannot be read" if isinstance(no, OSError | RecoveryKitError) else "the kit cannot take it"
    return untold(source, f"{why} ({type(no).__name__})")


def untold(source: str, trouble: str) -> Summary:
    """The summary of a run of which nothing but a trouble is known."""
    return Summary(source, [], [], [], None, None, None, None, None, False, 0, 0, 0, trouble)


def summary_of(run: Run, counted: CountedSource | None = None) -> Summary:
    """The summary of a run at its own depth. Raises what reading raises."""
    trouble = _not_given(run)
    if trouble is not None:
        return untold(run.source, trouble)
    cells: dict[str, list[Any]] = {name: [] for name in NAMES}
    add_cells(cells, TABLE, run)
    meta, mask = run.meta, run.masker
    seconds, spend, failure, asked_at = run.ask(lambda story: _sums(story, mask))
    if failure is not None:
        failure = Failure(_safe(failure.stage, mask), _safe(failure.tool, mask), normalised(mask(failure.text)))
    answer = run.files.raw(rundir.FINAL_OUTPUT) if rundir.FINAL_OUTPUT in run.files.facts else None
    return Summary(
        run.source, [cells[name][0] for name in NAMES], seconds, spend, failure, asked_at,
        _safe(meta.task if meta else None, mask), _safe(meta.error if meta else None, mask),
        _safe(None if answer is None else bytes(answer[: 8 * TEXT_LIMIT]).decode("utf-8", "replace"), mask),
        _exact(run), len(run.journal.data), 0, counted.fetched if counted else 0, None,
    )  # fmt: skip


def _exact(run: Run) -> bool:
    if any(not bill.behind_tear for bill in run.told.trips.bills):
        return run.told.cost.exact
    return bool(run.meta and run.meta.cost_is_exact)


def _safe(text: str | None, mask: Any) -> str | None:
    return storable(mask(text))[:TEXT_LIMIT] if text else None


def _not_given(run: Run) -> str | None:
    """Damage is told in the row; what nobody let us read is none of a run's business."""
    for name in (rundir.META, rundir.JOURNAL):
        why = run.files.trouble(name) if name in run.files.facts else None
        if why not in (None, "link_refused"):
            return f"{name} cannot be read ({why})"
    if rundir.META not in run.files.facts and rundir.JOURNAL not in run.files.facts:
        return "its files are no longer there"
    return None


def _sums(story: Story, mask: Masker) -> tuple[list[int], list[Spend], Failure | None, int | None]:
    account = story.time_account
    spent = account.seconds if account else None
    seconds = [spent[bucket] for bucket in BUCKETS] if spent else []
    return seconds, _spend(story, mask), _failure(story), _asked(story.prompts)


def _spend(story: Story, mask: Masker) -> list[Spend]:
    sums: dict[tuple[str, str], list[Any]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0.0, 0])
    for bill in story.trips.bills:
        r = bill.record
        if bill.behind_tear:
            continue
        row = sums[paid_by(r, mask)]
        more = (1, r.prompt_tokens, r.completion_tokens, r.cached_tokens, r.cache_write_tokens,
                r.cost_usd or 0.0, r.cost_usd is None)  # fmt: skip
        row[:] = [a + b for a, b in zip(row, more, strict=True)]
    return [Spend(stage, model, *row) for (stage, model), row in sorted(sums.items())]


def paid_by(bill: InferenceUsage, mask: Masker) -> tuple[str, str]:
    """Stage and model of a bill, masked."""
    return storable(mask(bill.stage)), storable(mask(f"{bill.provider}/{bill.model}"))


def _failure(story: Story) -> Failure | None:
    meta = story.best_meta
    if meta is None or meta.status != "error":
        return None
    last = story.calls[-1] if story.calls else None
    stage = meta.current_stage or None
    tool = last.name if last is not None and last.stage_index == meta.stage_index else None
    return Failure(stage, tool, meta.error or "")


def _asked(prompts: tuple[Prompt, ...]) -> int | None:
    times = [p.asked_at for p in prompts if p.settlement == "open" and p.asked_at is not None]
    return min(times) if times else None


# An error without what differs from run to run.

_DIFFERS = (
    (re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://\S+"), "URL"),
    (re.compile(r"(?<![\w/])(?:~|\.{1,2})?/[^\s:,;'\"()]+"), "PATH"),
    (re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b", re.I), "ID"),
    (re.compile(r"\b(?=[a-z_-]*[0-9])[0-9a-z][0-9a-z_-]{11,}\b", re.I), "ID"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b[0-9][0-9._]*(?=[a-zA-Z]{0,3}\b)", re.I), "N"),
    (re.compile(r"(['\"`])(?:(?!\1).){1,200}\1"), "WORD"),
    (re.compile(r"\s+"), " "),
)
ALIKE = 160
"""Characters by which errors are compared."""


def normalised(text: str) -> str:
    """An error text with numbers, ids, paths, addresses and quoted words replaced by what they are."""
    for what, by in _DIFFERS:
        text = what.sub(by, text)
    return storable(text.strip())[:ALIKE]
