"""What commands say of IntLoom projects and of their Runs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from recovery_kit.display import Cell, time_text
from recovery_kit.recovery.loom_check import CheckedProject
from recovery_kit.recovery.loom_plan import LoomPlan, plan_project
from recovery_kit.recovery.loom_words import loom_restart_sentences
from recovery_kit.runs.loom_run import LoomRun, LoomState

from .printing import Page


def print_project(checked: CheckedProject) -> None:
    """A project, checked: its findings, then each checkpoint and what a restart does with it."""
    page, told = Page(), checked.told
    where = checked.project.source or checked.project.label
    page.say(f"{where} (IntLoom project, format {told['format']})")
    for finding in told["findings"]:
        page.say(f"error: {finding['problem']}: {finding['detail']} [{finding['path']}]", "bad", indent=2)
    if told["restore_fails"]:
        page.say(f"a restart would restore nothing: {told['blocked_by']} holds all the others back", indent=2)
    for name, row in told["checkpoints"].items():
        page.say(f"{name}: {row.get('phase')}; on a restart: {_on_restart(row)}", indent=2)


def _on_restart(row: Mapping[str, Any]) -> str:
    return str(row.get("on_restart") or "not read").replace("_", " ")


def print_loom_plan(plan: LoomPlan) -> None:
    """What a start of a project would do."""
    page = Page()
    if plan.is_blocked:
        n = len(plan.findings)
        head = f"The start is blocked by {n} finding{'' if n == 1 else 's'}; nothing would be launched or written."
        page.say(head, "bad")
        for finding in plan.findings:
            page.say(str(finding), "bad", indent=2)
        if plan.hostages:
            page.say(f"Sound, and held back by that: {', '.join(plan.hostages)}", "attention")
        page.say("The start would go ahead without (advice; copy them first, nothing is removed here)")
        for path in plan.unblock:
            page.say(path, indent=2)
    if not plan.workflows_checked:
        page.say("No Workflows were at hand: only what the files prove was checked.", "muted")
    if not plan.runs:
        page.say("No sound Run is there.")
        return
    page.blank()
    page.table(
        ("run", "seq", "boundary", "a start would", "then", "certainty"),
        [(row.run_id, row.seq, row.checkpoint.boundary, _would(row.disposition, row.rule.reason), row.status_after,
          row.certainty) for row in plan.runs],
    )  # fmt: skip


def _would(disposition: str, reason: str | None) -> Cell:
    words = disposition.replace("_", " ") + (f" ({reason.replace('_', ' ')})" if reason else "")
    return Cell(words, "attention" if reason else "plain")


# One Run.


def print_why(run: LoomRun) -> None:
    """The verdict of a Run, then what a start of its project would do."""
    page, plan = Page(run.masker), plan_project(run.project)
    page.say(run.id, "muted")
    for sentence in run.verdict.sentences():
        indented = sentence.startswith("  ")
        page.say(sentence.strip(), "attention" if indented else "plain", indent=2 if indented else 0)
    page.blank()
    page.say("A start of its project would")
    for sentence in loom_restart_sentences(run, plan):
        page.say(f"{sentence}.", indent=2)
    looks = _looks(run, plan)
    page.blank()
    page.say("Look first at" if looks else "Nothing needs to be looked at first.")
    for number, look in enumerate(looks, 1):
        page.say(f"{number}. {look['what']} ({look['file']})", indent=2)


def why_json(run: LoomRun) -> dict[str, Any]:
    """The same as an object; texts are raw."""
    plan = plan_project(run.project)
    row = next((row.as_json() for row in plan.runs if row.run_id == run.id), None)
    return {
        "run_id": run.id,
        "source": run.source,
        "runtime": run.runtime,
        "engine": None,
        "sentences": list(run.verdict.sentences()),
        "verdict": plain_json(asdict(run.verdict)),
        "restart": row,
        "start": plan.start,
        "restart_sentences": list(loom_restart_sentences(run, plan)),
        "look_first": _looks(run, plan),
    }


def _looks(run: LoomRun, plan: LoomPlan) -> list[dict[str, str]]:
    looks = [
        {
            "what": f"{call.kind} {call.call_id or '(no id)'} at {call.name}: {call.why}",
            "file": _file(run, call.evidence_offset),
        }
        for call in run.verdict.unknown
    ]
    return looks + [{"what": f"{finding.problem}: {finding.detail}", "file": finding.path} for finding in plan.findings]


def _file(run: LoomRun, number: int) -> str:
    return run.path if run.format == 1 else f"{run.path}/{number:08}.json"


def print_loom_state(page: Page, state: LoomState, named: str, full: bool) -> None:
    """A boundary of a Run; texts by their beginning, or whole if `full`."""
    page.say(f"{state.run_id} at {named}, checkpoint {state.offset}, {time_text(state.at)}")
    page.say(f"{state.status}, {state.stage}/{state.step}, {state.boundary.replace('_', ' ')}")
    page.headed("State", "none" if state.state is None else _text(state.state), full)
    if state.pending is not None:
        call = state.pending
        page.say(f"{call.kind} {call.call_id} is open", "attention" if call.is_unknown else "plain")
        page.say(call.why, indent=2)
    if state.prompt is not None:
        page.headed(f"{state.prompt.kind} {state.prompt.request_id}", _text(state.prompt.request), full)
    for commit in state.moment.commits:
        what = ", ".join(f"{operation.type} {operation.id}" for operation in commit.operations)
        page.say(f"committed by {commit.call_id}: {what}", "muted")


def state_json(state: LoomState) -> dict[str, Any]:
    """The same as an object; texts are raw. What has no meaning for a workflow is null."""
    told = {
        "state_source": state.source,
        "status": state.status,
        "stage": state.stage,
        "step": state.step,
        "boundary": state.boundary,
        "state": state.state,
        "pending": asdict(state.pending) if state.pending else None,
        "prompt": asdict(state.prompt) if state.prompt else None,
        "commits": list(state.moment.commits),
    }
    nulls = dict.fromkeys(("iteration", "totals", "revision", "window_sha256", "window"))
    return dict(plain_json(told | nulls))


def plain_json(value: Any) -> Any:
    """Values of the kit as JSON."""
    return msgspec.to_builtins(value)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")
