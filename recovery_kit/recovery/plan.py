"""What a restart of a whole folder would do, before anybody starts it; and the very value that a reload carries out.

Of IntLoom projects the plan is that of `loom_plan`, one a project, held by the same value.

The plan decides everything; carrying it out decides nothing. Rules: leviath-run-directory 5; 0.5-to-0.6 N13.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from recovery_kit.display import SHAPES_ONLY, Drawn
from recovery_kit.errors import UnknownMoment
from recovery_kit.formats.rundir import FAN_OUT, META
from recovery_kit.history.windows import window_sha256
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import NEWEST, Engine
from recovery_kit.records.findings import Finding
from recovery_kit.records.loom import LoomFinding
from recovery_kit.restore.classify import Candidate, Triaged, triage_restores
from recovery_kit.runs.manifests import Found, agents_in, manifest_of
from recovery_kit.runs.run import FileEvidence, Run
from recovery_kit.world.request import Request, assemble
from recovery_kit.world.situation import Situation

from .answers import restart_answer
from .check import Checkable, masked, rules_of, what_is_there
from .loom_plan import LoomPlan, LoomPlanRow, Workflows, plan_project
from .outlook import Outlook, outlook, worker_reloads
from .restoring import Restored, restored
from .warnings import restart_findings

KIT_DOES: dict[str, str] = {
    "regions_lost_on_reload": "kit brings the regions of the stage's own layout back",
    "fan_out_forgotten": "kit keeps the fan-out and collects the workers' results",
    "prompt_stranded": "kit goes on after an edit or an approval",
    "torn_tail": "kit goes on in a new file and keeps the torn bytes beside it",
    "records_hidden_behind_a_tear": "kit goes on from what lies behind the tear",
    "engine_will_not_mention_this_batch_to_the_model": "kit brings the open calls back verify-first",
}
"""Where `kit` differs from the newest engine, by the finding that announces it."""


@dataclass(frozen=True, slots=True)
class PendingFate:
    """A pending call and what comes back for it."""

    call_id: str
    name: str
    fate: str
    """`replayed` with its real result, or `verify_first`."""


@dataclass(frozen=True)
class PlannedRun:
    """What a restart does with one run."""

    run: Run = field(repr=False)
    engine: Engine
    order: int | None
    """0 is restored first; None for one that is not loaded."""
    why: str
    """Why it stands there, or why it does not come back."""
    outlook: Outlook
    after: Restored | None = field(repr=False)
    """The run restored; None where its metadata cannot be read."""
    manifest: Found
    findings: tuple[Finding, ...]
    files: tuple[FileEvidence, ...] = field(repr=False)
    """Size and SHA-256 of each file that the plan rests on."""

    @property
    def run_id(self) -> str:
        return self.run.id

    @property
    def blueprint(self) -> Blueprint | None:
        return self.manifest.blueprint

    @cached_property
    def window_sha256(self) -> str | None:
        """Digest of the window that the restore builds."""
        return window_sha256(self.after.window) if self.after else None

    @cached_property
    def next_request(self) -> Request | None:
        """What the model is sent first after the restart (of a paused run: once it is resumed)."""
        if self.after is None or not self.outlook.resumes:
            return None
        agent = self.after.agent
        situation = Situation(
            rules=self.engine, entered=agent.entered, blob=_blob_of(self.run),
            unattended=bool(self.run.meta and self.run.meta.yolo),
            cap_raised=bool(agent.stage and agent.stage.name in self.after.ledger.cap_raised),
        )  # fmt: skip
        stage = agent.stage.name if agent.stage else agent.stage_name
        return assemble(self.after.window, self.blueprint, stage, situation)

    @property
    def pending(self) -> tuple[PendingFate, ...]:
        """Pending calls in call order."""
        batch = self.after.batch if self.after else None
        calls = batch.calls if batch else ()
        return tuple(PendingFate(c.id, c.call.name, "verify_first" if c.verify_first else "replayed") for c in calls)

    @property
    def prompts_back(self) -> tuple[str, ...]:
        """Questions that are open again after the restart."""
        point = self.after.point if self.after and self.outlook.resumes else None
        return (point.request_id or "an interaction point",) if point and point.shown else ()

    @property
    def prompts_lost(self) -> tuple[str, ...]:
        """Questions that stood open and do not come back, by what the run waited on."""
        if not self.outlook.resumes or self.prompts_back:
            return ()
        return tuple(p.reason or p.kind or "a question" for p in self.run.prompts if p.settlement == "open")

    @property
    def billed_again(self) -> tuple[str, ...]:
        """What is asked for and paid for a second time."""
        said = []
        if self.outlook.resumes and self.outlook.turn_repeated:
            turn = f"turn {self.outlook.iteration}"
            said.append(f"{turn}: it was answered, and its answer is neither in the window nor pending")
        lost = [trip for trip in self.run.story.trips.unbilled if not trip.behind_tear]
        if self.outlook.resumes and lost:
            said.append("an answer that came and is in no record")
        return tuple(said)

    @property
    def will_write(self) -> tuple[str, ...]:
        """What the restart writes into the run's folder."""
        if not self.outlook.resumes:
            ends = self.outlook.status_after == "error" and self.outlook.priority
            return ("meta.json (status error)",) if ends else ()
        torn = self.run.journal.framing.torn_bytes or self.run.journal.salvage.swallowed is not None
        where = "run.lvr, behind a tear where no reader looks" if torn and self.engine.extends_torn_tail else "run.lvr"
        return (where, "meta.json", "context.json", "stages.json")

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the folder cannot show and is taken to be there."""
        if not self.outlook.resumes:
            return ()
        workdir = self.run.meta.workdir if self.run.meta else "?"
        said = [f"the work directory {workdir} exists", "its providers are configured"]
        said += [self.manifest.why_not] if self.blueprint is None else [f"the manifest is {self.manifest.where}"]
        if self.after:
            said += [*self.after.agent.assumes, *(self.after.point.assumes if self.after.point else ())]
        request = self.next_request
        return (*said, *(request.unknown if request else ()))

    @property
    def differs_from_engine(self) -> tuple[str, ...]:
        """Where `kit` would do something else with this run."""
        return tuple(dict.fromkeys(KIT_DOES[f.kind] for f in self.findings if f.kind in KIT_DOES))

    def as_json(self) -> dict[str, Any]:
        """One object, all text in it masked."""
        request = self.next_request
        row: dict[str, Any] = {
            "run_id": self.run.id,
            "source": self.run.source,
            "engine": self.engine.name,
            "order": self.order,
            **restart_answer(self.outlook),
            "why_there": self.why,
            "window_sha256": self.window_sha256,
            "next_request": request.as_json() if request else None,
            "pending": [{"id": p.call_id, "name": p.name, "fate": p.fate} for p in self.pending],
            "prompts": {"back": list(self.prompts_back), "lost": list(self.prompts_lost)},
            "parent": self.run.meta.parent_run_id if self.run.meta else None,
            "children": list(self.run.meta.children) if self.run.meta else [],
            "disagreements": [d.sentence for d in self.run.story.disagreements],
            "billed_again": list(self.billed_again),
            "will_write": list(self.will_write),
            "assumes": list(self.assumes),
            "differs_from_engine": list(self.differs_from_engine),
            "warn": [str(finding) for finding in self.findings],
        }
        return masked(row, self.run.masker)  # type: ignore[no-any-return]


def _blob_of(run: Run) -> Any:
    def blob(sha256: str) -> bytes | None:
        data = run.files.blob(sha256)
        return None if data is None else bytes(data)

    return blob


@dataclass(frozen=True)
class RecoveryPlan(Drawn, Mapping[str, PlannedRun]):
    """What a restart would do with each run, those that come back first, in restore order.

    As a mapping it holds the runs of agents; what a start of each IntLoom project would do is in `projects`, and of all
    of them together in `start`, `findings`, `hostages` and `unblock`.
    """

    engine: Engine
    rows: tuple[PlannedRun, ...]
    """Runs of agents."""
    folder: Path | None = None
    """Where it was made from, if that is a folder."""
    projects: tuple[LoomPlan, ...] = ()
    """One a project."""

    @property
    def start(self) -> str | None:
        """`ok` or `RECOVERY_BLOCKED`, where some project may not start; None without any project."""
        starts = [plan.start for plan in self.projects]
        return max(starts, key=["ok", "RECOVERY_BLOCKED"].index) if starts else None

    @property
    def loom_rows(self) -> tuple[LoomPlanRow, ...]:
        """Sound Runs of workflows, by project and id."""
        return tuple(row for plan in self.projects for row in plan.runs)

    @property
    def findings(self) -> tuple[LoomFinding, ...]:
        """What keeps projects from starting."""
        return tuple(finding for plan in self.projects for finding in plan.findings)

    @property
    def hostages(self) -> tuple[str, ...]:
        """Ids of sound Runs that the findings hold back."""
        return tuple(run_id for plan in self.projects for run_id in plan.hostages)

    @property
    def unblock(self) -> tuple[str, ...]:
        """Paths, relative to what was opened, whose absence would let the starts go ahead at least cost: advice."""
        return tuple(plan.project.below(path) for plan in self.projects for path in plan.unblock)

    @cached_property
    def _by_id(self) -> dict[str, PlannedRun]:
        return {row.run.id: row for row in self.rows}

    def __getitem__(self, run_id: str) -> PlannedRun:
        if run_id not in self._by_id:
            raise UnknownMoment(self.folder, f"the plan has no run {run_id!r}")
        return self._by_id[run_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def resumes(self) -> tuple[PlannedRun, ...]:
        """Runs that come back, in order."""
        return tuple(row for row in self.rows if row.outlook.resumes)

    @property
    def needs_a_look(self) -> bool:
        """Whether somebody should look before the restart."""
        loom = any(plan.is_blocked or any(row.rule.error for row in plan.runs) for plan in self.projects)
        return loom or any(
            row.outlook.check_before_repeating or any(f.severity != "info" for f in row.findings)
            for row in self.resumes
        )

    def as_json(self) -> list[dict[str, Any]]:
        """A list: runs that resume first, in restore order, then the others by id, then an object for each project."""
        return [*(row.as_json() for row in self.rows), *map(_project_json, self.projects)]


def _project_json(plan: LoomPlan) -> dict[str, Any]:
    row: dict[str, Any] = {"source": plan.project.source or plan.project.label, "runtime": "intloom", **plan.as_json()}
    return masked(row, SHAPES_ONLY)  # type: ignore[no-any-return]


def plan_recovery(
    source: Checkable,
    engine: str = NEWEST,
    agents: str | os.PathLike[str] | None = None,
    workflows: Workflows | None = None,
) -> RecoveryPlan:
    """What a restart of everything in a place would do, for a named engine (verified).

    Manifests are the runs' own copies, else looked up by name in the folder `agents`. `workflows`: those that would be
    loaded for IntLoom projects; without them what files alone can prove is checked. Raises NotARun, UnknownEngine.
    """
    rules = rules_of(engine)
    runs, projects = what_is_there(source)
    shelf = agents_in(Path(agents) if agents is not None else None)
    by_id = {run.id: run for run in runs}
    found = {run.source: manifest_of(run, shelf, by_id, rules) for run in runs}
    places = {run.source: run for run in runs}
    triaged = triage_restores(
        [Candidate(s, r.files.parsed(META, rules).value, _has_fan_out(r)) for s, r in places.items()]
    )
    back = {place.candidate.run_id for place in triaged if place.verdict.loaded}
    loaded = {places[source].id for source in back}
    comes = {run_id: run_id in loaded for run_id in by_id}
    rows = [_planned(places[t.candidate.run_id], t, rules, found[t.candidate.run_id], comes) for t in triaged]
    rows.sort(key=lambda row: (not row.outlook.resumes, (row.order or 0) if row.outlook.resumes else 0))
    folder = Path(os.fspath(source)) if isinstance(source, (str, os.PathLike)) else None
    return RecoveryPlan(rules, tuple(rows), folder, tuple(plan_project(project, workflows) for project in projects))


def _has_fan_out(run: Run) -> bool:
    return run.files.parsed(FAN_OUT).present


def _planned(run: Run, place: Triaged, rules: Engine, manifest: Found, comes: Mapping[str, bool]) -> PlannedRun:
    beside = worker_reloads(run.story)  # of a run planned alone the folder still has its workers

    def reloads(run_id: str) -> bool | None:
        return comes[run_id] if run_id in comes else beside(run_id)

    after = restored(run.story, rules, manifest.blueprint, reloads)
    ahead = outlook(run.story, rules, after)
    findings = (*run.findings, *restart_findings(run.story, rules, ahead, after))
    why = place.why if ahead.resumes else ahead.why_text
    return PlannedRun(run, rules, place.order, why, ahead, after, manifest, findings, run.evidence)
