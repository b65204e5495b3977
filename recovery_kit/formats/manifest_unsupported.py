"""Which keys of a manifest the kit's own runtime does not do, as tables of rules (leviath-runtime T2.9, T2.11).

Each of them changes the window or the set of calls, so a runtime that ignored one would carry on a different run.
"""

from collections.abc import Iterator

from .toml_table import Table

TOP = (
    "repetition_detection", "safe_commands", "read_paths", "sandbox", "transforms", "mime_types", "dependencies",
)  # fmt: skip
"""Top-level tables that mean something even when empty. Unknown ones are ignored by the engine too."""

AGENT = ("tool_rescan",)

STAGE = (
    "hooks", "sandbox", "input", "tool_accepts", "available_connectors", "worker_agent", "worker_query",
    "output_routing",
)  # fmt: skip

STAGE_KEYS = frozenset(STAGE) | frozenset(
    """mode model description available_tools required_tools system_prompt max_iterations max_revisits allow_complete
    allow_blocking_tools allow_as_worker accepts_messages requires_children require_output output transition_prompt
    transitions nudge interaction_points context tool_routing tool_permissions security batch_tool_hint shell_hint
    worker_stage split_prompt results_region merge_stage max_workers max_items max_attempts on_worker_failure""".split()
)
"""What the engine knows in a stage; anything else it refuses (T2.1)."""

TOOL_GROUPS = frozenset({"@mcp", "@scripts", "@all"})
"""Groups that take in tools of an installation. `@all` does as well."""

OUTPUT = ("schema", "validator")

WORDS: dict[str, frozenset[str]] = {
    "kind": frozenset(
        """temporary pinned persistent clearable sliding_window sliding compacting compact_history history hashmap
        hash_map checklist""".split()
    ),
    "strategy": frozenset({"per_item", "bulk", "compact"}),
    "admission": frozenset({"evict", "reject"}),
    "volatility": frozenset({"stable", "grows", "rewritten"}),
    "mode": frozenset({"autonomous", "interactive", "interactive_points", "fan_out", "output"}),
    "condition": frozenset({"always", "llm_choice", "error", "max_iterations", "stuck", "dead_end"}),
    "transform": frozenset({"direct", "clear", "compact", "summarize", "custom"}),
}
"""Closed vocabularies. A word outside is refused by the engine; `custom` regions are one of ours."""

OWN_SEEDS = frozenset({"task_input", "task"})


def unsupported_in(top: Table) -> tuple[str, ...]:
    """Dotted paths of everything in the manifest that the kit's runtime would not do, in the manifest's order."""
    found: list[str] = [key for key in TOP if key in top]
    for rule in (_agent, _context, _stages):
        found += rule(top)
    return tuple(dict.fromkeys(found))


def _has(table: Table, key: str) -> bool:
    return key in table and table.values[key] not in ({}, [], "", False)


def _agent(top: Table) -> Iterator[str]:
    agent = top.table("agent")
    if agent is not None:
        yield from (agent.at(key) for key in AGENT if _has(agent, key))
        yield from _output(agent)


def _context(top: Table) -> Iterator[str]:
    context = top.table("context")
    if context is not None:
        if "file_tracking" in context:
            yield context.at("file_tracking")
        yield from _regions(context, seeds=True)


def _stages(top: Table) -> Iterator[str]:
    for stage in top.tables("stages").values():
        yield from (stage.at(key) for key in stage if key in STAGE and _has(stage, key))
        yield from (stage.at(key) for key in stage if key not in STAGE_KEYS)
        yield from _words(stage, "mode")
        groups = [tool for tool in stage.texts("available_tools") if tool in TOOL_GROUPS]
        yield from (f"{stage.at('available_tools')} {group}" for group in groups)
        yield from _output(stage)
        for edge in stage.tables("transitions").values():
            yield from _words(edge, "condition", "transform")
        layout = stage.table("context")
        if layout is not None:
            # Only the global layout's seeds are ever applied (T2.3).
            yield from _regions(layout, seeds=False)


def _regions(context: Table, seeds: bool) -> Iterator[str]:
    for region in context.tables("regions").values():
        yield from _words(region, "kind", "strategy", "admission", "volatility")
        if region.text("budget") is not None:
            yield region.at("budget")
        if seeds and "seed" in region and region.text("seed") not in OWN_SEEDS:
            yield region.at("seed")


def _output(owner: Table) -> Iterator[str]:
    spec = owner.table("output")
    if spec is not None:
        yield from (spec.at(key) for key in OUTPUT if _has(spec, key))


def _words(table: Table, *keys: str) -> Iterator[str]:
    """Members whose word is none that the kit has. The word itself is text of a run and stays out."""
    for key in keys:
        word = table.text(key)
        if word is not None and word not in WORDS[key]:
            yield f'{table.at(key)} = "custom"' if word == "custom" else table.at(key)
