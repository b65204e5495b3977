"""What a restart would do, as a table: `plan_df`."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from recovery_kit.recovery.loom_plan import LoomPlanRow
from recovery_kit.recovery.plan import RecoveryPlan
from recovery_kit.restore.loom import CLOSED
from recovery_kit.runs.loom_run import LoomRun

from .columns import Column, Table, add_cells, cells_of, frame_of
from .loom_rows import Cells, filled

if TYPE_CHECKING:
    import pandas as pd

PLAN = Table(
    "plan",
    "a run of a plan, those that come back first, in restore order",
    lambda run: (),
    (
        Column("order", "u64", "order", "0 is restored first; a gap for one that is not loaded"),
        Column("resumes", "flag", "outlook.resumes", "whether it comes back at the start"),
        Column(
            "why_not", "text", "outlook.why",
            "`terminal`, `meta_unreadable`, `blueprint_script_missing`; of a workflow also `uncertain_execution`, "
            "`no_recovery_entry`, `recovery_blocked`",
        ),
        Column("why", "text", "why", "why it stands there, in words"),
        Column("priority", "own_word", "outlook.priority", "its class", ("active", "blocked")),
        Column("on_demand", "flag", "outlook.on_demand", "a resume, a pause or a message would page it in"),
        Column("status_after", "text", "outlook.status_after", "right after the reload; else the one on disk"),
        Column(
            "window_source", "own_word", "outlook.window_source", "where its window is from", ("journal", "json_pair")
        ),
        Column("stage", "text", "outlook.stage_name", "the stage it goes on in"),
        Column("stage_index", "u64", "outlook.stage_index", "its place in the manifest"),
        Column("iteration", "u64", "outlook.iteration", "inferences so far"),
        Column("window_sha256", "text", "window_sha256", "digest of the window that the restore builds"),
        Column("window_tokens", "u64", lambda row: row.after.window.total_tokens if row.after else None, "its tokens"),
        Column("pending", "u64", lambda row: len(row.pending), "calls of the batch that is replayed"),
        Column(
            "verify_first", "u64", lambda row: sum(p.fate == "verify_first" for p in row.pending),
            "of them without a real result",
        ),
        Column("turn_repeated", "flag", "outlook.turn_repeated", "the newest answered turn is asked for again"),
        Column("prompts_back", "u64", lambda row: len(row.prompts_back), "questions that are open again"),
        Column("prompts_lost", "u64", lambda row: len(row.prompts_lost), "questions that do not come back"),
        Column("manifest", "text", "manifest.where", "which manifest was at hand"),
        Column("n_findings", "u64", lambda row: sum(f.severity != "info" for f in row.findings), "of warning or worse"),
    ),
)  # fmt: skip


class _Planned(NamedTuple):
    """A workflow's Run, and whether findings of its project keep it back."""

    row: LoomPlanRow
    kept_back: bool


def _why_not(plan: _Planned) -> str | None:
    if plan.row.disposition == "history":
        return "terminal"
    return "recovery_blocked" if plan.kept_back else plan.row.rule.reason


_LOOM: Cells = {
    "resumes": lambda plan: not plan.kept_back and plan.row.disposition not in CLOSED,
    "why_not": lambda plan: _why_not(plan),
    "why": lambda plan: plan.row.disposition.replace("_", " "),
    "priority": lambda plan: "blocked" if plan.row.disposition in ("hold", "reopen_prompt") else "active",
    "on_demand": lambda plan: plan.row.disposition == "hold",
    "status_after": lambda plan: plan.row.checkpoint.status if plan.kept_back else plan.row.status_after,
    "stage": lambda plan: str(plan.row.checkpoint.cursor),
    "turn_repeated": lambda plan: False,
    "prompts_back": lambda plan: not plan.kept_back and plan.row.disposition == "reopen_prompt",
    "prompts_lost": lambda plan: not plan.kept_back and plan.row.rule.reason == "no_recovery_entry",
}
"""Where the cells of a workflow's Run come from; what is not named here has no meaning for it."""


def plan_df(plan: RecoveryPlan) -> "pd.DataFrame":
    """A row a run of the plan, agents' runs first, then the sound Runs of each project (docs/tables.md)."""
    mine = {row.run.source: row for row in plan.rows}
    cells = cells_of(replace(PLAN, rows=lambda run: [mine[run.source]]), [row.run for row in plan.rows])
    for project in plan.projects:
        for row in project.runs:
            only = partial(_only, _Planned(row, project.is_blocked))
            add_cells(cells, filled(PLAN, only, _LOOM), project.loom_run(row))
    return frame_of(PLAN, cells)


def _only(row: _Planned, run: LoomRun) -> tuple[_Planned]:
    return (row,)
