"""`runs_df`: a row a run."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from recovery_kit.formats.skim import MetaSkim
from recovery_kit.history.trips import Cost, Tokens, usage_totals
from recovery_kit.history.waits import Wait, is_terminal, wait_of
from recovery_kit.records.findings import Finding
from recovery_kit.records.meta import Blocker, RunMeta, Status, WaitingOn
from recovery_kit.records.sidecars import FanOut
from recovery_kit.runs.run import Run

from .columns import AnyRuns, Column, Table, behind, build, words_of

if TYPE_CHECKING:
    import pandas as pd

Findings = Callable[[Run], Iterable[Finding]]
"""Where the findings of a run come from."""

STATUS_SHARED: dict[str, str] = {
    "starting": "running",
    "running": "running",
    "waiting_input": "waiting",
    "paused": "paused",
    "complete": "completed",
    "complete_interactive": "completed",
    "error": "failed",
    "cancelled": "cancelled",
}
"""The word that all agent systems share, by the engine's own."""

SHARED = ("running", "waiting", "paused", "completed", "failed", "cancelled", "interrupted")
SEVERITIES = ("info", "warning", "error")
REASONS = tuple(str(kind.__struct_config__.tag) for kind in get_args(WaitingOn))


def of_the_run(run: Run) -> tuple[Finding, ...]:
    """What its own files show, whichever engine is asked."""
    return run.findings


class RunRow(NamedTuple):
    """A run, and what its files say together."""

    run: Run
    meta: RunMeta | None
    told: MetaSkim | RunMeta | None
    """Position and totals: of the journal, else of `meta.json`."""
    wait: Wait
    cost: Cost | None
    """None where no bill is on record."""
    tokens: Tokens
    fan_out: FanOut | None
    findings: tuple[Finding, ...] | None

    @property
    def status_shared(self) -> str | None:
        return STATUS_SHARED.get(self.meta.status) if self.meta else None

    @property
    def terminal(self) -> bool | None:
        return is_terminal(self.meta)

    @property
    def stage(self) -> str | None:
        state = self.run.told.fold()
        window = state.window.stage_name if state else ""
        return window or (self.told.current_stage if self.told else None) or None

    @property
    def wall_seconds(self) -> int | None:
        account = self.run.told.time_account
        return account.wall_seconds if account else None

    @property
    def cost_usd(self) -> float | None:
        """By the bills; where none is on record, what the run itself says, which may be nothing."""
        if self.cost is not None:
            return self.cost.total_usd
        return self.meta.cost_usd if self.meta else None

    @property
    def priced_usd(self) -> float | None:
        return self.cost.priced_usd if self.cost else None

    @property
    def worst(self) -> str | None:
        if not self.findings:
            return None
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index)


def _row(run: Run, findings: Findings | None) -> Iterator[RunRow]:
    story = run.told
    state = story.fold()
    bills = [bill for bill in story.trips.bills if not bill.behind_tear]
    yield RunRow(
        run, run.meta, (state.skim_meta() if state else None) or run.meta,
        wait_of(story.meta, story.files.fan_out, story.files.open_point), story.cost if bills else None, usage_totals(story.trips),
        story.files.fan_out, None if findings is None else tuple(findings(run)),
    )  # fmt: skip


def _story(count: Callable[[Any], Any]) -> Callable[[RunRow], Any]:
    return lambda row: count(row.run.told)


