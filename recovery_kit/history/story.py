"""Everything that the files of one run tell, each thing worked out when it is asked for and kept.

A `Story` is handed the files and the journal; it opens nothing itself. What a restart would do is not told here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from recovery_kit.formats import rundir
from recovery_kit.formats.bulk import collector_off
from recovery_kit.formats.journal import Journal, Reading
from recovery_kit.formats.rundir import RunFiles
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import NEWEST, Engine, engine
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import AssistantTurn, Window

from .blueprints import BlueprintFacts, blueprint_facts, read_blueprint
from .calls import Call, Execution, calls, executions
from .chain import Chain, NamedPoint, Revisions, chain, name_points
from .clock import TimeAccount, time_account
from .disagreements import Disagreement, disagreements
from .events import Event, events
from .fold import Fold, Pending, Point, begins, fold, settled, step, walk_points
from .layout import layout_order
from .lives import Life, life_at, lives
from .prompts import Prompt, open_now, prompts
from .stored import FinalAnswer, ProducedFile, StoredPart, final_answer, produced_files, stored_parts
from .trips import Cost, Trips, cost, trips

Neighbour = Callable[[str], RunMeta | None]
"""Metadata of another run of the same folder; None where it is not there or cannot be read."""


@dataclass(frozen=True, slots=True)
class HiddenBatch:
    """A batch with open calls that the engine's fold has dropped: nobody will tell the model of it."""

    iteration: int
    offset: int
    calls: tuple[Call, ...]


