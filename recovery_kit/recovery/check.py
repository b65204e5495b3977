"""`check`: what is damaged or disagrees, and what a restart would do, of each run, in the words of the field cases.

Whatever an engine is asked for, only `journal`, `unreadable`, `fold`, `restart`, `blueprint.engine_reads` and the
warnings about them follow it; every other answer is the kit's own reading of the bytes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from recovery_kit.display import Masker
from recovery_kit.errors import UnknownEngine
from recovery_kit.formats.journal import Reading
from recovery_kit.records.engines import ENGINES, NEWEST, Engine
from recovery_kit.records.findings import Finding
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.opening import Openable, open_runs
from recovery_kit.runs.run import Run

from .answers import ANSWERS, journal_answer
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


def check(source: Run | Runs | Openable, engine: str = NEWEST) -> tuple[Checked, ...]:
    """Check one run or all runs of a place (verified). Raises NotARun, UnknownEngine."""
    rules = rules_of(engine)
    return tuple(check_run(run, rules) for run in each_run(source))


def check_run(run: Run, rules: Engine) -> Checked:
    """One run under an engine's rules."""
    after = restored(run.story, rules, run.story.blueprint, worker_reloads(run.story))
    ahead = outlook(run.story, rules, after)
    return Checked(run, rules, ahead, (*run.findings, *restart_findings(run.story, rules, ahead, after)))


def each_run(source: Run | Runs | Openable) -> Iterable[Run]:
    """The runs of whatever a verb takes."""
    if isinstance(source, Run):
        return (source,)
    return source.values() if isinstance(source, Runs) else open_runs(source).values()


def masked(value: Any, masker: Masker) -> Any:
    """A JSON value with every text in it masked, names of members included."""
    if isinstance(value, str):
        return masker(value)
    if isinstance(value, Mapping):
        return {masker(str(key)): masked(member, masker) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(member, masker) for member in value]
    return value


