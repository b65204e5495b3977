"""Who owns a project: the three files that say so, their judgement, and the removal of what a dead owner left behind.

Never a checkpoint, never formal data: this room's other files do not even share a path with these.
(intloom-recovery 1.11)
"""

import os
import secrets
import socket
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.loom_publish import Publisher
from recovery_kit.formats.loom_text import BadText, parse_text

from .refusals import Refused

PRIVATE = ".intloom"
LOCK, SERVICE, CONNECTION = "service.lock", "service.json", "connection.json"
STORE_LOCK = "intloom/store.lock"
CLEANED = (f"{PRIVATE}/{SERVICE}", f"{PRIVATE}/{LOCK}", STORE_LOCK)
"""All that `recover_project` may ever remove."""

OwnerState = Literal["running", "blocked", "recovery_required", "offline"]
PidState = Literal["alive", "absent", "unknown"]

_MEMBERS: dict[str, dict[str, type]] = {
    LOCK: {"pid": int, "instanceId": str},
    SERVICE: {
        "version": int, "projectRoot": str, "pid": int, "instanceId": str, "url": str, "startedAt": str, "storage": str,
    },
    CONNECTION: {"version": int, "projectRoot": str, "port": int, "token": str, "storage": str},
    STORE_LOCK: {"pid": int, "createdAt": str},
}  # fmt: skip
_OPTIONAL = {"logFile"}


@dataclass(frozen=True, slots=True)
class Ownership:
    """What the owner files say, read once."""

    state: OwnerState
    files: Mapping[str, dict[str, Any]]
    """Those that are there, by path inside the project."""
    why: str

    @property
    def paths(self) -> tuple[str, ...]:
        """What would be removed."""
        return tuple(path for path in CLEANED if path in self.files)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What `recover_project` did, or would do: the same value for both."""

    project_root: str
    dry_run: bool
    recovered: bool
    paths: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """In the words of the command."""
        return {
            "projectRoot": self.project_root, "dryRun": self.dry_run, "recovered": self.recovered,
            "paths": list(self.paths),
        }  # fmt: skip


def inspect_ownership(project: Path, answers: Callable[[dict[str, Any]], bool] | None = None) -> Ownership:
    """The state of a project, read only. `answers`: asks a saved endpoint whether it is that very instance.

    Raises Refused (`CLI_SERVICE_METADATA_INVALID`) for owner files that cannot be trusted.
    """
    paths = {LOCK: f"{PRIVATE}/{LOCK}", SERVICE: f"{PRIVATE}/{SERVICE}", CONNECTION: f"{PRIVATE}/{CONNECTION}"}
    files: dict[str, dict[str, Any]] = {}
    for name, path in (*paths.items(), (STORE_LOCK, STORE_LOCK)):
        found = _read(project, path, name)
        if found is not None:
            files[path] = found
    owners = [files[path]["pid"] for path in CLEANED if path in files]
    if not owners:
        return Ownership("offline", files, "nobody owns it")
    service = files.get(paths[SERVICE])
    if service is not None and answers is not None and answers(service):
        return Ownership("running", files, "its service answers")
    states = {pid_state(pid) for pid in owners}
    if "alive" in states:
        return Ownership("blocked", files, "a process that owns it is alive")
    if "unknown" in states:
        return Ownership("blocked", files, "whether a process that owns it is alive cannot be told")
    if paths[CONNECTION] not in files:
        return Ownership("blocked", files, "its owners are gone, and connection.json is missing")
    return Ownership("recovery_required", files, "its owners are gone")


def pid_state(pid: int) -> PidState:
    """Whether a process is there, by signal 0."""
    try:
        os.kill(pid, 0)
        return "alive"
    except ProcessLookupError:
        return "absent"
    except (OSError, OverflowError):
        return "unknown"


def _read(project: Path, path: str, name: str) -> dict[str, Any] | None:
    def invalid(why: str) -> Refused:
        return Refused("CLI_SERVICE_METADATA_INVALID", why, path=project / path)

    try:
        handle = os.open(project / path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError:
        raise invalid("it is no regular file that can be read") from None
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or (name != STORE_LOCK and stat.S_IMODE(info.st_mode) & 0o077):
            raise invalid("it is no private regular file")
        data = file.read(1 << 16)
    try:
        value = parse_text(data)
    except BadText as no:
        raise invalid(str(no)) from None
    members = _MEMBERS[name]
    if not isinstance(value, dict) or not members.keys() <= value.keys() <= members.keys() | _OPTIONAL:
        raise invalid("it does not have the members of an owner file")
    if any(type(value[key]) is not kind for key, kind in members.items()):
        raise invalid("a member of it is of another type")
    if value.get("version", 1) != 1 or value.get("projectRoot", str(project.resolve())) != str(project.resolve()):
        raise invalid("it is about another project or of another version")
    if "pid" in value and not 0 < value["pid"] < 2**31:
        raise invalid("it names no process")
    if "port" in value and not 0 < value["port"] < 65536:
        raise invalid("it names no port")
    return value


class Owner:
    """One instance's hold on a project: `service.lock` while it lives, `service.json` while it serves."""

    def __init__(self, project: Path, instance_id: str, storage: str, disk: Publisher) -> None:
        self.project, self.instance_id, self.storage, self._disk = project, instance_id, storage, disk
        self.private = project / PRIVATE
        self._holds = False

    def acquire(self) -> None:
        """Take `service.lock`. Raises Refused (`CLI_SERVICE_BUSY`) where it is taken; a stale one is never removed
        here."""
        self._disk.make_folder(self.private)
        found = inspect_ownership(self.project)
        if found.state != "offline":
            way = "; `recover` removes what it left" if found.state == "recovery_required" else ""
            raise Refused("CLI_SERVICE_BUSY", found.why + way, retryable=found.state == "blocked", path=self.project)
        if not (self.private / CONNECTION).exists():
            # Before the lock: an owner that dies without a connection.json could never be cleaned up after.
            with suppress(OSError, RecoveryKitError):
                self._disk.publish_file(self.private, CONNECTION, _compact(self._new_connection()))
        try:
            self._disk.publish_file(self.private, LOCK, _compact({"pid": os.getpid(), "instanceId": self.instance_id}))
        except (OSError, RecoveryKitError):
            raise Refused("CLI_SERVICE_BUSY", "another service took it", True, self.project) from None
        self._holds = True

    def announce(self, started_at: str) -> dict[str, Any]:
        """Write `service.json`; what `connection.json` holds."""
        path = f"{PRIVATE}/{CONNECTION}"
        connection = (_read(self.project, path, CONNECTION) or self._new_connection()) | {"storage": self.storage}
        self._disk.replace_file(self.private, CONNECTION, _compact(connection))
        service = {
            "version": 1, "projectRoot": connection["projectRoot"], "pid": os.getpid(), "instanceId": self.instance_id,
            "url": f"http://127.0.0.1:{connection['port']}", "startedAt": started_at, "storage": self.storage,
        }  # fmt: skip
        self._disk.replace_file(self.private, SERVICE, _compact(service))
        return connection

    def _new_connection(self) -> dict[str, Any]:
        return {
            "version": 1, "projectRoot": str(self.project.resolve()), "port": _free_port(),
            "token": secrets.token_urlsafe(32), "storage": self.storage,
        }  # fmt: skip

    def release(self) -> None:
        """Remove this instance's own `service.json` and `service.lock`."""
        if not self._holds:
            return
        for name in (SERVICE, LOCK):
            found = _read(self.project, f"{PRIVATE}/{name}", name)
            if found is not None and found["instanceId"] == self.instance_id:
                self._disk.remove_file(self.private, name)
        self._holds = False


