"""Tools that touch this machine: files below the work directory, and a shell that is off unless it is named.

Paths are resolved by their text, and no link is passed on the way, so what is named inside stays inside even while
somebody swaps folders for links. Words of the answers are the engine's (leviath-runtime T7.3). A shell, once allowed,
is as free as the user who started this process; only its environment is kept small.
"""

import errno
import os
import selectors
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from recovery_kit.errors import RecoveryKitError, UnsafeName
from recovery_kit.formats.durable import DISK, Durable

from .tools import NO_CONTEXT, Arguments, ToolAnswer, ToolContext

FILE_TOOLS = ("read_file", "list_dir", "write_file")
SHELLS = ("shell", "bash")

READ_LIMIT = 262_144
"""Bytes of a file that are read (T7.3)."""
OUTPUT_LIMIT = 1 << 20
"""Bytes of each stream of a command that are kept (T7.3)."""
SHELL_SECONDS = 60.0
LISTED = 50
"""Names shown when a folder is read as if it were a file (T7.3)."""

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "TMPDIR", "TERM")
"""What a command sees of the environment: keys and tokens stay out."""


class LocalTools:
    """`read_file`, `list_dir`, `write_file` and, if named in `allow`, `shell`, in one work directory.

    `workdir` is where they work; without it, in the one that each call's context names. Raises UnsafeName when made for
    something that is no folder, ValueError for a tool that is none of these.
    """

    def __init__(
        self,
        workdir: Path | str | None = None,
        *,
        allow: Collection[str] = FILE_TOOLS,
        seconds: float = SHELL_SECONDS,
        disk: Durable = DISK,
    ) -> None:
        strange = set(allow) - {*FILE_TOOLS, *SHELLS}
        if strange:
            raise ValueError(f"no such local tool: {', '.join(sorted(strange))}")
        self.allow = frozenset(allow)
        self.workdir = None if workdir is None else Path(os.path.realpath(workdir))
        if self.workdir is not None and not self.workdir.is_dir():
            raise UnsafeName(workdir, "a work directory has to be a folder")
        self.seconds = seconds
        """How long a command may take."""
        self._disk = disk

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """Carry out one call. A tool that is not allowed, or has no place to work in, is refused."""
        act = _ACTS.get(name)
        if act is None or not self._allowed(name):
            return ToolAnswer.refuse(f"{name} is not among the local tools that were allowed")
        root = self.workdir or (Path(os.path.realpath(context.workdir)) if context.workdir else None)
        if root is None or not root.is_dir():
            return ToolAnswer.refuse("there is no work directory on this machine")
        wrong = _misfit(name, arguments)
        return ToolAnswer.error(wrong) if wrong else act(self, root, arguments)

    def _allowed(self, name: str) -> bool:
        return name in self.allow or (name in SHELLS and not self.allow.isdisjoint(SHELLS))

    # Files.

    def _read_file(self, root: Path, arguments: Arguments) -> ToolAnswer:
        path = str(arguments["path"])
        try:
            with _Opened(_open_inside(root, inside(root, path), os.O_RDONLY | os.O_NONBLOCK)) as opened:
                if opened.is_folder:
                    names = sorted(_listing(opened.handle, sizes=False))
                    return ToolAnswer.error(f"'{path}' is a directory. It holds:\n" + "\n".join(names[:LISTED]))
                with os.fdopen(opened.handle, "rb", closefd=False) as file:
                    data = file.read(READ_LIMIT + 1)
        except (OSError, UnsafeName) as no:
            return _no("read", path, root, no)
        text = data[:READ_LIMIT].decode("utf-8", "replace")
        return ToolAnswer(text + ("\n[...truncated]" if len(data) > READ_LIMIT else ""))

    def _list_dir(self, root: Path, arguments: Arguments) -> ToolAnswer:
        path = str(arguments.get("path") or ".")
        try:
            with _Opened(_open_inside(root, inside(root, path), os.O_RDONLY | os.O_DIRECTORY)) as folder:
                rows = sorted(_listing(folder.handle, sizes=True))
        except (OSError, UnsafeName) as no:
            return _no("list", path, root, no)
        return ToolAnswer("\n".join(rows) or f"(empty directory: {path})")

    def _write_file(self, root: Path, arguments: Arguments) -> ToolAnswer:
        path, data = str(arguments["path"]), str(arguments["content"]).encode("utf-8", "replace")
        try:
            parts = inside(root, path)
            if not parts:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            name = "/".join(parts)
            if arguments.get("append"):
                with self._disk.open_append(root, name, 0o644) as file:
                    file.append(data)
            else:
                self._disk.replace_file(root, name, data, _mode_of(root, parts))
        except (OSError, RecoveryKitError) as no:
            return _no("write", path, root, no)
        done = "appended" if arguments.get("append") else "wrote"
        return ToolAnswer(f"Successfully {done} {len(data)} bytes to '{path}'")

    # The shell.

    def _shell(self, root: Path, arguments: Arguments) -> ToolAnswer:
        command = str(arguments["command"])
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        try:
            process = subprocess.Popen(
                [_shell_path(), "-c", command], cwd=root, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as no:
            return ToolAnswer.error(f"the shell did not start: {no}")
        with process:
            try:
                out, err = _streams(process, time.monotonic() + self.seconds)
            except TimeoutError:
                return ToolAnswer(f"[timed out] Command exceeded {self.seconds:g}s: {command}")
            finally:
                _end(process)
        return ToolAnswer(_told(process.returncode, out, err))


_ACTS: dict[str, Callable[[LocalTools, Path, Arguments], ToolAnswer]] = {
    "read_file": LocalTools._read_file,
    "list_dir": LocalTools._list_dir,
    "write_file": LocalTools._write_file,
    "shell": LocalTools._shell,
    "bash": LocalTools._shell,
}
_NEEDED = {"read_file": ("path",), "write_file": ("path", "content"), "shell": ("command",), "bash": ("command",)}


def _misfit(name: str, arguments: Arguments) -> str | None:
    """What is wrong with the arguments, in the engine's words."""
    wrong = [f'"{key}" is a required property' for key in _NEEDED.get(name, ()) if key not in arguments]
    texts = {key: arguments[key] for key in ("path", "content", "command") if key in arguments}
    wrong += [f'"{key}" is not a string' for key, value in texts.items() if not isinstance(value, str)]
    return f"invalid arguments for '{name}': {'; '.join(wrong[:3])}" if wrong else None


# Paths.


def inside(root: Path, path: str) -> tuple[str, ...]:
    """The parts of a path below the root, by its text alone; none for the root itself. Raises UnsafeName."""
    named = os.path.normpath(path) if "\0" not in path else ".."
    if os.path.isabs(named):
        named = os.path.relpath(named, root)
    parts = tuple(part for part in named.split(os.sep) if part not in ("", "."))
    if ".." in parts:
        raise UnsafeName(root, "the path would escape the working directory")
    return parts


def _open_inside(root: Path, parts: tuple[str, ...], flags: int) -> int:
    """A handle on what lies there; every folder on the way is opened for itself, and links are refused."""
    way = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    place = os.open(root, way)
    for number, part in enumerate(parts, 1):
        try:
            step = os.open(part, (flags | os.O_NOFOLLOW | os.O_CLOEXEC) if number == len(parts) else way, dir_fd=place)
        finally:
            os.close(place)
        place = step
    return place


class _Opened:
    """An open file or folder, closed with its block. Raises UnsafeName for a pipe, a device or a socket."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        mode = os.fstat(handle).st_mode
        self.is_folder = stat.S_ISDIR(mode)
        if not self.is_folder and not stat.S_ISREG(mode):
            os.close(handle)
            raise UnsafeName(None, "not a regular file")

    def __enter__(self) -> "_Opened":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)


def _listing(handle: int, sizes: bool) -> list[str]:
    rows = []
    with os.scandir(handle) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                rows.append(f"{entry.name}/")
            else:
                size = entry.stat(follow_symlinks=False).st_size
                rows.append(f"{entry.name} ({size}B)" if sizes else entry.name)
    return rows


def _mode_of(root: Path, parts: tuple[str, ...]) -> int:
    """The mode a replaced file had; 0644 for a new one."""
    try:
        found = os.lstat(root.joinpath(*parts))
    except OSError:
        return 0o644
    if stat.S_ISLNK(found.st_mode):
        raise UnsafeName(root, "a link stands where a file is expected")
    return found.st_mode & 0o777 if stat.S_ISREG(found.st_mode) else 0o644


def _no(act: str, path: str, root: Path, no: Exception) -> ToolAnswer:
    """A failure in the engine's words; a path that leads out, or through a link, by its own."""
    linked = isinstance(no, OSError) and no.errno == errno.ELOOP
    if isinstance(no, UnsafeName) or linked:
        return ToolAnswer.error(
            f"path '{path}' would escape the working directory ({root}), or passes a link. Use a path inside the "
            "workspace instead - a relative path resolves against it."
        )
    said = getattr(no, "strerror", None) or getattr(no, "sentence", None) or type(no).__name__
    return ToolAnswer.error(f"Failed to {act} '{path}': {said}")


# Commands.


def _shell_path() -> str:
    shell = os.environ.get("SHELL", "")
    return shell if os.path.basename(shell) in ("sh", "bash", "zsh") and os.path.exists(shell) else "/bin/sh"


def _streams(process: "subprocess.Popen[bytes]", deadline: float) -> tuple[bytes, bytes]:
    """What a command says on both streams, each up to the limit. Raises TimeoutError."""
    assert process.stdout is not None and process.stderr is not None
    kept = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as ready:
        for handle in kept:
            ready.register(handle, selectors.EVENT_READ)
        while ready.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            # Woken now and then: a child in the background may hold a stream open after the command has ended.
            found = ready.select(min(left, 0.2))
            for key, _ in found:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    ready.unregister(key.fd)
                kept[key.fd] += data[: OUTPUT_LIMIT + 1 - len(kept[key.fd])]
            if not found and process.poll() is not None:
                break
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
        out, err = kept.values()
        return bytes(out), bytes(err)
    raise TimeoutError


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Nothing of the command's group stays behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _told(code: int, out: bytes, err: bytes) -> str:
    said, cried = _cut(out), _cut(err)
    if code == 0:
        return said if said.strip() else "(command succeeded with no output)"
    parts = [f"stdout:\n{said}"] * bool(said.strip()) + [f"stderr:\n{cried}"] * bool(cried.strip())
    return f"[exit code {code if code > 0 else -1}]\n" + "\n".join(parts)


def _cut(data: bytes) -> str:
    text = data[:OUTPUT_LIMIT].decode("utf-8", "replace")
    return text + ("\n[...truncated]" if len(data) > OUTPUT_LIMIT else "")