class Story:
    """What one run's files tell.

    Depth: `verified` judges every frame before anything is told. Without it the story is only *seen*: frames count as
    what their first bytes name, nothing is told of what lies behind a tear, and asking for a frame that does not read
    after all raises `formats.journal.Doubtful`. A verdict, findings and plans are of verified stories only.
    """

    def __init__(
        self,
        run_id: str,
        files: RunFiles,
        journal: Journal,
        neighbour: Neighbour | None = None,
        *,
        verified: bool = True,
        before: "Story | None" = None,
    ) -> None:
        self.run_id = run_id
        """The folder's name."""
        self.files = files
        self.journal = journal
        self.neighbour = neighbour
        """None where nobody can be asked: a run handed in as bytes has no folder around it."""
        self.verified = verified
        self._before = before
        """The story of the same journal when it was shorter: what it worked out stays."""

    # The journal.

    def reading(self, rules: Engine | None = None) -> Reading:
        """What an engine's reader takes of the journal."""
        return self.journal.read(rules or engine(NEWEST), verified=self.verified)

    def fold(self, rules: Engine | None = None) -> Fold | None:
        """The fold of an engine; None where nothing folds."""
        rules = rules or engine(NEWEST)
        if rules.name not in self._folds:
            self._folds[rules.name] = fold(self.reading(rules))
        return self._folds[rules.name]

    @cached_property
    def _folds(self) -> dict[str, Fold | None]:
        return {}

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points of the journal as the engine streams them."""
        reading, known = self.reading(), self.__dict__.get("events")
        with collector_off():
            return tuple(walk_points(reading, None if known is None else lambda place: known[place].record))

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Every record, those behind a tear last."""
        with collector_off():
            return events(self.journal, verified=self.verified)

    @cached_property
    def fold_with_salvage(self) -> Fold | None:
        """The state if what lies behind a tear is read too; None where there is nothing behind one."""
        if not self.verified or not self.journal.salvage.frames or not begins(self.reading()):
            return None
        state = Fold(engine("kit"))
        for event in self.events:
            state = step(state, event.kind, event.record, event.offset)
        return settled(state)

    # What it tells.

    @cached_property
    def lives(self) -> tuple[Life, ...]:
        events = self.events
        with collector_off():
            return lives(events)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        events, all_lives = self.events, self.lives
        with collector_off():
            return calls(events, all_lives)

    @cached_property
    def executions(self) -> tuple[Execution, ...]:
        return executions(self.events)

    @cached_property
    def trips(self) -> Trips:
        events, all_lives = self.events, self.lives
        with collector_off():
            return trips(events, all_lives)

    @cached_property
    def cost(self) -> Cost:
        return cost(self.trips)

    @cached_property
    def prompts(self) -> tuple[Prompt, ...]:
        if not self.events:
            return open_now(self.meta, 0, self.files.open_point)
        return prompts(self.events, self.lives, self.meta, self.files.open_point)

    @cached_property
    def time_account(self) -> TimeAccount | None:
        newest = self.meta.updated_at if self.meta else None
        return time_account(self.events, self.lives, self.calls, newest)

    @cached_property
    def unknown_effects(self) -> tuple[Call, ...]:
        """Calls of which nobody can say from the files whether they took effect."""
        return tuple(call for call in self.calls if call.is_unknown)

    @cached_property
    def hidden_batch(self) -> HiddenBatch | None:
        """The newest batch with open calls that is neither pending, nor in the window, nor settled by a restart."""
        state = self.fold()
        pending = state.pending.offset if state and state.pending else None
        for event in reversed(self.events):
            if event.kind != "ToolBatch" or event.offset == pending or event.behind_tear:
                continue
            rows = tuple(c for c in self.calls if c.place == event.place and c.certainty == "unknown")
            if rows and not self.turn_landed(event, state):
                return HiddenBatch(event.record.iteration, event.offset, rows)
        return None

    @cached_property
    def hidden_pending(self) -> Pending | None:
        """The hidden batch as if it were still pending: its real results, and nothing for the open calls."""
        hidden = self.hidden_batch
        if hidden is None:
            return None
        batch = next(e.record for e in self.events if e.kind == "ToolBatch" and e.offset == hidden.offset)
        done = {e.offset: e.record.result for e in self.events if e.kind == "ToolCallDone"}
        rows = sorted((c for c in self.calls if c.offset == hidden.offset), key=lambda call: call.position)
        held = tuple(
            (call.result, hidden.offset) if call.result is not None
            else (done.get(row.evidence_offset), row.evidence_offset) if row.certainty == "done" and row.evidence_offset
            else (None, None)
            for call, row in zip(batch.calls, rows, strict=True)
        )  # fmt: skip
        return Pending(batch, hidden.offset, tuple(r for r, _ in held), tuple(o for _, o in held))

    def turn_landed(self, batch: Event, state: Fold | None) -> bool:
        """Whether this very turn came into the window: one entry with all its calls, by id and name. It may have left
        since, by compaction or for want of room, so the windows since the batch count too.

        The engine itself looks for the first id alone, wherever it stands (`fold.landed`).
        """
        if state is None:
            return False
        wanted = [(call.id, call.name) for call in batch.record.calls]
        windows = (state.window, *(point.window for point in reversed(self.points) if point.offset > batch.offset))
        regions = {id(region): region for window in windows for region in window.regions}
        turns = (e.kind for r in regions.values() for e in r.entries() if isinstance(e.kind, AssistantTurn))
        return any([(call.id, call.name) for call in turn.tool_calls] == wanted for turn in turns)

    def stage_of(self, call: Call) -> str | None:
        """Name of the stage a call was handed out in: by its visit where the ledger knows it, else by its index."""
        for stage in self.files.stages:
            if call.visit_id and any(visit.id == call.visit_id for visit in stage.visits):
                return stage.name
        return self._stage_names.get(call.stage_index)

    @cached_property
    def _stage_names(self) -> dict[int, str]:
        names = {e.meta.stage_index: e.meta.current_stage for e in self.events if e.meta and e.meta.current_stage}
        if self.meta is not None and self.meta.current_stage:
            names.setdefault(self.meta.stage_index, self.meta.current_stage)
        return {stage.index: stage.name for stage in self.files.stages} | names

    # Windows and their names.

    @cached_property
    def revisions(self) -> Revisions:
        return Revisions()

    @cached_property
    def named_points(self) -> tuple[NamedPoint, ...]:
        """Each point's window revision as the kit computes it."""
        return name_points(self.points, self._order, self.revisions)

    def _order(self, point: Point) -> list[str] | None:
        if self.blueprint is None:
            return None
        entered, names = self._entered[point.index], tuple(r.name for r in point.window.regions)
        if (entered, names) not in self._orders:
            self._orders[entered, names] = layout_order(self.blueprint, names, entered)
        return self._orders[entered, names]

    @cached_property
    def _orders(self) -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]]:
        return {}

    @cached_property
    def _entered(self) -> list[tuple[str, ...]]:
        """By point: the stages entered by the process that wrote it, oldest first, by the points of that life."""
        found: list[tuple[str, ...]] = []
        life: Life | None = None
        entered: tuple[str, ...] = ()
        current = ""
        for point in self.points:
            now, name = self.life_of(point.offset), point.window.stage_name
            if now is not life:  # the first stage, or whatever a process took over, is no entry of its own (R3)
                life, entered, current = now, (), name
            elif name and name != current:
                entered, current = (*entered, name), name
            found.append(entered)
        return found

    def life_of(self, offset: int) -> Life:
        """The life that wrote a record of the engine's reading."""
        return life_at(self.lives, self._places[offset])

    @cached_property
    def _places(self) -> dict[int, int]:
        return {event.offset: event.place for event in self.events}

    @cached_property
    def chain(self) -> Chain:
        return chain(self.events, self.named_points, self.lives)

    # The other files.

    @property
    def meta(self) -> RunMeta | None:
        """`meta.json`, else None."""
        return self.files.meta

    @cached_property
    def best_meta(self) -> RunMeta | None:
        """Metadata from `meta.json`, or from the journal where that cannot be read."""
        if self.meta is not None:
            return self.meta
        state = self.fold()
        return state.read_meta() if state else None

    @cached_property
    def window(self) -> Window | None:
        """The window now: of the fold, or `context.json` where nothing folds."""
        state = self.fold()
        return state.window.window() if state else self.files.context

    @cached_property
    def blueprint(self) -> Blueprint | None:
        """The run's own copy of its manifest, read."""
        return read_blueprint(self.files.blueprint_text)

    def blueprint_facts(self, rules: Engine | None = None) -> BlueprintFacts:
        """What that engine would read as the manifest."""
        copy = self.files.blueprint_text
        return blueprint_facts(self.best_meta, copy, copy is not None, self.files.facts, rules or engine(NEWEST))

    @cached_property
    def parts(self) -> tuple[StoredPart, ...]:
        state = self.fold()
        return stored_parts(self.window, state.pending if state else None, self.files.fan_out, self.files.blob_sha256)

    @cached_property
    def produced_files(self) -> tuple[ProducedFile, ...]:
        return produced_files(self.events, self.meta, self.files.blob_sha256)

    @cached_property
    def answer(self) -> FinalAnswer | None:
        return final_answer(self.meta, self.files.raw(rundir.FINAL_OUTPUT))

    @cached_property
    def disagreements(self) -> tuple[Disagreement, ...]:
        present = rundir.META in self.files.facts
        return disagreements(self.fold(), self.meta, present, self.files.context)
