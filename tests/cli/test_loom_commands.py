"""`loom plan`, `loom runs`, `loom recover`: what they print and their exit status."""

import json
from pathlib import Path
from typing import Any

import pytest
from looms.release_notes import I1, RUNTIME, A, B, history_a, history_b, key, named, on_disk, operation, snapshot

from recovery_kit.cli.loom import loom_command
from recovery_kit.errors import NotARun
from recovery_kit.looms import Refused


def run(*arguments: Any) -> int:
    status: int = loom_command.main([str(word) for word in arguments], standalone_mode=False)
    return status


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return on_disk(tmp_path, history_a(12), history_b())


def test_plan_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The promised members, and status 0 where nothing is in the way."""
    before = snapshot(project)
    assert run("plan", project, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told.keys() == {"start", "findings", "runs", "hostages", "unblock", "workflows_checked"}
    assert (
        told["start"] == "ok"
        and told["workflows_checked"] is False
        and [row["runId"] for row in told["runs"]] == [A, B]
    )
    assert told["runs"][1] == {
        "runId": B, "seq": 5, "boundary": "waiting", "disposition": "interrupt", "reason": "no_recovery_entry",
        "status_after": "failed", "appends": ["terminal"], "certainty": "done",
    }  # fmt: skip
    assert snapshot(project) == before


def test_a_blocked_plan(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1; the finding, who is held back, and what would help."""
    (project / RUNTIME / key(A) / "00000003.json").unlink()
    assert run("plan", project) == 1
    said = capsys.readouterr().out
    assert "blocked by 1 finding;" in said and "checkpoint 3 is missing" in said and B in said
    assert f"  {RUNTIME}/{key(A)}" in said.splitlines()


def test_plan_with_workflows(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A module's Workflows are checked too; one that holds none is refused."""
    module = tmp_path / "flows.py"
    module.write_text(
        "from recovery_kit.looms import END, Stage, Step, Workflow\n"
        "flow = Workflow('other', [Stage('s', [Step('t', lambda access: 'x', {'x': END})])])\n"
    )
    assert run("plan", project, "--workflows", module, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["workflows_checked"] is True and [f["problem"] for f in told["findings"]] == ["workflow_changed"]
    module.write_text("")
    with pytest.raises(Refused):
        run("plan", project, "--workflows", module)
    with pytest.raises(NotARun):
        run("plan", tmp_path / "nowhere")


def test_runs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Found by the operation that created it."""
    assert run("runs", project, "--operation-id", operation(1), "--origin-instance", I1, "--json") == 0
    assert [row["runId"] for row in json.loads(capsys.readouterr().out)] == [A]
    assert run("runs", project) == 0 and "release_notes" in capsys.readouterr().out


def test_recover(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to remove where nobody owned it."""
    before = snapshot(project)
    assert run("recover", project, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"projectRoot": str(project.resolve()), "dryRun": True, "recovered": False, "paths": []}
    assert run("recover", project) == 0 and snapshot(project) == before and len(named(history_a(12))) == 13
