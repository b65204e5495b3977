"""`meta.json`: what a run is and how it stands (spec: leviath-run-directory 2.1, 0.5-to-0.6 N10)."""

from typing import Annotated, Literal

from msgspec import Raw, Struct

from .scalars import ABSENT, I64, U32, U64, since

Status = Literal[
    "starting", "running", "waiting_input", "complete", "complete_interactive", "paused", "error", "cancelled"
]

TERMINAL = frozenset({"complete", "error", "cancelled"})
"""What recovery does not load (2.1.1)."""

OVER = TERMINAL | {"complete_interactive"}
"""What listings call over (2.1.1)."""


class ModelRef(Struct, frozen=True):
    """A provider and one of its models."""

    provider: str
    model: str


class Clock(Struct, frozen=True):
    """A working clock: seconds banked, and the start of the open span if it runs."""

    banked_secs: U64 = 0
    since: I64 | None = None


class ReadPaths(Struct, frozen=True):
    declared: U64
    granted: U64


class Flags(Struct, frozen=True):
    """Counters and marks of a run (2.1.2)."""

    modified_files: tuple[str, ...] = ()
    modified_file_count: U64 = 0
    empty_output: bool = False
    no_output_tools: bool = False
    searches_run: Annotated[U64, since("0.5.5")] = 0
    searches_empty: Annotated[U64, since("0.5.5")] = 0
    max_iterations_hit: U64 = 0
    gates_forced: U64 = 0
    required_regions_abandoned: Annotated[tuple[str, ...], since("0.3.6")] = ()
    workspace_lost: bool = False
    produced_output: Annotated[bool, since("0.3.6")] = False
    output_forced: Annotated[U64, since("0.3.6")] = 0
    splits_degraded: Annotated[U64, since("0.5.5")] = 0
    broken_scripts: Annotated[tuple[str, ...], since("0.5.5")] = ()


NO_FLAGS = Flags()


class ToolApproval(Struct, frozen=True, tag_field="reason", tag="tool_approval"):
    """A tool call is held for a person."""


class UserPrompt(Struct, frozen=True, tag_field="reason", tag="user_prompt"):
    """A question of the model to a person."""


class TaintGate(Struct, frozen=True, tag_field="reason", tag="taint_gate"):
    """The gate holds a call."""


class AtInteractionPoint(Struct, frozen=True, tag_field="reason", tag="interaction_point"):
    """A stage's interaction point is presented."""


class FanOutWorkers(Struct, frozen=True, tag_field="reason", tag="fan_out_workers"):
    outstanding: U64


class Children(Struct, frozen=True, tag_field="reason", tag="children"):
    outstanding: U64
    """All child entities, not the unfinished ones (2.1.4)."""


Blocker = Literal[
    "provider_missing", "credits_exhausted", "auth_failed", "forbidden", "providers_unavailable",
    "provider_unreachable", "provider_timed_out", "provider_failed",
]  # fmt: skip
BLOCKERS_SINCE_062 = frozenset({"provider_unreachable", "provider_timed_out", "provider_failed"})


class NeedsSetup(Struct, frozen=True, tag_field="reason", tag="needs_setup"):
    blocker: Blocker
    remedy: str


WaitingOn = ToolApproval | UserPrompt | TaintGate | AtInteractionPoint | FanOutWorkers | Children | NeedsSetup


class Artifact(Struct, frozen=True):
    """A file that came with an answer (N5.4, N12)."""

    name: str
    path: str
    mime_type: str
    size: U64 = 0
    sha256: str = ""


class FinalOutput(Struct, frozen=True, kw_only=True):
    """The description of the answer; its bytes are in the file `final_output` (2.4)."""

    format: str | None = None
    stage: str
    submitted_at: I64
    bytes: U64 = 0
    truncated: bool = False
    artifacts: tuple[Artifact | str, ...] = ()
    """A bare string is a path (before 0.6.2)."""


class OutputArtifact(Struct, frozen=True):
    name: str
    type: str
    required: bool = False
    description: str | None = None


class OutputSpec(Struct, frozen=True):
    """What the run was asked to answer with (2.4, N12)."""

    format: str | None = None
    instructions: str | None = None
    example: str | None = None
    schema: Raw = ABSENT
    validator: str | None = None
    on_validator_error: Annotated[Literal["reject", "accept"] | None, since("0.5.8")] = None
    overwrite_artifacts: Annotated[bool | None, since("0.6.2")] = None
    artifacts: Annotated[tuple[OutputArtifact, ...], since("0.6.2")] = ()


class RunMeta(Struct, frozen=True, kw_only=True):
    """A run's metadata, as `meta.json` and every `Progress` record carry it."""

    run_id: str
    agent_name: str
    agent_path: str
    """Path of the manifest on the machine that ran it. Never opened by the kit."""
    task: str
    model: str | None = None
    stage_models: Annotated[tuple[ModelRef, ...], since("0.6.4")] = ()
    pid: U32 = 0
    status: Status
    current_stage: str
    stage_index: U64
    num_stages: U64
    iteration: U64
    """Successful stage inferences over the whole run, never reset."""
    prompt_tokens: U64
    completion_tokens: U64
    cached_tokens: U64 = 0
    cache_write_tokens: U64 = 0
    tool_calls: U64 = 0
    cost_usd: Annotated[float | None, since("0.5.5")] = None
    """None is unknown, never free (N10)."""
    unpriced_calls: Annotated[U64, since("0.5.5")] = 0
    cost_is_exact: Annotated[bool, since("0.5.5")] = False
    cost_priced_usd: Annotated[float, since("0.5.5")] = 0.0
    workdir: str
    started_at: I64
    updated_at: I64
    """Of the last write, heartbeats included."""
    last_progress_at: I64 | None = None
    """When iteration, stage or status last changed. A restart resets it."""
    active: Annotated[Clock | None, since("0.5.5")] = None
    error: str | None = None
    title: str | None = None
    title_error: Annotated[str | None, since("0.5.5")] = None
    metadata: dict[str, str] = {}
    callback_url: str | None = None
    callback_secret: str | None = None
    """A signing key. No surface ever shows it."""
    parent_run_id: str | None = None
    children: tuple[str, ...] = ()
    depth: U64 = 0
    max_child_depth: U64 = 0
    flags: Flags = NO_FLAGS
    yolo: bool = False
    yolo_profile: Annotated[str | None, since("0.6.2")] = None
    read_paths: ReadPaths | None = None
    final_output: Annotated[FinalOutput | None, since("0.3.6")] = None
    waiting_on: Annotated[WaitingOn | None, since("0.3.9")] = None
    output_request: Annotated[OutputSpec | None, since("0.3.6")] = None
    model_override: Annotated[str | None, since("0.5.5")] = None
    blueprint_digest: Annotated[str | None, since("0.6.4")] = None
