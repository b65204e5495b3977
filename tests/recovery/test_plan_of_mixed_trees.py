"""`check`, `plan_recovery` and `restore_runs` over agents' runs and projects together."""

from pathlib import Path

import pytest
from looms.release_notes import RUNTIME, A, B, history_a, history_b, key, on_disk
from samples import SAMPLES

import recovery_kit as rk
from recovery_kit.errors import PlanOutOfDate
from recovery_kit.recovery.loom_check import CheckedProject

BOUNDARIES = SAMPLES / "22-workflow-killed-at-every-boundary"
FORMAT_1 = SAMPLES / "23-workflow-of-format-1"


def test_the_samples() -> None:
    """One plan holds the agents' runs as rows and a plan for each project."""
    plan = rk.plan_recovery(SAMPLES)
    assert len(plan) == 20 and [one.project.source for one in plan.projects] == [BOUNDARIES.name, FORMAT_1.name]
    assert plan.start == "RECOVERY_BLOCKED" and plan.needs_a_look and len(plan.loom_rows) == 15
    assert len(plan.findings) == 7 and all(path.startswith(f"{FORMAT_1.name}/{RUNTIME}/") for path in plan.unblock)
    assert [row.get("runtime") for row in plan.as_json()[-2:]] == ["intloom"] * 2
    table = rk.plan_df(plan)
    assert len(table) == 35 and list(table.columns) == list(rk.plan_df(rk.plan_recovery(BOUNDARIES)).columns)


def test_the_table_of_a_project(tmp_path: Path) -> None:
    """What is kept back by a finding elsewhere does not come back, and the row says why."""
    project = on_disk(tmp_path, history_a(12), history_b())
    free = rk.plan_df(rk.plan_recovery(project)).set_index("run_id")
    assert list(free.loc[[A, B], "why"]) == ["reopen prompt", "interrupt"] and free.loc[A, "resumes"]
    assert free.loc[B, "why_not"] == "no_recovery_entry"
    (project / RUNTIME / key(B) / "00000002.json").unlink()
    plan = rk.plan_recovery(project)
    kept = rk.plan_df(plan).set_index("run_id")
    assert plan.hostages == (A,) and not kept.loc[A, "resumes"] and kept.loc[A, "why_not"] == "recovery_blocked"


def test_check_gives_a_project_as_a_whole() -> None:
    """A start reads all Runs of a project or none, and so does a check, of one Run too."""
    checked = rk.check(SAMPLES)
    projects = [row for row in checked if isinstance(row, CheckedProject)]
    assert len(checked) == 22 and [row.as_json()["format"] for row in projects] == [3, 1]
    assert not any(row.needs_a_look for row in projects)  # each by the rules of the system that wrote it
    run = rk.open_runs(BOUNDARIES).loom_runs[0]
    (one,) = rk.check(run)
    assert one.as_json()["n_checkpoints"] == projects[0].as_json()["n_checkpoints"]


def test_an_empty_project_is_planned(tmp_path: Path) -> None:
    """Nothing is in the way, and there is nothing to bring back."""
    plan = rk.plan_recovery(rk.looms.new_project(tmp_path / "project"))
    assert plan.start == "ok" and not plan.loom_rows and not plan.needs_a_look
    assert rk.plan_recovery(SAMPLES / "01-finished").start is None


def test_a_plan_is_carried_out_for_its_own_project(tmp_path: Path) -> None:
    """A plan of another project, or one made without Workflows, is refused."""
    one, other = (rk.looms.new_project(tmp_path / name) for name in ("one", "other"))
    for plan in (rk.plan_recovery(other, workflows=[]), rk.plan_recovery(one)):
        with rk.looms.Service(one, []) as service, pytest.raises(PlanOutOfDate):
            rk.restore_runs(service, plan)
    with rk.looms.Service(one, []) as service:
        assert rk.restore_runs(service, rk.plan_recovery(one, workflows=[])).start == "ok"
