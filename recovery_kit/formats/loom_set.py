"""The recovery set: everything below the runtime root, each entry read or refused with its reason, nothing changed.

Steps 1 to 6 of a start (intloom-recovery 2.7). Whether files agree with one another is for `history`.
"""

import errno
import re
from dataclasses import dataclass

from msgspec import structs

from recovery_kit.records.loom import FORMAT, Checkpoint, LoomFinding, Problem

from .loom_shape import BadShape, BadText, parse_text, version_of
from .loom_tree import PRIVATE, RUNTIME, EntryKind, NotPlain, Tree, shown_path
from .loom_v3 import OtherFormat, misplaced, parse_checkpoint

UNREAD = "it cannot be read"
"""How a finding begins about what this user or this disk does not give."""

_KEY = re.compile(r"[0-9a-f]{64}")
_NUMBERED = re.compile(r"([0-9]{8})\.json")


@dataclass(frozen=True, slots=True)
class File3:
    """A numbered file of a Run."""

    path: str
    number: int
    data: bytes
    checkpoint: Checkpoint | None


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The directory of one Run."""

    key: str
    path: str
    """Relative to the project."""
    files: tuple[File3, ...]
    """Numbered files, in order; those that cannot be read hold no checkpoint."""
    odd: tuple[str, ...]
    """Paths of entries that do not belong here."""
    findings: tuple[LoomFinding, ...]
    """Those of steps 3 to 6."""
    numbered: int
    """Names of the form of a checkpoint's, whatever stands there."""

    @property
    def was_admitted(self) -> bool:
        """Whether there is a numbered file at all; without one the Run was never there."""
        return self.numbered > 0

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(file.number for file in self.files)

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        return tuple(file.checkpoint for file in self.files if file.checkpoint is not None)


@dataclass(frozen=True, slots=True)
class RecoverySet:
    """Everything below the runtime root."""

    folders: tuple[RunFolder, ...]
    root_findings: tuple[LoomFinding, ...]
    """Those about the root and its entries, but for Run directories."""

    @property
    def findings(self) -> tuple[LoomFinding, ...]:
        """All of steps 1 to 6, root first, then by directory."""
        return (*self.root_findings, *(finding for folder in self.folders for finding in folder.findings))

    @property
    def is_of_format1(self) -> bool:
        """Whether all that is there is flat files of format 1, whether or not they are sound."""
        flat = any(finding.path.endswith(".json") for finding in self.root_findings)
        return flat and not any(folder.was_admitted for folder in self.folders)


def read_set(tree: Tree) -> RecoverySet:
    """Read the whole set (verified). Never raises for what is in it."""
    for path in (PRIVATE, RUNTIME):
        kind = tree.kind(path)
        if kind is None:
            return RecoverySet((), ())
        if kind != "folder":
            return RecoverySet((), (_finding("unsafe_path", path, _not_plain(kind, "real directory")),))
    try:
        rows = tree.names(RUNTIME)
    except OSError as no:
        return RecoverySet((), (_finding("corrupt", RUNTIME, _unreadable(no)),))
    folders: list[RunFolder] = []
    odd: list[LoomFinding] = []
    for name, kind in rows:
        path = f"{RUNTIME}/{name}"
        if name.startswith("."):
            continue
        if kind == "folder" and _KEY.fullmatch(name):
            folders.append(read_folder(tree, name))
        elif kind == "file" and name.endswith(".json"):
            odd.append(_flat(tree, path))
        else:
            odd.append(_finding("unsafe_path", path, _not_plain(kind, "Run directory")))
    return RecoverySet(tuple(folders), tuple(odd))


def read_folder(tree: Tree, key: str) -> RunFolder:
    """One Run's directory (steps 3 to 6)."""
    path = f"{RUNTIME}/{key}"
    try:
        rows = tree.names(path)
    except OSError as no:
        return RunFolder(key, path, (), (), (_finding("corrupt", path, _unreadable(no)),), 1)
    files: list[File3] = []
    odd: list[str] = []
    findings: list[LoomFinding] = []
    numbered = 0
    for name, kind in rows:
        if name.startswith("."):
            continue
        inside = f"{path}/{name}"
        match = _NUMBERED.fullmatch(name)
        if match is None:
            odd.append(shown_path(inside))
            findings.append(_finding("unsafe_path", inside, _not_plain(kind, "numbered checkpoint")))
            continue
        numbered += 1
        if kind != "file":
            findings.append(_finding("unsafe_path", inside, _not_plain(kind, "regular file")))
            continue
        file, finding = _read(tree, key, inside, int(match[1]))
        files += [file] if file else []
        findings += [finding] if finding else []
    known = next((file.checkpoint.run.id for file in files if file.checkpoint is not None), None)
    told = tuple(structs.replace(finding, run_id=known) for finding in findings)
    return RunFolder(key, path, tuple(files), tuple(odd), told, numbered)


def _read(tree: Tree, key: str, path: str, number: int) -> tuple[File3 | None, LoomFinding | None]:
    data = b""
    try:
        data = tree.read(path)
        checkpoint = parse_checkpoint(data)
    except NotPlain:
        return None, _finding("unsafe_path", path, "it is not a regular file")
    except OSError as no:
        return None, _finding(*_of_error(no, path))
    except OtherFormat as no:
        return File3(path, number, data, None), _finding("version", path, str(no))
    except (BadText, BadShape) as no:
        return File3(path, number, data, None), _finding("corrupt", path, str(no))
    reason = misplaced(checkpoint, key, number)
    if reason:
        return File3(path, number, data, None), _finding("corrupt", path, reason)
    return File3(path, number, data, checkpoint), None


def _flat(tree: Tree, path: str) -> LoomFinding:
    """A file beside the Run directories: a checkpoint of another format, or nothing that is known."""
    try:
        version = version_of(parse_text(tree.read(path)))
    except NotPlain:
        return _finding("unsafe_path", path, "it is not a regular file")
    except OSError as no:
        return _finding(*_of_error(no, path))
    except (BadText, BadShape) as no:
        return _finding("corrupt", path, str(no))
    if version == FORMAT:
        return _finding("corrupt", path, f"a checkpoint of format {FORMAT} stands in its Run's directory, not here")
    return _finding("version", path, str(OtherFormat(version)))


def _of_error(no: OSError, path: str) -> tuple[Problem, str, str]:
    if no.errno == errno.ELOOP:  # it became a link since its folder was listed
        return "unsafe_path", path, "it is a symbolic link"
    return "corrupt", path, _unreadable(no)


def _unreadable(no: OSError) -> str:
    return f"{UNREAD} ({type(no).__name__})"


def _not_plain(kind: EntryKind, expected: str) -> str:
    what = {"link": "a symbolic link", "folder": "a directory", "file": "a file", "other": "something else"}[kind]
    return f"it is {what}, and no {expected}"


def _finding(problem: Problem, path: str, detail: str, run_id: str | None = None) -> LoomFinding:
    return LoomFinding(problem=problem, path=shown_path(path), run_id=run_id, detail=detail)
