"""Whether a run directory may be written: no engine is at work on its folder, and no other writer holds it.

The engine takes no locks, so it is looked for where it shows itself: its control socket and its process id, both in
the data root (leviath-run-directory 1.1). Nothing is written while looking.
"""

import errno
import os
import socket
import sys
from pathlib import Path

from recovery_kit.errors import RunBusy
from recovery_kit.formats.durable import DISK, Durable, FolderLock

SOCKET = "control.sock"
PID = "daemon.pid"

PATIENCE = 1.0
"""Seconds that a socket may take to accept: one that does not is held by somebody who is busy."""

_NOBODY = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK, errno.ENOTDIR, errno.ELOOP)


def data_root_of(run: Path) -> Path:
    """The folder above the runs folder, which is where the engine of these runs keeps its socket."""
    return run.absolute().parent.parent


def refuse_if_engine_runs(run: Path, data_root: Path | None = None) -> None:
    """Raises RunBusy where the engine answers on its socket or its recorded process lives.

    `data_root` where the engine's is not the folder above the runs folder. A process id may have been given to another
    process meanwhile; where the system tells that the process began after the file was written, it is not the engine.
    """
    root = data_root or data_root_of(run)
    if _answers(root / SOCKET):
        raise RunBusy(root / SOCKET, "the engine is running and owns these runs: stop its daemon first")
    pid = _recorded_pid(root / PID)
    if pid is not None and pid != os.getpid() and _lives(pid) and not _began_after(pid, root / PID):
        sentence = f"process {pid}, recorded as the engine's daemon, is alive: stop it, or remove the stale file"
        raise RunBusy(root / PID, sentence)


def own(run: Path, disk: Durable = DISK, data_root: Path | None = None) -> FolderLock:
    """The lock on a run directory. Raises RunBusy where the engine or another writer is at work on it."""
    refuse_if_engine_runs(run, data_root)
    return disk.lock_folder(run)


def _answers(path: Path) -> bool:
    if not path.exists():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(PATIENCE)
        try:
            asking.connect(_short(path))
        except TimeoutError:
            return True
        except OSError as no:
            return no.errno not in _NOBODY and "too long" not in str(no)
        return True


def _short(path: Path) -> str:
    """A socket's path has to be short; relative to here it may be where the absolute one is not."""
    text = str(path)
    return text if len(os.fsencode(text)) < 100 else min(text, os.path.relpath(path), key=len)


def _recorded_pid(path: Path) -> int | None:
    try:
        with open(path, "rb") as file:
            pid = int(file.read(32))
    except (OSError, ValueError):
        return None
    return pid if 0 < pid < 2**31 else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # there, and somebody else's
    return not _is_zombie(pid)


def _stat_of(pid: int) -> list[str] | None:
    """The fields of a process behind its name, where the system shows them."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return None


def _is_zombie(pid: int) -> bool:
    fields = _stat_of(pid)
    return fields is not None and fields[0] in ("Z", "X")


_SLACK = 60.0
"""Seconds by which clocks may disagree before a process counts as younger than a file."""


def _began_after(pid: int, path: Path) -> bool:
    fields = _stat_of(pid)
    try:
        if fields is None:
            return False
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
        began = int(booted.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return began > path.stat().st_mtime + _SLACK
    except (OSError, ValueError, IndexError, StopIteration):
        return False
