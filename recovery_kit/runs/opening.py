"""Finding runs in what somebody points at: a run, a runs root, a home, any tree or archive that holds some, named bytes."""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec

from recovery_kit.errors import NotARun, UnsafeName
from recovery_kit.formats import rundir
from recovery_kit.formats.rundir import Source
from recovery_kit.history.findings import SAFE_ID
from recovery_kit.history.story import Neighbour
from recovery_kit.records.meta import RunMeta

from .collection import Runs
from .run import Run
from .sources import FolderSource, MappingSource, archive_files

Openable = str | os.PathLike[str] | Mapping[str, bytes]

MARKS = (rundir.META, rundir.JOURNAL)
"""A folder with one of these is a run directory."""

MAX_TREE_DEPTH = 12
SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})


def open_run(source: Openable) -> Run:
    """One run, of a folder, an archive or a mapping of names to bytes. Nothing is parsed yet.

    Raises NotARun where there is none or more than one.
    """
    runs = open_runs(source)
    if len(runs) != 1:
        raise NotARun(_label(source), f"one run was expected, {len(runs)} are there")
    return next(iter(runs.values()))


def open_runs(source: Openable) -> Runs:
    """All runs below a place, as a mapping by id. Nothing is parsed yet.

    Folders that are links are not entered. Raises NotARun where nothing is there or it holds no run.
    """
    finder = _mapping_finder(source) if isinstance(source, Mapping) else _path_finder(Path(source))
    runs = Runs(finder, label=_label(source))
    if not runs:
        raise NotARun(_label(source), "no run is in there: no folder with a meta.json or a run.lvr")
    return runs


def _label(source: Openable) -> str:
    return "bytes" if isinstance(source, Mapping) else str(source)


Finder = Callable[[], Mapping[str, Run]]


def _path_finder(path: Path) -> Finder:
    if not path.exists():
        raise NotARun(path, "there is nothing there")
    if path.is_file():
        try:
            files = archive_files(path)
        except (OSError, ValueError, RuntimeError) as no:
            raise NotARun(path, f"the archive cannot be read ({type(no).__name__})") from None
        if files is None:
            raise NotARun(path, "it is a file, and neither a run directory nor an archive of some")
        return _mapping_finder(files)
    return lambda: _in_tree(path)


def _in_tree(root: Path) -> dict[str, Run]:
    found: dict[str, Run] = {}
    for folder in sorted(_run_folders(root, 0)):
        relative = PurePosixPath(*folder.relative_to(root).parts).as_posix()
        shown = folder.resolve().name if relative == "." else relative
        found[shown] = Run(folder.resolve().name, FolderSource(folder), shown, _beside(folder.parent))
    return found


def _run_folders(folder: Path, depth: int) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            rows = list(entries)
    except OSError as no:
        if depth == 0:
            raise NotARun(folder, f"it cannot be listed ({type(no).__name__})") from None
        return []
    if any(row.name in MARKS and not row.is_dir(follow_symlinks=False) for row in rows):
        return [folder]
    if depth >= MAX_TREE_DEPTH:
        return []
    below = [Path(row.path) for row in rows if row.is_dir(follow_symlinks=False) and row.name not in SKIPPED]
    return [run for child in below for run in _run_folders(child, depth + 1)]


def _beside(parent: Path) -> Neighbour:
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


def _mapping_finder(files: Mapping[str, bytes]) -> Finder:
    for name in files:
        if name.startswith("/") or ".." in name.split("/"):
            raise UnsafeName(None, "a name among the bytes leads outside")
    return lambda: _in_mapping(files)


def _in_mapping(files: Mapping[str, bytes]) -> dict[str, Run]:
    """Runs of named bytes. Of other runs nothing is asked: questions about them stay unanswered."""
    places = {name.rsplit("/", 1)[0] if "/" in name else "" for name in files if name.rsplit("/", 1)[-1] in MARKS}
    found: dict[str, Run] = {}
    for place in sorted(places):
        source = MappingSource(files, place or "bytes", place + "/" if place else "")
        run_id = place.rsplit("/", 1)[-1] or _own_id(source)
        found[place or run_id] = Run(run_id, source, place or run_id)
    return found


def _own_id(source: Source) -> str:
    meta = _metadata(source)
    return meta.run_id if meta else "run"
