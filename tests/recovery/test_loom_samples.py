"""The sample projects: one that was killed at every boundary, and one of format 1."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from looms.release_notes import RUNTIME, snapshot

from recovery_kit.looms.loading import load_workflows
from recovery_kit.recovery.loom_check import check_project
from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.recovery.loom_start import RecoveryBlocked, start_service
from recovery_kit.runs.loom_run import open_loom_runs
from recovery_kit.world.providers import ScriptedProvider

SAMPLES = Path(__file__).parents[2] / "sample_runs"
KILLED = SAMPLES / "22-workflow-killed-at-every-boundary"
FORMAT_1 = SAMPLES / "23-workflow-of-format-1"
WORKFLOWS = SAMPLES / "workflows" / "release_notes.py"
PATIENCE = 20.0


def test_every_boundary_is_there() -> None:
    """The plan, with the Workflow at hand, has a Run for each disposition."""
    plan = plan_project(KILLED, load_workflows(str(WORKFLOWS)))
    assert plan.start == "ok" and plan.workflows_checked
    assert Counter(row.disposition for row in plan.runs) == {
        "launch": 2, "apply_result": 3, "interrupt": 6, "reopen_prompt": 1, "deliver_answer": 1, "hold": 1,
        "history": 1,
    }  # fmt: skip
    assert all(not run.findings for run in open_loom_runs(KILLED).values())


def test_it_comes_back_as_planned(tmp_path: Path) -> None:
    """A copy is started: each Run is what the plan said, and no saved byte changed."""
    project = tmp_path / "project"
    shutil.copytree(KILLED, project)
    flows = load_workflows(str(WORKFLOWS))
    plan, before = plan_project(project, flows), snapshot(project)
    with start_service(project, flows, provider=ScriptedProvider(["Notes."] * 9)) as service:
        for row in plan.runs:
            view = service.wait(row.run_id, PATIENCE)
            if row.rule.reason:
                assert view.error is not None and view.error["reason"] == row.rule.reason
            elif row.disposition in ("hold", "history", "reopen_prompt"):
                assert view.status == row.status_after
            else:
                assert view.status in ("waiting", "completed"), view
    assert before.items() <= snapshot(project).items()


def test_another_workflow_is_refused(tmp_path: Path) -> None:
    """One byte more in the Workflow, and nothing of the project is started."""
    project, other = tmp_path / "project", tmp_path / "release_notes.py"
    shutil.copytree(KILLED, project)
    other.write_text(WORKFLOWS.read_text() + "\n")
    before = snapshot(project)
    with pytest.raises(RecoveryBlocked) as caught:
        start_service(project, load_workflows(str(other)))
    assert {finding.problem for finding in caught.value.plan.findings} == {"workflow_changed"}
    assert snapshot(project) == before


def test_format_1() -> None:
    """It is read for inspection, and a start of this format refuses it by number."""
    told = check_project(FORMAT_1)
    assert told["store_readable"] and (told["n_checkpoints"], told["n_restored_or_failed"], told["n_terminal"]) == (
        7,
        6,
        1,
    )
    plan = plan_project(FORMAT_1)
    assert plan.is_blocked and {finding.problem for finding in plan.findings} == {"version"}
    assert len(plan.unblock) == 7 and not plan.runs
    assert json.dumps(plan.as_json()).count(RUNTIME) == 14