def recover_project(
    project: Path | str, dry_run: bool = False, answers: Callable[[dict[str, Any]], bool] | None = None
) -> Recovered:
    """Remove what a dead owner left: at most `service.json`, `service.lock`, `intloom/store.lock`.

    Checkpoints and formal data are neither read nor changed. With `dry_run`, or where nobody owned it, nothing is
    touched. Raises Refused (`CLI_RECOVERY_BLOCKED`) where an owner lives or cannot be judged, `CLI_RECOVERY_CONFLICT`
    where the files changed meanwhile.
    """
    project = Path(project)
    if not project.is_dir():
        raise Refused("NOT_FOUND", "there is no such folder", path=project)
    found = inspect_ownership(project, answers)
    if found.state in ("running", "blocked"):
        raise Refused("CLI_RECOVERY_BLOCKED", found.why, path=project)
    told = Recovered(str(project.resolve()), dry_run, False, found.paths)
    if dry_run or found.state == "offline":
        return told
    connection = found.files[f"{PRIVATE}/{CONNECTION}"]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as guard:
        guard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            guard.bind(("127.0.0.1", connection["port"]))
            guard.listen(1)
        except OSError:
            raise Refused("CLI_RECOVERY_BLOCKED", "its saved port is in use", path=project) from None
        if inspect_ownership(project) != found:
            raise Refused("CLI_RECOVERY_CONFLICT", "its owner files changed meanwhile", True, project)
        _clean(project, found)
    return Recovered(told.project_root, False, True, found.paths)


def _clean(project: Path, found: Ownership) -> None:
    """Take over the lock, remove the others, and the lock last, so that an interrupted cleaning can be done again."""
    disk, private = Publisher(), project / PRIVATE
    disk.replace_file(private, LOCK, _compact({"pid": os.getpid(), "instanceId": secrets.token_hex(16)}))
    if STORE_LOCK in found.files and _read(project, STORE_LOCK, STORE_LOCK) == found.files[STORE_LOCK]:
        disk.remove_file(project / "intloom", "store.lock")
    disk.remove_file(private, SERVICE)
    disk.remove_file(private, LOCK)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _compact(value: Any) -> bytes:
    return msgspec.json.encode(value)
