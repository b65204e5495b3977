"""`check` of an IntLoom project: what every checkpoint says, and what the system would make of them all.

A start reads all files or none, so the verdict is one for the project, and it names the file that causes it.
(intloom-recovery 1.6, 1.7, 2.7)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import UNSET

from recovery_kit.display import SHAPES_ONLY
from recovery_kit.errors import NotARun
from recovery_kit.formats.loom_set import RecoverySet, RunFolder, read_set
from recovery_kit.formats.loom_tree import FolderTree, MappingTree, Tree, is_project
from recovery_kit.formats.loom_v1 import File1, Store1, read_store1
from recovery_kit.history.loom_rules import history_problem
from recovery_kit.records.loom import FORMAT, Checkpoint1, LoomFinding
from recovery_kit.restore.loom import rule_of
from recovery_kit.runs.loom_run import Project

from .masked_json import masked

LoomSource = str | PathLike[str] | Mapping[str, bytes] | Tree | Project

ON_RESTART1: dict[str, str] = {
    "stage_pending": "resume_at_boundary",
    "step_ready": "resume_at_boundary",
    "executing": "run_interrupted",
    "step_result": "advance_without_repeating",
    "waiting": "ask_again_if_code_has_recover_else_run_interrupted",
    "answered": "use_saved_answer_if_code_has_recover_else_run_interrupted",
    "terminal": "not_restored",
}
"""What a restart of the published system does with a phase; a wait for a client's Agent is uncertain instead."""

EFFECT1: dict[str, bool | None] = {"executing": True, "waiting": None, "answered": None}
"""Whether an effect may have happened that no file tells; None where it depends on code. Else it cannot have."""


def tree_of(source: LoomSource) -> Tree:
    """The files of a project. Raises NotARun where there is no project."""
    if isinstance(source, Mapping):
        tree: Tree = MappingTree(source)
    elif isinstance(source, Project):
        tree = source.tree
    else:
        tree = FolderTree(Path(source)) if isinstance(source, (str, PathLike)) else source
    if not is_project(tree):
        where = source if isinstance(source, (str, PathLike)) else None
        raise NotARun(where, "no IntLoom project is in there: neither intloom.yaml nor .intloom")
    return tree


def holds_format1(source: LoomSource) -> bool:
    """Whether a project's checkpoints are flat files, as format 1 has them, and no Run directory is there."""
    tree = tree_of(source)
    return read_set(tree).is_of_format1


@dataclass(frozen=True, slots=True)
class CheckedProject:
    """A project, checked: a start reads all of its Runs or none."""

    project: Project
    told: Mapping[str, Any]
    """As `check_project` gives it."""

    @property
    def needs_a_look(self) -> bool:
        """Whether there is a finding."""
        return bool(self.told["findings"])

    def as_json(self) -> dict[str, Any]:
        """The project's object of `check --json`, masked."""
        where = {"source": self.project.source or self.project.label, "runtime": "intloom"}
        row: dict[str, Any] = masked({**where, **self.told}, SHAPES_ONLY)
        return row


def check_projects(projects: Iterable[Project]) -> tuple[CheckedProject, ...]:
    """Each project, checked."""
    return tuple(CheckedProject(project, check_project(project)) for project in projects)


def check_project(source: LoomSource) -> dict[str, Any]:
    """The project's object of `check --json`, for either format; the caller masks it. Raises NotARun."""
    tree = tree_of(source)
    found = read_set(tree)
    return _format1(read_store1(tree)) if found.is_of_format1 else _format3(found)


def _format1(store: Store1) -> dict[str, Any]:
    ended = sum(file.checkpoint is not None and file.checkpoint.phase == "terminal" for file in store.files)
    alive = sum(file.checkpoint is not None and file.checkpoint.phase != "terminal" for file in store.files)
    return {
        "format": 1,
        "store_readable": store.is_readable,
        "restore_fails": store.blocked_by is not None,
        "blocked_by": store.blocked_by,
        "n_checkpoints": len(store.files),
        "n_restored_or_failed": alive if store.blocked_by is None else 0,
        "n_terminal": ended,
        "ignored_files": list(store.ignored),
        "checkpoints": {file.path: _row1(file) for file in store.files},
        "findings": [finding.as_json() for finding in store.findings],
    }


