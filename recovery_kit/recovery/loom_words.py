"""What a start would do with a Run of an IntLoom project, in sentences of raw text."""

from recovery_kit.runs.loom_run import LoomRun

from .loom_plan import LoomPlan, LoomPlanRow

_DEED: dict[str, str] = {
    "history": "show it as history, and never write to it again",
    "hold": "leave it on hold until somebody resumes it",
    "launch": "go on with {step} in a new Call; earlier Steps do not run again",
    "apply_result": "take the saved route {route}; {step} does not run again",
    "reopen_prompt": "ask the same question again under its id {action}; the answer enters recover",
    "deliver_answer": "hand the saved answer to recover, once; the Code before the question does not run again",
    "interrupt": "end it as RUN_INTERRUPTED ({reason}) and run nothing of it again",
}


def loom_restart_sentences(run: LoomRun, plan: LoomPlan) -> tuple[str, ...]:
    """What a start of its project would do with one Run (`plan` is that of the whole project)."""
    if run.format == 1:
        return ("refuse the project: its checkpoints are of format 1, and only format 3 is restored",)
    own = [finding for finding in plan.findings if finding.path.startswith(run.source) or run.id in finding.detail]
    if own:
        return tuple(f"refuse the whole project because of this Run: {finding.detail}" for finding in own)
    row = next((row for row in plan.runs if row.run_id == run.id), None)
    if row is None:
        return ("not know it: it has no checkpoint",)
    said = [_deed(row)]
    if plan.is_blocked and row.disposition != "history":
        n = len(plan.findings)
        keep = " elsewhere keeps" if n == 1 else "s elsewhere keep"
        head = f"not happen at all: {n} finding{keep} the project from starting"
        said = [head, f"once nothing is in the way, {said[0]}"]
    if not plan.workflows_checked and row.disposition not in ("history", "interrupt"):
        said.append("that assumes that the installed Workflow is the one the Run was in")
    return tuple(said)


def _deed(row: LoomPlanRow) -> str:
    c = row.checkpoint
    route = c.result.route if c.result else None
    words = {
        "step": c.cursor,
        "route": "to the end" if route and route.kind == "end" else f"to {route.cursor if route else ''}",
        "action": c.action.id if c.action else "",
        "reason": (row.rule.reason or "").replace("_", " "),
    }
    return _DEED[row.disposition].format(**words)
