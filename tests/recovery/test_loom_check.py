"""`check` of an IntLoom project: the field case, and what the system refuses."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from looms.release_notes import RUNTIME, A, B, history_a, history_b, key, named

from recovery_kit.errors import NotARun
from recovery_kit.recovery.loom_check import check_project, holds_format1

CASE = Path(__file__).parents[1] / "data" / "cases" / "H11-loom-phases"


def phases() -> dict[str, bytes]:
    """The case's files by name."""
    root = CASE / "input"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def one(**changes: Any) -> dict[str, bytes]:
    """A project of format 1 with one Run, some members of its checkpoint changed; None takes one away."""
    name, data = next((n, d) for n, d in phases().items() if b'"step_ready"' in d)
    value = json.loads(data) | changes
    return {name: json.dumps({k: v for k, v in value.items() if v is not None}).encode()}


def test_every_phase() -> None:
    """Each checkpoint, and the project as a whole, as the case has them; no byte changed."""
    expect = json.loads((CASE / "expect.json").read_text())
    told = check_project(CASE / "input")
    for path, row in expect["checkpoints"].items():
        assert row.items() <= told["checkpoints"][path].items(), path
    assert expect["host"].items() <= told.items() and told["blocked_by"] is None
    digests = {f"input/{name}": hashlib.sha256(data).hexdigest() for name, data in phases().items()}
    assert digests == expect["input_sha256"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (one(more=1), "corrupt"),
        (one(version=2), "version"),
        (one(version=True), "corrupt"),
        (one(phase="sleeping"), "corrupt"),
        (one(run=None), "corrupt"),
        ({f"{RUNTIME}/x.json": b"{"}, "corrupt"),
        ({f"{RUNTIME}/x.json": next(iter(one().values()))}, "corrupt"),
        ({next(iter(one())): b"\xef\xbb\xbf" + next(iter(one().values()))}, "corrupt"),
        ({next(iter(one())): next(iter(one().values())).replace(b'"phase"', b'"phase":"terminal","phase"')}, "corrupt"),
        ({next(iter(one())): next(iter(one().values())).replace(b'"value": 7', b'"value": NaN')}, "corrupt"),
    ],
)
def test_files_that_the_system_does_not_read(files: dict[str, bytes], problem: str) -> None:
    """One such file, and nothing is read; it is named, with its reason."""
    told = check_project(phases() | files)
    (path,) = files
    assert told["store_readable"] is False and told["blocked_by"] == path and told["n_restored_or_failed"] == 0
    row = told["checkpoints"][path]
    assert row["valid"] is False and row["problem"] == problem and row["why"]


@pytest.mark.parametrize(
    "files",
    [
        one(stage=None),
        one(phase="stage_pending"),
        one(phase="step_result"),
        one(phase="answered"),
        one(phase="waiting"),
    ],
)
def test_files_that_restore_stops_at(files: dict[str, bytes]) -> None:
    """Sound JSON of a Run that breaks an invariant: all is read, and restoring stops there."""
    told = check_project(files)
    (path,) = files
    assert told["store_readable"] is True and told["restore_fails"] is True and told["blocked_by"] == path


def test_format_3() -> None:
    """The same object for a project of format 3: a row a Run, by its current checkpoint."""
    told = check_project(named(history_a(12), history_b()))
    rows = told["checkpoints"]
    assert rows[f"{RUNTIME}/{key(A)}/00000012.json"]["on_restart"] == "reopen_prompt"
    assert rows[f"{RUNTIME}/{key(B)}/00000005.json"]["on_restart"] == "run_interrupted"
    assert told["store_readable"] and (told["n_checkpoints"], told["n_restored_or_failed"]) == (17, 2)
    files = named(history_a(12))
    del files[f"{RUNTIME}/{key(A)}/00000002.json"]
    assert check_project(files)["blocked_by"] == f"{RUNTIME}/{key(A)}"


def test_what_is_a_project(tmp_path: Path) -> None:
    """A folder with a mark of IntLoom is a project, and nothing else is."""
    assert holds_format1(CASE / "input")
    with pytest.raises(NotARun):
        holds_format1(tmp_path)
    with pytest.raises(NotARun):
        check_project(tmp_path)
