"""`edit`: change a paused mirror, each change recorded beside it and undoable."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from recovery_kit.errors import CannotMirror
from recovery_kit.mirrors.editing import Edit
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.recovery.check import masked
from recovery_kit.runs.runs_named import agent_run_named

from .choosing import json_option, root_option
from .printing import Page, print_json


@click.command("edit")
@click.argument("mirror", metavar="MIRROR")
@root_option
@click.option("--region", help="Region of the entry.")
@click.option("--entry", type=int, metavar="N", help="Which entry of it, from 0; negative from the end.")
@click.option("--text", help="The entry's new text.")
@click.option("--insert", is_flag=True, help="Put a new entry there (at the end without --entry).")
@click.option("--kind", type=click.Choice(("Text", "UserMessage")), help="Of a new entry.")
@click.option("--remove", is_flag=True, help="Take the entry away; a turn goes with its results.")
@click.option("--task", help="Another task, in the metadata and where the window holds it.")
@click.option("--call", metavar="ID", help="Call whose result is changed or given.")
@click.option("--result", help="That call's result.")
@click.option("--stage", help="Stage to go on in.")
@click.option("--iteration", type=int, help="Iteration to go on from.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Model for every stage.")
@click.option("--tools", metavar="NAME,…", help="Tools that the current stage may use.")
@click.option("--patch", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A JSON patch (RFC 6902).")
@click.option("--replay", metavar="MIRROR", help="Make the edits of another mirror here.")
@click.option("--undo", type=int, metavar="N", help="Take edit N back.")
@click.option("--undo-all", is_flag=True, help="Take all edits back.")
@click.option("--author", default="", help="Who edits.")
@click.option("--reason", default="", help="Why.")
@json_option
def edit_command(mirror: str, root: Path | None, as_json: bool, **asked: Any) -> int:
    """Change a paused mirror; each change is recorded and undoable.

    Its edits are listed; with nothing to be changed that is all.

    Each edit is a JSON patch with author, time and reason in a file beside the mirror. One that no provider would
    accept is refused, and the entry that breaks it named.
    """
    held = _mirror(mirror, root)
    who = {"author": asked.pop("author"), "reason": asked.pop("reason")}
    given = {name: value for name, value in asked.items() if value is not None and value is not False}
    acts = [name for name in _ACTS if name in given]
    if len(acts) + bool(given.keys() - _ACTS.keys()) > 1:
        raise click.UsageError(f"--{acts[0].replace('_', '-')} stands alone")
    if acts:
        _ACTS[acts[0]](held, given[acts[0]], who, root)
    elif given:
        if "tools" in given:
            given["tools"] = [name.strip() for name in given["tools"].split(",") if name.strip()]
        held.edit(**given, **who)
    _print(held, as_json)
    return 0


def _mirror(name: str, root: Path | None) -> Mirror:
    path = agent_run_named(name, "a mirror of it says what its source said, and is not edited", root).folder
    if path is None:
        raise CannotMirror(name, "a mirror in an archive cannot be changed")
    return Mirror(path)


def _patch(mirror: Mirror, path: Path, who: dict[str, str], root: Path | None) -> None:
    try:
        patch = json.loads(path.read_bytes())
    except ValueError:
        raise CannotMirror(path, "the patch is no JSON") from None
    if not isinstance(patch, list) or not all(isinstance(operation, dict) for operation in patch):
        raise CannotMirror(path, "a patch is a list of operations")
    mirror.edit(patch, author=who["author"], reason=who["reason"])


def _replay(mirror: Mirror, name: str, who: dict[str, str], root: Path | None) -> None:
    mirror.replay(_mirror(name, root), **who)


def _undo(mirror: Mirror, number: int, who: dict[str, str], root: Path | None) -> None:
    mirror.undo(number, **who)


def _undo_all(mirror: Mirror, asked: bool, who: dict[str, str], root: Path | None) -> None:
    mirror.undo_all(**who)


_ACTS: dict[str, Callable[[Mirror, Any, dict[str, str], Path | None], None]] = {
    "patch": _patch,
    "replay": _replay,
    "undo": _undo,
    "undo_all": _undo_all,
}
"""What stands alone."""


def _print(mirror: Mirror, as_json: bool) -> None:
    if as_json:
        print_json(masked([_as_json(edit) for edit in mirror.edits], mirror.masker))
        return
    page = Page(mirror.masker)
    for edit in mirror.edits:
        paths = list(dict.fromkeys(str(op.get("path")) for op in edit.patch if op.get("op") != "test"))
        by = f" by {edit.author}" if edit.author else ""
        why = f": {edit.reason}" if edit.reason else ""
        undone = " (undone)" if edit.undone else ""
        page.say(f"{edit.number}{undone} {', '.join(paths) or 'a note'}{by}{why}", "muted" if edit.undone else "plain")
    if not mirror.edits:
        page.say("no edits")


def _as_json(edit: Edit) -> dict[str, Any]:
    return {
        "number": edit.number, "at": edit.at, "author": edit.author, "reason": edit.reason, "undone": edit.undone,
        "patch": [dict(operation) for operation in edit.patch],
    }  # fmt: skip
