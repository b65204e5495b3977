"""`check` of an IntLoom project: what every checkpoint says, and what the system would make of them all.

A start reads all files or none, so the verdict is one for the project, and it names the file that causes it.
(intloom-recovery 1.6, 1.7, 2.7)
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import UNSET

from recovery_kit.errors import NotARun
from recovery_kit.formats.loom_set import RecoverySet, read_set
from recovery_kit.formats.loom_tree import FolderTree, MappingTree, Tree, is_project
from recovery_kit.formats.loom_v1 import File1, Store1, read_store1
from recovery_kit.records.loom import Checkpoint1

LoomSource = str | PathLike[str] | Mapping[str, bytes] | Tree

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
    else:
        tree = FolderTree(Path(source)) if isinstance(source, (str, PathLike)) else source
    if not is_project(tree):
        where = source if isinstance(source, (str, PathLike)) else None
        raise NotARun(where, "no IntLoom project is in there: neither intloom.yaml nor .intloom")
    return tree


def is_loom_project(path: str | PathLike[str]) -> bool:
    """Whether a folder is an IntLoom project."""
    return Path(path).is_dir() and is_project(FolderTree(Path(path)))


def holds_format1(source: LoomSource) -> bool:
    """Whether a project's checkpoints are flat files, as format 1 has them, and no Run directory is there."""
    tree = tree_of(source)
    return read_set(tree).is_of_format1


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
