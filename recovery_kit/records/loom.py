"""The vocabulary of IntLoom checkpoints, formats 1 and 3: one frozen value for each JSON object, absent members UNSET.

Belongs here: shapes and words. What a set of files proves is in `history`, what a restart does with it in `restore`.
(intloom-recovery 1.2, 2.3)
"""

from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

Word = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
Uuid = Annotated[str, Meta(pattern=r"\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")]
Hex64 = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Moment = Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\Z")]
"""`YYYY-MM-DDTHH:MM:SS.mmmZ`; that it is a day of the calendar is looked at where files are read."""
LooseMoment = Annotated[
    str,
    Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})\Z"),
]

FORMAT = 3
"""The format that is written and restored; format 1 is only read."""

Boundary = Literal["ready", "executing", "step_result", "waiting", "answered", "terminal"]
BOUNDARIES: tuple[Boundary, ...] = get_args(Boundary)
CallKind = Literal["initializer", "code", "recovery", "model", "agent"]
ActionKind = Literal["user_ask_questions", "user_ask_confirmation"]
Status = Literal["running", "waiting", "paused", "completed", "failed"]
Problem = Literal["unsafe_path", "corrupt", "version", "duplicate", "workflow_changed", "state_invalid"]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)
Certainty = Literal["not_started", "done", "unknown", "closed"]

CERTAINTY: dict[Boundary, Certainty] = {
    "ready": "not_started",
    "executing": "unknown",
    "step_result": "done",
    "waiting": "done",
    "answered": "not_started",
    "terminal": "closed",
}
"""What a saved boundary says of the effect next to it: at a prompt, the Code before it is done; once answered, what
follows is not started (intloom-recovery 4.3)."""