ON_RESTART: dict[str, str] = {
    "launch": "resume_at_boundary",
    "apply_result": "advance_without_repeating",
    "interrupt": "run_interrupted",
    "history": "not_restored",
}
"""The field cases' words for a disposition; the others are their own word."""


def _format3(found: RecoverySet) -> dict[str, Any]:
    folders = [folder for folder in found.folders if folder.was_admitted]
    rows = {_current_path(folder): _row3(folder) for folder in folders}
    findings = [*found.findings, *(row["finding"] for row in rows.values() if row["finding"])]
    ended = sum(row["phase"] == "terminal" for row in rows.values())
    blocked_by = findings[0].path if findings else None
    return {
        "format": FORMAT,
        "store_readable": not findings,
        "restore_fails": bool(findings),
        "blocked_by": blocked_by,
        "n_checkpoints": sum(len(folder.files) for folder in folders),
        "n_restored_or_failed": 0 if findings else len(rows) - ended,
        "n_terminal": ended,
        "ignored_files": [],
        "checkpoints": {path: {k: v for k, v in row.items() if k != "finding"} for path, row in rows.items()},
        "findings": [finding.as_json() for finding in findings],
    }


def _current_path(folder: RunFolder) -> str:
    return folder.files[-1].path if folder.files else folder.path


def _row3(folder: RunFolder) -> dict[str, Any]:
    finding = next(iter(folder.findings), None)
    own = None  # a finding that reading alone does not make
    if finding is None:
        reason = history_problem(folder.numbers, folder.checkpoints)
        if reason:
            run_id = folder.checkpoints[-1].run.id
            finding = own = LoomFinding(problem="corrupt", path=folder.path, run_id=run_id, detail=reason)
    current = folder.checkpoints[-1] if folder.checkpoints and folder.files[-1].checkpoint is not None else None
    facts: dict[str, Any] = dict.fromkeys(("run_id", "phase", "status", "on_restart", "effect_may_have_happened"))
    if current is not None:
        rule = rule_of(current)
        facts = {
            "run_id": current.run.id,
            "phase": current.boundary,
            "status": current.status,
            "on_restart": ON_RESTART.get(rule.disposition, rule.disposition),
            "effect_may_have_happened": current.boundary == "executing",
        }
    why = {"problem": finding.problem, "why": finding.detail} if finding else {"problem": None, "why": None}
    return {"valid": finding is None, **facts, **why, "finding": own}


def _row1(file: File1) -> dict[str, Any]:
    c, why = file.checkpoint, file.finding.detail if file.finding else None
    if c is None:
        facts = ("run_id", "phase", "status", "on_restart", "effect_may_have_happened")
        return {"valid": False, "problem": file.finding and file.finding.problem, "why": why, **dict.fromkeys(facts)}
    return {
        "run_id": c.run.id,
        "valid": True,
        "phase": c.phase,
        "status": c.run.status,
        "on_restart": on_restart1(c),
        "effect_may_have_happened": effect_may_have_happened1(c),
        "problem": file.finding and file.finding.problem,
        "why": why,
    }


def on_restart1(checkpoint: Checkpoint1) -> str:
    """What the published system does with a checkpoint, once the whole set passes."""
    if checkpoint.phase != "terminal" and checkpoint.run.pending_agent_call is not UNSET:
        return "run_interrupted"
    return ON_RESTART1[checkpoint.phase]


def effect_may_have_happened1(checkpoint: Checkpoint1) -> bool | None:
    """Whether something may have happened outside that no file tells."""
    if checkpoint.phase != "terminal" and checkpoint.run.pending_agent_call is not UNSET:
        return True
    return EFFECT1.get(checkpoint.phase, False)
