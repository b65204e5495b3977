"""A small world of runs: given provider and tools it carries them on, step by step, and keeps each as the engine would.

One synchronous core: `tick` gives every run one step, in the order in which they came. Nothing here waits for people:
open questions are values in `prompts`. A run that fails touches nobody else. Rules: leviath-runtime T6.1, T13, T15.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Self

from recovery_kit.errors import CannotWrite, RecoveryKitError, UnknownMoment, UnsafeName
from recovery_kit.formats import rundir
from recovery_kit.formats.durable import DISK, Durable, safe_parts
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import ENGINES, Engine
from recovery_kit.records.journal import BatchCall
from recovery_kit.records.meta import OutputSpec
from recovery_kit.runs.manifests import agents_in

from . import fan_out, lane, stage_end, stage_entry
from .agent import READY, Agent, Compacting, Doing, ForChildren, Lane, Ready, Routing, Splitting
from .asked import Prompt
from .blueprints import Named, checked, load_blueprint
from .ids import Ids, Owner
from .journal_writer import JournalWriter
from .memory_keeper import MemoryKeeper
from .providers import Provider
from .running import Keeper, Running
from .settling import settle
from .spawning import first_agent
from .tools import StubTools, Tools
from .turn import take_turn

STEPS: Mapping[type[Doing], Callable[[Running], bool]] = {
    Ready: take_turn,
    Lane: lane.go_on,
    Routing: stage_end.route,
    Compacting: stage_entry.compact,
    Splitting: fan_out.go_on,
    ForChildren: stage_end.children_are_done,
}
"""What a run does next, by what it is at. A question to a person is no step: it stands."""


class AgentWorld:
    """Runs at work, under one provider and one set of tools.

    `folder` is where the runs it starts are kept (a runs root); without one they are kept in memory. `agents` are
    manifests that runs may start as sub-agents: a folder of them, or a mapping by name. `permissions` is the
    installation's word by tool, `allow` where it says nothing: a manifest can only tighten it. `clock` gives Unix
    seconds. `sleep` waits between tries of a provider that asks for it. `call_order` gives the places of a batch's
    calls in the order in which they are made, where that is not the reply's. A world is closed when it is done
    with, which lets go of its run directories.
    """

    def __init__(
        self,
        provider: Provider,
        tools: Tools | None = None,
        *,
        folder: Path | str | None = None,
        agents: Path | str | Named | None = None,
        clock: Callable[[], int] | None = None,
        permissions: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        call_order: Callable[[Sequence[BatchCall]], Sequence[int]] | None = None,
        disk: Durable = DISK,
        ids: Ids | None = None,
    ) -> None:
        self.provider = provider
        self.tools: Tools = tools if tools is not None else StubTools(otherwise=None)
        self.folder = None if folder is None else Path(folder)
        self.rules: Engine = ENGINES["kit"]
        self.permissions: Mapping[str, str] = dict(permissions or {})
        self.call_order = call_order
        self.disk = disk
        self.ids = ids or Ids()
        self.owner = Owner.here(None if self.folder is None else self.folder.absolute().parent)
        self._named = agents if isinstance(agents, Mapping) else agents_in(None if agents is None else Path(agents))
        self._clock, self._sleep = clock or (lambda: int(time.time())), sleep
        self._runs: dict[str, Running] = {}

    # What is there.

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Every run by id, as it stands."""
        return MappingProxyType({run_id: run.agent for run_id, run in self._runs.items()})

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """Open questions, run by run."""
        found = (run.agent.prompt for run in self._runs.values() if run.live)
        return tuple(prompt for prompt in found if prompt is not None)

    def __getitem__(self, run_id: str) -> Agent:
        return self._running(run_id).agent

    def why_stopped(self, run_id: str) -> str:
        """Why this world goes no further with a run whose files it leaves as they are; empty for all others."""
        return self._running(run_id).stopped

    def keeper(self, run_id: str) -> Keeper:
        """Where a run is kept."""
        return self._running(run_id).keeper

    def _running(self, run_id: str) -> Running:
        if run_id not in self._runs:
            raise UnknownMoment(self.folder, f"this world has no run {run_id!r}")
        return self._runs[run_id]

    # Starting.

    def spawn(
        self,
        blueprint: Blueprint | str | Path,
        task: str,
        *,
        run_id: str | None = None,
        workdir: Path | str = "",
        yolo: bool = False,
        metadata: Mapping[str, str] | None = None,
        output: OutputSpec | None = None,
    ) -> str:
        """Start a run of a manifest (a blueprint, its path or its text) and return its id; it has made no step yet.

        `yolo` asks nobody. Raises CannotRestore for a manifest that this world cannot carry out, ManifestUnreadable,
        CannotWrite.
        """
        read = load_blueprint(blueprint)
        path = str(Path(blueprint).absolute()) if isinstance(blueprint, Path) else f"inline:{read.name}"
        name = run_id or self._new_id(read.name, f"{len(self._runs)}")
        members = {"yolo": yolo, "metadata": dict(metadata or {}), "output_request": output}
        self._start(read, task, name, agent_path=path, workdir=str(workdir), members=members)
        return name

    def _start(
        self,
        blueprint: Blueprint,
        task: str,
        run_id: str,
        *,
        agent_path: str,
        workdir: str,
        stage: int = 0,
        members: Mapping[str, object],
    ) -> None:
        if safe_parts(self.folder or Path(), run_id) != (run_id,) or run_id in self._runs:
            raise UnsafeName(self.folder, "a run's id is one plain name that no other run has")
        agent = first_agent(
            blueprint, task, self.rules, self.ids, self.now(), run_id=run_id, agent_path=agent_path, workdir=workdir,
            stage=stage, members=members,
        )  # fmt: skip
        run = Running(agent, MemoryKeeper(), self)
        first = run.stand()
        if self.folder is None:
            run.keeper.snapshot(first)
        else:
            run.keeper = JournalWriter.create(
                self.folder / run_id, first, owner=self.owner, blueprint=blueprint.text.encode(), disk=self.disk
            )
        run.begin(run.keeper)
        self._runs[run_id] = run

    def adopt(self, agent: Agent, keeper: Keeper) -> Running:
        """Take a run in that was restored; `agent` stands as its files say. Raises UnsafeName for an id that is here
        already and at work."""
        checked(agent.blueprint)
        known = self._runs.get(agent.id)
        if known is not None and known.live:
            raise UnsafeName(None, f"this world is at work on {agent.id} already")
        run = Running(agent, keeper, self)
        run.begin(keeper)
        self._runs[agent.id] = run
        return run

    def release(self, run_id: str) -> None:
        """Let go of a run; its files stay."""
        self._running(run_id).keeper.close()
        del self._runs[run_id]

    # Going on.

    def tick(self) -> bool:
        """One step of every run that can make one, in order. False where nothing moved: all are over or waiting."""
        moved = False
        for run in tuple(self._runs.values()):
            moved |= self._step(run)
        return moved

    def run(self, max_ticks: int = 10_000) -> int:
        """Tick until nothing moves; how many ticks it took."""
        for count in range(max_ticks):
            if not self.tick():
                return count
        return max_ticks

    def _step(self, run: Running) -> bool:
        step = STEPS.get(type(run.agent.doing))
        if step is None or not run.live or run.agent.paused:
            return False
        try:
            return step(run)
        except RecoveryKitError as no:
            run.stop(str(no))
        except Exception as defect:
            self._defect(run, defect)
        return True

    def _defect(self, run: Running, defect: Exception) -> None:
        """What is raised by a provider ends the run on record, if that can still be written."""
        why = f"{type(defect).__name__}: {defect}" if str(defect) else type(defect).__name__
        if isinstance(run.agent.doing, Lane):
            run.stop(f"a defect in the middle of a batch ({why}): reload the run")
            return
        try:
            run.fail(f"the run met a defect: {why}")
        except RecoveryKitError as no:
            run.stop(f"{why}; and it could not be written: {no}")

    # People.

    def answer(
        self,
        prompt: Prompt | str,
        *,
        approve: bool | str = False,
        deny: bool = False,
        text: str | None = None,
        choice: int | str | None = None,
        feedback: str | None = None,
    ) -> None:
        """Answer an open question, by its value or its id; durable when this returns. No tool and no model is asked
        here: `tick` goes on.

        `approve` may be a scope (`once`, `stage`, `session`); `choice` an option or its place from 0. Raises
        UnknownMoment for a question that does not stand open, ValueError for an answer that does not fit it.
        """
        wanted = prompt if isinstance(prompt, str) else prompt.id
        run = next((r for r in self._runs.values() if r.live and r.agent.prompt and r.agent.prompt.id == wanted), None)
        if run is None or run.agent.prompt is None:
            raise UnknownMoment(self.folder, f"no question {wanted!r} stands open")
        given = run.agent.prompt.given(approve=approve, deny=deny, text=text, choice=choice, feedback=feedback)
        self._guarded(run, lambda: settle(run, given))

    def pause(self, run_id: str) -> bool:
        """Hold a run and its tree; False where the run itself is not one that can be held: it waits or is over."""
        return self._on_tree(run_id, _can_pause, "paused")

    def resume(self, run_id: str) -> bool:
        """Let a held run and its tree go on; a reason that held it is taken as settled. A cancelled one goes on too."""
        return self._on_tree(run_id, _can_resume, "running")

    def cancel(self, run_id: str) -> bool:
        """End a run and its tree; a batch that is out stays without results."""
        return self._on_tree(run_id, lambda agent: not agent.over, "cancelled")

    def message(self, run_id: str, text: str, region: str | None = None) -> None:
        """A message for the model, delivered before the next request of a stage that takes some; until then it is in
        memory only (T15)."""
        run = self._running(run_id)
        run.put(inbox=(*run.agent.inbox, (text, region)))

    def _on_tree(self, run_id: str, may: Callable[[Agent], bool], status: str) -> bool:
        root = self._running(run_id)
        done = not root.stopped and may(root.agent)
        for run in self.tree(root):
            if not run.stopped and may(run.agent):
                self._guarded(run, lambda run=run: _put_status(run, status))  # type: ignore[misc]
        return done

    def _guarded(self, run: Running, act: Callable[[], None]) -> None:
        try:
            act()
        except CannotWrite as no:
            run.stop(str(no))
            raise

    # What runs ask of their world.

    def now(self) -> int:
        """Unix seconds."""
        return self._clock()

    def wait(self, seconds: float) -> None:
        """Wait before another try."""
        self._sleep(seconds)

    def find(self, run_id: str) -> Running | None:
        """A run of this world."""
        return self._runs.get(run_id)

    def blueprint_named(self, name: str) -> Blueprint | None:
        """The manifest of a sub-agent. Raises CannotRestore for one that this world cannot carry out."""
        found = self._named.get(name)
        return None if found is None else checked(found)

    def new_run_id(self, parent: Running, name: str, place: int) -> str:
        """An id for the child of a parent at that place among its children."""
        return self._new_id(name, f"{parent.id} {place}")

    def _new_id(self, name: str, salt: str) -> str:
        for number in range(10_000):
            digest = hashlib.sha256(f"{name} {salt} {self.now()} {number}".encode()).hexdigest()
            run_id = f"{name}-{self.now()}-{digest[:12]}"
            there = self.folder is not None and (self.folder / run_id).exists()
            if run_id not in self._runs and not there:
                return run_id
        raise UnsafeName(self.folder, "no free id for a run was found")

    def start_child(self, parent: Running, run_id: str, blueprint: Blueprint, task: str, stage: int | None) -> None:
        """Start a run for a parent; `stage` for a worker."""
        meta = parent.agent.meta
        where = self.folder / parent.id / rundir.BLUEPRINT if self.folder is not None and stage is not None else None
        members: dict[str, object] = {
            "parent_run_id": parent.id, "depth": meta.depth + 1, "yolo": meta.yolo,
            "model_override": meta.model_override,
            "output_request": meta.output_request if stage is not None else None,
        }  # fmt: skip
        path = str(where) if where is not None else f"inline:{blueprint.name}"
        self._start(
            blueprint, task, run_id, agent_path=path, workdir=meta.workdir, stage=stage or 0, members=members
        )  # fmt: skip

    def tree(self, run: Running) -> list[Running]:
        """A run and everything below it, parents first."""
        found = [run]
        for parent in found:
            found += [child for c in parent.agent.meta.children if (child := self._runs.get(c)) and child not in found]
        return found

    # Ending.

    def close(self) -> None:
        """Let go of every run directory. Nothing is left to be written."""
        for run in self._runs.values():
            run.keeper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        live = sum(run.live for run in self._runs.values())
        return f"<AgentWorld: {len(self._runs)} runs, {live} not over, {len(self.prompts)} questions>"


def _can_pause(agent: Agent) -> bool:
    return agent.status == "running"


def _can_resume(agent: Agent) -> bool:
    return agent.status in ("paused", "cancelled")


def _put_status(run: Running, status: str) -> None:
    if run.agent.status == "cancelled":
        run.put(doing=READY)
    on = status == "running"
    word = _resumed(run.agent) if on else status
    run.put_meta(status=word, waiting_on=None, error=None if on else run.agent.meta.error)
    run.snapshot()


def _resumed(agent: Agent) -> str:
    waits = isinstance(agent.doing, (Splitting, ForChildren)) or agent.prompt is not None
    return "waiting_input" if waits else "running"