_COLUMNS = (
    Column("runtime", "own_word", "run.runtime", "the agent system", ("leviath", "intloom")),
    Column(
        "meta_run_id", "text", behind("meta", "run_id"), "the id in `meta.json`; another one than `run_id` is a finding"
    ),
    Column("agent", "text", behind("meta", "agent_name"), "name of the agent"),
    Column("title", "text", behind("meta", "title"), "title that a model gave it"),
    Column("task", "long", behind("meta", "task"), "what it was asked to do", offset=lambda row: None),
    Column(
        "status",
        "word",
        behind("meta", "status"),
        "as `meta.json` says (the journal, where that cannot be read)",
        words_of(Status),
    ),
    Column("status_shared", "own_word", "status_shared", "the word that all agent systems share", SHARED),
    Column("terminal", "flag", "terminal", "whether a restart takes it for over"),
    Column("stage", "text", "stage", "name of the stage it is in, by its window"),
    Column("stage_index", "u64", behind("told", "stage_index"), "number of that stage"),
    Column("num_stages", "u64", behind("meta", "num_stages"), "stages of its manifest"),
    Column("iteration", "u64", behind("told", "iteration"), "answered stage calls so far, by the journal"),
    Column("waits_on", "word", "wait.reason", "why it stands still", REASONS),
    Column(
        "needs_person", "flag", "wait.needs_person", "whether somebody has to act; a gap where the files do not tell"
    ),
    Column("blocker", "word", "wait.blocker", "what it needs set up", words_of(Blocker)),
    Column("remedy", "text", "wait.remedy", "what it says would help"),
    Column("outstanding", "u64", "wait.outstanding", "workers or children it still counts"),
    Column("started_at", "time", behind("meta", "started_at"), "when it was created"),
    Column("moved_at", "time", behind("meta", "last_progress_at"), "when iteration, stage or status last changed"),
    Column("heartbeat_at", "time", behind("meta", "updated_at"), "last write of `meta.json`; not a move"),
    Column("wall_seconds", "u64", "wall_seconds", "seconds from its creation to the newest time in its files"),
    Column("model", "text", behind("meta", "model"), "model it was started with"),
    Column("n_records", "u64", _story(lambda s: len(s.events)), "records that read, those behind a tear included"),
    Column("n_unreadable", "u64", _story(lambda s: len(s.reading().unread)), "whole frames that do not read"),
    Column("torn_bytes", "u64", _story(lambda s: s.journal.framing.torn_bytes), "bytes behind the last whole frame"),
    Column("n_calls", "u64", _story(lambda s: len(s.calls)), "attempts at tool calls on record"),
    Column(
        "n_unknown",
        "u64",
        _story(lambda s: len(s.unknown_effects)),
        "calls of which nobody can say whether they took effect",
    ),
    Column("n_prompts", "u64", _story(lambda s: len(s.prompts)), "questions to people: settled, lost and open"),
    Column("n_lives", "u64", _story(lambda s: len(s.lives)), "processes that owned it, one after the other"),
    Column("prompt_tokens", "u64", behind("told", "prompt_tokens"), "as the run itself counted them"),
    Column("completion_tokens", "u64", behind("told", "completion_tokens"), "as the run itself counted them"),
    Column("cached_tokens", "u64", behind("told", "cached_tokens"), "as the run itself counted them"),
    Column("cache_write_tokens", "u64", behind("told", "cache_write_tokens"), "as the run itself counted them"),
    Column("tool_calls", "u64", behind("told", "tool_calls"), "as the run itself counted them"),
    Column("billed_calls", "u64", "tokens.calls", "bills on record before any tear"),
    Column("cost_usd", "usd", "cost_usd", "sum of its bills; a gap if one has no figure, 0.0 is free"),
    Column(
        "cost_is_exact",
        "flag",
        behind("cost", "exact"),
        "every answered trip is in the sum with the provider's own figure",
    ),
    Column("priced_usd", "usd", "priced_usd", "sum of the figures that are known"),
    Column("unpriced_calls", "u64", behind("cost", "unpriced_calls"), "bills without a figure"),
    Column("computed_calls", "u64", behind("cost", "computed_calls"), "bills whose figure was worked out from rates"),
    Column("behind_tear_usd", "usd", behind("cost", "behind_tear_usd"), "priced bills behind a tear, in no other sum"),
    Column("meta_cost_usd", "usd", behind("meta", "cost_usd"), "the run's own total, where it says one"),
    Column("parent", "text", behind("meta", "parent_run_id"), "the run that started it"),
    Column("n_children", "u64", lambda row: len(row.meta.children) if row.meta else None, "runs that it started"),
    Column("depth", "u64", behind("meta", "depth"), "how many parents are above it"),
    Column(
        "max_workers",
        "u64",
        behind("fan_out", "max_workers"),
        "cap of its open fan-out; 18446744073709551615 is no limit",
    ),
    Column("fan_out_paused", "flag", behind("fan_out", "paused"), "whether that fan-out is paused"),
    Column("blueprint_digest", "text", behind("meta", "blueprint_digest"), "SHA-256 of the manifest that ran"),
    Column("written_by", "text", "run.written_by", "the oldest engine version that writes all that is there"),
    Column("error", "long", behind("meta", "error"), "what it ended on", offset=lambda row: None),
    Column(
        "n_findings", "u64", lambda row: None if row.findings is None else len(row.findings), "rows of `findings_df`"
    ),
    Column("worst_finding", "own_word", "worst", "the gravest of them", SEVERITIES),
)

RUNS = Table("runs", "a run", partial(_row, findings=of_the_run), _COLUMNS)
RUNS_BARE = Table("runs", "a run", partial(_row, findings=None), _COLUMNS)
"""The same without findings, which cost more than all the rest."""


def runs_df(runs: AnyRuns, *, text: bool = False, findings: Findings | None = of_the_run) -> "pd.DataFrame":
    """A row a run: how it stands, what it waits on, what it cost, what is unknown (docs/tables.md).

    `text` holds task and error whole. `findings` says where the findings come from; None leaves them
    out, which is much quicker.
    """
    return build(Table(RUNS.name, RUNS.doc, partial(_row, findings=findings), _COLUMNS), runs, text)
