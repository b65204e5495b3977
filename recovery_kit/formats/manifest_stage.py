"""One `[stages.X]` table into a `Stage`: edges, gates, points, routing, models (leviath-runtime T2.4 to T2.8)."""

from collections.abc import Callable

import orjson
from msgspec import Raw

from recovery_kit.records.blueprint import (
    Carry,
    Edge,
    FanOutSpec,
    Gate,
    InteractionPoint,
    ModelChoice,
    Nudge,
    RegionSpec,
    RoutingOverride,
    Stage,
    ToolRouting,
)
from recovery_kit.records.meta import ModelRef, OutputArtifact, OutputSpec
from recovery_kit.records.scalars import ABSENT

from .toml_table import Table

TRANSFORM_WORDS = {"summarize": "compact"}
STUCK = "stuck_after_"


def read_stage(name: str, table: Table, regions: Callable[[Table | None], tuple[RegionSpec, ...]]) -> Stage:
    """The stage of that table; `regions` reads a layout. Raises `ManifestUnreadable` for a negative count."""
    mode = table.word("mode", "autonomous")
    answers = mode == "output"
    layout = table.table("context")
    own = layout.table("regions") if layout else None
    wanted = table.table("input")
    security = table.table("security")
    return Stage(
        name=name,
        mode=mode,
        model=_model(table.table("model")),
        description=table.text("description"),
        available_tools=table.texts("available_tools"),
        required_tools=table.texts("required_tools"),
        available_connectors=table.texts("available_connectors"),
        system_prompt=(table.text("system_prompt") or "").strip() or None,
        max_iterations=table.count("max_iterations") or None,
        max_revisits=table.count("max_revisits"),
        allow_complete=table.on("allow_complete", answers and "allow_complete" not in table),
        allow_blocking_tools=table.on("allow_blocking_tools"),
        allow_as_worker=table.on("allow_as_worker"),
        accepts_messages=table.on("accepts_messages", True),
        requires_children=table.on("requires_children"),
        require_output=answers or table.on("require_output"),
        output=output_spec(table.table("output")),
        output_routing=table.pairs("output_routing"),
        transition_prompt=(table.text("transition_prompt") or "").strip() or None,
        transitions=_edges(table),
        interaction_points=_points(table) if mode == "interactive_points" else (),
        fan_out=_fan_out(table) if mode == "fan_out" else None,
        regions=None if own is None else regions(own),
        hide=layout.texts("hide") if layout else (),
        reset=layout.texts("reset") if layout else (),
        tool_routing=_routing(table.table("tool_routing")),
        tool_permissions=table.pairs("tool_permissions"),
        taint_tracking=None if security is None else security.on("taint_tracking", True),
        nudge=nudge(table.table("nudge")),
        hooks=table.pairs("hooks"),
        as_text=wanted.texts("as_text") if wanted else (),
        batch_tool_hint=table.flag("batch_tool_hint"),
        shell_hint=table.flag("shell_hint"),
    )


def nudge(table: Table | None) -> Nudge:
    """`nudge` of the agent or of a stage."""
    return Nudge() if table is None else Nudge(table.flag("enabled"), table.count("max"), table.text("text"))


def output_spec(table: Table | None) -> OutputSpec | None:
    """`output` of the agent or of a stage (T2.8)."""
    if table is None:
        return None
    policy = (table.text("on_validator_error") or "").strip()
    schema = table.values.get("schema")
    return OutputSpec(
        format=_trimmed(table, "format"),
        instructions=_trimmed(table, "instructions"),
        example=_trimmed(table, "example"),
        schema=ABSENT if schema is None else Raw(orjson.dumps(schema, default=str)),
        validator=_trimmed(table, "validator"),
        on_validator_error="accept" if policy == "accept" else "reject" if policy == "reject" else None,
        overwrite_artifacts=table.flag("overwrite_artifacts"),
        artifacts=tuple(_artifact(row) for row in table.rows("artifacts")),
    )


def _artifact(row: Table) -> OutputArtifact:
    mime_type = (row.text("type") or "").strip().lower()
    return OutputArtifact((row.text("name") or "").strip(), mime_type, row.on("required"), _trimmed(row, "description"))


def _trimmed(table: Table, key: str) -> str | None:
    value = table.text(key)
    return None if value is None else value.strip()


