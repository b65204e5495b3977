"""What a restart would do, as a table: `plan_df`."""

from dataclasses import replace
from typing import TYPE_CHECKING

from recovery_kit.recovery.plan import RecoveryPlan

from .columns import Column, Table, build

if TYPE_CHECKING:
    import pandas as pd

PLAN = Table(
    "plan",
    "a run of a plan, those that come back first, in restore order",
    lambda run: (),
    (
        Column("order", "u64", "order", "0 is restored first; a gap for one that is not loaded"),
        Column("resumes", "flag", "outlook.resumes", "whether it comes back at the start"),
        Column("why_not", "text", "outlook.why", "`terminal`, `meta_unreadable`, `blueprint_script_missing`"),
        Column("why", "text", "why", "why it stands there, in words"),
        Column("priority", "own_word", "outlook.priority", "its class", ("active", "blocked")),
        Column("on_demand", "flag", "outlook.on_demand", "a resume, a pause or a message would page it in"),
        Column("status_after", "text", "outlook.status_after", "right after the reload; else the one on disk"),
        Column("window_source", "own_word", "outlook.window_source", "where its window is from", ("journal", "json_pair")),
        Column("stage", "text", "outlook.stage_name", "the stage it goes on in"),
        Column("stage_index", "u64", "outlook.stage_index", "its place in the manifest"),
        Column("iteration", "u64", "outlook.iteration", "inferences so far"),
        Column("window_sha256", "text", "window_sha256", "digest of the window that the restore builds"),
        Column("window_tokens", "u64", lambda row: row.after.window.total_tokens if row.after else None, "its tokens"),
        Column("pending", "u64", lambda row: len(row.pending), "calls of the batch that is replayed"),
        Column("verify_first", "u64", lambda row: sum(p.fate == "verify_first" for p in row.pending), "of them without a real result"),
        Column("turn_repeated", "flag", "outlook.turn_repeated", "the newest answered turn is asked for again"),
        Column("prompts_back", "u64", lambda row: len(row.prompts_back), "questions that are open again"),
        Column("prompts_lost", "u64", lambda row: len(row.prompts_lost), "questions that do not come back"),
        Column("manifest", "text", "manifest.where", "which manifest was at hand"),
        Column("n_findings", "u64", lambda row: sum(f.severity != "info" for f in row.findings), "of warning or worse"),
    ),
)  # fmt: skip


def plan_df(plan: RecoveryPlan) -> "pd.DataFrame":
    """A row a run of the plan (docs/tables.md)."""
    mine = {row.run.source: row for row in plan.rows}
    return build(replace(PLAN, rows=lambda run: [mine[run.source]]), [row.run for row in plan.rows])
