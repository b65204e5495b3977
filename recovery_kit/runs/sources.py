"""Where the bytes of a run come from: a folder, a mapping, an archive. Links inside a run are never followed."""

import io
import mmap
import os
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recovery_kit.formats.rundir import FileFact

MAP_FROM = 64 * 1024 * 1024
"""A file is mapped only where it pays: below this many bytes it is read."""

MAX_DEPTH = 4
"""How deep a run directory is looked through; the engine's own files lie at most two levels down."""


@dataclass(frozen=True)
class FolderSource:
    """The files below one folder, which is only ever read."""

    path: Path

    @property
    def label(self) -> str:
        return str(self.path)

    def facts(self) -> dict[str, FileFact]:
        """All files by relative name. Links are listed as links, not looked behind."""
        return {fact.name: fact for fact in _walk(self.path, "", MAX_DEPTH)}

    def read(self, name: str) -> bytes | memoryview | None:
        """The bytes of a file, None where there is none or a link stands in the way. Raises OSError."""
        target = self.path.joinpath(*name.split("/"))
        if any(part in ("", ".", "..") for part in name.split("/")) or _through_a_link(self.path, name):
            return None
        try:
            handle = os.open(target, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        with open(handle, "rb", closefd=True) as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                return None
            if info.st_size < MAP_FROM:
                return file.read()
            return memoryview(mmap.mmap(handle, info.st_size, access=mmap.ACCESS_READ))


def _through_a_link(root: Path, name: str) -> bool:
    place = root
    for part in name.split("/"):
        place = place / part
        if place.is_symlink():
            return True
    return False


def _walk(folder: Path, prefix: str, depth: int) -> list[FileFact]:
    found: list[FileFact] = []
    with os.scandir(folder) as entries:
        rows = sorted(entries, key=lambda entry: entry.name)
    for entry in rows:
        name = prefix + entry.name
        if entry.is_symlink():
            found.append(FileFact(name, 0, None, is_link=True))
        elif entry.is_dir(follow_symlinks=False):
            if depth:
                try:
                    found += _walk(Path(entry.path), name + "/", depth - 1)
                except OSError:
                    continue
        elif entry.is_file(follow_symlinks=False):
            info = entry.stat(follow_symlinks=False)
            found.append(FileFact(name, info.st_size, info.st_mtime))
    return found


@dataclass(frozen=True)
class MappingSource:
    """Named bytes, as a test or another program hands them over; of those that begin with `prefix`, what comes after."""

    files: Mapping[str, bytes] = field(repr=False)
    label: str = "bytes"
    prefix: str = ""

    def facts(self) -> dict[str, FileFact]:
        mine = sorted(name for name in self.files if name.startswith(self.prefix))
        names = {name: name.removeprefix(self.prefix) for name in mine}
        return {short: FileFact(short, len(self.files[name])) for name, short in names.items()}

    def read(self, name: str) -> bytes | None:
        return self.files.get(self.prefix + name)


def archive_files(path: Path) -> dict[str, bytes] | None:
    """The files of a zip or tar archive by name, or None where it is neither. Nothing is unpacked to disk; links and
    names that lead outside are left out. Raises OSError."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return {i.filename: archive.read(i) for i in archive.infolist() if not i.is_dir() and _inside(i.filename)}
    if tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            members = [m for m in archive.getmembers() if m.isfile() and _inside(m.name)]
            return {m.name.removeprefix("./"): (archive.extractfile(m) or io.BytesIO()).read() for m in members}
    return None


def _inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/")
