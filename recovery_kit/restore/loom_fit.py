"""Whether a Run that can still run fits what is loaded now: the first thing that does not, as a problem and its reason.

Values in, a value out. The current checkpoint alone is looked at. (intloom-recovery 2.7 step 8, 2.13)
"""

from collections.abc import Callable, Mapping

from msgspec import UNSET

from recovery_kit.formats.loom_asks import answer_problem, request_problem
from recovery_kit.looms.workflow import Code, Workflow
from recovery_kit.records.loom import Checkpoint, Problem

Misfit = tuple[Problem, str]


def ask_misfit(checkpoint: Checkpoint) -> Misfit | None:
    """Whether question and answer are such; it takes no Workflow."""
    action = checkpoint.action
    if action is UNSET:
        return None
    reason = request_problem(action.kind, action.request)
    if reason:
        return _invalid(checkpoint, f"the question is none: {reason}")
    reason = None
    if checkpoint.answer is not UNSET:
        reason = answer_problem(action.kind, action.request, checkpoint.answer)
    return _invalid(checkpoint, f"the answer does not fit: {reason}") if reason else None


def misfit(checkpoint: Checkpoint, workflows: Mapping[str, Workflow] | None) -> Misfit | None:
    """What keeps a Run that can still run from going on. Without Workflows only what takes none is looked at."""
    if workflows is None:
        return ask_misfit(checkpoint)
    workflow = workflows.get(checkpoint.run.flow_name)
    if workflow is None:
        return _changed(checkpoint, "its Workflow is not installed")
    return next((found for check in _CHECKS if (found := check(checkpoint, workflow))), None)


def _changed(checkpoint: Checkpoint, reason: str) -> Misfit:
    return "workflow_changed", f"checkpoint {checkpoint.seq}: {reason}"


def _invalid(checkpoint: Checkpoint, reason: str) -> Misfit:
    return "state_invalid", f"checkpoint {checkpoint.seq}: {reason}"


def _asks(c: Checkpoint, _: Workflow) -> Misfit | None:
    return ask_misfit(c)


def _identity(c: Checkpoint, workflow: Workflow) -> Misfit | None:
    same = c.workflow_identity == workflow.identity
    return None if same else _changed(c, "the installed Workflow has another identity")


def _policy(c: Checkpoint, workflow: Workflow) -> Misfit | None:
    same = workflow.execution(c.run.execution.source) == c.run.execution
    return None if same else _changed(c, "Agent Steps would be executed by somebody else now")


def _cursor(c: Checkpoint, workflow: Workflow) -> Misfit | None:
    there = workflow.step(c.cursor) is not None
    return None if there else _invalid(c, "its cursor points to no Stage and Step")


def _state(c: Checkpoint, workflow: Workflow) -> Misfit | None:
    reason = workflow.state_problem(c.cursor, c.stage)
    return _invalid(c, reason) if reason else None


def _recover(c: Checkpoint, workflow: Workflow) -> Misfit | None:
    if c.action is UNSET:
        return None
    step = workflow.step(c.cursor)
    if step is None or not isinstance(step.executable, Code) or step.has_recover != c.action.recoverable:
        return _changed(c, "whether its Code can recover a question is not what was saved")
    return None


def _route(c: Checkpoint, workflow: Workflow) -> Misfit | None:
    if c.result is UNSET or workflow.route(c.cursor, c.result.outcome) == c.result.route:
        return None
    return _changed(c, "the outcome leads somewhere else now")


_CHECKS: tuple[Callable[[Checkpoint, Workflow], Misfit | None], ...] = (
    _identity, _policy, _cursor, _state, _asks, _recover, _route,
)  # fmt: skip
