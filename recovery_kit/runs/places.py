"""Where many runs lie, told by one listing: each place with the stamp of its files, nothing opened.

A `Place` is plain text and numbers, so another process can be sent there; its stamp is another one as soon as one of
the run's own files is. Belongs here: listing, stamps, and the way back from a place to its run.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from recovery_kit.errors import NotARun, UnknownMoment
from recovery_kit.formats import rundir
from recovery_kit.formats.rundir import FileFact, Source

from .collection import Runs, agent_run
from .opening import MAX_TREE_DEPTH, SKIPPED, Openable, beside, beside_remote, open_runs, prefixes
from .remote import MARKS, Remote, RemoteSource, by_run, is_url, last_part, shown_url, version_of
from .run import Run
from .sources import FolderSource, MappingSource
from .unread import UnreadRun


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run lies."""

    root: str
    """Folder, archive or URL that was listed, as it was given: it may hold a password and is never shown."""
    below: str
    """The run's folder below the root, empty for the root itself."""
    source: str
    """The run's own name in tables: its path relative to what was opened."""
    stamp: bytes
    """Another one as soon as a file of the run is."""
    journal: int
    """Bytes of the journal."""
    size: int
    """Bytes of all files at the top of the run."""

    def __repr__(self) -> str:
        return f"<Place {self.source}: {self.size} bytes>"


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A folder of which nobody can say what is in it."""

    source: str
    why: str
    """In a word."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What one look at a place found."""

    label: str
    places: tuple[Place, ...]
    unlisted: tuple[Unlisted, ...]


AnySource = Openable | Iterable[str | os.PathLike[str]]
"""One place, or a list of them."""


def list_places(source: AnySource) -> Listing:
    """Every run below a path, a URL, or a list of those. Raises NotARun where there is nothing at all."""
    if isinstance(source, str | os.PathLike):
        return _listed(os.fspath(source), "")
    if isinstance(source, Runs) or hasattr(source, "keys"):
        raise NotARun(None, "runs that were handed in as bytes have no place")
    parts = [os.fspath(each) for each in source]
    if not parts:
        raise NotARun(None, "a list of no places")
    listings = [_listed(part, prefix) for part, prefix in zip(parts, prefixes(parts), strict=True)]
    label = ", ".join(listing.label for listing in listings)
    places = tuple(place for listing in listings for place in listing.places)
    return Listing(label, places, tuple(each for listing in listings for each in listing.unlisted))


def _listed(root: str, prefix: str) -> Listing:
    unlisted: list[Unlisted] = []
    if is_url(root):
        places = _in_store(root, prefix)
    elif os.path.isdir(root):
        places, unlisted = _in_folder(root, prefix)
    elif os.path.isfile(root):
        places = _in_archive(root, prefix)
    else:
        raise NotARun(root, "there is nothing there")
    places.sort(key=lambda place: place.source)
    return Listing(shown_url(root) if is_url(root) else root, tuple(places), tuple(unlisted))


# A folder.


def _in_folder(root: str, prefix: str) -> tuple[list[Place], list[Unlisted]]:
    places: list[Place] = []
    unlisted: list[Unlisted] = []
    waiting: list[tuple[str, str, int]] = [(root, "", 0)]
    while waiting:
        folder, below, depth = waiting.pop()
        try:
            names = os.listdir(folder)
            found = _folder_place(root, folder, below, prefix, names)
            if found is not None:
                places.append(found)
            elif depth < MAX_TREE_DEPTH:
                waiting += _folders_in(folder, below, depth)
        except OSError as no:
            if depth == 0:
                raise NotARun(root, f"it cannot be listed ({type(no).__name__})") from None
            if not isinstance(no, FileNotFoundError):  # one that has just gone is no trouble
                unlisted.append(Unlisted(prefix + below, type(no).__name__))
    return places, unlisted


def _folders_in(folder: str, below: str, depth: int) -> list[tuple[str, str, int]]:
    with os.scandir(folder) as entries:
        return [
            (row.path, f"{below}/{row.name}" if below else row.name, depth + 1)
            for row in entries
            if row.name not in SKIPPED and row.is_dir(follow_symlinks=False)
        ]