class _Value(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """Strict and immutable: an unknown member makes the file invalid."""


class Cursor(_Value, frozen=True, kw_only=True):
    """Where in the graph."""

    stage_name: Word
    step_name: Word

    def __str__(self) -> str:
        return f"{self.stage_name}/{self.step_name}"


class Execution(_Value, frozen=True, kw_only=True):
    """Who asked for the Run, and who executes its Agent Steps."""

    source: Literal["cli", "studio", "agent_ide"]
    agent_executor: Literal["service", "mcp_client"]


class StageState(_Value, frozen=True, kw_only=True):
    """State as it was given and as the schema returned it; both absent for a State that was cleared."""

    input: Any = UNSET
    value: Any = UNSET

    @property
    def is_cleared(self) -> bool:
        return self.input is UNSET and self.value is UNSET


class SavedError(_Value, frozen=True, kw_only=True):
    """The public shape of an error."""

    code: Word
    message: Word
    retryable: bool


# Format 3.


class Origin(_Value, frozen=True, kw_only=True):
    """The operation that created a Run, and the instance that it was sent to."""

    operation_id: Uuid
    instance_id: Uuid


class Lineage(_Value, frozen=True, kw_only=True):
    """What a mirror branched from, and whether it still holds."""

    run_id: Word
    seq: Count
    paused: bool


class RunHead(_Value, frozen=True, kw_only=True):
    """What is constant of a Run, but for `lineage.paused`."""

    id: Word
    flow_name: Word
    intent: Word
    execution: Execution
    created_at: Moment
    origin: Origin
    lineage: Lineage | UnsetType = UNSET

    @property
    def is_paused(self) -> bool:
        return self.lineage is not UNSET and self.lineage.paused


class CallMark(_Value, frozen=True, kw_only=True):
    """One attempt at a Step or an initializer."""

    id: Word
    kind: CallKind


class Action(_Value, frozen=True, kw_only=True):
    """A question to a person."""

    id: Word
    kind: ActionKind
    request: Any
    created_at: Moment
    recoverable: bool
    """Whether the Code had a `recover` function when it asked."""


class Route(_Value, frozen=True, kw_only=True):
    """Where an outcome leads."""

    kind: Literal["step", "stage", "end"]
    cursor: Cursor | UnsetType = UNSET
    """The next cursor; absent only for `end`."""


class StepResult(_Value, frozen=True, kw_only=True):
    """What a finished Step returned, its route checked."""

    outcome: Word
    route: Route


class Operation(_Value, frozen=True, kw_only=True):
    """One change of formal data."""

    type: Literal["create_artifact", "replace_artifact", "append_record", "remove_artifact", "remove_record"]
    id: Word
    revision: Count | UnsetType = UNSET
    """The new revision, for a created or replaced Artifact only."""


REVISED = frozenset({"create_artifact", "replace_artifact"})


class Commit(_Value, frozen=True, kw_only=True):
    """A commit that returned."""

    call_id: Word
    operations: tuple[Operation, ...]


class EndError(_Value, frozen=True, kw_only=True):
    """Why a Run failed. `reason` exactly with `RUN_INTERRUPTED`."""

    code: Word
    message: Word
    retryable: bool
    reason: Literal["uncertain_execution", "no_recovery_entry"] | UnsetType = UNSET


class Outcome(_Value, frozen=True, kw_only=True):
    """How a Run ended."""

    status: Literal["completed", "failed"]
    error: EndError | UnsetType = UNSET


class Checkpoint(_Value, frozen=True, kw_only=True):
    """One saved boundary of a Run (intloom-recovery 2.3). Members are written in this order."""

    version: Literal[3]
    seq: Count
    saved_at: Moment
    instance_id: Uuid
    workflow_identity: Hex64
    boundary: Boundary
    run: RunHead
    cursor: Cursor
    stage: StageState | UnsetType = UNSET
    call: CallMark | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    answer: Any = UNSET
    result: StepResult | UnsetType = UNSET
    commits: tuple[Commit, ...]
    outcome: Outcome | UnsetType = UNSET

    @property
    def is_paused(self) -> bool:
        """Held by a paused mirror; what has ended is not held."""
        return self.boundary != "terminal" and self.run.is_paused

    @property
    def status(self) -> Status:
        """Derived, never saved (intloom-recovery 2.4)."""
        if self.outcome is not UNSET:
            return self.outcome.status
        if self.is_paused:
            return "paused"
        delegated = self.boundary == "executing" and self.call is not UNSET and self.call.kind == "agent"
        return "waiting" if self.boundary == "waiting" or delegated else "running"


Presence = Literal["required", "optional", "forbidden"]
_R: Presence = "required"
_O: Presence = "optional"
_N: Presence = "forbidden"

KEYS: dict[Boundary, dict[str, Presence]] = {
    "ready":       {"stage": _O, "call": _N, "action": _N, "answer": _N, "result": _N, "outcome": _N},
    "executing":   {"stage": _R, "call": _R, "action": _N, "answer": _N, "result": _N, "outcome": _N},
    "step_result": {"stage": _R, "call": _N, "action": _N, "answer": _N, "result": _R, "outcome": _N},
    "waiting":     {"stage": _R, "call": _R, "action": _R, "answer": _N, "result": _N, "outcome": _N},
    "answered":    {"stage": _R, "call": _R, "action": _R, "answer": _R, "result": _N, "outcome": _N},
    "terminal":    {"stage": _O, "call": _N, "action": _N, "answer": _N, "result": _N, "outcome": _R},
}  # fmt: skip
"""Which members a boundary has; an initializer's `executing` has no stage (intloom-recovery 2.3)."""


# Format 1.

Phase = Literal["stage_pending", "step_ready", "executing", "step_result", "waiting", "answered", "terminal"]


class PendingAction(_Value, frozen=True, kw_only=True):
    """A question, as format 1 saves it."""

    id: Word
    flow_name: Word
    cursor: Cursor
    kind: ActionKind
    request: Any
    created_at: LooseMoment


class PendingAgentCall(_Value, frozen=True, kw_only=True):
    """Work that was handed to a client's Agent."""

    id: Word
    agent_id: Word
    phase: Literal["available", "claimed"]
    created_at: LooseMoment


class Run1(_Value, frozen=True, kw_only=True):
    """A Run, as format 1 saves it."""

    id: Word
    flow_name: Word
    intent: Word
    execution: Execution
    cursor: Cursor
    status: Literal["running", "waiting", "completed", "failed"]
    pending_action: PendingAction | UnsetType = UNSET
    pending_agent_call: PendingAgentCall | UnsetType = UNSET
    last_error: SavedError | UnsetType = UNSET
    created_at: LooseMoment
    updated_at: LooseMoment


class Outcome1(_Value, frozen=True, kw_only=True):
    """A Step's outcome, its route not applied."""

    outcome: Word


class Checkpoint1(_Value, frozen=True, kw_only=True):
    """The one file that format 1 keeps of a Run (intloom-recovery 1.2)."""

    version: Literal[1]
    workflow_identity: Word
    phase: Phase
    run: Run1
    stage: StageState | UnsetType = UNSET
    result: Outcome1 | UnsetType = UNSET
    answer: Any = UNSET
    answered_action: PendingAction | UnsetType = UNSET


class LoomFinding(Struct, frozen=True, kw_only=True):
    """Why a start is refused, or a file is not read (intloom-recovery 2.7)."""

    problem: Problem
    path: str
    """Relative to the project."""
    run_id: str | None = None
    """None where nothing sound tells it."""
    detail: str

    def as_json(self) -> dict[str, str | None]:
        """In the words of the plan."""
        return {"problem": self.problem, "path": self.path, "runId": self.run_id, "detail": self.detail}

    def __str__(self) -> str:
        return f"{self.problem}: {self.path}: {self.detail}"
