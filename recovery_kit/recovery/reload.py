"""Carrying a plan out: runs of a folder into a world, each under its lock, each with its handoff on record.

Nothing is decided here. What the plan says is built, what it says is written, and a run whose files are not those the
plan was made from is left alone. A run that fails touches no other. Rules: leviath-run-directory 5; 0.5-to-0.6 N13.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from recovery_kit.errors import CannotRestore, PlanOutOfDate, RecoveryKitError, UnknownMoment, UnsafeName
from recovery_kit.formats import rundir
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.meta import TERMINAL
from recovery_kit.runs.collection import Runs, agent_run
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.run import Run
from recovery_kit.runs.sources import FolderSource
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.blueprints import checked
from recovery_kit.world.journal_writer import JournalWriter, TornTail
from recovery_kit.world.memory_keeper import MemoryKeeper

from .plan import PlannedRun, RecoveryPlan, plan_recovery
from .reviving import finished_agent, handoff, revived

TEMPORARY = ".lev-write-"
"""How left-overs of crashed replacements begin; no reader looks at them, and a take-over sweeps them away."""

PlanOrFolder = RecoveryPlan | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Reload:
    """What became of the runs of a plan."""

    restored: tuple[str, ...] = ()
    """Ids, in restore order."""
    failed: Mapping[str, RecoveryKitError] = field(default_factory=dict)
    """By id: why a run that should have come back did not. Its files are as they were."""
    torn: Mapping[str, TornTail] = field(default_factory=dict)
    """By id: what was set aside from the end of its journal."""

    def __bool__(self) -> bool:
        return not self.failed


def reload_persisted_agents(
    world: AgentWorld, plan_or_folder: PlanOrFolder, *, agents: str | os.PathLike[str] | None = None
) -> Reload:
    """Bring every run back that a plan says comes back, in its order; a folder is planned first.

    `agents` is for planning a folder: where manifests are looked up. Raises NotARun, and CannotRestore for a plan made
    for another engine than `kit`; what is wrong with one run is in the answer.
    """
    plan = _plan(plan_or_folder, agents)
    return restore_rows(world, [row for row in plan.rows if row.outlook.resumes], plan)


def reload_run(
    world: AgentWorld, plan_or_folder: PlanOrFolder, run_id: str, *, agents: str | os.PathLike[str] | None = None
) -> str:
    """Bring one run back, and the workers that it waits for; no other is read. Returns its id.

    A cancelled run comes back as well and goes on (0.5-to-0.6 N13.3). Raises UnsafeName for an id with path parts,
    UnknownMoment for one that is not there, CannotRestore (RunBusy where somebody owns it), PlanOutOfDate, CannotWrite.
    """
    if not run_id or run_id in (".", "..") or "/" in run_id or "\\" in run_id or "\0" in run_id:
        raise UnsafeName(None, "a run's id is one plain name, not a path")
    if isinstance(plan_or_folder, RecoveryPlan):
        plan = _plan(plan_or_folder, agents)
    else:
        plan = _plan_of_one(Path(plan_or_folder), run_id, agents)
    row = plan[run_id]
    if not (row.outlook.resumes or row.outlook.on_demand):
        raise CannotRestore(row.run.folder, row.why)
    workers = set(_workers(row))
    rows = [*(other for other in plan.resumes if other.run_id in workers), row]
    done = restore_rows(world, rows, plan)
    if run_id in done.failed:
        raise done.failed[run_id]
    return run_id


def restore_rows(world: AgentWorld, rows: Iterable[PlannedRun], plan: RecoveryPlan) -> Reload:
    """Carry out these rows of a plan, in order, and link the tree again. One that fails touches no other."""
    restored: list[str] = []
    failed: dict[str, RecoveryKitError] = {}
    torn: dict[str, TornTail] = {}
    wanted = list(rows)
    for row in wanted:
        try:
            _refuse_without_workers(row, failed)
            found = _restore(world, row, plan)
        except RecoveryKitError as no:
            failed[row.run_id] = no
            continue
        restored.append(row.run_id)
        if found is not None:
            torn[row.run_id] = found
    return Reload(tuple(restored), failed, torn)


def _plan(source: PlanOrFolder, agents: str | os.PathLike[str] | None) -> RecoveryPlan:
    plan = source if isinstance(source, RecoveryPlan) else plan_recovery(source, "kit", agents)
    if plan.engine.name != "kit":
        raise CannotRestore(plan.folder, f"a plan for engine {plan.engine.name} is for looking: make one for kit")
    return plan


def _plan_of_one(folder: Path, run_id: str, agents: str | os.PathLike[str] | None) -> RecoveryPlan:
    """The plan of one run and of the workers that its files name."""
    runs = open_runs(folder)
    if run_id not in runs:
        raise UnknownMoment(folder, f"there is no run {run_id!r}")
    run = agent_run(runs[run_id], "its whole project is brought back, by looms.Service and restore_runs")
    waits = run.files.fan_out
    names = [run_id, *(worker for _, worker in (waits.active if waits else ()) if worker in runs)]
    some = {one.source: one for one in (runs[name] for name in names)}
    return _plan(plan_recovery(Runs(lambda: some, label=str(folder)), "kit", agents), None)


def _restore(world: AgentWorld, row: PlannedRun, plan: RecoveryPlan) -> TornTail | None:
    """One run into the world. Everything that can be refused is refused before a byte is written."""
    blueprint, folder = _blueprint(row), _folder(row.run)
    known = world.agents.get(row.run_id)
    if known is not None and not known.over:
        raise CannotRestore(folder, "this world is at work on it already")
    _bring_finished(world, row, plan, blueprint)
    agent = revived(row, blueprint, [child.run for child in _children(row, plan)])
    keeper = JournalWriter.take_over(
        folder, owner=world.owner, disk=world.disk, before_writing=lambda: _refuse_if_changed(row, folder)
    )  # fmt: skip
    try:
        run = world.adopt(agent, keeper)
        handoff(run, row)
    except BaseException:
        if row.run_id in world.agents:
            world.release(row.run_id)
        keeper.close()
        raise
    return keeper.torn


def _blueprint(row: PlannedRun) -> Blueprint:
    """The manifest to go on with. Raises CannotRestore where there is none, or not the one that was executed."""
    folder, blueprint = row.run.folder, row.blueprint
    if row.after is None or blueprint is None:
        raise CannotRestore(folder, row.manifest.why_not or row.why)
    known = row.run.meta.blueprint_digest if row.run.meta else None
    if known is not None and blueprint.sha256 != known:
        raise CannotRestore(folder, f"the manifest was changed: {row.manifest.where} is not the one that was executed")
    return checked(blueprint)


def _folder(run: Run) -> Path:
    if run.folder is None:
        raise CannotRestore(run.source, "a run in an archive or of bytes has no folder to go on in")
    meta = run.meta
    if meta is not None and meta.run_id != run.folder.name:
        raise CannotRestore(run.folder, "the folder is not named as the run in it: a copy is not its original")
    return run.folder


def _refuse_if_changed(row: PlannedRun, folder: Path) -> None:
    """Raises PlanOutOfDate where the files are not those that the plan was made from."""
    source = FolderSource(folder)
    facts = {name: fact for name, fact in source.facts().items() if not name.split("/")[-1].startswith(TEMPORARY)}
    planned = {file.name: file for file in row.files if not file.name.split("/")[-1].startswith(TEMPORARY)}
    for name in sorted(facts.keys() | planned.keys()):
        old, new = planned.get(name), facts.get(name)
        if old is None or new is None or (old.sha256 is not None and _digest(source, name) != old.sha256):
            raise PlanOutOfDate(folder / name, "it is not as it was when the plan was made: plan again")


def _digest(source: FolderSource, name: str) -> str | None:
    data = source.read(name)
    return None if data is None else hashlib.sha256(data).hexdigest()


def _children(row: PlannedRun, plan: RecoveryPlan) -> list[PlannedRun]:
    """Runs of the plan that are below a run: by its own files, or by theirs, which may know more.

    A folder without a `meta.json` is no run yet: whoever made it died before it had made a step.
    """
    own = row.run.meta.children if row.run.meta else ()
    begun = [r for r in plan.rows if r.run.files.parsed(rundir.META).present]
    return [r for r in begun if r.run_id in own or (r.run.meta and r.run.meta.parent_run_id == row.run_id)]


def _workers(row: PlannedRun) -> tuple[str, ...]:
    found = row.after.fan_out if row.after is not None else None
    return tuple(worker for _, worker in found.active) if found is not None and not found.dropped else ()


def _refuse_without_workers(row: PlannedRun, failed: Mapping[str, RecoveryKitError]) -> None:
    """A parent whose worker could not be brought back is left as it is too: it would count the item as failed."""
    lost = [worker for worker in _workers(row) if worker in failed]
    if lost:
        raise CannotRestore(row.run.folder, f"it waits for {lost[0]}, which did not come back")


def _bring_finished(world: AgentWorld, row: PlannedRun, plan: RecoveryPlan, blueprint: Blueprint) -> None:
    """Children that are over stay known, so that their results can be taken. Their files are not touched."""
    for child in _children(row, plan):
        meta = child.run.meta
        if meta is not None and meta.status in TERMINAL and child.run_id not in world.agents:
            world.adopt(finished_agent(child.run, meta, child.blueprint or blueprint), MemoryKeeper())
