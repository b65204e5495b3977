"""A start: the plan, and the carrying out of exactly that plan.

First the ends of what is interrupted are saved, then questions are open again and held and ended Runs are there to be
seen, and only then does anything move. (intloom-recovery 2.7 step 9)
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recovery_kit.errors import PlanOutOfDate
from recovery_kit.looms.refusals import Refused
from recovery_kit.looms.service import Service
from recovery_kit.looms.workflow import Workflow
from recovery_kit.records.loom import EndError
from recovery_kit.restore.loom import INTERRUPTED_MESSAGES, RUN_INTERRUPTED

from .loom_plan import LoomPlan, LoomPlanRow, plan_project

MOVES = frozenset({"launch", "apply_result", "deliver_answer"})
"""Dispositions after which a Run goes on by itself."""


class RecoveryBlocked(Refused):
    """The start is refused: nothing was launched, written or changed. `plan` says why and what is in the way."""

    def __init__(self, plan: LoomPlan, project: Path) -> None:
        n = len(plan.findings)
        why = f"{n} finding{' keeps' if n == 1 else 's keep'} the project from starting"
        super().__init__("RECOVERY_BLOCKED", why, path=project)
        self.plan = plan

    def as_json(self) -> dict[str, Any]:
        """The public shape, with every finding."""
        return super().as_json() | {"findings": [finding.as_json() for finding in self.plan.findings]}


def restore_runs(service: Service, plan: LoomPlan | None = None) -> LoomPlan:
    """Carry out a plan (by default the one of now) for a Service that was just opened, and let it serve.

    Raises RecoveryBlocked with the plan; PlanOutOfDate where the files are not those of the plan; Refused
    (`RUN_CHECKPOINT_FAILED`) where an interrupted end cannot be saved, before anything is launched.
    """
    service.begin_restore()
    now = plan_project(service.project, service.workflows)
    if plan is not None and not plan.workflows_checked:
        raise PlanOutOfDate(service.project, "the plan was made without Workflows, so it is for looking")
    if plan is not None and (plan.basis != now.basis or plan.as_json() != now.as_json()):
        raise PlanOutOfDate(service.project, "the checkpoints are not those that the plan was made from")
    if now.is_blocked:
        raise RecoveryBlocked(now, service.project)
    service.store.prepare()
    adopted = [(row, service.adopt(row.folder.checkpoints)) for row in now.runs]
    with service.engine.lock:
        for row, run in adopted:
            if row.disposition == "interrupt":
                service.engine.end(run, _interrupted(row))
    service.serve()
    for row, run in adopted:
        if row.disposition in MOVES:
            service.engine.launch(run)
    return now


def start_service(project: Path | str, workflows: Iterable[Workflow], **options: Any) -> Service:
    """Open a Service and bring its Runs back; `options` are those of `Service`. Lets go of the project where it may not
    start. Raises RecoveryBlocked and whatever `Service` does."""
    service = Service(project, workflows, **options)
    try:
        restore_runs(service)
    except BaseException:
        service.stop()
        raise
    return service


def _interrupted(row: LoomPlanRow) -> EndError:
    reason = row.rule.reason
    assert reason is not None
    return EndError(code=RUN_INTERRUPTED, message=INTERRUPTED_MESSAGES[reason], retryable=False, reason=reason)
