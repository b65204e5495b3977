"""A folder that appears whole or not at all: written under a temporary name beside the place, renamed in one step.

Belongs here: the temporary name, the rename, and taking away what a killed process left. Not here: what is in it.
"""

import ctypes
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from recovery_kit.errors import CannotMirror, CannotWrite, RunBusy
from recovery_kit.formats.durable import Durable, FolderLock

_MARK = ".lev-write-mirror-"
"""How a temporary name begins; no reader of run directories looks at such names (0.5-to-0.6 N2)."""


@contextmanager
def new_folder(target: Path, disk: Durable) -> Iterator[Path]:
    """A temporary folder that becomes `target` when the block ends well, and is gone when it does not.

    It lies beside the folder that will hold the target, where nobody scans for runs, or in it where nothing can be
    written there. Raises CannotMirror where `target` is there already, CannotWrite where the disk does not take it.
    """
    if os.path.lexists(target):
        raise CannotMirror(target, "something of that name is there already")
    with ExitStack() as undo:
        temporary, lock = _staging(target.parent, disk)
        undo.callback(lock.release)
        undo.callback(shutil.rmtree, temporary, ignore_errors=True)
        yield temporary
        if os.path.lexists(target):
            raise CannotMirror(target, "something of that name is there already")
        _rename(temporary, target)


def _staging(into: Path, disk: Durable) -> tuple[Path, FolderLock]:
    beside = into.parent
    same = os.stat(beside).st_dev == os.stat(into).st_dev
    for place in (beside, into) if same and os.access(beside, os.W_OK | os.X_OK) else (into,):
        sweep(place, disk)
        for _ in range(3):  # who sweeps at the same moment may take a folder that is not locked yet
            temporary = place / f"{_MARK}{secrets.token_hex(8)}"
            try:
                disk.make_folder(temporary)
                return temporary, disk.lock_folder(temporary)
            except (CannotWrite, RunBusy) as no:
                shutil.rmtree(temporary, ignore_errors=True)
                if not isinstance(no, RunBusy) and no.errno != errno.ENOENT:
                    raise
    raise CannotWrite(into, "no folder can be made there")


def sweep(place: Path, disk: Durable) -> int:
    """Take away temporary folders whose process is gone; those being written are locked."""
    gone = 0
    try:
        names = [entry.name for entry in os.scandir(place) if entry.name.startswith(_MARK) and entry.is_dir()]
    except OSError:
        return 0
    for name in names:
        with suppress(CannotWrite, RunBusy):
            with disk.lock_folder(place / name):
                shutil.rmtree(place / name, ignore_errors=True)
                gone += 1
    return gone


def _rename(temporary: Path, target: Path) -> None:
    try:
        os.rename(temporary, target)
        for folder in {target.parent, temporary.parent}:
            _flush(folder)
    except OSError as no:
        raise CannotWrite(target, f"it cannot be put in place ({os.strerror(no.errno or 0)})") from no


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Changing several files of a folder that is there, in one step.


def replace_files(folder: Path, files: Mapping[str, bytes], disk: Durable) -> None:
    """Make files of a folder hold other bytes so that nobody meets some old and some new.

    One file is renamed over the old one. For several a second folder is written, all else linked into it, and the two
    change names, where the system can do that in one step; else one file after the other.
    """
    if len(files) > 1:
        with ExitStack() as undo:
            temporary, lock = _staging(folder.parent, disk)
            undo.callback(lock.release)
            undo.callback(shutil.rmtree, temporary, ignore_errors=True)
            _link_others(folder, temporary, files)
            for name, data in files.items():
                disk.replace_file(temporary, name, data)
            if _exchange(temporary, folder):
                _flush(folder.parent)
                return
    for name, data in files.items():
        disk.replace_file(folder, name, data)


def _link_others(folder: Path, temporary: Path, files: Mapping[str, bytes]) -> None:
    for place, folders, names in os.walk(folder):
        below = temporary / Path(place).relative_to(folder)
        for name in folders:
            os.mkdir(below / name, 0o700)
        for name in names:
            if (Path(place) / name).relative_to(folder).as_posix() not in files:
                os.link(Path(place) / name, below / name, follow_symlinks=False)


_HERE, _SWAP = -100, 2  # AT_FDCWD; RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS are the same number


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step; False where the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform.startswith("linux") and hasattr(library, "renameat2"):
        return bool(library.renameat2(_HERE, first, _HERE, second, _SWAP) == 0)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return bool(library.renamex_np(first, second, _SWAP) == 0)
    return False
