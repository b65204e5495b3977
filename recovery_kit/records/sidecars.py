"""The other JSON files of a run directory (spec: leviath-run-directory 2.3 to 2.9, 0.5-to-0.6 N11, N12)."""

from typing import Annotated, Literal

from msgspec import Raw, Struct

from .meta import Clock, ModelRef
from .scalars import ABSENT, I64, U64, since
from .window import Part, Taint


class Visit(Struct, frozen=True, kw_only=True):
    """One stay in a stage. A visit that lacks a member makes the whole file unreadable (N11)."""

    id: Annotated[str, since("0.6.4")] = ""
    entered_at: I64
    left_at: I64 | None = None
    prompt_tokens: U64
    completion_tokens: U64
    cached_tokens: U64
    cache_write_tokens: U64
    cost_usd: float | None = None
    unpriced_calls: U64
    cost_is_exact: bool
    cost_priced_usd: float
    active: Clock | None = None


class StageRecord(Struct, frozen=True, kw_only=True):
    """A stage in the ledger `stages.json`."""

    name: str
    index: U64
    status: Literal["pending", "active", "waiting_input", "complete", "error", "skipped"]
    entered: bool = False
    prompt_tokens: U64
    completion_tokens: U64
    cached_tokens: U64 = 0
    cache_write_tokens: U64 = 0
    cost_usd: Annotated[float | None, since("0.5.5")] = None
    unpriced_calls: Annotated[U64, since("0.5.5")] = 0
    cost_is_exact: Annotated[bool, since("0.5.5")] = False
    cost_priced_usd: Annotated[float, since("0.5.5")] = 0.0
    models: Annotated[tuple[ModelRef, ...], since("0.6.4")] = ()
    visits: Annotated[tuple[Visit, ...], since("0.5.5")] = ()
    visit_count: Annotated[U64, since("0.5.5")] = 0
    region_tokens: dict[str, U64] = {}
    first_call_prompt_tokens: U64 | None = None
    runaway_warned: bool = False
    output_cap_raised: Annotated[bool, since("0.5.5")] = False
    started_at: I64 | None = None
    ended_at: I64 | None = None
    active: Annotated[Clock | None, since("0.5.5")] = None


class OpenPoint(Struct, frozen=True):
    """`interactions.json`: the interaction point a run is parked at."""

    cursor: U64
    """Which of the stage's declared points."""
    round: U64
    body: str
    """The text under review."""


class FanOutItem(Struct, frozen=True):
    id: str = ""
    context: Raw = ABSENT


class FanOutConfig(Struct, frozen=True, kw_only=True):
    worker_agent: str | None = None
    worker_stage: str | None = None
    worker_query: str | None = None
    merge_stage: str | None = None
    max_workers: U64 | None = None
    """None where the file does not say: 4 up to 0.4.0, 30 since."""
    on_worker_failure: Literal["continue", "fail_all"] = "continue"
    split_prompt: str = ""
    results_region: str | None = None
    max_items: U64 | None = None
    max_attempts: U64 | None = None


class ToolOrigin(Struct, frozen=True):
    call_id: str


class OriginTool(Struct, frozen=True, rename={"tool": "Tool"}):
    tool: ToolOrigin


class FanOut(Struct, frozen=True, kw_only=True):
    """`fanout.json`: the parent of a fan-out, parked."""

    config: FanOutConfig
    max_workers: U64
    """Effective cap; 2**64 - 1 is no limit."""
    pending: tuple[FanOutItem, ...]
    active: tuple[tuple[str, str], ...]
    """[item id, worker's run id]"""
    summaries: tuple[tuple[str, str], ...]
    failures: tuple[tuple[str, str], ...]
    parts: Annotated[tuple[Part, ...], since("0.6.2")] = ()
    paused: Annotated[bool, since("0.5.5")] = False
    origin: Annotated[Literal["Stage"] | OriginTool, since("0.5.5")] = "Stage"


class GateDecision(Struct, frozen=True):
    """One row of `taint_audit.json`."""

    timestamp: I64
    agent_id: str
    tool_name: str
    taint_level: Taint
    clearance: Taint
    allowed: bool
    decision_source: Raw


class ProviderFileId(Struct, frozen=True):
    id: str
    uri: str | None = None
    expires_at: I64 | None = None


class ProviderFile(Struct, frozen=True):
    provider: str
    sha256: str
    file: ProviderFileId


class ProviderFiles(Struct, frozen=True):
    """`provider-files.json`: parts uploaded to a vendor."""

    files: tuple[ProviderFile, ...] = ()
