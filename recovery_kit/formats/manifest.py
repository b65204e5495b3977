"""A manifest's TOML into a `Blueprint`, by the engine's reading rules (leviath-runtime T2).

What the kit's own runtime cannot honour is collected by key in `Blueprint.unsupported`; whoever only needs the layout
of a window may ignore that list, whoever carries a run on may not. Checks of meaning (does the edge lead anywhere,
is the budget enough) are not here.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from typing import Any

from recovery_kit.errors import ManifestUnreadable
from recovery_kit.records.blueprint import (
    Agent,
    Blueprint,
    Compaction,
    FileTracking,
    RegionSpec,
    Seed,
    Stage,
)

from .manifest_stage import nudge, output_spec, read_stage
from .manifest_unsupported import unsupported_in
from .toml_table import Table

KIND_WORDS = {"persistent": "pinned", "hash_map": "hashmap", "sliding": "sliding_window", "history": "compact_history"}
"""Old spellings of region kinds."""

SEED_SOURCES = ("glob", "files", "literal", "rhai", "command", "tool", "tools", "caller")


def parse_manifest(source: str | bytes) -> Blueprint:
    """Read an `agent.leviath`.

    A member of the wrong type counts as absent (T2.1). Raises `ManifestUnreadable` for what is no UTF-8, no TOML, has
    no `[agent]` table, or has a negative count or a share that is none.
    """
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    try:
        text = data.decode("utf-8")
        values = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        what = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else "it is not TOML"
        place = error.start if isinstance(error, UnicodeDecodeError) else None
        raise ManifestUnreadable(None, f"the manifest cannot be read: {what}", place) from None
    top = Table(values)
    agent = top.table("agent")
    if agent is None:
        raise ManifestUnreadable(None, "the manifest has no [agent] table")
    context = top.table("context")
    security = top.table("security")
    stages = tuple(read_stage(name, table, read_regions) for name, table in top.tables("stages").items())
    return Blueprint(
        agent=_agent(agent),
        regions=_declared(context) or DEFAULT_REGIONS,
        stages=stages or DEFAULT_STAGES,
        compaction=_compaction(top.table("compaction")),
        file_tracking=_file_tracking(context.table("file_tracking") if context else None),
        tool_permissions=top.pairs("tool_permissions"),
        taint_tracking=None if security is None else security.on("taint_tracking", True),
        text=text,
        sha256=hashlib.sha256(data).hexdigest(),
        unsupported=unsupported_in(top),
        checks=_checks(values),
    )


def scripts_named(blueprint: Blueprint) -> tuple[str, ...]:
    """Relative paths of what the manifest needs beside it: scripts of regions, hooks, validators and checks.

    A reload looks for them in the folder of the manifest it reads (0.5-to-0.6 N13.2). Seeds are not in the list, for a
    reload runs none; nor are script tools, which no key of a manifest names by path. A schema or a validator in
    an answer's description that came with the launch is in the run's metadata, not here.
    """
    outputs = [blueprint.agent.output, *(stage.output for stage in blueprint.stages)]
    layouts = [blueprint.regions, *(stage.regions or () for stage in blueprint.stages)]
    named = [region.script for layout in layouts for region in layout]
    named += [path for stage in blueprint.stages for path in stage.hooks.values()]
    named += [output.validator for output in outputs if output]
    return tuple(dict.fromkeys(path for path in (*named, *blueprint.checks) if path and not path.startswith("/")))


def read_regions(table: Table | None) -> tuple[RegionSpec, ...]:
    """The regions of a layout, in declared order (T2.3)."""
    if table is None:
        return ()
    inner = ((name, table.table(name)) for name in table)
    return tuple(_region(name, region) for name, region in inner if region is not None)


def _region(name: str, table: Table) -> RegionSpec:
    word = table.word("kind", "temporary")
    budget = table.share("budget")
    cap = table.count("max_tokens")
    about = (table.text("description") or "").strip()
    defaults = RegionSpec(name)
    return RegionSpec(
        name=name,
        kind=KIND_WORDS.get(word, word),
        max_tokens=cap if cap is not None or budget is not None else defaults.max_tokens,
        budget=budget,
        min_tokens=table.count("min_tokens"),
        max_items=_or(table.count("max_items"), defaults.max_items),
        strategy=table.word("strategy", defaults.strategy),
        overflow=_or(table.count("overflow"), defaults.overflow),
        compact_count=_or(table.count("compact_count"), defaults.compact_count),
        threshold_tokens=table.count("threshold_tokens"),
        compact_at=table.share("compact_at"),
        max_entries=table.count("max_entries"),
        source_region=table.text("source_region"),
        admission=table.word("admission", defaults.admission),
        seed=_seed(name, table),
        accepts=table.texts("accepts"),
        summarizable=table.on("summarizable", True),
        required=table.on("required"),
        required_message=table.text("required_message"),
        volatility=table.word("volatility", defaults.volatility),
        description=about or None,
        describe_in_prompt=table.on("describe_in_prompt"),
        script=(table.text("script") or "").strip() or None,
        keep=table.on("pinned", table.on("persistent")),
    )


def _seed(name: str, table: Table) -> Seed | None:
    if "seed" not in table:
        return Seed("caller", "task") if name == "task" else None
    key = table.text("seed")
    if key is not None:
        return Seed("caller", {"task_input": "task", "input": name}.get(key, key))
    inner = table.table("seed")
    source = next((word for word in SEED_SOURCES if inner and word in inner), None)
    return Seed(source, inner.values[source]) if inner and source else None


def _agent(table: Table) -> Agent:
    defaults = Agent()
    return Agent(
        name=table.word("name", defaults.name),
        version=table.word("version", defaults.version),
        description=table.word("description", defaults.description),
        max_child_depth=_or(table.count("max_child_depth"), defaults.max_child_depth),
        entry_stage=table.text("entry_stage"),
        output=output_spec(table.table("output")),
        nudge=nudge(table.table("nudge")),
        batch_tool_hint=table.flag("batch_tool_hint"),
        shell_hint=table.flag("shell_hint"),
    )


def _declared(context: Table | None) -> tuple[RegionSpec, ...]:
    return read_regions(context.table("regions")) if context else ()


def _compaction(table: Table | None) -> Compaction | None:
    if table is None:
        return None
    prompts = {key: text for key in table if key.endswith("prompt") and (text := table.text(key))}
    temperature = table.number("temperature")
    return Compaction(
        provider=table.text("provider"),
        model=table.text("model"),
        max_summary_tokens=table.count("max_summary_tokens"),
        temperature=Compaction().temperature if temperature is None else temperature,
        prompts=prompts,
    )


def _file_tracking(table: Table | None) -> FileTracking | None:
    if table is None:
        return None
    return FileTracking(
        region=table.word("region", "files"),
        track_reads=table.on("track_reads", True),
        track_writes=table.on("track_writes", True),
        max_file_tokens=table.count("max_file_tokens"),
    )


def _checks(values: Mapping[str, Any]) -> tuple[str, ...]:
    """`check` members of registry rows and dependencies, which may be lists of tables or tables of tables."""
    found: list[str] = []
    for key in ("mime_types", "dependencies"):
        rows = values.get(key)
        members = rows.values() if isinstance(rows, dict) else rows if isinstance(rows, list) else ()
        found += [row["check"] for row in members if isinstance(row, dict) and isinstance(row.get("check"), str)]
    return tuple(found)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


DEFAULT_REGIONS = (
    RegionSpec("system", kind="pinned", max_tokens=8000),
    RegionSpec("conversation", kind="sliding_window", max_tokens=10000),
)
"""What a manifest without regions has (T2.2)."""

DEFAULT_STAGES = (Stage("main"),)
"""What a manifest without stages has: one stage on the installation's default model."""
