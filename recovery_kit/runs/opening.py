"""Finding runs in what somebody points at: a run, a tree, an archive or a URL that holds some, named bytes."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec

from recovery_kit.errors import NotARun, UnsafeName
from recovery_kit.formats import loom_tree, rundir
from recovery_kit.formats.loom_tree import FolderTree, MappingTree
from recovery_kit.formats.rundir import Source
from recovery_kit.history.findings import SAFE_ID
from recovery_kit.history.story import Neighbour
from recovery_kit.records.meta import RunMeta

from .collection import AnyRun, Opened, Runs, agent_run
from .loom_run import Project, open_loom_runs
from .remote import MARKS as MARKS
from .remote import Remote, RemoteFiles, RemoteSource, by_run, is_url, last_part, shown_url
from .run import Run
from .sources import FolderSource, MappingSource, archive_files
from .unread import UnreadRun

Openable = str | os.PathLike[str] | Mapping[str, bytes] | Sequence[str | os.PathLike[str]]
"""A path, a URL (extra `remote`), an archive, named bytes; or a list of paths and URLs."""

MAX_TREE_DEPTH = 12
SKIPPED = frozenset({loom_tree.PRIVATE, ".git", "node_modules", "__pycache__", ".venv"})


def open_run(source: Openable, *, verified: bool = True) -> Run:
    """One run of an agent, of a folder, an archive or a mapping of names to bytes. Nothing is parsed yet.

    `verified`: whether each frame is judged before anything is told (`Run`). Raises NotARun where there is none or more
    than one, OtherRuntime for a Run of a workflow: those live together in a project, which `open_runs` opens.
    """
    return agent_run(only_run(open_runs(source, verified=verified)), "open_runs opens its project")


def only_run(runs: Runs) -> AnyRun:
    """The one run of a place. Raises NotARun where there is none or more than one."""
    if len(runs) != 1:
        raise NotARun(runs.label, f"one run was expected, {len(runs)} are there")
    return next(iter(runs.values()))


def open_runs(source: Openable, *, verified: bool = True) -> Runs:
    """All runs below a place, those of IntLoom projects included, as a mapping by id.

    Of agents' runs nothing is parsed yet; of projects every checkpoint is read. `verified`: as for `open_run`. Folders
    that are links are not entered. Raises NotARun where nothing is there or it holds neither a run nor a project.
    """
    finder = _finder(source, verified)
    runs = Runs(finder, label=_label(source))
    if not runs and not runs.projects:
        raise NotARun(
            _label(source), "no run is in there: no folder with a meta.json or a run.lvr, and no IntLoom project"
        )
    return runs


def _label(source: Openable) -> str:
    if isinstance(source, Mapping):
        return "bytes"
    if isinstance(source, str | os.PathLike):
        return shown_url(str(source)) if is_url(source) else str(source)
    return ", ".join(map(_label, source))


Finder = Callable[[], Opened]


def _finder(source: Openable, verified: bool) -> Finder:
    if isinstance(source, Mapping):
        return _mapping_finder(source, verified)
    if isinstance(source, str | os.PathLike):
        return _url_finder(str(source), verified) if is_url(source) else _path_finder(Path(source), verified)
    return _list_finder([os.fspath(each) for each in source], verified)


def _list_finder(parts: Sequence[str], verified: bool) -> Finder:
    finders = [(prefix, _finder(part, verified)) for prefix, part in zip(prefixes(parts), parts, strict=True)]

    def find() -> Opened:
        found = Opened()
        for prefix, finder in finders:
            part = finder()
            for shown, run in part.items():
                if isinstance(run, Run):
                    run.source = prefix + shown
                    found[run.source] = run
            for project in part.projects:
                _add_project(found, replace(project, source=f"{prefix}{project.source}".rstrip("/")))
        return found

    return find


def _add_project(found: Opened, project: Project) -> None:
    found.projects += (project,)
    found.update((run.source, run) for run in open_loom_runs(project).values())


def prefixes(parts: Iterable[str]) -> list[str]:
    """What stands before the relative paths of each place of a list: the last part of its name, made unique."""
    taken: dict[str, int] = {}
    found = []
    for part in parts:
        name = shown_url(part).rstrip("/").rsplit("/", 1)[-1].split("::")[-1] or "runs"
        taken[name] = taken.get(name, 0) + 1
        found.append((name if taken[name] == 1 else f"{name}~{taken[name]}") + "/")
    return found


def _url_finder(url: str, verified: bool) -> Finder:
    remote = Remote(url)
    return lambda: _in_store(remote, verified)


def _in_store(remote: Remote, verified: bool) -> Opened:
    """Runs of a remote place: one listing, and no file is fetched before somebody asks for one."""
    try:
        listing = remote.listing()
    except OSError as no:
        raise NotARun(remote.label, f"there is nothing there, or it cannot be listed ({type(no).__name__})") from None
    found = Opened()
    for below, files in by_run(listing).items():
        shown, prefix = below or last_part(remote), below + "/" if below else ""
        source = RemoteSource(remote, prefix, files)
        neighbour = beside_remote(remote, below)
        found[shown] = UnreadRun(shown.rsplit("/", 1)[-1], source, shown, neighbour, verified=verified)
    for place in _project_places(listing):
        inside = RemoteFiles(remote, place + "/" if place else "", listing)
        _add_project(found, Project(MappingTree(inside), f"{remote.label}/{place}".rstrip("/"), place))
    return found


def beside_remote(remote: Remote, below: str) -> Neighbour:
    """Metadata of the runs in the same remote folder, by id."""
    parent = below.rpartition("/")[0]

    @lru_cache(maxsize=64)
    def neighbour(run_id: str) -> RunMeta | None:
        if not below or not SAFE_ID.fullmatch(run_id):
            return None
        return _metadata(RemoteSource(remote, f"{parent}/{run_id}/".lstrip("/")))

    return neighbour


def _path_finder(path: Path, verified: bool) -> Finder:
    if not path.exists():
        raise NotARun(path, "there is nothing there")
    if path.is_file():
        try:
            files = archive_files(path)
        except (OSError, ValueError, RuntimeError) as no:
            raise NotARun(path, f"the archive cannot be read ({type(no).__name__})") from None
        if files is None:
            raise NotARun(path, "it is a file, and neither a run directory nor an archive of some")
        return _mapping_finder(files, verified)
    return lambda: _in_tree(path, verified)


def _in_tree(root: Path, verified: bool) -> Opened:
    found = Opened()
    neighbours: dict[Path, Neighbour] = {}
    for folder, is_project in sorted(_places(root, 0)):
        relative = PurePosixPath(*folder.relative_to(root).parts).as_posix()
        if is_project:
            _add_project(found, Project(FolderTree(folder), str(folder), "" if relative == "." else relative))
            continue
        shown = folder.resolve().name if relative == "." else relative
        neighbour = neighbours.setdefault(folder.parent, beside(folder.parent))
        found[shown] = UnreadRun(shown.rsplit("/", 1)[-1], FolderSource(folder), shown, neighbour, verified=verified)
    return found


def _places(folder: Path, depth: int) -> Iterator[tuple[Path, bool]]:
    """Run directories and projects, and which a place is. Other runs may lie inside a project, not below a run."""
    try:
        with os.scandir(folder) as entries:
            rows = list(entries)
    except OSError as no:
        if depth == 0:
            raise NotARun(folder, f"it cannot be listed ({type(no).__name__})") from None
        return
    if any(row.name in MARKS and not row.is_dir(follow_symlinks=False) for row in rows):
        yield folder, False
        return
    if any(row.name in loom_tree.MARKS for row in rows):
        yield folder, True
    if depth < MAX_TREE_DEPTH:
        for row in rows:
            if row.is_dir(follow_symlinks=False) and row.name not in SKIPPED:
                yield from _places(Path(row.path), depth + 1)


def beside(parent: Path) -> Neighbour:
    """Metadata of the runs in the same folder, by id (leviath-run-directory 5.9)."""

    @lru_cache(maxsize=4096)
    def neighbour(run_id: str) -> RunMeta | None:
        return _metadata(FolderSource(parent / run_id)) if SAFE_ID.fullmatch(run_id) else None

    return neighbour


def _metadata(source: Source) -> RunMeta | None:
    try:
        data = source.read(rundir.META)
        return None if data is None else msgspec.json.decode(data, type=RunMeta)
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _mapping_finder(files: Mapping[str, bytes], verified: bool) -> Finder:
    for name in files:
        if name.startswith("/") or ".." in name.split("/"):
            raise UnsafeName(None, "a name among the bytes leads outside")
    return lambda: _in_mapping(files, verified)


def _in_mapping(files: Mapping[str, bytes], verified: bool) -> Opened:
    """Runs of named bytes. Of other runs nothing is asked: questions about them stay unanswered."""
    places = {name.rsplit("/", 1)[0] if "/" in name else "" for name in files if name.rsplit("/", 1)[-1] in MARKS}
    found = Opened()
    for place in sorted(places):
        source = MappingSource(files, place or "bytes", place + "/" if place else "")
        run_id = place.rsplit("/", 1)[-1] or _own_id(source)
        found[place or run_id] = Run(run_id, source, place or run_id, verified=verified)
    for place in _project_places(files):
        start = len(place) + 1 if place else 0
        inside = {name[start:]: data for name, data in files.items() if not place or name.startswith(place + "/")}
        _add_project(found, Project(MappingTree(inside), place or "bytes", place))
    return found


def _project_places(names: Iterable[str]) -> list[str]:
    """The folders that are IntLoom projects, by the names of files below them."""
    found = set()
    for parts in (name.split("/") for name in names):
        marks = [n for n, part in enumerate(parts) if part in loom_tree.MARKS]
        if marks and (parts[marks[0]] == loom_tree.PRIVATE or marks[0] == len(parts) - 1):
            found.add("/".join(parts[: marks[0]]))
    return sorted(found)


def _own_id(source: Source) -> str:
    meta = _metadata(source)
    return meta.run_id if meta else "run"
