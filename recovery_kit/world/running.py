"""A run at work: its value, its writer, and the few ways in which both change together.

Every change of a window is a record with a cause. Records are gathered and written in order: with the next snapshot, or
before anything that has an effect. What a run does is in the modules that are handed a `Running`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from msgspec import structs

from recovery_kit.records.blueprint import Blueprint, RegionSpec
from recovery_kit.records.engines import Engine
from recovery_kit.records.journal import BatchCall, Cause, Record, ToolBatch
from recovery_kit.records.meta import (
    TERMINAL,
    AtInteractionPoint,
    Children,
    FanOutWorkers,
    NeedsSetup,
    RunMeta,
    Status,
    ToolApproval,
    UserPrompt,
    WaitingOn,
)
from recovery_kit.records.sidecars import OpenPoint
from recovery_kit.records.window import Content, Entry, Window

from .agent import Agent, AtPoint, ForChildren, Lane, Splitting
from .deltas import Names, transaction
from .ids import Ids
from .journal_writer import Snapshot
from .providers import Provider
from .regions import Written, add
from .stage_ledger import clock_runs, reconciled, ticking
from .tools import Tools

FRAMEWORK = "[System] {}"
"""How the framework's own notes begin."""


class Keeper(Protocol):
    """Where a run is kept: a run directory, or memory."""

    def record(self, *records: Record) -> int: ...
    def call_done(
        self, batch: ToolBatch, call: BatchCall, result: Content, at: int, *, given_up: bool = False
    ) -> int: ...
    def snapshot(self, now: Snapshot, before: Sequence[Record] = ()) -> None: ...
    def keep_blob(self, sha256: str, data: bytes) -> None: ...
    def read_blob(self, sha256: str) -> bytes | None: ...
    def close(self) -> None: ...


class Host(Protocol):
    """What a run asks of its world."""

    provider: Provider
    tools: Tools
    rules: Engine
    ids: Ids
    permissions: Mapping[str, str]
    call_order: Callable[[Sequence[BatchCall]], Sequence[int]] | None

    def now(self) -> int: ...
    def wait(self, seconds: float) -> None: ...
    def find(self, run_id: str) -> "Running | None": ...
    def blueprint_named(self, name: str) -> Blueprint | None: ...
    def new_run_id(self, parent: "Running", name: str, place: int) -> str: ...
    def start_child(
        self, parent: "Running", run_id: str, blueprint: Blueprint, task: str, stage: int | None
    ) -> None: ...
    def tree(self, run: "Running") -> "list[Running]": ...


