"""Runs by what a person types: a path, else an id or the beginning of one in the folder of the engine's runs.

Belongs here: finding the place that was meant. An id is a name, never a path. How a moment of a run is named is in
`points_named.py`.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from recovery_kit.errors import UnknownMoment, UnsafeName
from recovery_kit.formats import loom_tree
from recovery_kit.history.findings import SAFE_ID

from .collection import AnyRun, Runs, agent_run
from .opening import MARKS, only_run, open_runs
from .remote import is_url
from .run import Run


def runs_root(environment: Mapping[str, str] | None = None) -> Path:
    """Where the engine keeps its runs: `$LEVIATH_RUNS_DIR`, else `runs` below `${LEVIATH_HOME:-~}/.leviath`
    (leviath-run-directory 1.1). Nothing is looked for."""
    told = os.environ if environment is None else environment
    if told.get("LEVIATH_RUNS_DIR"):
        return Path(told["LEVIATH_RUNS_DIR"])
    home = told.get("LEVIATH_HOME")
    return (Path(home) if home else Path.home()) / ".leviath" / "runs"


def run_named(text: str, root: Path | None = None) -> AnyRun:
    """The run at a path or URL, else the one with that id, or with the one id that begins so, below `root`.

    A Run of a workflow may be named by the path of its directory inside a project. `root`: by default `runs_root()`.
    Raises NotARun, UnknownMoment, and UnsafeName for what is neither a path that is there nor a name.
    """
    inside = _run_of_project(text)
    if inside is not None:
        return inside
    if is_url(text) or os.path.lexists(text):
        return only_run(open_runs(text))
    return _below(_name(text), root or runs_root())


def agent_run_named(text: str, why: str, root: Path | None = None) -> Run:
    """The same for what takes an agent's run alone. Raises OtherRuntime too, saying `why`."""
    return agent_run(run_named(text, root), why)


def _run_of_project(text: str) -> AnyRun | None:
    """The Run whose directory, or file of format 1, lies at a path inside a project."""
    head, mark, path = text.replace(os.sep, "/").rstrip("/").rpartition(f"/{loom_tree.RUNTIME}/")
    if not mark or "/" in path or is_url(text) or not os.path.lexists(text):
        return None
    found = {run.path: run for run in open_runs(head).loom_runs}
    return found.get(f"{loom_tree.RUNTIME}/{path}")


def runs_named(text: str | None = None, root: Path | None = None) -> Runs:
    """All runs at a path or URL, or the one of that id below `root`; without a text all there. As `run_named`."""
    if text is None:
        return open_runs(root or runs_root())
    inside = _run_of_project(text)
    if inside is None and (is_url(text) or os.path.lexists(text)):
        return open_runs(text)
    run = inside or _below(_name(text), root or runs_root())
    return Runs(lambda: {run.source: run}, label=text)


def place_named(text: str | None = None, root: Path | None = None) -> str:
    """The folder, archive or URL that was meant, for what is kept of many runs. Raises UnsafeName for an id."""
    if text is not None and not is_url(text) and not os.path.lexists(text):
        raise UnsafeName(text, "there is nothing there; an index is of a folder, an archive or a URL")
    return text or str(root or runs_root())


def _name(text: str) -> str:
    if not SAFE_ID.fullmatch(text):
        raise UnsafeName(text, "there is nothing there, and it is no id of a run either")
    return text


def _below(name: str, root: Path) -> AnyRun:
    """Only folders are looked at until one fits: opening thousands of journals to find one would take its time."""
    try:
        with os.scandir(root) as entries:
            names = {entry.name for entry in entries if entry.name.startswith(name) and _is_run(entry)}
    except OSError:
        raise UnknownMoment(root, f"the folder cannot be listed, so no run {name!r} is found in it") from None
    fitting = [name] if name in names else sorted(names)
    return only_run(open_runs(root / fitting[0])) if len(fitting) == 1 else open_runs(root)[name]


def _is_run(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and any(os.path.isfile(os.path.join(entry.path, mark)) for mark in MARKS)
