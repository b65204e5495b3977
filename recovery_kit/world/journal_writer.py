"""Writing a run directory while its run goes on, so that the engine and the kit's reader read it alike.

The journal first, then the other files, in the engine's order (leviath-run-directory 2, 4.5; 0.5-to-0.6 N9). Unlike the
engine's, every record is on the disk when a method returns, and nothing is ever put behind a torn tail. What a run does
is not decided here: the writer is handed records and snapshots.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from recovery_kit.errors import CannotWrite, RunBusy
from recovery_kit.formats import rundir
from recovery_kit.formats.durable import DISK, Appendable, Durable, FolderLock
from recovery_kit.formats.framing import CAP, PREAMBLE
from recovery_kit.formats.journal import Journal
from recovery_kit.formats.writing import frame_of, json_of, pretty_json_of
from recovery_kit.history.fold import begins
from recovery_kit.records.journal import (
    BatchCall,
    ContextCheckpoint,
    Header,
    Identity,
    OwnershipChanged,
    Progress,
    Record,
    StatusChanged,
    ToolBatch,
    ToolCallDone,
)
from recovery_kit.records.meta import RunMeta, Status
from recovery_kit.records.sidecars import FanOut, OpenPoint, StageRecord
from recovery_kit.records.window import Content, Delta, Window
from recovery_kit.runs.sources import FolderSource

from .deltas import delta_between
from .ids import Owner
from .owner import data_root_of, own, refuse_if_engine_runs


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stands at some moment, as far as its files say it."""

    meta: RunMeta
    """Its `updated_at` is the time of the records."""
    window: Window
    stages: tuple[StageRecord, ...] = ()
    """The ledger; the file is left as it is while there is none."""
    final_output: bytes | None = None
    """The answer's bytes, if there is a new one."""
    fan_out: FanOut | None = None
    """None takes `fanout.json` away."""
    open_point: OpenPoint | None = None
    """None takes `interactions.json` away."""
    said: tuple[tuple[int, str], ...] = ()
    """(stage index, text) of replies since the last snapshot, for the stages' `output.log`."""
    logged: tuple[tuple[int, str], ...] = ()
    """(stage index, line), for the stages' `logs.log`."""


@dataclass(frozen=True, slots=True)
class TornTail:
    """What a take-over found behind the last whole record, and where it is kept now."""

    offset: int
    """Where the tail began in the journal."""
    size: int
    """Bytes."""
    kept_as: str
    """Name of the file in the run directory that holds them."""