class Running:
    """One run at work. `agent` is the run as a value; a new one replaces it at every change."""

    def __init__(self, agent: Agent, keeper: Keeper, host: Host) -> None:
        self.agent = agent
        self.keeper = keeper
        self.host = host
        self.stopped = ""
        """Why this process cannot go on with the run; its files are as they were."""
        self.names = Names()
        self._gathered: list[Record] = []
        self._said: list[tuple[int, str]] = []
        self._logged: list[tuple[int, str]] = []
        self._answer: bytes | None = None
        self._last: tuple[int, int, str] | None = None

    @property
    def id(self) -> str:
        return self.agent.meta.run_id

    @property
    def live(self) -> bool:
        return not self.agent.over and not self.stopped

    def now(self) -> int:
        """Unix seconds of the world's clock."""
        return self.host.now()

    # Values.

    def put(self, **members: Any) -> None:
        """Change members of the agent."""
        self.agent = replace(self.agent, **members)

    def put_meta(self, **members: Any) -> None:
        """Change members of its metadata."""
        self.agent = replace(self.agent, meta=structs.replace(self.agent.meta, **members))

    def put_flags(self, **members: Any) -> None:
        """Change members of its flags."""
        self.put_meta(flags=structs.replace(self.agent.meta.flags, **members))

    def put_visit(self, **members: Any) -> None:
        """Change counters of the stage's visit."""
        self.put(visit=replace(self.agent.visit, **members))

    def set_status(self, status: Status, error: str | None = None) -> None:
        """The run's status; whoever sets a terminal one says why, if there is something to say."""
        self.put_meta(status=status, error=error if error is not None else self.agent.meta.error)

    # The window.

    def change(
        self, window: Window, cause: Cause, execution_id: str = "", added: Mapping[str, int] | None = None
    ) -> None:
        """A new window and the record that attributes it, if anything is different (T5.4)."""
        before, at = self.agent.window, self.now()
        made = transaction(before, window, cause, at, execution_id=execution_id, added=added, names=self.names)
        if made is not None:
            self._gathered.append(made)
            grown = {commit.region: at for commit in made.regions if commit.entries_added}
            self.put(changed_at={**self.agent.changed_at, **grown})
        self.put(window=window)

    def silently(self, window: Window) -> None:
        """A new window that no record attributes (T5.4): the next step shows it."""
        self.put(window=window)

    def spec(self, region: str) -> RegionSpec | None:
        """The definition in force."""
        return self.agent.layout.definitions.get(region)

    def append(self, region: str, entry: Entry, cause: Cause, execution_id: str = "") -> Written:
        """Add an entry; a refusal changes nothing."""
        done = add(self.agent.window, region, entry, self.spec(region), self.agent.rules)
        if done.accepted:
            self.change(done.window, cause, execution_id)
        return done

    # Records.

    def note(self, *records: Record) -> None:
        """Records for the next write."""
        self._gathered.extend(records)

    def flush(self) -> None:
        """Write what was gathered; it is durable when this returns."""
        if self._gathered:
            with self._writing():
                gathered, self._gathered = self._gathered, []
                self.keeper.record(*gathered)

    def call_done(self, batch: ToolBatch, call: BatchCall, result: Content) -> None:
        """A call has ended; durable when this returns, and everything gathered before it."""
        self.flush()
        with self._writing():
            self.keeper.call_done(batch, call, result, self.now())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Whoever is cut short while writing, by a full disk or by somebody's Ctrl-C, no longer knows what is on the
        disk: only a reload can tell."""
        try:
            yield
        except BaseException as cut:
            self.stop(str(cut) or f"{type(cut).__name__} while it was written: reload the run")
            raise

    def log(self, line: str) -> None:
        """A line for the stage's log."""
        self._logged.append((self.agent.meta.stage_index, line))

    def speak(self, text: str) -> None:
        """A reply's text, for the stage's output."""
        if text.strip():
            self._said.append((self.agent.meta.stage_index, text))

    def answer_with(self, data: bytes) -> None:
        """The bytes of the run's answer, for the next snapshot."""
        self._answer = data

    def begin(self, keeper: Keeper) -> None:
        """Go on with another keeper: the first one is made once the first snapshot is."""
        self.keeper = keeper
        self._last = self._moment()

    def _moment(self) -> tuple[int, int, str]:
        meta = self.agent.meta
        return meta.iteration, meta.stage_index, meta.status

    def snapshot_if_due(self) -> None:
        """A snapshot where iteration, stage or status is another than in the last one (T17)."""
        if self._moment() != self._last:
            self.snapshot()

    def snapshot(self) -> None:
        """Write how the run stands."""
        now = self.stand()
        with self._writing():
            gathered, self._gathered = self._gathered, []
            self.keeper.snapshot(now, gathered)
        self._last = self._moment()
        self._said, self._logged, self._answer = [], [], None

    def stand(self) -> Snapshot:
        """How the run stands, as its files say it."""
        at, moved = self.now(), self._moment() != self._last
        agent = self.agent
        meta = structs.replace(
            agent.meta, updated_at=at, waiting_on=waiting_on(agent),
            last_progress_at=at if moved or agent.meta.last_progress_at is None else agent.meta.last_progress_at,
        )  # fmt: skip
        meta = structs.replace(meta, active=ticking(meta.active, clock_runs(meta), at))
        ledger = reconciled(agent.ledger, meta, agent.window, at)
        self.agent = replace(agent, meta=meta, ledger=ledger)
        return Snapshot(
            meta, agent.window, ledger, self._answer,
            fan_out=agent.doing.state if isinstance(agent.doing, Splitting) else None,
            open_point=open_point(agent), said=tuple(self._said), logged=tuple(self._logged),
        )  # fmt: skip

    # Ends.

    def fail(self, why: str) -> None:
        """The run ends in error, on record."""
        self.log(f"[error] {why}")
        self.set_status("error", why)
        self.snapshot()

    def stop(self, why: str) -> None:
        """This process goes no further with the run. Nothing is written: what is durable stays as it is, and a reload
        brings it back."""
        if self.stopped:
            return
        self.stopped = why
        self.put_meta(status="error", error=why)
        self.keeper.close()


def waiting_on(agent: Agent) -> WaitingOn | None:
    """What a run that waits, waits on (2.1.4)."""
    meta = agent.meta
    if meta.status not in ("waiting_input", "paused"):
        return None
    if isinstance(meta.waiting_on, NeedsSetup) and meta.status == "paused":
        return meta.waiting_on
    doing = agent.doing
    if isinstance(doing, AtPoint):
        return AtInteractionPoint()
    if isinstance(doing, Splitting):
        return FanOutWorkers(len(doing.state.active) + len(doing.state.pending))
    if isinstance(doing, ForChildren):
        return Children(len(meta.children))
    if isinstance(doing, Lane) and doing.prompt is not None:
        return ToolApproval() if doing.prompt.kind == "tool_approval" else UserPrompt()
    return None


def open_point(agent: Agent) -> OpenPoint | None:
    """What `interactions.json` says of a run that is parked at a question (2.5)."""
    if not isinstance(agent.doing, AtPoint) or agent.meta.status in TERMINAL:
        return None
    return OpenPoint(agent.visit.cursor, agent.visit.round, agent.doing.body)


def note_text(text: str) -> str:
    """A note of the framework to the model."""
    return FRAMEWORK.format(text)


def is_over(meta: RunMeta) -> bool:
    """Whether a run is in a terminal status."""
    return meta.status in TERMINAL
