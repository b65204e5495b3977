"""The plan of a start: everything validated, every finding collected, what would become of each Run, and what is in the
way.

One read-only function. The plan, its rehearsal and the deed are the same value. (intloom-recovery 2.7, 2.13, Part 3)
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from typing import Any, Literal

from recovery_kit.formats.bulk import collector_off
from recovery_kit.formats.loom_set import RecoverySet, RunFolder, read_set
from recovery_kit.formats.loom_tree import PRIVATE, RUNTIME
from recovery_kit.history.loom_rules import history_problem
from recovery_kit.looms.workflow import Workflow
from recovery_kit.records.loom import Certainty, Checkpoint, LoomFinding
from recovery_kit.restore.loom import CLOSED, Rule, certainty_of, rule_of, status_after
from recovery_kit.restore.loom_fit import misfit
from recovery_kit.runs.loom_run import LoomRun, Project

from .loom_check import LoomSource, tree_of

Workflows = Iterable[Workflow] | Mapping[str, Workflow]


@dataclass(frozen=True, slots=True)
class LoomPlanRow:
    """What a start does with one sound Run, once the whole set passes."""

    run_id: str
    folder: RunFolder = field(repr=False)
    checkpoint: Checkpoint = field(repr=False)
    """The current one."""
    rule: Rule

    @property
    def seq(self) -> int:
        return self.checkpoint.seq

    @property
    def disposition(self) -> str:
        return self.rule.disposition

    @property
    def status_after(self) -> str:
        return status_after(self.rule, self.checkpoint)

    @property
    def certainty(self) -> Certainty:
        return certainty_of(self.checkpoint)

    def as_json(self) -> dict[str, Any]:
        """In the words of `loom plan --json`; not masked."""
        return {
            "runId": self.run_id,
            "seq": self.seq,
            "boundary": self.checkpoint.boundary,
            "disposition": self.disposition,
            "reason": self.rule.reason,
            "status_after": self.status_after,
            "appends": list(self.rule.appends),
            "certainty": self.certainty,
        }


@dataclass(frozen=True, slots=True)
class LoomPlan:
    """What a start would do with a project."""

    findings: tuple[LoomFinding, ...]
    runs: tuple[LoomPlanRow, ...]
    """The sound Runs, by id; nothing is applied while there are findings."""
    unblock: tuple[str, ...]
    """Paths whose absence would let the start go ahead at least cost. Advice; nothing is ever removed."""
    workflows_checked: bool
    found: RecoverySet = field(repr=False)
    project: Project = field(repr=False)

    @property
    def start(self) -> Literal["ok", "RECOVERY_BLOCKED"]:
        return "RECOVERY_BLOCKED" if self.findings else "ok"

    @property
    def is_blocked(self) -> bool:
        return bool(self.findings)

    @property
    def hostages(self) -> tuple[str, ...]:
        """Sound Runs that the findings hold back; an ended Run waits for nothing."""
        return tuple(row.run_id for row in self.runs if self.findings and row.disposition != "history")

    def loom_run(self, row: LoomPlanRow) -> LoomRun:
        """The Run of a row."""
        return LoomRun(self.project, row.folder)

    @property
    def basis(self) -> dict[str, tuple[int, str]]:
        """Size and SHA-256 of every file that the plan rests on, by path."""
        files = [file for folder in self.found.folders for file in folder.files]
        return {file.path: (len(file.data), sha256(file.data).hexdigest()) for file in files}

    def as_json(self) -> dict[str, Any]:
        """The object of `loom plan --json`; the caller masks it."""
        return {
            "start": self.start,
            "findings": [finding.as_json() for finding in self.findings],
            "runs": [row.as_json() for row in self.runs],
            "hostages": list(self.hostages),
            "unblock": list(self.unblock),
            "workflows_checked": self.workflows_checked,
        }


@dataclass(frozen=True, slots=True)
class _Looked:
    """A Run's directory after steps 7 and 8, its odd entries thought away."""

    folder: RunFolder
    is_whole: bool
    """Nothing but odd entries was found in steps 2 to 6."""
    finding: LoomFinding | None
    rule: Rule | None

    @property
    def current(self) -> Checkpoint:
        return self.folder.checkpoints[-1]

    @property
    def origin(self) -> tuple[str, str]:
        origin = self.current.run.origin
        return origin.operation_id, origin.instance_id


