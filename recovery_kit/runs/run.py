"""A run: what a notebook holds in its hand. Its files joined with what they tell, nothing read before it is asked for."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from recovery_kit.display import Drawn, Masker, secrets_of_url
from recovery_kit.errors import UnknownMoment
from recovery_kit.formats import rundir
from recovery_kit.formats.journal import Journal
from recovery_kit.formats.rundir import RunFiles, Source
from recovery_kit.history.calls import Call
from recovery_kit.history.events import Event
from recovery_kit.history.findings import findings
from recovery_kit.history.fold import Fold, Point, fold, settled
from recovery_kit.history.prompts import Prompt
from recovery_kit.history.story import Neighbour, Story
from recovery_kit.history.verdict import Verdict, verdict
from recovery_kit.records.findings import Finding
from recovery_kit.records.journal import Record
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import EMPTY_WINDOW

from .moment import State, of_fold
from .search import Hit, search
from .signs import written_by


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """A file of the run, so that somebody can check that it was this one."""

    name: str
    size: int
    """Bytes."""
    sha256: str | None
    """None for a link and for what cannot be read."""
    modified: float | None
    """Unix seconds."""
    parsed_as: str | None
    """What it was read as, None for a file nobody parses."""
    why: str | None
    """Why it does not parse, in a word."""


@dataclass(frozen=True, slots=True)
class Grown:
    """What a refresh found."""

    points: int
    """Points added."""
    records: int
    """Frames added."""
    replaced: bool
    """The journal shrank or is another one: `generation` rose."""


class Run(Drawn):
    """One run of an agent system. Values are raw; every surface masks and escapes them.

    `source` is the path relative to what was opened. Reading never changes a byte.
    """

    runtime = "leviath"

    def __init__(self, run_id: str, source: Source, relative: str = "", neighbour: Neighbour | None = None) -> None:
        self.id = run_id
        self.source = relative or run_id
        self.generation = 0
        """Rises when the journal shrank or was replaced."""
        self._source = source
        self._neighbour = neighbour
        self._load(None)

    def _load(self, before: Journal | None) -> None:
        self.files = RunFiles(self._source)
        fact = self.files.facts.get(rundir.JOURNAL)
        if fact is not None and fact.is_link:
            self.journal = Journal(None, refused="link_outside")
        else:
            data = self.files.raw(rundir.JOURNAL)
            self.journal = before.grown(data) if before is not None and data is not None else Journal(data)
        self.story = Story(self.id, self.files, self.journal, self._neighbour)
        for name in ("_masker", "evidence", "verdict", "findings", "_points_of", "written_by"):
            self.__dict__.pop(name, None)

    # What it is.

    @property
    def meta(self) -> RunMeta | None:
        """`meta.json`, or the journal's metadata where that cannot be read."""
        return self.story.best_meta

    @cached_property
    def written_by(self) -> str | None:
        """The oldest engine version that writes all that is there; None where nothing tells."""
        return written_by(self.story)

    # Records and moments.

    @property
    def records(self) -> Sequence[Event]:
        """Every record, in file order; those behind a tear last and marked (verified)."""
        return self.story.events

    def record(self, offset: int) -> Record:
        """The record whose frame begins at a byte offset. Raises UnknownMoment where no readable one does."""
        for journal in (self.journal, self.journal.behind):
            reading = journal.read()
            for frame, _ in reading:
                if journal.framing.offsets[frame] == offset:
                    return reading.record(frame)
        raise UnknownMoment(self.id, "no readable record begins there", offset)

    @property
    def points(self) -> Sequence[Point]:
        """The points of the journal as the engine streams them; empty without a readable one."""
        return self.story.points

    @overload
    def at(self) -> State: ...
    @overload
    def at(self, point: int) -> State: ...
    def at(self, point: int | None = None) -> State:
        """The state at a point (negative from the end), or after the last readable record, pending batch included.

        Without a journal that folds it is that of `context.json` and `meta.json`. Raises UnknownMoment.
        """
        if point is None:
            return self._end()
        points = self.points
        if not -len(points) <= point < len(points):
            raise UnknownMoment(self.id, f"there is no point {point}: the journal has {len(points)}")
        return self._at_point(points[point])

    def at_record(self, number: int) -> State:
        """The state after the first `number` readable records. Raises UnknownMoment."""
        reading = self.story.reading()
        state = fold(reading, number) if 0 < number <= len(reading) else None
        if state is None:
            raise UnknownMoment(self.id, f"nothing folds after {number} of {len(reading)} records")
        offset = reading.offset(reading.frames[number - 1])
        return of_fold(self.story, state, lambda: None, offset=offset, masker=self.masker)

    def _end(self) -> State:
        state = self.story.fold()
        if state is not None:
            reading = self.story.reading()
            return of_fold(
                self.story, state, self._revision_now, offset=reading.offset(reading.frames[-1]), masker=self.masker
            )
        meta, files = self.meta, self.files
        return State(
            self.id, meta=meta, window=lambda: files.context or EMPTY_WINDOW, pending=lambda: None,
            revision=lambda: None, full_meta=lambda: meta, at=meta.updated_at if meta else None, source="json_pair",
            masker=self.masker, story=self.story,
        )  # fmt: skip

    def _revision_now(self) -> str | None:
        state, points = self.story.fold(), self.points
        if state is None or not points or points[-1].window is not state.window:
            return self.story.named_points[-1].revision if points and state and _same(points[-1], state) else None
        return self.story.named_points[-1].revision

    def _at_point(self, point: Point) -> State:
        story = self.story

        def pending() -> Any:
            state = fold(story.reading(), point.place + 1)
            return settled(state).pending if state else None

        return State(
            self.id, meta=point.skim_meta(), window=point.window.window, pending=pending,
            revision=lambda: story.named_points[point.index].revision, full_meta=point.read_meta, point=point.index,
            offset=point.offset, at=point.at, masker=self.masker, story=story,
        )  # fmt: skip

    # What happened.

    @property
    def effects(self) -> tuple[Call, ...]:
        """The ledger of tool calls, each with its certainty and what proves it."""
        return self.story.calls

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """Questions to people: settled, lost, open."""
        return self.story.prompts

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is damaged, contradictory, lost or suspicious, whichever engine is asked."""
        return findings(self.story)

    @cached_property
    def verdict(self) -> Verdict:
        """What happened and how surely (verified)."""
        return verdict(self.story, self.masker)

    @cached_property
    def evidence(self) -> tuple[FileEvidence, ...]:
        """Every file with its size and SHA-256."""
        return tuple(self._evidence(name) for name in sorted(self.files.facts))

    def _evidence(self, name: str) -> FileEvidence:
        fact = self.files.facts[name]
        data = None if fact.is_link else self.files.raw(name)
        digest = None if data is None else hashlib.sha256(data).hexdigest()
        kind, why = None, self.files.trouble(name)
        if name in rundir.READERS:
            kind, why = name, self.files.parsed(name).why
        elif name == rundir.JOURNAL:
            kind, why = "journal", self.journal.error
        return FileEvidence(name, fact.size if data is None else len(data), digest, fact.modified, kind, why)

    def search(self, text: str) -> Iterator[Hit]:
        """Where a text stands in the run, case ignored. Secrets are masked before anything is compared."""
        return search(self.story, text, self.masker)

    @property
    def masker(self) -> Masker:
        """Masks this run's own secrets by value, and everything that has the shape of a key."""
        return self._masker

    @cached_property
    def _masker(self) -> Masker:
        secrets: list[str] = []
        state = self.story.fold()
        for meta in (self.files.meta, state.read_meta() if state else None):
            if meta is not None:
                secrets += [meta.callback_secret or "", *secrets_of_url(meta.callback_url or "")]
        return Masker(tuple(dict.fromkeys(secret for secret in secrets if secret)))

    # Living runs.

    def refresh(self) -> Grown:
        """Read what was appended since. Indexes of points stay; if the journal shrank or was replaced, `generation`
        rises and older states stay valid."""
        before, records, points = self.journal, len(self.journal.framing), len(self.points)
        data = RunFiles(self._source).raw(rundir.JOURNAL)
        same = data is not None and not before.missing and _continues(before, data)
        self._load(before if same else None)
        if not same and not (before.missing and data is None):
            self.generation += not before.missing
            return Grown(len(self.points), len(self.journal.framing), not before.missing)
        return Grown(len(self.points) - points, len(self.journal.framing) - records, False)

    def __repr__(self) -> str:
        meta = self.meta
        return f"<Run {self.id}: {meta.status if meta else 'unreadable'}>"


def _same(point: Point, state: Fold) -> bool:
    return point.window == state.window


def _continues(before: Journal, data: bytes | memoryview) -> bool:
    """Whether a file is the one that was read, with nothing or more behind it."""
    old = before.data
    return len(data) >= len(old) and bytes(data[: len(old)]) == bytes(old)
