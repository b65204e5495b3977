"""Tables of runs: one function each, a DataFrame and nothing else. What each cell holds is in
docs/tables.md, made from the declarations here.

A table is a list of columns (`columns.py`), grouped by what they are about; `arrays.py` makes pandas columns of them.
"""

from .branch_table import COMPARE, compare_df
from .columns import Column, Table
from .csv_export import to_csv
from .effects_tables import ARTIFACTS, CALLS, PARTS, PROMPTS, artifacts_df, calls_df, parts_df, prompts_df
from .files_tables import FILES, FINDINGS, files_df, findings_df
from .money_tables import ATTEMPTS, FAILOVERS, INFERENCES, attempts_df, failovers_df, inferences_df
from .plan_table import PLAN, plan_df
from .runs_table import RUNS, runs_df
from .time_tables import INCARNATIONS, STAGES, TIME, incarnations_df, stages_df, time_df
from .window_tables import (
    CHANGES,
    MESSAGES,
    POINTS,
    RECORDS,
    REGIONS,
    changes_df,
    messages_df,
    points_df,
    records_df,
    regions_df,
)

TABLES: tuple[Table, ...] = (
    RUNS, RECORDS, POINTS, REGIONS, MESSAGES, CALLS, ATTEMPTS, FAILOVERS, INFERENCES, PROMPTS, CHANGES, STAGES,
    ARTIFACTS, PARTS, INCARNATIONS, TIME, FILES, FINDINGS,
)  # fmt: skip
"""Those of runs, in the order of the page; `PLAN`, of a plan, and `COMPARE`, of branches, come after them."""

__all__ = [
    "COMPARE",
    "Column",
    "PLAN",
    "TABLES",
    "Table",
    "artifacts_df",
    "attempts_df",
    "calls_df",
    "changes_df",
    "compare_df",
    "failovers_df",
    "files_df",
    "findings_df",
    "incarnations_df",
    "inferences_df",
    "messages_df",
    "parts_df",
    "plan_df",
    "points_df",
    "prompts_df",
    "records_df",
    "regions_df",
    "runs_df",
    "stages_df",
    "time_df",
    "to_csv",
]
