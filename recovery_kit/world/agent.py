"""A run of the kit's own world as one frozen value: its metadata, its window, and what it does next.

Nothing here acts. What is only in memory (leviath-runtime T1) is in `Visit` and in `Doing`; a restart loses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from recovery_kit.history.layout import Layout, layout_after
from recovery_kit.records.blueprint import Blueprint, Edge, InteractionPoint, Stage
from recovery_kit.records.engines import Engine
from recovery_kit.records.journal import BatchCall, ToolBatch
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.sidecars import FanOut, StageRecord
from recovery_kit.records.window import Content, TurnCall, Window

from .asked import Prompt
from .results import Placing, placing_of


@dataclass(frozen=True, slots=True)
class Visit:
    """What is counted from the entry of a stage on."""

    id: str = ""
    iterations: int = 0
    tool_calls: int = 0
    nudges: int = 0
    owed: Mapping[str, int] = field(default_factory=dict)
    """How often the model was reminded, by what is owed."""
    gates: Mapping[str, int] = field(default_factory=dict)
    """Unmet gates, by the edge's target."""
    submitted: bool = False
    modified: bool = False
    edits: Mapping[str, int] = field(default_factory=dict)
    """Writes by path, for stuck edges."""
    entered_at: int = 0
    stuck_said: bool = False
    split: bool = False
    """A fan-out was started in it."""
    cursor: int = 0
    """Which of the stage's points is next."""
    round: int = 0
    at_entry: Mapping[str, str] = field(default_factory=dict)
    """Digest of each region when the stage was entered."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The next thing is a request."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A batch is out. A call that was handed to a tool and has no result is never handed out again."""

    batch: ToolBatch
    turn_calls: tuple[TurnCall, ...]
    results: tuple[Content | None, ...]
    """By call."""
    permitted: frozenset[int] = frozenset()
    """Places of calls that may run."""
    handed: frozenset[int] = frozenset()
    waits_for: Mapping[int, str] = field(default_factory=dict)
    """Place of a call to the run whose end it waits for."""
    prompt: Prompt | None = None
    place: int = 0
    """Of the call that the prompt is about."""
    reasoning: str | None = None

    def open_calls(self) -> list[tuple[int, BatchCall]]:
        """Calls without a result, in call order."""
        pairs = zip(self.batch.calls, self.results, strict=True)
        return [(place, call) for place, (call, result) in enumerate(pairs) if result is None]


@dataclass(frozen=True, slots=True)
class AtPoint:
    """A question of the stage stands open."""

    point: InteractionPoint
    body: str
    prompt: Prompt
    editing: bool = False
    """The second question, for the text itself."""


@dataclass(frozen=True, slots=True)
class Routing:
    """The question for the next stage is in the window; its answer is not."""

    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Compacting:
    """Regions that an edge has to be summarised before the next request."""

    regions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Splitting:
    """Parked until the workers are done."""

    state: FanOut


@dataclass(frozen=True, slots=True)
class ForChildren:
    """Parked until every child is over."""


READY = Ready()
Doing = Ready | Lane | AtPoint | Routing | Compacting | Splitting | ForChildren


@dataclass(frozen=True, slots=True)
class Agent:
    """One run, as it stands."""

    meta: RunMeta
    """Its `status` is the run's; written files show this very value."""
    window: Window
    blueprint: Blueprint
    rules: Engine = field(repr=False)
    ledger: tuple[StageRecord, ...] = ()
    entered: tuple[str, ...] = ()
    """Stages entered by this process after the first one."""
    visit: Visit = Visit()
    visits: Mapping[str, int] = field(default_factory=dict)
    """How often each stage was entered in this process."""
    doing: Doing = READY
    said: str = ""
    """The last reply's text."""
    cut_off: int = 0
    """Replies in a row that hit the output limit."""
    inbox: tuple[tuple[str, str | None], ...] = ()
    """(text, region) of messages that wait for delivery."""
    granted: frozenset[tuple[str, str]] = frozenset()
    """(scope, what) of approvals that hold on."""
    candidate: Mapping[str, int] = field(default_factory=dict)
    """By stage: which of its models is asked."""
    cap_raised: frozenset[str] = frozenset()
    written_at: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)
    """By region and key: second of the last write."""
    changed_at: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0
    """Questions so far; ids are counted from 1 in each process (T7.5)."""

    @property
    def id(self) -> str:
        return self.meta.run_id

    @property
    def status(self) -> str:
        return self.meta.status

    @property
    def over(self) -> bool:
        return self.meta.status in ("complete", "error", "cancelled")

    @property
    def paused(self) -> bool:
        return self.meta.status == "paused"

    @property
    def stage(self) -> Stage:
        """The stage in force: the first one where the index is none of the manifest's."""
        stages = self.blueprint.stages
        return stages[self.meta.stage_index] if self.meta.stage_index < len(stages) else stages[0]

    @property
    def iteration(self) -> int:
        return self.meta.iteration

    @property
    def layout(self) -> Layout:
        return layout_after(self.blueprint, self.entered, self.rules)

    @property
    def placing(self) -> Placing:
        return placing_of(self.blueprint, self.stage, self.entered, self.rules)

    @property
    def prompt(self) -> Prompt | None:
        """The question that stands open, if there is one."""
        return self.doing.prompt if isinstance(self.doing, (Lane, AtPoint)) else None

    def __repr__(self) -> str:
        return f"<Agent {self.id}: {self.meta.status}, stage {self.stage.name}, iteration {self.iteration}>"
