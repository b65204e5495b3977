"""The records of `run.lvr`, one class a kind (spec: leviath-run-directory 3.3, 0.5-to-0.6 N5).

The class name is the kind's name on the wire. `KINDS` lists them all; `since` of a kind is in its row there.
"""

from typing import Annotated, Literal, NamedTuple

from msgspec import Raw, Struct

from .meta import Artifact, RunMeta, Status
from .scalars import ABSENT, I64, U32, U64, since
from .window import Content, Delta, Window


class Identity(Struct, frozen=True):
    """Who owns the run. Nothing in the engine compares these (3.3)."""

    run_id: str
    machine_id: str
    world_id: str
    created_at: I64


class Header(Struct, frozen=True):
    identity: Identity
    meta: RunMeta


class OwnershipChanged(Struct, frozen=True):
    machine_id: str
    world_id: str
    at: I64


class RequestMessage(Struct, frozen=True):
    role: str
    content: str


class BatchCall(Struct, frozen=True, kw_only=True):
    """A tool call as it was handed out. `arguments` is a string that should hold JSON (3.3)."""

    id: str
    execution_id: Annotated[str, since("0.6.4")] = ""
    name: str
    arguments: str
    result: Content | None = None
    """None while nothing is held; a text or parts for what was answered inline."""
    thought_signature: str | None = None


class InferenceRequest(Struct, frozen=True):
    model: str
    system: tuple[str, ...]
    messages: tuple[RequestMessage, ...]
    tool_names: tuple[str, ...]
    temperature: float
    max_tokens: U64


class InferenceResponse(Struct, frozen=True):
    content: str
    tool_calls: tuple[BatchCall, ...]
    prompt_tokens: U64
    completion_tokens: U64
    cached_tokens: U64
    cache_write_tokens: U64


class Inference(Struct, frozen=True):
    """Reserved: readers know it, no engine writes it."""

    stage: str
    iteration: U64
    request: InferenceRequest
    response: InferenceResponse
    at: I64


class InferenceUsage(Struct, frozen=True, kw_only=True):
    """A bill: one call that a provider answered and counted."""

    kind: Literal["stage", "compaction", "title", "routing"] = "stage"
    stage: str
    iteration: U64
    provider: str
    model: str
    prompt_tokens: U64
    completion_tokens: U64
    cached_tokens: U64
    cache_write_tokens: U64
    cost_usd: Annotated[float | None, since("0.5.5")] = None
    cost_reported_by_provider: Annotated[bool | None, since("0.5.5")] = None
    at: I64


class ToolBatch(Struct, frozen=True, kw_only=True):
    """The calls of one reply, written before the first of them runs."""

    calls: tuple[BatchCall, ...]
    at: I64
    stage_index: U64 = 0
    iteration: U64 = 0
    visit_id: Annotated[str, since("0.6.4")] = ""
    requested_by: Annotated[str, since("0.6.4")] = ""
    response: str = ""


class ToolCallDone(Struct, frozen=True, kw_only=True):
    """A call ended, or (outcome `indeterminate`) a restart gave it up."""

    iteration: U64
    call_id: str
    execution_id: Annotated[str, since("0.6.4")] = ""
    result: Content
    outcome: Annotated[Literal["succeeded", "failed", "blocked", "denied", "indeterminate"] | None, since("0.6.4")] = (
        None
    )
    at: I64


class ContextCheckpoint(Struct, frozen=True):
    snapshot: Window
    at: I64


class ContextDiff(Struct, frozen=True):
    delta: Delta
    at: I64


class Message(Struct, frozen=True):
    message: RequestMessage
    at: I64


class StatusChanged(Struct, frozen=True):
    status: Status
    at: I64


class Checkpoint(Struct, frozen=True):
    meta: RunMeta
    context: Window
    at: I64


class Progress(Struct, frozen=True):
    meta: RunMeta
    delta: Delta
    at: I64


class ArtifactsProduced(Struct, frozen=True):
    execution_id: str
    artifacts: tuple[Artifact, ...]
    at: I64


class Answer(Struct, frozen=True):
    """What a person said."""

    approved: bool | None = None
    scope: Literal["once", "stage", "session", "run"] | None = None
    """`run` is read as `session`."""
    choice: U64 | None = None
    text: str | None = None
    feedback: str | None = None


class Answered(Struct, frozen=True):
    answered: Answer


class Interaction(Struct, frozen=True, kw_only=True):
    """A question to a person, settled one way or another."""

    request_id: str
    kind: Literal["free_text", "multiple_choice", "confirm", "tool_approval", "edit_text"]
    tool: str | None = None
    prompt: str
    stage: str
    settlement: Literal["timed_out", "cancelled", "refused"] | Answered
    asked_at: I64
    at: I64


