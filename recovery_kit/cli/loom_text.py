"""What `check` says of an IntLoom project: its findings, then each checkpoint and what a restart does with it."""

from collections.abc import Mapping
from typing import Any

from recovery_kit.display import SHAPES_ONLY
from recovery_kit.recovery.check import masked

from .printing import Page


def project_json(path: str, project: Mapping[str, Any]) -> dict[str, Any]:
    """The project's object of `check --json`, masked."""
    row: dict[str, Any] = masked({"source": path, "runtime": "intloom", **project}, SHAPES_ONLY)
    return row


def print_project(path: str, project: Mapping[str, Any]) -> None:
    """The same in words."""
    page = Page()
    page.say(f"{path} (IntLoom project, format {project['format']})")
    for finding in project["findings"]:
        page.say(f"error: {finding['problem']}: {finding['detail']} [{finding['path']}]", "bad", indent=2)
    if project["restore_fails"]:
        page.say(f"a restart would restore nothing: {project['blocked_by']} holds all the others back", indent=2)
    for name, row in project["checkpoints"].items():
        page.say(f"{name}: {row.get('phase')}; on a restart: {_words(row)}", indent=2)


def _words(row: Mapping[str, Any]) -> str:
    return str(row.get("on_restart") or "not read").replace("_", " ")
