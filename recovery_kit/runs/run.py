"""A run: what a notebook holds in its hand. Its files joined with what they tell, nothing read before it is asked for."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar, overload

from recovery_kit.display import Drawn, Masker, secrets_of_url
from recovery_kit.errors import UnknownMoment
from recovery_kit.formats import rundir
from recovery_kit.formats.callbacks import callbacks_in
from recovery_kit.formats.journal import Doubtful, Journal, Reading
from recovery_kit.formats.rundir import RunFiles, Source
from recovery_kit.history.calls import Call
from recovery_kit.history.events import Event
from recovery_kit.history.findings import findings
from recovery_kit.history.fold import Fold, Pending, Point, fold
from recovery_kit.history.places import n_points as points_of
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
from .sources import FolderSource

T = TypeVar("T")


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

    Depth: a run is *verified* unless it was opened otherwise. One that is only *seen* takes frames for what their first
    bytes name, which is several times faster: its points, states, records, effects and tables come from `told`, the
    story at that depth. `story`, the verdict, findings and every plan are verified in any case, and once they have been
    asked for, or a frame that was only seen does not read, everything is.
    """

    runtime = "leviath"

    def __init__(
        self,
        run_id: str,
        source: Source,
        relative: str = "",
        neighbour: Neighbour | None = None,
        *,
        verified: bool = True,
    ) -> None:
        self.id = run_id
        self.source = relative or run_id
        self.generation = 0
        """Rises when the journal shrank or was replaced."""
        self._source = source
        self._neighbour = neighbour
        self._verified = verified
        self._load(RunFiles(source), None)

    def _load(self, files: RunFiles, before: Journal | None) -> None:
        self.files = files
        fact = files.facts.get(rundir.JOURNAL)
        if fact is not None and fact.is_link:
            self.journal = Journal(None, refused="link_outside")
        else:
            data = files.raw(rundir.JOURNAL)
            self.journal = before.grown(data) if before is not None and data is not None else Journal(data)
        for name in ("story", "_seen", "_masker", "evidence", "verdict", "findings", "written_by"):
            self.__dict__.pop(name, None)

    # At which depth.

    @property
    def verified(self) -> bool:
        """Whether every frame was or will be judged before anything is told."""
        return self._verified

    @cached_property
    def story(self) -> Story:
        """What the files tell, verified."""
        return Story(self.id, self.files, self.journal, self._neighbour)

    @cached_property
    def _seen(self) -> Story:
        return Story(self.id, self.files, self.journal, self._neighbour, verified=False)

    @property
    def told(self) -> Story:
        """What the files tell, at the run's own depth; the verified story where it has been asked for already."""
        return self.story if self._verified else self.seen

    @property
    def seen(self) -> Story:
        """What the files tell at a glance, whatever the run's depth: seen, or verified where that is there already."""
        return self.story if self.journal.is_judged else self._seen

    def ask(self, question: Callable[[Story], T], *, seen: bool = False) -> T:
        """The answer of `told` (or with `seen` of `seen`), or of the verified story if a frame does not read.

        A question has to look at all it needs before it returns: no iterator.
        """
        try:
            return question(self.seen if seen else self.told)
        except Doubtful:
            self._verified = True
            return question(self.story)

    # What it is.

    @property
    def folder(self) -> Path | None:
        """The run directory itself; None for a run out of an archive, of bytes or of a URL."""
        return self._source.path if isinstance(self._source, FolderSource) else None

    @property
    def meta(self) -> RunMeta | None:
        """`meta.json`, or the journal's metadata where that cannot be read."""
        return self.ask(lambda story: story.best_meta)

    @cached_property
    def written_by(self) -> str | None:
        """The oldest engine version that writes all that is there; None where nothing tells."""
        return self.ask(written_by)

    # Records and moments.

    @property
    def records(self) -> Sequence[Event]:
        """Every record, in file order; of a verified run those behind a tear last and marked."""
        return self.told.events

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
        return self.ask(lambda story: story.points)

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
        reading, state = self.ask(lambda story: _fold_of(story, number))
        if state is None:
            raise UnknownMoment(self.id, f"nothing folds after {number} of {len(reading)} records")
        offset = reading.offset(reading.frames[number - 1])
        return of_fold(self.story, state, lambda: None, offset=offset, masker=self.masker)

    def _end(self) -> State:
        state = self.ask(lambda story: story.fold())
        if state is not None:
            reading = self.told.reading()
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
        return self.ask(_revision_at_the_end)

    def _at_point(self, point: Point) -> State:
        def pending() -> Pending | None:
            _, state = self.ask(lambda story: _fold_of(story, point.place + 1))
            return state.pending if state else None

        return State(
            self.id, meta=point.skim_meta(), window=point.window.window, pending=pending,
            revision=lambda: self.ask(lambda story: story.named_points[point.index].revision),
            full_meta=point.read_meta, point=point.index, offset=point.offset, at=point.at, masker=self.masker,
            story=self.story,
        )  # fmt: skip

    # What happened.

    @property
    def effects(self) -> tuple[Call, ...]:
        """The ledger of tool calls, each with its certainty and what proves it."""
        return self.ask(lambda story: story.calls)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """Questions to people: settled, lost, open."""
        return self.ask(lambda story: story.prompts)

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
        for meta in (self.files.meta, self.ask(_journal_meta)):
            if meta is not None:
                secrets += [meta.callback_secret or "", *secrets_of_url(meta.callback_url or "")]
        for name in (rundir.META, rundir.JOURNAL):  # what an earlier record had, and what stands where nothing parses
            told = callbacks_in(self.files.raw(name))
            secrets += [*told["secret"], *(part for url in told["url"] for part in secrets_of_url(url))]
        return Masker(tuple(dict.fromkeys(secret for secret in secrets if secret)))

    # Living runs.

    def refresh(self) -> Grown:
        """Read what was appended since. Indexes of points stay; if the journal shrank or was replaced, `generation`
        rises and older states stay valid."""
        before, points = self.journal, self.ask(_n_points)
        files = RunFiles(self._source)
        fact = files.facts.get(rundir.JOURNAL)
        if fact is not None and fact.modified is not None and fact == self.files.facts.get(rundir.JOURNAL):
            files.keep(rundir.JOURNAL, self.files.raw(rundir.JOURNAL))  # not touched since
        data = files.raw(rundir.JOURNAL)
        same = data is not None and not before.missing and before.continues_as(data)
        self._load(files, before if same else None)
        replaced = not same and not before.missing
        self.generation += replaced
        known = 0 if replaced else len(before.framing)
        found = self.ask(_n_points)
        return Grown(found if replaced else found - points, len(self.journal.framing) - known, replaced)

    def __repr__(self) -> str:
        meta = self.meta
        return f"<Run {self.id}: {meta.status if meta else 'unreadable'}>"


def _n_points(story: Story) -> int:
    return points_of(story.reading())


def _fold_of(story: Story, number: int) -> tuple[Reading, Fold | None]:
    """The state after so many readable records."""
    reading = story.reading()
    return reading, fold(reading, number) if 0 < number <= len(reading) else None


def _journal_meta(story: Story) -> RunMeta | None:
    state = story.fold()
    return state.read_meta() if state else None


def _revision_at_the_end(story: Story) -> str | None:
    """The revision of the newest point, if its window is the one now."""
    state, points = story.fold(), story.points
    same = state is not None and bool(points) and points[-1].window == state.window
    return story.named_points[-1].revision if same else None
