"""A Run as its Service holds it in memory, and how it looks from outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition, RLock
from typing import Any

import msgspec
from msgspec import UNSET

from recovery_kit.records.loom import CallMark, Checkpoint, EndError, StageState


@dataclass(frozen=True, slots=True)
class Saved:
    """One boundary of a Run's history."""

    seq: int
    boundary: str
    saved_at: str


@dataclass(slots=True)
class Delegated:
    """Work that waits for a client's Agent. Claims live in memory only and end with the instance."""

    call_id: str
    agent_id: str
    prompt: Any
    token: str | None = None
    """Of whoever claimed it."""
    reply: Any = None
    failure: EndError | None = None
    is_over: bool = False


class LiveRun:
    """One Run. Everything in it is changed under the Service's lock alone."""

    def __init__(self, trail: Sequence[Checkpoint], lock: RLock) -> None:
        self.checkpoint = trail[-1]
        self.trail = [Saved(one.seq, one.boundary, one.saved_at) for one in trail]
        self.call: CallMark | None = None
        """The Call that owns it now; only that one may do anything in its name."""
        self.state: Any = self.checkpoint.stage
        """Stage State in memory, UNSET where no Stage is entered; the next boundary carries it."""
        self.is_saved = True
        """False once its files were deleted while it lived."""
        self.failure: EndError | None = None
        """An end that is known in this process alone: suspended, or not to be saved."""
        self.delegated: Delegated | None = None
        self.changed = Condition(lock)

    @property
    def id(self) -> str:
        return self.checkpoint.run.id

    @property
    def is_over(self) -> bool:
        """Nothing more is done in its name by this instance."""
        return self.failure is not None or self.checkpoint.boundary == "terminal"

    @property
    def status(self) -> str:
        return "failed" if self.failure is not None else self.checkpoint.status

    @property
    def seq(self) -> int | None:
        """The newest checkpoint's number; None where it is not on disk."""
        return self.checkpoint.seq if self.is_saved else None


@dataclass(frozen=True, slots=True)
class RunView:
    """How a Run stands, for clients."""

    id: str
    flow_name: str
    intent: str
    status: str
    boundary: str
    seq: int | None
    stage_name: str
    step_name: str
    prompt: dict[str, Any] | None
    """The open question: `id`, `kind`, `request`, `createdAt`."""
    stage: StageState | None
    commits: tuple[dict[str, Any], ...]
    error: dict[str, Any] | None
    origin: dict[str, str]
    lineage: dict[str, Any] | None
    history: tuple[Saved, ...]
    read_only: bool

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, camel case; not masked."""
        return {
            "id": self.id, "flowName": self.flow_name, "intent": self.intent, "status": self.status,
            "boundary": self.boundary, "seq": self.seq,
            "cursor": {"stageName": self.stage_name, "stepName": self.step_name}, "prompt": self.prompt,
            "stage": None if self.stage is None else msgspec.to_builtins(self.stage), "commits": list(self.commits),
            "error": self.error, "origin": self.origin, "lineage": self.lineage,
            "history": [{"seq": s.seq, "boundary": s.boundary, "savedAt": s.saved_at} for s in self.history],
            "readOnly": self.read_only,
        }  # fmt: skip


def view_of(run: LiveRun) -> RunView:
    """The view of a Run as it is now."""
    c = run.checkpoint
    open_ = c.boundary == "waiting" and run.failure is None and not c.is_paused
    asked = {"id", "kind", "request", "createdAt"}
    error = run.failure
    if error is None and c.outcome is not UNSET and c.outcome.error is not UNSET:
        error = c.outcome.error
    return RunView(
        id=run.id, flow_name=c.run.flow_name, intent=c.run.intent, status=run.status, boundary=c.boundary, seq=run.seq,
        stage_name=c.cursor.stage_name, step_name=c.cursor.step_name,
        prompt={k: v for k, v in _plain(c.action).items() if k in asked} if open_ else None,
        stage=None if c.stage is UNSET else c.stage,
        commits=tuple(_plain(commit) for commit in c.commits),
        error=None if error is None else _plain(error), origin=_plain(c.run.origin),
        lineage=None if c.run.lineage is UNSET else _plain(c.run.lineage), history=tuple(run.trail),
        read_only=c.boundary == "terminal",
    )  # fmt: skip


def _plain(value: Any) -> Any:
    """Plain JSON, lists as lists."""
    return msgspec.json.decode(msgspec.json.encode(value))