class AttemptFailure(Struct, frozen=True):
    kind: str
    transient: bool
    capacity: bool
    next: Literal["reported", "same_model", "renewed_files"]


class Failed(Struct, frozen=True):
    failed: AttemptFailure


class RequestDigest(Struct, frozen=True):
    system_hash: U64
    """A full 64-bit number."""
    messages: U64
    tools: U64
    max_tokens: U64
    temperature: float


class ModelInput(Struct, frozen=True, kw_only=True):
    capture_status: Literal["retained", "not_captured", "redacted", "expired"]
    request: Raw = ABSENT
    bytes: U64
    source_context_digest: str
    parameters: dict[str, Raw]
    tool_catalog_version: str
    assembly_version: str


class InferenceAttempt(Struct, frozen=True, kw_only=True):
    """One trip to a provider. A trip is not a bill."""

    id: str = ""
    stage: str
    attempt: U32
    provider: str
    model: str
    outcome: Literal["succeeded"] | Failed
    finish_reason: str = ""
    """`complete`, `token_limit`, `tool_call`, `stop`, `unknown`, or empty."""
    stopped_for: str | None = None
    duration_ms: U64
    backoff_ms: U64
    digest: RequestDigest
    model_input: ModelInput | None = None
    at: I64


class InferenceFailover(Struct, frozen=True):
    """A stage turn moved on to the next configured model."""

    stage: str
    iteration: U64
    from_provider: str
    from_model: str
    to_provider: str
    to_model: str
    reason: str
    """`credits-exhausted`, `auth-failed`, `forbidden`, `unreachable`."""
    kind: str
    at: I64


Cause = Literal[
    "seed", "message", "model_reply", "tool_result", "produced_part", "compaction", "transform", "context_tool",
    "hook", "fan_out", "interaction", "resume", "framework",
]  # fmt: skip


class RegionCommit(Struct, frozen=True):
    region: str
    digest_before: str
    digest_after: str
    tokens_before: U64
    tokens_after: U64
    entries_before: U64
    entries_after: U64
    entries_added: U64

    @property
    def entries_left(self) -> int:
        """How many entries went away (N5.8)."""
        return max(0, self.entries_before + self.entries_added - self.entries_after)


class ContextTransaction(Struct, frozen=True, kw_only=True):
    """An attributed change of the window. It carries no content: it names, it does not change (N8)."""

    revision_before: str
    revision_after: str
    cause: Cause
    regions: tuple[RegionCommit, ...]
    execution_id: str = ""
    at: I64


class ContextChange(Struct, frozen=True, kw_only=True):
    """Reserved for journals of builds that were never published."""

    region: str
    cause: Cause
    entries_added: U64
    entries_removed: U64
    token_delta: I64
    at: I64


Record = (
    Header | OwnershipChanged | Inference | InferenceUsage | ToolBatch | ToolCallDone | ContextCheckpoint | ContextDiff
    | Message | StatusChanged | Checkpoint | Progress | ArtifactsProduced | Interaction | InferenceAttempt
    | InferenceFailover | ContextTransaction | ContextChange
)  # fmt: skip


class Kind(NamedTuple):
    """A row of the table of kinds."""

    type: type[Struct]
    since: str
    """First engine version whose reader knows it."""
    makes_point: bool = False
    """It changes the window, so a moment can be rebuilt there (4.3)."""


KINDS: dict[str, Kind] = {
    "Header": Kind(Header, "0.1.1"),
    "OwnershipChanged": Kind(OwnershipChanged, "0.1.1"),
    "Inference": Kind(Inference, "0.1.1"),
    "InferenceUsage": Kind(InferenceUsage, "0.3.10"),
    "ToolBatch": Kind(ToolBatch, "0.1.1"),
    "ToolCallDone": Kind(ToolCallDone, "0.1.2"),
    "ContextCheckpoint": Kind(ContextCheckpoint, "0.1.1", makes_point=True),
    "ContextDiff": Kind(ContextDiff, "0.1.1", makes_point=True),
    "Message": Kind(Message, "0.1.1"),
    "StatusChanged": Kind(StatusChanged, "0.1.1"),
    "Checkpoint": Kind(Checkpoint, "0.1.1", makes_point=True),
    "Progress": Kind(Progress, "0.1.1", makes_point=True),
    "ArtifactsProduced": Kind(ArtifactsProduced, "0.6.4"),
    "Interaction": Kind(Interaction, "0.6.4"),
    "InferenceAttempt": Kind(InferenceAttempt, "0.6.4"),
    "InferenceFailover": Kind(InferenceFailover, "0.6.4"),
    "ContextTransaction": Kind(ContextTransaction, "0.6.4"),
    "ContextChange": Kind(ContextChange, "0.6.4"),
}
