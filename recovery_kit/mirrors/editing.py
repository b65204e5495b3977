"""Edits of a mirror: patches with author, time and reason in an append-only file beside the run, undoable, replayable.

The files of the mirror are always the unedited ones and what the patches in force make of them, so undoing all gives
the very bytes back. The journal of an edited mirror is the unedited one with a `Checkpoint` behind it, so one that was
copied with its history keeps it. What can be edited is in `document.py`, what is refused in `refusing.py`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from recovery_kit.errors import CannotMirror
from recovery_kit.formats import rundir
from recovery_kit.formats.durable import Durable
from recovery_kit.formats.framing import PREAMBLE
from recovery_kit.formats.writing import frame_of, pretty_json_of
from recovery_kit.history.fold import Fold
from recovery_kit.records.journal import Checkpoint, Record
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run
from recovery_kit.world.owner import own

from .contents import sha256_of
from .document import Document, Stand, completions, document_of, stand_of
from .patching import DoesNotFit, patched
from .publishing import replace_files
from .refusing import refuse_unacceptable

LOG = ".edits.jsonl"
"""How the file of edits is called: the mirror's id and this, beside the run."""

Patch = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """One recorded edit. Its patch is raw text of a run."""

    number: int
    """Row of the file, from 1."""
    patch: Patch
    author: str
    reason: str
    at: int
    """Unix seconds."""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class _Base:
    """The unedited mirror, as far as the files do not hold it themselves."""

    journal_bytes: int
    meta: str
    blueprint: str


@dataclass(frozen=True, slots=True)
class Log:
    """The file of edits, as far as the mirror's files have followed it."""

    base: _Base | None
    """None before the first edit, and where the run has gone on since the last one."""
    edits: tuple[Edit, ...]
    """Since that base, in order, undone ones included."""
    sealed: tuple[Edit, ...] = ()
    """Edits that the run has gone on from: they cannot be undone any more."""

    @property
    def in_force(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in self.edits if not edit.undone)


def log_path(folder: Path) -> Path:
    """Where the edits of a mirror are."""
    return folder.parent / (folder.name + LOG)


def read_log(folder: Path, journal: bytes | memoryview) -> Log:
    """The edits that were carried out: a row that was written and not carried out counts for nothing.

    A row counts where the mirror's journal is what it made, or has gone on from it. Raises CannotMirror where the file
    is no such file.
    """
    path = log_path(folder)
    try:
        return _log(list(_rows(path.read_bytes())), memoryview(journal))
    except FileNotFoundError:
        return Log(None, ())
    except (KeyError, TypeError, AttributeError, IndexError):
        raise CannotMirror(path, "the file of edits cannot be read") from None


def _rows(data: bytes) -> Iterator[Any]:
    """Whole lines; one that was torn is no row, for what it says was never carried out."""
    for line in data.split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _log(rows: list[dict[str, Any]], journal: memoryview) -> Log:
    begins = [number for number, row in enumerate(rows) if "base" in row]
    base: _Base | None = None
    edits: tuple[Edit, ...] = ()
    sealed: tuple[Edit, ...] = ()
    for begin, end in pairwise([*begins, len(rows)]):
        made = [n for n in range(begin, end) if _made(rows[n], journal)]
        if not made:
            continue
        sealed += edits
        edits = _carried_out(rows, begin, made[-1])
        size = rows[made[-1]]["journal_bytes"]
        base = _Base(**rows[begin]["base"]) if size == len(journal) else None
    return Log(base, edits, sealed) if base else Log(None, (), sealed + edits)


def _made(row: dict[str, Any], journal: memoryview) -> bool:
    size = row["journal_bytes"]
    return bool(size <= len(journal) and sha256_of(journal[:size]) == row["journal_sha256"])


def _carried_out(rows: list[dict[str, Any]], begin: int, last: int) -> tuple[Edit, ...]:
    """The rows that led to the last one, found from the end: each says which journal it began from."""
    led: list[tuple[int, dict[str, Any]]] = []
    wanted: str = rows[last]["journal_sha256"]
    for number in range(last, begin, -1):
        if rows[number]["journal_sha256"] == wanted:
            led.insert(0, (number + 1, rows[number]))
            wanted = rows[number]["after"]
    gone = {undone for _, row in led for undone in row.get("undo", ())}
    return tuple(
        Edit(number, tuple(row["patch"]), row["author"], row["reason"], row["at"], number in gone)
        for number, row in led
        if "patch" in row
    )


