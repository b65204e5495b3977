"""A Run of an IntLoom project: the same surfaces as any other run, filled from its checkpoints.

Points are saved boundaries, effects are Calls and commits; `offset` is the number of a checkpoint's file. What has no
meaning here is None or empty. Reading never changes a byte.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from recovery_kit.display import SHAPES_ONLY, Drawn, Masker
from recovery_kit.errors import NotARun, UnknownMoment
from recovery_kit.formats.loom_set import RunFolder, read_folder, read_set
from recovery_kit.formats.loom_tree import FolderTree, MappingTree, Tree, is_project
from recovery_kit.formats.loom_v1 import File1, read_store1
from recovery_kit.history.loom_rules import history_problem
from recovery_kit.history.loom_story import (
    LoomCall,
    LoomPrompt,
    LoomVerdict,
    Moment,
    calls_of,
    moment_of,
    moments_of,
    prompts_of,
    verdict_of,
)
from recovery_kit.records.loom import Checkpoint, Checkpoint1, LoomFinding

from .run import FileEvidence, Grown
from .search import Hit, excerpts, strings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Project:
    """An IntLoom project: what holds its files, and where it lies."""

    tree: Tree
    label: str
    """For sentences about it."""
    source: str = ""
    """Path relative to what was opened; empty where the project itself was."""

    @property
    def folder(self) -> Path | None:
        """The folder of the project; None for one out of an archive or of bytes."""
        return self.tree.root if isinstance(self.tree, FolderTree) else None

    def below(self, path: str) -> str:
        """A path inside the project, relative to what was opened."""
        return f"{self.source}/{path}" if self.source else path


class LoomState(Drawn):
    """What was true of a Run at one saved boundary. Values are raw; surfaces mask them."""

    def __init__(self, run_id: str, moment: Moment, pending: LoomCall | None, prompt: LoomPrompt | None) -> None:
        self.run_id = run_id
        self.moment = moment
        self.point = moment.index
        self.offset = moment.offset
        self.at = moment.at
        """Unix seconds."""
        self.source = "checkpoint"
        self.pending = pending
        """The Call that was open, or whose question was."""
        self.prompt = prompt
        """The question that stood."""
        self.window = None
        self.revision = None
        self.iteration = None
        self.totals = None

    @property
    def status(self) -> str:
        return self.moment.status

    @property
    def boundary(self) -> str:
        return self.moment.boundary

    @property
    def stage(self) -> str:
        return self.moment.cursor.stage_name

    @property
    def step(self) -> str:
        return self.moment.cursor.step_name

    @property
    def state(self) -> Any:
        """The Stage State as the schema returned it; None where no Stage is entered or it was cleared."""
        stage = self.moment.stage
        return None if stage is None or stage.is_cleared else stage.value

    def __repr__(self) -> str:
        return f"<State of {self.run_id} at point {self.point}: {self.boundary} at {self.moment.cursor}, {self.status}>"


class LoomRun(Drawn):
    """One Run of an IntLoom project; `path` is that of its file or directory inside the project."""

    runtime = "intloom"

    def __init__(self, project: Project, found: RunFolder | File1) -> None:
        self.project = project
        self.generation = 0
        """Rises when earlier checkpoints are gone or others."""
        self._load(found)

    def _load(self, found: RunFolder | File1) -> None:
        self._found = found
        self.path = found.path
        one = isinstance(found, File1)
        self.records: tuple[Checkpoint | Checkpoint1, ...] = (
            (() if found.checkpoint is None else (found.checkpoint,)) if isinstance(found, File1) else found.checkpoints
        )
        """Every checkpoint that can be read, in order."""
        self.format = 1 if one else 3
        self.id = self.records[-1].run.id if self.records else Path(found.path).name.removesuffix(".json")
        for name in ("points", "effects", "prompts", "findings", "verdict", "evidence"):
            self.__dict__.pop(name, None)

    @property
    def source(self) -> str:
        """The path relative to what was opened."""
        return self.project.below(self.path)

    @property
    def folder(self) -> Path | None:
        """The folder of the Run's project; None for one out of an archive or of bytes."""
        return self.project.folder

    @property
    def written_by(self) -> str:
        return f"format {self.format}"

    @property
    def meta(self) -> Any:
        """What is constant of the Run (its `run` object); None where no checkpoint can be read."""
        return self.records[-1].run if self.records else None

    def record(self, offset: int) -> Checkpoint | Checkpoint1:
        """The checkpoint of that number. Raises UnknownMoment."""
        for moment, checkpoint in zip(self.points, self.records, strict=True):
            if moment.offset == offset:
                return checkpoint
        raise UnknownMoment(self.id, "no readable checkpoint has that number", offset)

    @cached_property
    def points(self) -> Sequence[Moment]:
        """Every saved boundary; format 1 keeps one."""
        if self.format == 1:
            return tuple(moment_of(record) for record in self.records if isinstance(record, Checkpoint1))
        return moments_of([record for record in self.records if isinstance(record, Checkpoint)])

    def at(self, point: int | None = None) -> LoomState:
        """The state at a boundary (negative from the end), or at the newest. Raises UnknownMoment."""
        points = self.points
        point = -1 if point is None else point
        if not -len(points) <= point < len(points):
            raise UnknownMoment(self.id, f"there is no point {point}: it has {len(points)} readable checkpoints")
        moment = points[point]
        until = points[: moment.index + 1]
        open_ = [call for call in calls_of(until) if call.call_id is not None and call.call_id == moment.call_id]
        asked = [prompt for prompt in prompts_of(until) if prompt.settlement == "open"]
        return LoomState(self.id, moment, open_[0] if open_ else None, asked[0] if asked else None)

    @cached_property
    def effects(self) -> tuple[LoomCall, ...]:
        """The ledger of Calls and commits, each with its certainty and what proves it."""
        return calls_of(self.points)

    @cached_property
    def prompts(self) -> tuple[LoomPrompt, ...]:
        """Questions to people."""
        return prompts_of(self.points)

    @cached_property
    def findings(self) -> tuple[LoomFinding, ...]:
        """What keeps a start from reading or continuing this Run, as far as its own files tell."""
        if isinstance(self._found, File1):
            return () if self._found.finding is None else (self._found.finding,)
        if self._found.findings or not self._found.checkpoints:
            return self._found.findings
        reason = history_problem(self._found.numbers, self._found.checkpoints)
        own = LoomFinding(problem="corrupt", path=self.path, run_id=self.id, detail=reason) if reason else None
        return (own,) if own else ()

    @cached_property
    def verdict(self) -> LoomVerdict:
        """What happened and how surely (verified)."""
        head = self.meta
        flow, intent = (head.flow_name, head.intent) if head else (None, None)
        return verdict_of(self.id, flow, intent, self.points, self.findings)

    @cached_property
    def evidence(self) -> tuple[FileEvidence, ...]:
        """Every file with its size and SHA-256."""
        paths = [self.path] if isinstance(self._found, File1) else [file.path for file in self._found.files]
        wrong = {finding.path: finding.problem for finding in self.findings}
        return tuple(self._evidence(path, wrong.get(path)) for path in paths)

    def _evidence(self, path: str, why: str | None) -> FileEvidence:
        try:
            data = self.project.tree.read(path)
        except OSError:
            return FileEvidence(path, 0, None, None, None, why)
        digest = hashlib.sha256(data).hexdigest()
        return FileEvidence(path, len(data), digest, None, None if why else f"checkpoint {self.format}", why)

    def search(self, text: str) -> Iterator[Hit]:
        """Where a text stands in the checkpoints, case ignored. Secrets are masked before anything is compared."""
        wanted = text.casefold()
        names = {moment.offset: self._name_of(moment) for moment in self.points} if wanted else {}
        for moment, record in zip(self.points, self.records, strict=True) if wanted else ():
            for member, value in strings(msgspec.to_builtins(record)):
                for excerpt in excerpts(self.masker(value), wanted):
                    yield Hit(names[moment.offset], moment.offset, moment.boundary, member, excerpt)

    def _name_of(self, moment: Moment) -> str:
        return f"{moment.offset:08}.json" if self.format == 3 else Path(self.path).name

    def ask(self, question: Callable[[Any], T]) -> T:
        """The answer to a question about the Run, which is always verified."""
        return question(self)

    @property
    def masker(self) -> Masker:
        """Checkpoints name no secret of their own; everything that has the shape of a key is masked."""
        return SHAPES_ONLY

    def refresh(self) -> Grown:
        """Read what was saved since. If earlier checkpoints are gone or others, `generation` rises."""
        before, points = self.records, len(self.points)
        if isinstance(self._found, File1):
            again = {file.path: file for file in read_store1(self.project.tree).files}
            self._load(again.get(self.path, File1(self.path, None, None)))
            replaced = bool(before) and self.records != before
        else:
            self._load(read_folder(self.project.tree, self._found.key))
            replaced = self.records[: len(before)] != before
        self.generation += replaced
        grown = len(self.points) - (0 if replaced else points)
        return Grown(grown, grown, replaced)

    def __repr__(self) -> str:
        points = self.points
        return f"<LoomRun {self.id}: {points[-1].status if points else 'unreadable'}>"


def open_loom_runs(source: str | PathLike[str] | Mapping[str, bytes] | Project) -> dict[str, LoomRun]:
    """All Runs of a project, of both formats, by path inside the project. Raises NotARun where it is no project.

    Every checkpoint is read: a Run's id stands nowhere else.
    """
    project = source if isinstance(source, Project) else _project(source)
    if not is_project(project.tree):
        raise NotARun(None if isinstance(source, Mapping) else project.label, "no IntLoom project is in there")
    found = read_set(project.tree)
    folders: list[RunFolder | File1] = [folder for folder in found.folders if folder.was_admitted]
    flat: list[RunFolder | File1] = []
    if any(finding.path.endswith(".json") for finding in found.root_findings):
        flat = list(read_store1(project.tree).files)
    return {one.path: LoomRun(project, one) for one in (*folders, *flat)}


def _project(source: str | PathLike[str] | Mapping[str, bytes]) -> Project:
    if isinstance(source, Mapping):
        return Project(MappingTree(source), "bytes")
    return Project(FolderTree(Path(source)), str(source))
