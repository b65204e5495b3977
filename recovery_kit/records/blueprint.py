"""What a manifest says, as values: an agent, its regions, its stages and what hangs off those (leviath-runtime T2).

Nothing here reads TOML or decides anything; a member that the manifest does not name holds the engine's default.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .meta import ModelRef, OutputSpec

ALWAYS_VISIBLE = frozenset({"conversation", "tool_results", "final_output", "stage_instructions"})
"""Regions that no layout and no `hide` can hide (leviath-requests R3)."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a region holds before the first turn: `caller` with a key, or one of the engine's own sources."""

    source: str
    """`caller`, `literal`, `files`, `glob`, `command`, `rhai`, `tool`, `tools`."""
    argument: object = None

    @property
    def of_task(self) -> bool:
        return self.source == "caller" and self.argument == "task"


@dataclass(frozen=True, slots=True)
class RegionSpec:
    """A declared region (T2.3). Numbers are tokens unless they are items or entries."""

    name: str
    kind: str = "temporary"
    """Today's word: old spellings are translated."""
    max_tokens: int | None = 5000
    """None with `budget` and no cap of its own."""
    budget: float | None = None
    """Share of the model's window, 0 to 1, for `budget = "35%"`."""
    min_tokens: int | None = None
    max_items: int = 10
    strategy: str = "per_item"
    overflow: int = 10
    compact_count: int = 10
    threshold_tokens: int | None = None
    compact_at: float | None = None
    max_entries: int | None = None
    source_region: str | None = None
    admission: str = "evict"
    seed: Seed | None = None
    accepts: tuple[str, ...] = ()
    summarizable: bool = True
    required: bool = False
    required_message: str | None = None
    volatility: str = "rewritten"
    description: str | None = None
    describe_in_prompt: bool = False
    script: str | None = None
    """Of a custom region."""
    keep: bool = False
    """`pinned` (until 0.4.0 `persistent`) of a custom region."""

    def ceiling(self, context_tokens: int) -> int:
        """Tokens the region may hold, for a model with a window of that many. The floor wins over the cap."""
        if self.budget is None:
            return 5000 if self.max_tokens is None else self.max_tokens
        share = int(context_tokens * self.budget + 0.5)
        capped = share if self.max_tokens is None else min(share, self.max_tokens)
        return max(capped, self.min_tokens or 0)

    def threshold(self, context_tokens: int) -> int:
        """Tokens from which on a compacting region may be summarised (default: four fifths of its ceiling)."""
        whole = self.ceiling(context_tokens)
        if self.compact_at is not None:
            share = int(whole * self.compact_at + 0.5)
            return share if self.threshold_tokens is None else min(share, self.threshold_tokens)
        return whole * 8 // 10 if self.threshold_tokens is None else self.threshold_tokens


@dataclass(frozen=True, slots=True)
class Gate:
    """What has to be true before an edge is taken (T2.5)."""

    require_region_updated: str | None = None
    require_region_entries: tuple[str, int] | None = None
    require_no_open_items: str | None = None
    require_regions: tuple[str, ...] = ()
    require_modifications: bool = False
    region: str | None = None
    tools: tuple[str, ...] = ()
    message: str | None = None
    max_attempts: int = 3


@dataclass(frozen=True, slots=True)
class Carry:
    """`transform_config` of a custom transform: region names (T2.5)."""

    carry: tuple[str, ...] = ()
    compact: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """A way out of a stage (T2.5)."""

    target: str
    hint: str | None = None
    condition: str = "always"
    transform: str = "direct"
    carry: Carry | None = None
    gate: Gate | None = None
    stuck: Mapping[str, int] = field(default_factory=dict)
    """`stuck_after_…` thresholds by the part of the key behind `stuck_after_`."""

    @property
    def choosable(self) -> bool:
        """Whether the normal ending of a stage may take it (T8.4)."""
        return self.condition in ("always", "llm_choice")


@dataclass(frozen=True, slots=True)
class InteractionPoint:
    """A question to a person at the end of a stage (T2.7, leviath-run-directory 7)."""

    name: str = ""
    prompt: str = ""
    required: bool = True
    style: str = "free_text"
    document_region: str | None = None
    options: tuple[str, ...] = ()
    edit_options: tuple[str, ...] = ()
    abort_options: tuple[str, ...] = ()
    directives: Mapping[str, str] = field(default_factory=dict)
    unattended: str = "auto_approve"


@dataclass(frozen=True, slots=True)
class FanOutSpec:
    """What a stage of mode `fan_out` hands out and how it is put together again (T12)."""

    worker_stage: str | None = None
    worker_agent: str | None = None
    worker_query: str | None = None
    merge_stage: str | None = None
    split_prompt: str = ""
    results_region: str | None = None
    max_workers: int | None = None
    """None where the manifest does not say: 4 up to 0.4.0, 30 since."""
    max_items: int | None = None
    max_attempts: int | None = None
    on_worker_failure: str = "continue"