class JournalWriter:
    """The writer of one run directory, which it holds locked until `close`.

    Made by `create` for a new run or `take_over` for one that is there. Every method raises CannotWrite where the disk
    does not take it; the journal then ends with its last whole record.
    """

    def __init__(self, folder: Path, owner: Owner, disk: Durable, lock: FolderLock) -> None:
        self.folder = folder
        self.owner = owner
        self.torn: TornTail | None = None
        """What a take-over has set aside."""
        self._disk, self._lock = disk, lock
        self._file: Appendable | None = None
        self._window: Window | None = None
        self._status: Status | None = None
        self._sidecars: dict[str, bytes] = {}

    # Beginning.

    @classmethod
    def create(
        cls,
        folder: Path,
        first: Snapshot,
        *,
        owner: Owner | None = None,
        blueprint: bytes | None = None,
        disk: Durable = DISK,
        data_root: Path | None = None,
    ) -> Self:
        """A new run directory with its first snapshot: `Header` and `ContextCheckpoint`.

        `meta.json`, without which no reader lists a run, comes after the journal: a crash on the way leaves nothing
        that anybody would load. Raises CannotWrite where a run is there already, RunBusy as `own` does.
        """
        refuse_if_engine_runs(folder, data_root)
        disk.make_folder(folder)
        writer = cls(folder, owner or Owner.here(data_root or data_root_of(folder)), disk, own(folder, disk, data_root))
        try:
            if disk.read_file(folder, rundir.META, 1) is not None:
                raise CannotWrite(folder, "there is a run in this folder already")
            if blueprint is not None:
                disk.replace_file(folder, rundir.BLUEPRINT, blueprint)
            writer.snapshot(first)
        except BaseException:
            writer.close()
            raise
        return writer

    @classmethod
    def take_over(
        cls,
        folder: Path,
        *,
        owner: Owner | None = None,
        disk: Durable = DISK,
        data_root: Path | None = None,
        before_writing: Callable[[], None] | None = None,
    ) -> Self:
        """Go on with a run that is there. The first snapshot will write `OwnershipChanged` and `ContextCheckpoint`.

        A torn tail is set aside first: its bytes go into a file beside the journal, and the intact part replaces the
        journal in one rename. A journal that nobody can fold is set aside whole, and the first snapshot begins a new
        one. `before_writing` is called once the folder is locked; what it raises ends the take-over, and nothing is
        written. Raises RunBusy as `own` does, CannotWrite where the journal is of a newer format.
        """
        lock = own(folder, disk, data_root)
        writer = cls(folder, owner or Owner.here(data_root or data_root_of(folder)), disk, lock)
        try:
            if before_writing is not None:
                before_writing()
            disk.sweep(folder)
            writer._take_journal()
        except BaseException:
            writer.close()
            raise
        return writer

    def _take_journal(self) -> None:
        data = FolderSource(self.folder).read(rundir.JOURNAL)
        if data is None:
            return
        journal = Journal(data)
        if journal.error == "newer_version":
            raise CannotWrite(self.folder / rundir.JOURNAL, "the journal is of a newer format: not to be written")
        folds = journal.error is None and begins(journal.read())
        keep = _intact(journal) if folds else 0
        if keep < len(data):
            self.torn = TornTail(keep, len(data) - keep, self._kept(memoryview(data)[keep:], keep))
            if folds:
                self._disk.replace_file(self.folder, rundir.JOURNAL, memoryview(data)[:keep])
        if folds:
            self._file = self._disk.open_append(self.folder, rundir.JOURNAL)
            if self._file.size != keep:
                raise RunBusy(self.folder / rundir.JOURNAL, "somebody else changed the journal while it was read")

    def _kept(self, data: memoryview, offset: int) -> str:
        """The name under which torn bytes are kept; an older tail of that name is never replaced by other bytes."""
        stem = f"{rundir.JOURNAL}.torn-{offset}"
        for name in (stem, *(f"{stem}-{number}" for number in range(2, 1000))):
            there = self._disk.read_file(self.folder, name)
            if there is None:
                self._disk.replace_file(self.folder, name, data)
                return name
            if there == data:
                return name  # a take-over got this far before it died
        raise CannotWrite(self.folder / stem, "too many torn tails are kept beside the journal")

    # Records.

    def record(self, *records: Record) -> int:
        """Append records in one piece and return the offset of the first; they are on the disk when this returns.

        Raises CannotWrite for a run whose journal has not begun: a snapshot begins it.
        """
        if self._file is None:
            raise CannotWrite(self.folder / rundir.JOURNAL, "the journal has not begun: a snapshot comes first")
        return self._file.append(self._frames(*records))

    def hand_out(self, batch: ToolBatch) -> int:
        """Announce the calls of a reply. Only when this has returned may the first of them take effect (N9)."""
        return self.record(batch)

    def call_done(self, batch: ToolBatch, call: BatchCall, result: Content, at: int, *, given_up: bool = False) -> int:
        """A call has ended, or (`given_up`) a restart stands in for it. Written as each call ends, not per batch.

        Only a stand-in has an outcome word on record: what became of a live call is told by its text (N5.2).
        """
        done = ToolCallDone(
            iteration=batch.iteration, call_id=call.id, execution_id=call.execution_id, result=result,
            outcome="indeterminate" if given_up else None, at=at,
        )  # fmt: skip
        return self.record(done)

    def _frames(self, *records: Record) -> bytes:
        frames = [frame_of(record) for record in records]
        if any(len(frame) - 8 > CAP for frame in frames):
            raise CannotWrite(self.folder / rundir.JOURNAL, "a record is larger than any reader accepts (256 MiB)")
        return b"".join(frames)

    # Snapshots.

    def snapshot(self, now: Snapshot, before: Sequence[Record] = ()) -> None:
        """Write how the run stands: the journal's step, then every file that changed, in the engine's order.

        `before` are records that led there; they go in front of the step, in the same piece.
        """
        self._journal(now, tuple(before))
        self._window, self._status = now.window, now.meta.status
        self._replace(rundir.META, pretty_json_of(now.meta))
        self._replace(rundir.CONTEXT, json_of(now.window))
        if now.final_output is not None:
            self._replace(rundir.FINAL_OUTPUT, now.final_output)
        if now.stages:
            self._replace(rundir.STAGES, pretty_json_of(now.stages))
        self._lines("output.log", now.said)
        self._lines("logs.log", now.logged)
        for name, value in ((rundir.FAN_OUT, now.fan_out), (rundir.INTERACTIONS, now.open_point)):
            if value is None:
                self._sidecars.pop(name, None)
                self._disk.remove_file(self.folder, name)
            else:
                self._replace(name, json_of(value))

    def _journal(self, now: Snapshot, before: tuple[Record, ...]) -> None:
        at = now.meta.updated_at
        if self._file is None:
            who = self.owner
            identity = Identity(now.meta.run_id, who.machine_id, who.world_id, now.meta.started_at)
            begun = self._frames(Header(identity, now.meta), ContextCheckpoint(now.window, at), *before)
            # In one rename: no reader ever meets a stump of a first record.
            self._disk.replace_file(self.folder, rundir.JOURNAL, PREAMBLE + begun)
            self._file = self._disk.open_append(self.folder, rundir.JOURNAL)
            return
        records: list[Record]
        if self._window is None:
            owner = OwnershipChanged(self.owner.machine_id, self.owner.world_id, at)
            records = [owner, ContextCheckpoint(now.window, at)]
        else:
            records = _progress(self._window, now, at)
        if self._status not in (None, now.meta.status):
            records.append(StatusChanged(now.meta.status, at))
        self.record(*before, *records)

    def _replace(self, name: str, data: bytes) -> None:
        """Replace a file, unless this writer has put the very same bytes there."""
        if self._sidecars.get(name) != data:
            self._disk.replace_file(self.folder, name, data)
            self._sidecars[name] = data

    def _lines(self, name: str, rows: tuple[tuple[int, str], ...]) -> None:
        for stage in dict.fromkeys(stage for stage, _ in rows):
            text = "".join(f"{line}\n" for index, line in rows if index == stage)
            with self._disk.open_append(self.folder, f"stages/{stage}/{name}") as log:
                log.append(text.encode())

    # Stored parts.

    def keep_blob(self, sha256: str, data: bytes) -> None:
        """Store the bytes of a part, durably, before anything names them (0.5-to-0.6 N3.1)."""
        if self.read_blob(sha256) is None:
            self._disk.replace_file(self.folder, f"{rundir.BLOBS}/{sha256}", data)

    def read_blob(self, sha256: str) -> bytes | None:
        """The bytes of a stored part."""
        return self._disk.read_file(self.folder, f"{rundir.BLOBS}/{sha256}")

    # Ending.

    @property
    def begun(self) -> bool:
        """Whether the journal takes records: it has begun."""
        return self._file is not None

    @property
    def size(self) -> int:
        """Bytes of the journal; 0 before it has begun."""
        return self._file.size if self._file else 0

    def close(self) -> None:
        """Let go of the folder. Nothing is left to be written."""
        if self._file is not None:
            self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _intact(journal: Journal) -> int:
    """Where the intact part ends: a last frame whose length reaches over a tear belongs to the tail."""
    swallowed, framing = journal.salvage.swallowed, journal.framing
    return framing.offsets[swallowed] if swallowed == len(framing) - 1 else framing.end


def _progress(before: Window, now: Snapshot, at: int) -> list[Record]:
    """A step; where no delta can say how the window changed, a whole window and an empty step."""
    window = now.window
    delta = delta_between(before, window)
    if delta is not None:
        return [Progress(now.meta, delta, at)]
    nothing = Delta(window.stage_name, window.total_tokens, window.max_tokens, ())
    return [ContextCheckpoint(window, at), Progress(now.meta, nothing, at)]
