"""`check`: what is damaged or disagrees, and what a restart would do, of each run, in the words of the field cases.

Whatever an engine is asked for, only `journal`, `unreadable`, `fold`, `restart`, `blueprint.engine_reads` and the
warnings about them follow it; every other answer is the kit's own reading of the bytes.
"""

from dataclasses import dataclass
from typing import Any

from recovery_kit.errors import UnknownEngine
from recovery_kit.formats.journal import Reading
from recovery_kit.records.engines import ENGINES, NEWEST, Engine
from recovery_kit.records.findings import Finding
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.loom_run import LoomRun, Project
from recovery_kit.runs.opening import Openable, open_runs
from recovery_kit.runs.run import Run

from .answers import ANSWERS, journal_answer
from .loom_check import CheckedProject, check_projects
from .masked_json import masked as masked
from .outlook import Outlook, outlook, worker_reloads
from .restoring import restored
from .warnings import restart_findings


@dataclass(frozen=True, slots=True)
class Checked:
    """A run, checked."""

    run: Run
    engine: Engine
    outlook: Outlook
    findings: tuple[Finding, ...]
    """All of them: those of the files, and those about a restart."""

    @property
    def reading(self) -> Reading:
        return self.run.story.reading(self.engine)

    @property
    def needs_a_look(self) -> bool:
        """A finding of warning or worse."""
        return any(finding.severity != "info" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """One object in the cases' vocabulary, all text in it masked."""
        masker = self.run.masker
        row: dict[str, Any] = {
            "run_id": self.run.id,
            "source": self.run.source,
            "runtime": self.run.runtime,
            "written_by": self.run.written_by,
            "engine": self.engine.name,
            "journal": journal_answer(self.run.story, self.engine),
        }
        row |= {key: answer(self.run.story, self.engine, self.outlook) for key, answer in ANSWERS.items()}
        row["warn"] = [str(finding) for finding in self.findings]
        return dict(masked(row, masker))


def rules_of(engine: str) -> Engine:
    """The rules of a version. Raises UnknownEngine, naming those the kit knows."""
    if engine not in ENGINES:
        raise UnknownEngine(None, f"no engine {engine!r} is known; there are {', '.join(ENGINES)}")
    return ENGINES[engine]


Checkable = Run | LoomRun | Runs | Openable
"""Whatever a verb takes: a run, several, or a place that holds some."""


def check(source: Checkable, engine: str = NEWEST) -> tuple[Checked | CheckedProject, ...]:
    """Check one run or all runs of a place (verified): each run of an agent, and each IntLoom project as a whole, for a
    start reads all of its Runs or none. Raises NotARun, UnknownEngine."""
    rules = rules_of(engine)
    runs, projects = what_is_there(source)
    return *check_projects(projects), *(check_run(run, rules) for run in runs)


def check_run(run: Run, rules: Engine) -> Checked:
    """One run under an engine's rules."""
    after = restored(run.story, rules, run.story.blueprint, worker_reloads(run.story))
    ahead = outlook(run.story, rules, after)
    return Checked(run, rules, ahead, (*run.findings, *restart_findings(run.story, rules, ahead, after)))


def what_is_there(source: Checkable) -> tuple[tuple[Run, ...], tuple[Project, ...]]:
    """Runs of agents, and IntLoom projects, of whatever a verb takes."""
    if isinstance(source, Run):
        return (source,), ()
    if isinstance(source, LoomRun):
        return (), (source.project,)
    runs = source if isinstance(source, Runs) else open_runs(source)
    return runs.agent_runs, runs.projects or tuple({run.project.source: run.project for run in runs.loom_runs}.values())
