"""A row a Run of an IntLoom project for listings, with the members of any other run's row."""

from typing import Any, cast

from .loom_run import LoomRun
from .run_rows import RunRow


def loom_row(run: LoomRun) -> RunRow:
    """The row of one Run. Workflows have no iterations and no bills: those are gaps."""
    verdict = run.verdict
    return RunRow(
        run=cast(Any, run),
        id=run.id,
        source=run.source,
        agent=verdict.agent,
        status=verdict.status,
        terminal=verdict.terminal,
        waits=verdict.prompt.kind if verdict.prompt else None,
        needs_person=None if verdict.status is None else verdict.prompt is not None or verdict.status == "paused",
        stage=verdict.stage,
        iteration=None,
        moved=verdict.moved_at,
        unknown=len(verdict.unknown) if run.points else None,
        cost=None,
        cost_exact=False,
    )