@dataclass(frozen=True, slots=True)
class RoutingOverride:
    """Where one tool's results go, and their cap in tokens (T2.6)."""

    region: str | None = None
    max_result_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolRouting:
    """Where results go (T2.6). A stage without the table sends all to `conversation`."""

    default_region: str = "tool_results"
    overrides: Mapping[str, RoutingOverride] = field(default_factory=dict)
    max_result_tokens: int | None = None
    max_result_tokens_per_tool: Mapping[str, int] = field(default_factory=dict)
    keep_results: bool = True

    def region_for(self, tool: str) -> str:
        """The region that takes the results of that tool, before `keep_results` is looked at."""
        override = self.overrides.get(tool)
        return (override.region if override else None) or self.default_region

    def cap_for(self, tool: str) -> int | None:
        """Tokens a result of that tool may have before it is cut; None for no cap."""
        override = self.overrides.get(tool)
        own = override.max_result_tokens if override else None
        caps = (own, self.max_result_tokens_per_tool.get(tool), self.max_result_tokens)
        return next((cap for cap in caps if cap is not None), None)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The candidates of a stage, best first, and the parameters of its calls (T2.4, leviath-requests R12)."""

    candidates: tuple[ModelRef, ...] = ()
    """A candidate with an empty provider is a model by name alone. None listed: the installation's default."""
    request_timeout_secs: int | None = None
    allow_user_default: bool = True
    parameters: Mapping[str, object] = field(default_factory=dict)
    """`temperature` and `max_output_tokens` mean something to the engine; the rest is passed on."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Reminders to a model that has called no tool in a stage; None inherits (T8.1)."""

    enabled: bool | None = None
    max: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One declared stage (T2.4)."""

    name: str
    mode: str = "autonomous"
    model: ModelChoice = ModelChoice()
    description: str | None = None
    available_tools: tuple[str, ...] = ()
    required_tools: tuple[str, ...] = ()
    available_connectors: tuple[str, ...] = ()
    system_prompt: str | None = None
    max_iterations: int | None = None
    max_revisits: int | None = None
    allow_complete: bool = False
    allow_blocking_tools: bool = False
    allow_as_worker: bool = False
    accepts_messages: bool = True
    requires_children: bool = False
    require_output: bool = False
    output: OutputSpec | None = None
    output_routing: Mapping[str, str] = field(default_factory=dict)
    transition_prompt: str | None = None
    transitions: tuple[Edge, ...] | None = None
    """None: no table, on to the next stage. Empty: the run ends here (T8.4)."""
    interaction_points: tuple[InteractionPoint, ...] = ()
    """Empty in every other mode than `interactive_points`."""
    fan_out: FanOutSpec | None = None
    regions: tuple[RegionSpec, ...] | None = None
    """The stage's own layout; None where it has none."""
    hide: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    tool_routing: ToolRouting | None = None
    tool_permissions: Mapping[str, str] = field(default_factory=dict)
    taint_tracking: bool | None = None
    nudge: Nudge = Nudge()
    hooks: Mapping[str, str] = field(default_factory=dict)
    as_text: tuple[str, ...] = ()
    """MIME patterns of `[input] as_text`: parts sent as their text (leviath-requests R11.3)."""
    batch_tool_hint: bool | None = None
    shell_hint: bool | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """The `[agent]` table (T2.2)."""

    name: str = "unnamed"
    version: str = "0.1.0"
    description: str = ""
    max_child_depth: int = 3
    entry_stage: str | None = None
    """Checked by validation only: a run starts in the first declared stage."""
    output: OutputSpec | None = None
    nudge: Nudge = Nudge()
    batch_tool_hint: bool | None = None
    shell_hint: bool | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """The `[compaction]` table (T10). Without it nothing is ever summarised."""

    provider: str | None = None
    model: str | None = None
    max_summary_tokens: int | None = None
    temperature: float = 0.2
    prompts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileTracking:
    """`[context.file_tracking]`: reads and writes keep a copy of the file in a region (T7.3)."""

    region: str = "files"
    track_reads: bool = True
    track_writes: bool = True
    max_file_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A manifest, read."""

    agent: Agent
    regions: tuple[RegionSpec, ...]
    """`[context.regions]` in declared order."""
    stages: tuple[Stage, ...]
    """In declared order: the place is the `stage_index` of the records."""
    compaction: Compaction | None = None
    file_tracking: FileTracking | None = None
    tool_permissions: Mapping[str, str] = field(default_factory=dict)
    taint_tracking: bool | None = None
    """`[security]`; the table without the key means true, no table is None."""
    text: str = field(default="", repr=False)
    sha256: str = ""
    """Of the manifest's bytes: what `blueprint_digest` of a run's metadata records (0.5-to-0.6 N10)."""
    unsupported: tuple[str, ...] = ()
    """Keys that change what a run does and that the kit's own runtime does not do, as dotted paths."""
    checks: tuple[str, ...] = ()
    """Scripts that rows of `mime_types` and `dependencies` name."""

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def stage_names(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.stages)

    def stage(self, name: str) -> Stage | None:
        """The stage of that name, if the manifest has it."""
        return next((stage for stage in self.stages if stage.name == name), None)

    def stage_index(self, name: str) -> int | None:
        """The place of that stage in the manifest."""
        return next((index for index, stage in enumerate(self.stages) if stage.name == name), None)
