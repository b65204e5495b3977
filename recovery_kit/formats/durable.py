"""The one place where files are replaced, appended to and locked, so that a crash at any moment leaves a whole file.

Linux and macOS only: what holds elsewhere is not known well enough to promise it, so writing is refused there. Which
bytes belong into which file is not decided here. Links are never followed below the folder that is named.
"""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from recovery_kit.errors import CannotWrite, RecoveryKitError, RunBusy, UnsafeName

try:
    import fcntl
except ImportError:  # not a system that is written on
    fcntl = None  # type: ignore[assignment]

Bytes = bytes | memoryview
Failpoint = Callable[[str], None]

FAILPOINTS = (
    "replace:begun", "replace:half", "replace:written", "replace:synced", "replace:renamed", "replace:done",
    "append:begun", "append:half", "append:written", "append:done",
    "folder:made", "file:removed",
)  # fmt: skip
"""The moments that a `failpoint` is told of, each before the step that would follow."""

WRITABLE_SYSTEMS = ("linux", "darwin")
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_TEMP_MARK = ".lev-write-"
"""How a temporary sibling begins; no reader of run directories looks at such names (0.5-to-0.6 N2)."""

_SENTENCES = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would grow larger than this process may write",
    errno.EROFS: "the file system is read-only",
    errno.EIO: "the disk reported an input/output error",
    errno.EACCES: "this user may not write there",
    errno.EPERM: "this user may not write there",
    errno.ENOENT: "the folder is not there",
    errno.ENOLCK: "the file system has no locks",
    errno.EOPNOTSUPP: "the file system cannot do that",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "a folder of that name is in the way",
}
_LINK_IN_THE_WAY = (errno.ELOOP, errno.ENOTDIR)