def _folder_place(root: str, folder: str, below: str, prefix: str, names: list[str]) -> Place | None:
    """The place of a run directory, None for another folder. This is what an unchanged fleet costs: a list and a look
    at each file."""
    if rundir.META not in names and rundir.JOURNAL not in names:
        return None
    told: list[str] = []
    journal = size = 0
    is_run = False
    start = folder + os.sep
    for name in names:
        try:
            info = os.stat(start + name, follow_symlinks=False)
        except FileNotFoundError:  # gone since
            continue
        if stat.S_ISDIR(info.st_mode):
            continue
        told.append(f"{name} {info.st_size} {info.st_mtime_ns} {info.st_ino}")
        size += info.st_size
        is_run = is_run or name in MARKS
        if name == rundir.JOURNAL and stat.S_ISREG(info.st_mode):
            journal = info.st_size
    if not is_run:
        return None
    told.sort()
    shown = below or os.path.basename(os.path.realpath(root))
    return Place(root, below, prefix + shown, _digest("\n".join(told)), journal, size)


def _digest(told: str) -> bytes:
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).digest()


# A store.


def _in_store(url: str, prefix: str) -> list[Place]:
    remote = Remote(url)
    try:
        listing = remote.listing()
    except OSError:
        raise NotARun(remote.label, "there is nothing there, or it cannot be listed") from None
    own = last_part(remote)
    return [_store_place(url, below, prefix + (below or own), files) for below, files in by_run(listing).items()]


def _store_place(url: str, below: str, source: str, files: dict[str, dict[str, Any]]) -> Place:
    own = {name: info for name, info in files.items() if "/" not in name}
    sizes = {name: int(info.get("size") or 0) for name, info in own.items()}
    told = "\n".join(f"{name} {sizes[name]} {version_of(own[name])}" for name in sorted(own))
    return Place(url, below, source, _digest(told), sizes.get(rundir.JOURNAL, 0), sum(sizes.values()))


# An archive: its runs are as new as itself.


def _in_archive(path: str, prefix: str) -> list[Place]:
    info = os.stat(path)
    version = info.st_size, info.st_mtime_ns
    places = []
    for run in _archive(path, *version).agent_runs:
        assert isinstance(run._source, MappingSource)
        facts = run._source.facts()
        journal = facts.get(rundir.JOURNAL)
        size = sum(fact.size for fact in facts.values())
        places.append(
            Place(path, run.source, prefix + run.source, _digest(f"{version}"), journal.size if journal else 0, size)
        )
    return places


@lru_cache(maxsize=2)
def _archive(path: str, size: int, modified: int) -> Runs:
    return open_runs(path)


# From a place to its run.


def run_at(place: Place, *, verified: bool = True) -> Run:
    """The run that lies somewhere. No file is read yet. Raises NotARun where the place is no longer there."""
    run_id = place.source.rsplit("/", 1)[-1]
    if is_url(place.root):
        remote = _remote(place.root)
        below = place.below + "/" if place.below else ""
        source = RemoteSource(remote, below)
        neighbour = beside_remote(remote, place.below)
        return UnreadRun(run_id, source, place.source, neighbour, verified=verified)
    if os.path.isfile(place.root):
        info = os.stat(place.root)
        try:
            run = agent_run(_archive(place.root, info.st_size, info.st_mtime_ns)[place.below], "no index holds it")
        except UnknownMoment:
            raise NotARun(place.root, "the archive no longer holds it") from None
        return Run(run.id, run._source, place.source, verified=verified)
    folder = Path(place.root, place.below) if place.below else Path(place.root)
    return UnreadRun(run_id, FolderSource(folder), place.source, beside(folder.parent), verified=verified)


@lru_cache(maxsize=16)
def _remote(url: str) -> Remote:
    return Remote(url)


def part_of(source: Source, name: str, start: int, stop: int | None = None) -> bytes | None:
    """A range of a file, and no byte more is fetched; None where there is none. Raises OSError."""
    if isinstance(source, RemoteSource):
        return source.remote.read(source.prefix + name, start, stop)
    if isinstance(source, FolderSource):
        try:
            handle = os.open(source.path / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        with open(handle, "rb") as file:
            file.seek(start)
            return file.read() if stop is None else file.read(max(0, stop - start))
    data = source.read(name)
    return None if data is None else bytes(data[start:stop])


class CountedSource:
    """A source, and how many bytes were asked of it."""

    def __init__(self, inner: Source) -> None:
        self.inner = inner
        self.fetched = 0

    @property
    def label(self) -> str:
        return self.inner.label

    def facts(self) -> Any:
        facts: dict[str, FileFact] = dict(self.inner.facts())
        return facts

    def read(self, name: str) -> bytes | memoryview | None:
        data = self.inner.read(name)
        self.fetched += len(data) if data is not None else 0
        return data
