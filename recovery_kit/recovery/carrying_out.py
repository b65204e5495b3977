"""Carrying a plan out, of either system: into a world of agents, or by a service of workflows."""

from collections.abc import Iterable
from pathlib import Path
from typing import overload

from recovery_kit.errors import PlanOutOfDate
from recovery_kit.looms.service import Service
from recovery_kit.world.agent_world import AgentWorld

from . import loom_start
from .loom_plan import LoomPlan
from .plan import PlannedRun, RecoveryPlan
from .reload import Reload, restore_rows


@overload
def restore_runs(into: AgentWorld, rows: Iterable[PlannedRun], plan: RecoveryPlan) -> Reload: ...
@overload
def restore_runs(into: Service, rows: RecoveryPlan | LoomPlan | None = None) -> LoomPlan: ...
def restore_runs(
    into: AgentWorld | Service,
    rows: Iterable[PlannedRun] | RecoveryPlan | LoomPlan | None = None,
    plan: RecoveryPlan | None = None,
) -> Reload | LoomPlan:
    """Carry out rows of a plan in a world; or, for a Service that was just opened, the plan of its project, by default
    the one of now, and let it serve.

    A service starts with all of its Runs or none: it raises RecoveryBlocked with the plan, PlanOutOfDate where the
    files are not those of the plan, Refused where an interrupted end cannot be saved. In a world, a run that fails is
    in the answer and touches no other.
    """
    if isinstance(into, Service):
        return loom_start.restore_runs(into, None if rows is None else _of_project(into, rows))
    if plan is None or rows is None or isinstance(rows, LoomPlan):
        raise TypeError("a world takes the rows of a plan, and the plan")
    return restore_rows(into, rows if not isinstance(rows, RecoveryPlan) else rows.resumes, plan)


def _of_project(service: Service, plan: object) -> LoomPlan:
    if isinstance(plan, LoomPlan):
        return plan
    here = service.project.resolve()
    for one in plan.projects if isinstance(plan, RecoveryPlan) else ():
        if one.project.folder is not None and Path(one.project.folder).resolve() == here:
            return one
    raise PlanOutOfDate(service.project, "the plan is of another project")