class FolderLock:
    """A held lock on a folder. It goes away with `release`, with the `with` block or with the process."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle: int | None = handle

    def release(self) -> None:
        """Let go; a second time is nothing."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Appendable:
    """A file that only grows, by whole pieces. Made by `Durable.open_append`."""

    def __init__(self, disk: "Durable", path: Path, handle: int) -> None:
        self.path = path
        self.size = os.fstat(handle).st_size
        """Bytes that are durably there."""
        self._disk, self._handle = disk, handle
        self._spoilt = False

    def append(self, data: Bytes) -> int:
        """Put data behind the end and return the offset where it begins; it is on the disk when this returns.

        Raises RunBusy where somebody else has grown or cut the file, CannotWrite where it cannot be written. Then the
        file is cut back to what it was; where even that fails, nothing is ever put behind the torn bytes.
        """
        if self._spoilt:
            raise CannotWrite(self.path, "an earlier append left torn bytes, and nothing is put behind them", self.size)
        with _told(self.path):
            found = os.fstat(self._handle).st_size
            if found != self.size:
                raise RunBusy(self.path, f"somebody else changed the file: {found} bytes, not {self.size}")
            offset = self.size
            try:
                self._disk._put(self._handle, data, "append")
            except BaseException:
                self._cut_back(offset)
                raise
            self.size = offset + len(data)
            self._disk._reached("append:done")
            return offset

    def _cut_back(self, size: int) -> None:
        try:
            os.ftruncate(self._handle, size)
            _flush(self._handle)
        except OSError:
            self._spoilt = True

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Durable:
    """Writes that are on the disk when they return.

    `failpoint`, for crash tests, is called with one of `FAILPOINTS`; with one, pieces are written in two halves, so
    that a crash in their middle can be tried. Every method raises CannotWrite (with the path) where the machine or the
    folder does not allow it, and UnsafeName for a name that is none or a link in the way.
    """

    def __init__(self, failpoint: Failpoint | None = None) -> None:
        self._failpoint = failpoint

    # Files.

    def replace_file(self, folder: Path, name: str, data: Bytes, mode: int = 0o600) -> None:
        """Make a file hold `data`: written beside, flushed, renamed over it, the folder flushed.

        `name` may lead into folders below (`stages/0/x`); those that are missing are made (0700). Whatever happens,
        readers find the old file or the new one, never a part.
        """
        with _told(folder / name), self._inside(folder, name, make=True) as (place, last):
            temporary = _TEMP_MARK + secrets.token_hex(8)
            self._reached("replace:begun")
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, mode, dir_fd=place)
            try:
                try:
                    os.fchmod(handle, mode)
                    self._put(handle, data, "replace")
                finally:
                    os.close(handle)
                self._reached("replace:synced")
                os.rename(temporary, last, src_dir_fd=place, dst_dir_fd=place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=place)
                raise
            self._reached("replace:renamed")
            _flush(place)
            self._reached("replace:done")

    def open_append(self, folder: Path, name: str, mode: int = 0o600) -> Appendable:
        """Open a file for `Appendable.append`; a missing one is made, empty."""
        with _told(folder / name), self._inside(folder, name, make=True) as (place, last):
            handle = os.open(last, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FILE, mode, dir_fd=place)
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise UnsafeName(folder / name, "not a regular file")
                _flush(place)
                return Appendable(self, folder / name, handle)
            except BaseException:
                os.close(handle)
                raise

    def append(self, file: Appendable | Path, data: Bytes) -> int:
        """Put data behind the end of a file and return the offset where it begins; see `Appendable.append`."""
        if isinstance(file, Appendable):
            return file.append(data)
        with self.open_append(file.parent, file.name) as opened:
            return opened.append(data)

    def remove_file(self, folder: Path, name: str) -> bool:
        """Take a file away; False where there is none."""
        with _told(folder / name):
            try:
                with self._inside(folder, name, make=False) as (place, last):
                    os.unlink(last, dir_fd=place)
                    self._reached("file:removed")
                    _flush(place)
                    return True
            except FileNotFoundError:
                return False

    def read_file(self, folder: Path, name: str, most: int | None = None) -> bytes | None:
        """The bytes of a regular file, at most `most`; None where there is none. Links are not followed."""
        with _told(folder / name):
            try:
                with self._inside(folder, name, make=False) as (place, last):
                    with os.fdopen(os.open(last, os.O_RDONLY | _FILE, dir_fd=place), "rb") as file:
                        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                            raise UnsafeName(folder / name, "not a regular file")
                        return file.read(-1 if most is None else most)
            except FileNotFoundError:
                return None

    # Folders.

    def make_folder(self, path: Path, mode: int = 0o700) -> bool:
        """Make one folder, durably; False where it is there already. Its parent has to be there."""
        _refuse_other_systems(path)
        with _told(path):
            try:
                os.mkdir(path, mode)
            except FileExistsError:
                os.close(os.open(path, _FOLDER))  # a folder, and no link to one
                return False
            os.chmod(path, mode)
            self._reached("folder:made")
            _flush_folder(path.parent)
            return True

    def lock_folder(self, path: Path) -> FolderLock:
        """Lock a folder against other writers of this kit, without putting a file into it.

        The lock is on the folder itself (flock) and ends with the process. Raises RunBusy where somebody holds it.
        """
        _refuse_other_systems(path)
        with _told(path):
            handle = os.open(path, _FOLDER)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                raise RunBusy(path, "another process is writing this folder right now") from None
            except BaseException:
                os.close(handle)
                raise
            return FolderLock(path, handle)

    def sweep(self, folder: Path) -> int:
        """Take away what crashed replacements left in a folder (not below). Only for who holds its lock."""
        with _told(folder):
            names = [name for name in os.listdir(folder) if name.startswith(_TEMP_MARK)]
            return sum(self.remove_file(folder, name) for name in names)

    # Inside.

    @contextmanager
    def _inside(self, folder: Path, name: str, make: bool) -> Iterator[tuple[int, str]]:
        """A handle on the folder that holds the file, and the file's last name; no link is passed on the way."""
        _refuse_other_systems(folder)
        *between, last = safe_parts(folder, name)
        with ExitStack() as open_folders:

            def step(path: Path | str, above: int | None) -> int:
                handle = os.open(path, _FOLDER, dir_fd=above)
                open_folders.callback(os.close, handle)
                return handle

            place = step(folder, None)
            for part in between:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=place)
                        _flush(place)
                place = step(part, place)
            yield place, last

    def _put(self, handle: int, data: Bytes, act: str) -> None:
        """Write all of the data and flush it."""
        left = memoryview(data)
        if act == "append":
            self._reached("append:begun")
        if self._failpoint is not None:
            half = len(left) // 2
            _write_all(handle, left[:half])
            self._reached(f"{act}:half")
            left = left[half:]
        _write_all(handle, left)
        self._reached(f"{act}:written")
        _flush(handle)

    def _reached(self, moment: str) -> None:
        if self._failpoint is not None:
            self._failpoint(moment)


DISK = Durable()
"""Where everybody writes who is not testing crashes."""


def safe_parts(folder: Path, name: str) -> tuple[str, ...]:
    """The parts of a relative name. Raises UnsafeName for one that is empty, absolute or leads out."""
    parts = tuple(name.split("/"))
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise UnsafeName(folder, "a file's name has to be plain and to stay inside the folder")
    return parts


def _write_all(handle: int, data: memoryview) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _flush(handle: int) -> None:
    """Down to the disk. On macOS fsync stops at the drive's cache, so the stronger call is tried first."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with suppress(OSError):
            fcntl.fcntl(handle, full)
            return
    os.fsync(handle)


def _flush_folder(path: Path) -> None:
    handle = os.open(path, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        _flush(handle)
    finally:
        os.close(handle)


def _refuse_other_systems(path: Path) -> None:
    if not sys.platform.startswith(WRITABLE_SYSTEMS) or fcntl is None:
        raise CannotWrite(path, f"writing needs Linux or macOS, this is {sys.platform}; reading works everywhere")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Operating system errors as one sentence with the path."""
    try:
        yield
    except RecoveryKitError:
        raise
    except OSError as no:
        if no.errno in _LINK_IN_THE_WAY:
            raise UnsafeName(path, "a link or a file stands where a folder or a plain file is expected") from no
        sentence = _SENTENCES.get(no.errno or 0, f"writing failed ({os.strerror(no.errno or 0)})")
        told = CannotWrite(path, sentence)
        told.errno = no.errno
        raise told from no
