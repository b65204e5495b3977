"""Records read as far as a fold needs them: metadata and entries stay the bytes they are.

`Raw` members are views into the journal; nothing is copied until somebody looks. The full vocabulary is in `records`.
"""

from typing import Any

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from recovery_kit.records.journal import Identity
from recovery_kit.records.meta import NO_FLAGS, Flags, RunMeta, Status, WaitingOn
from recovery_kit.records.window import Entry


class RegionSkim(Struct, frozen=True):
    """A region whose entries are still JSON."""

    name: str
    kind: str
    current_tokens: int
    max_tokens: int
    entries: Raw = Raw(b"[]")
    description: str | None = None


class WindowSkim(Struct, frozen=True):
    stage_name: str
    total_tokens: int
    max_tokens: int
    regions: tuple[RegionSkim, ...]


class AppendSkim(Struct, frozen=True):
    name: str
    entries: Raw
    current_tokens: int


class NameSkim(Struct, frozen=True):
    name: str


class OpSkim(Struct, frozen=True):
    set: RegionSkim | None = field(name="Set", default=None)
    append: AppendSkim | None = field(name="Append", default=None)
    clear: NameSkim | None = field(name="Clear", default=None)
    remove: NameSkim | None = field(name="Remove", default=None)


class DeltaSkim(Struct, frozen=True):
    stage_name: str
    total_tokens: int
    max_tokens: int
    regions: tuple[OpSkim, ...]


class HeaderSkim(Struct, frozen=True):
    identity: Identity
    meta: Raw


class ProgressSkim(Struct, frozen=True):
    meta: Raw
    delta: DeltaSkim
    at: int


class CheckpointSkim(Struct, frozen=True):
    meta: Raw
    context: WindowSkim
    at: int


class ContextCheckpointSkim(Struct, frozen=True):
    snapshot: WindowSkim
    at: int


class ContextDiffSkim(Struct, frozen=True):
    delta: DeltaSkim
    at: int


class MetaSkim(Struct, frozen=True, kw_only=True):
    """The members of a record's metadata that tell how the run stood."""

    status: Status
    current_stage: str
    stage_index: int
    iteration: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    tool_calls: int = 0
    updated_at: int
    last_progress_at: int | None = None
    waiting_on: WaitingOn | None = None
    children: tuple[str, ...] = ()
    flags: Flags = NO_FLAGS


class CallsSkim(Struct, frozen=True):
    """A batch, as far as counting its calls needs it."""

    calls: tuple[Raw, ...]


SKIMS: dict[str, Decoder[Any]] = {
    "Header": Decoder(HeaderSkim),
    "Progress": Decoder(ProgressSkim),
    "Checkpoint": Decoder(CheckpointSkim),
    "ContextCheckpoint": Decoder(ContextCheckpointSkim),
    "ContextDiff": Decoder(ContextDiffSkim),
}
"""For the kinds that carry a window or metadata; the others are small and read whole."""

read_meta = Decoder(RunMeta).decode
skim_meta = Decoder(MetaSkim).decode
read_entries = Decoder(tuple[Entry, ...]).decode
count_calls = Decoder(CallsSkim).decode