def plan_project(source: LoomSource, workflows: Workflows | None = None) -> LoomPlan:
    """What a start of a project would do (verified). Reads `.intloom/runtime` alone, writes nothing.

    Without Workflows all that files can prove is checked, and `workflows_checked` is false. Raises NotARun where there
    is no project; everything that is wrong inside one is a finding.
    """
    with collector_off():
        tree = tree_of(source)
        project = source if isinstance(source, Project) else Project(tree, _label(source))
        return _planned(project, read_set(tree), None if workflows is None else by_name(workflows))


def _label(source: LoomSource) -> str:
    return str(source) if isinstance(source, (str, PathLike)) else "bytes"


def _planned(project: Project, found: RecoverySet, loaded: Mapping[str, Workflow] | None) -> LoomPlan:
    looked = [_look(folder, loaded) for folder in found.folders if folder.was_admitted]
    taking_part = [one for one in looked if not one.folder.findings]
    duplicates = _duplicates(taking_part)
    named = {id(one) for group in duplicates for one in group}
    own = [one.finding for one in taking_part if one.finding is not None]
    sound = [one for one in taking_part if one.finding is None and id(one) not in named]
    rows = [LoomPlanRow(one.current.run.id, one.folder, one.current, one.rule) for one in sound if one.rule]
    return LoomPlan(
        findings=(*found.findings, *own, *map(_duplicate, duplicates)),
        runs=tuple(sorted(rows, key=lambda row: row.run_id)),
        unblock=_unblock(found, looked),
        workflows_checked=loaded is not None,
        found=found,
        project=project,
    )


def by_name(workflows: Workflows) -> dict[str, Workflow]:
    """Workflows by the name that Runs know them by."""
    values = workflows.values() if isinstance(workflows, Mapping) else workflows
    return {workflow.flow_name: workflow for workflow in values}


def _look(folder: RunFolder, workflows: Mapping[str, Workflow] | None) -> _Looked:
    whole = {finding.path for finding in folder.findings} <= set(folder.odd)
    if not whole or not folder.checkpoints:
        return _Looked(folder, False, None, None)
    checkpoints = folder.checkpoints
    current = checkpoints[-1]
    reason = history_problem(folder.numbers, checkpoints)
    if reason:
        return _Looked(folder, True, _of_run(folder, "corrupt", reason), None)
    rule = rule_of(current)
    wrong = None if rule.disposition in CLOSED else misfit(current, workflows)
    return _Looked(folder, True, _of_run(folder, *wrong) if wrong else None, rule)


def _of_run(folder: RunFolder, problem: Any, detail: str) -> LoomFinding:
    run_id = folder.checkpoints[-1].run.id
    return LoomFinding(problem=problem, path=folder.path, run_id=run_id, detail=detail)


def _groups(looked: Iterable[_Looked]) -> list[list[_Looked]]:
    """Runs by the operation that created them."""
    groups: dict[tuple[str, str], list[_Looked]] = defaultdict(list)
    for one in looked:
        groups[one.origin].append(one)
    return list(groups.values())


def _duplicates(looked: Iterable[_Looked]) -> list[list[_Looked]]:
    return [group for group in _groups(looked) if len(group) > 1]


def _duplicate(group: list[_Looked]) -> LoomFinding:
    ids = ", ".join(sorted(one.current.run.id for one in group))
    return LoomFinding(problem="duplicate", path=RUNTIME, detail=f"one operation created several Runs: {ids}")


def _unblock(found: RecoverySet, looked: list[_Looked]) -> tuple[str, ...]:
    """The cheapest set of paths: fewest Runs lost, then fewest paths.

    Never a numbered file: without its newest one a Run would do again what it has done.
    """
    paths = [finding.path for finding in found.root_findings]
    if paths and paths[0] in (PRIVATE, RUNTIME):
        return (paths[0],)
    for folder in found.folders:
        if folder.odd and not folder.was_admitted:  # no Run is lost with it
            paths += folder.odd if len(folder.odd) == 1 else [folder.path]
    keepable = [one for one in looked if one.is_whole and one.finding is None]
    kept = {id(one) for one in keepable}
    paths += [one.folder.path for one in looked if id(one) not in kept]
    for group in _groups(keepable):
        cheapest = min(group, key=lambda one: (len(one.folder.odd), one.folder.path))
        paths += cheapest.folder.odd
        paths += [one.folder.path for one in group if one is not cheapest]
    return tuple(sorted(paths))