def _model(table: Table | None) -> ModelChoice:
    if table is None:
        return ModelChoice()
    listed = table.values.get("models")
    candidates = [found for entry in (listed if isinstance(listed, list) else ()) if (found := _candidate(entry))]
    if not candidates:
        named = [row for row in (table, *table.rows("fallbacks")) if row.text("provider") or row.text("model")]
        candidates = [ModelRef(row.word("provider", ""), row.word("model", "")) for row in named]
    parameters = table.table("parameters")
    return ModelChoice(
        candidates=tuple(candidates),
        request_timeout_secs=table.count("request_timeout_secs"),
        allow_user_default=table.on("allow_user_default", True),
        parameters=dict(parameters.values) if parameters else {},
    )


def _candidate(entry: object) -> ModelRef | None:
    if isinstance(entry, str):
        return ModelRef("", entry)
    table = Table(entry) if isinstance(entry, dict) else None
    model = table.text("model") if table else None
    return ModelRef(table.word("provider", ""), model) if table and model is not None else None


def _edges(table: Table) -> tuple[Edge, ...] | None:
    if table.table("transitions") is None:
        return None
    return tuple(_edge(target, edge) for target, edge in table.tables("transitions").items())


def _edge(target: str, table: Table) -> Edge:
    word = table.word("transform", "direct")
    config = table.table("transform_config")
    gate = table.table("gate")
    numbers = {key.removeprefix(STUCK): table.count(key) for key in table if key.startswith(STUCK)}
    return Edge(
        target=target,
        hint=table.text("hint"),
        condition=table.word("condition", "always"),
        transform=TRANSFORM_WORDS.get(word, word),
        carry=Carry(config.texts("carry"), config.texts("compact"), config.texts("clear")) if config else None,
        gate=_gate(gate) if gate else None,
        stuck={name: number for name, number in numbers.items() if number is not None},
    )


def _gate(table: Table) -> Gate:
    entries = table.table("require_region_entries")
    attempts = table.count("max_attempts")
    return Gate(
        require_region_updated=table.text("require_region_updated"),
        require_region_entries=(entries.word("region", ""), entries.count("at_least") or 1) if entries else None,
        require_no_open_items=table.text("require_no_open_items"),
        require_regions=table.texts("require_regions"),
        require_modifications=table.on("require_modifications"),
        region=table.text("region"),
        tools=table.texts("tools"),
        message=_trimmed(table, "message"),
        max_attempts=Gate().max_attempts if attempts is None else attempts,
    )


def _points(table: Table) -> tuple[InteractionPoint, ...]:
    return tuple(
        InteractionPoint(
            name=row.word("name", ""),
            prompt=row.word("prompt", ""),
            required=row.on("required", True),
            style=row.word("style", "free_text"),
            document_region=row.text("document_region"),
            options=row.texts("options", "choices"),
            edit_options=row.texts("edit_options"),
            abort_options=row.texts("abort_options"),
            directives=row.pairs("directives", "followups"),
            unattended=row.word("unattended", "auto_approve"),
        )
        for row in table.rows("interaction_points")
    )


def _fan_out(table: Table) -> FanOutSpec:
    return FanOutSpec(
        worker_stage=table.text("worker_stage"),
        worker_agent=table.text("worker_agent"),
        worker_query=table.text("worker_query"),
        merge_stage=table.text("merge_stage"),
        split_prompt=table.word("split_prompt", ""),
        results_region=table.text("results_region"),
        max_workers=table.count("max_workers"),
        max_items=table.count("max_items") or None,
        max_attempts=table.count("max_attempts"),
        on_worker_failure=table.word("on_worker_failure", "continue"),
    )


def _routing(table: Table | None) -> ToolRouting | None:
    if table is None:
        return None
    regions = {tool: RoutingOverride(region) for tool, region in table.pairs("overrides").items()}
    whole = {
        tool: RoutingOverride(own.text("region"), own.count("max_result_tokens"))
        for tool, own in table.tables("overrides").items()
    }
    return ToolRouting(
        default_region=table.word("default_region", "tool_results"),
        overrides=regions | whole,
        max_result_tokens=table.count("max_result_tokens"),
        max_result_tokens_per_tool=table.counts("max_result_tokens_per_tool"),
        keep_results=table.on("keep_results", table.on("persist", True)),
    )
