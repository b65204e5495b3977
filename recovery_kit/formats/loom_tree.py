"""The files of a project by relative name, from a folder or from named bytes, links never followed.

Belongs here: what an entry is and its bytes. What a name means is for the readers of the formats.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

EntryKind = Literal["file", "folder", "link", "other"]

MARKS = ("intloom.yaml", ".intloom")
"""A folder with one of these is a project (intloom-recovery 2.13)."""
PRIVATE = ".intloom"
RUNTIME = ".intloom/runtime"


class NotPlain(OSError):
    """What stands there is no regular file."""


class Tree(Protocol):
    """Whoever holds the files of a project."""

    def kind(self, path: str) -> EntryKind | None:
        """What stands there, None for nothing."""

    def names(self, path: str) -> list[tuple[str, EntryKind]]:
        """The entries of a folder, sorted as bytes. Raises OSError."""

    def read(self, path: str) -> bytes:
        """The bytes of a regular file. Raises NotPlain for anything else, OSError where it cannot be read."""


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A project on this machine, which is only ever read."""

    root: Path

    def kind(self, path: str) -> EntryKind | None:
        try:
            return _kind_of_mode(os.lstat(self.root / path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, path: str) -> list[tuple[str, EntryKind]]:
        with os.scandir(self.root / path) as rows:
            return sorted(((row.name, _kind_of_row(row)) for row in rows), key=lambda found: os.fsencode(found[0]))

    def read(self, path: str) -> bytes:
        handle = os.open(f"{self.root}/{path}", _READING)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise NotPlain(path)
            data = os.read(handle, info.st_size + 1)
            if len(data) != info.st_size:  # it grew meanwhile, or came in pieces
                while more := os.read(handle, 1 << 20):
                    data += more
            return data
        finally:
            os.close(handle)


_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def _kind_of_row(row: "os.DirEntry[str]") -> EntryKind:
    if row.is_symlink():
        return "link"
    if row.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if row.is_file(follow_symlinks=False) else "other"


def _kind_of_mode(mode: int) -> EntryKind:
    return _KINDS.get(stat.S_IFMT(mode), "other")


_KINDS: dict[int, EntryKind] = {stat.S_IFLNK: "link", stat.S_IFDIR: "folder", stat.S_IFREG: "file"}


@dataclass(frozen=True, slots=True)
class MappingTree:
    """Named bytes; a folder is whatever names lead through."""

    files: Mapping[str, bytes]

    def kind(self, path: str) -> EntryKind | None:
        if path in self.files:
            return "file"
        return "folder" if any(name.startswith(path + "/") for name in self.files) else None

    def names(self, path: str) -> list[tuple[str, EntryKind]]:
        rest = [name[len(path) + 1 :] for name in self.files if name.startswith(path + "/")]
        found: dict[str, EntryKind] = {name.split("/")[0]: "folder" if "/" in name else "file" for name in rest}
        return sorted(found.items(), key=lambda entry: entry[0].encode("utf-8", "surrogateescape"))

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return bytes(self.files[path])


def is_project(tree: Tree) -> bool:
    """Whether it is an IntLoom project at all."""
    return any(tree.kind(mark) is not None for mark in MARKS)


def shown_path(path: str) -> str:
    """A path as text: bytes that are no UTF-8 as their escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