def stand(run: Run) -> Stand:
    """How a mirror stands. Raises CannotMirror where it is not paused or tells nothing."""
    meta, state, blueprint = run.files.meta, run.at(), run.story.blueprint
    text = run.files.blueprint_text
    if meta is None or blueprint is None or text is None:
        raise CannotMirror(run.id, "a mirror has metadata and a manifest of its own, and this run has not")
    if meta.status not in ("paused", "waiting_input", "cancelled"):
        raise CannotMirror(run.id, f"only a paused mirror can be edited; this one is {meta.status}")
    full = state.meta or meta
    position = {name: getattr(full, name) for name in ("stage_index", "current_stage", "iteration")}
    return Stand(replace(meta, **position), state.window, state.pending, text, blueprint)


def edited_files(run: Run, log: Log, patches: Sequence[Patch]) -> dict[str, bytes]:
    """Files of the unedited mirror after these patches. Raises CannotMirror for one that does not fit."""
    before = _unedited(run, log)
    files = _base_files(before)
    if not patches:
        return files
    was = stand(before)
    old = document_of(was)
    document: Document = old
    for patch in patches:
        try:
            document = patched(document, patch)
        except DoesNotFit as no:
            raise CannotMirror(run.id, f"the edit does not fit: {no}") from None
    after, given = stand_of(was, old, document)
    state: Fold | None = before.story.fold()
    at = state.at if state and state.at is not None else was.meta.updated_at
    meta = after.meta
    records: list[Record] = [*completions(was.pending, given, at), Checkpoint(meta, after.window, at)]
    journal = files[rundir.JOURNAL] or PREAMBLE
    return {
        rundir.BLUEPRINT: after.manifest,
        rundir.JOURNAL: journal + b"".join(map(frame_of, records)),
        rundir.META: pretty_json_of(meta),
    }


def _unedited(run: Run, log: Log) -> Run:
    """The mirror without its edits, as a run of its own."""
    if log.base is None:
        return run
    files = {name: bytes(data) for name in run.files.facts if (data := run.files.raw(name)) is not None}
    files[rundir.JOURNAL] = files[rundir.JOURNAL][: log.base.journal_bytes]
    files[rundir.META], files[rundir.BLUEPRINT] = log.base.meta.encode(), log.base.blueprint.encode()
    return open_run({f"{run.id}/{name}": data for name, data in files.items()})


def _base_files(run: Run) -> dict[str, bytes]:
    names = (rundir.BLUEPRINT, rundir.JOURNAL, rundir.META)
    return {name: bytes(run.files.raw(name) or b"") for name in names}


def apply_edit(folder: Path, row: Mapping[str, Any], patches: Sequence[Patch], disk: Durable, undo: bool) -> Run:
    """Record a row and make the mirror's files what the patches say; the mirror as it is then.

    The row is written first; the files then change in one step, so whoever dies between leaves the mirror as it was and
    a row that counts for nothing.
    """
    with own(folder, disk):
        run = open_run(folder)
        log = read_log(folder, run.journal.data)
        files = edited_files(run, log, patches)
        after = open_run(_named(run, files))
        if not undo:
            refuse_unacceptable(run, after)
        now = sha256_of(run.journal.data)
        rows = []
        if log.base is None:
            texts = {"meta": _text(run, rundir.META), "blueprint": _text(run, rundir.BLUEPRINT)}
            size = len(run.journal.data)
            rows.append({"base": {"journal_bytes": size, **texts}, "journal_bytes": size, "journal_sha256": now})
        made = files[rundir.JOURNAL]
        rows.append({**row, "after": now, "journal_bytes": len(made), "journal_sha256": sha256_of(made)})
        path = log_path(folder)
        lines = b"".join(json.dumps(line, sort_keys=True).encode() + b"\n" for line in rows)
        disk.append(path, (b"" if _ends_whole(path) else b"\n") + lines)
        old = _base_files(run)
        replace_files(folder, {name: data for name, data in files.items() if data != old[name]}, disk)
        return open_run(folder)


def _ends_whole(path: Path) -> bool:
    try:
        return path.read_bytes()[-1:] in (b"", b"\n")
    except FileNotFoundError:
        return True


def _text(run: Run, name: str) -> str:
    return bytes(run.files.raw(name) or b"").decode()


def _named(run: Run, files: Mapping[str, bytes]) -> dict[str, bytes]:
    there = {name: bytes(data) for name in run.files.facts if (data := run.files.raw(name)) is not None}
    return {f"{run.id}/{name}": data for name, data in (there | dict(files)).items()}
