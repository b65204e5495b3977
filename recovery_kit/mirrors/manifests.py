"""The manifest that a mirror takes along, with the files it names: the source's own copy, else one out of `agents`.

Nothing is looked for at a path that the run itself recorded; only that path's shape is used (0.5-to-0.6 N13.2, N16).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from recovery_kit.errors import CannotMirror, ManifestUnreadable
from recovery_kit.formats.durable import safe_parts
from recovery_kit.formats.manifest import parse_manifest, scripts_named
from recovery_kit.history.findings import SAFE_ID
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.meta import RunMeta
from recovery_kit.runs.manifests import MANIFEST
from recovery_kit.runs.run import Run

_Beside = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Taken:
    """A manifest and what lies beside it."""

    text: bytes
    blueprint: Blueprint
    files: dict[str, bytes]
    """Scripts that it names, by relative path."""


def manifest_for(run: Run, meta: RunMeta, agents: Path | None) -> Taken:
    """The manifest for a mirror of a run. `agents`: a folder of agents, or one manifest file.

    Raises CannotMirror where there is none that reads, or where a script that it names is nowhere: an engine would turn
    such a mirror into an error for good.
    """
    own = run.files.blueprint_text
    readable = run.story.blueprint is not None
    if own is not None and readable:
        return _taken(run.id, own, _first_of(_in_run(run), *(_in_folder(p.parent) for p in _candidates(agents, meta))))
    for path in _candidates(agents, meta):
        try:
            text = path.read_bytes()
            parse_manifest(text)
        except (ManifestUnreadable, OSError):
            continue
        return _taken(run.id, text, _in_folder(path.parent))
    why = "it has no blueprint.leviath of its own" if own is None else "its blueprint.leviath cannot be read"
    where = "say agents=, a folder that holds its manifest" if agents is None else "none of that folder is of its agent"
    raise CannotMirror(run.id, f"{why}: {where}")


def _taken(run_id: str, text: bytes, beside: _Beside) -> Taken:
    blueprint = parse_manifest(text)
    files: dict[str, bytes] = {}
    for name in scripts_named(blueprint):
        data = beside(name)
        if data is None:
            raise CannotMirror(run_id, "its manifest names a script that lies neither beside it nor in agents=")
        files[name.removeprefix("./")] = data
    return Taken(text, blueprint, files)


def _in_run(run: Run) -> _Beside:
    def beside(name: str) -> bytes | None:
        data = run.files.raw(name.removeprefix("./"))
        return None if data is None else bytes(data)

    return beside


def _in_folder(folder: Path) -> _Beside:
    def beside(name: str) -> bytes | None:
        path = folder.joinpath(*safe_parts(folder, name.removeprefix("./")))
        return path.read_bytes() if path.is_file() and not path.is_symlink() else None

    return beside


def _first_of(*places: _Beside) -> _Beside:
    def beside(name: str) -> bytes | None:
        return next((data for place in places if (data := place(name)) is not None), None)

    return beside


def _candidates(agents: Path | None, meta: RunMeta) -> Iterator[Path]:
    """Manifests that may be the run's: in the folder its agent was started from, in one of its agent's name, others."""
    if agents is None:
        return
    if agents.is_file():
        yield agents
        return
    if not agents.is_dir():
        raise CannotMirror(agents, "there is no such folder of agents")
    parts = meta.agent_path.replace("\\", "/").split("/")
    for name in (parts[-2] if len(parts) > 1 else "", meta.agent_name):
        path = agents / name / MANIFEST
        if SAFE_ID.fullmatch(name) and path.is_file():
            yield path
    for path in sorted(agents.rglob("*.leviath")):
        try:
            if parse_manifest(path.read_bytes()).name == meta.agent_name:
                yield path
        except (ManifestUnreadable, OSError):
            continue
