"""A run that is kept in memory only: for looking, for tests, for a notebook that wants no folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from recovery_kit.records.journal import BatchCall, Record, ToolBatch, ToolCallDone
from recovery_kit.records.window import Content

from .journal_writer import Snapshot


@dataclass(slots=True)
class MemoryKeeper:
    """Takes what a run directory would, and holds it."""

    records: list[Record] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def record(self, *records: Record) -> int:
        """Keep records."""
        self.records.extend(records)
        return len(self.records)

    def call_done(self, batch: ToolBatch, call: BatchCall, result: Content, at: int, *, given_up: bool = False) -> int:
        """Keep the end of a call."""
        done = ToolCallDone(
            iteration=batch.iteration, call_id=call.id, execution_id=call.execution_id, result=result,
            outcome="indeterminate" if given_up else None, at=at,
        )  # fmt: skip
        return self.record(done)

    def snapshot(self, now: Snapshot, before: Sequence[Record] = ()) -> None:
        """Keep how the run stands, and the records that led there."""
        self.records.extend(before)
        self.snapshots.append(now)

    def keep_blob(self, sha256: str, data: bytes) -> None:
        """Keep the bytes of a part."""
        self.blobs[sha256] = data

    def read_blob(self, sha256: str) -> bytes | None:
        """The bytes of a part."""
        return self.blobs.get(sha256)

    def close(self) -> None:
        """Nothing is held."""
