"""Entering a stage: the edge's transform on the old window, then layout and instructions (leviath-runtime T9, T10)."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from recovery_kit.history.layout import INSTRUCTIONS, KIND_WORDS, stage_prompt
from recovery_kit.history.windows import text_of, tokens_of
from recovery_kit.records.blueprint import Compaction, Edge, RegionSpec
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import ModelRef
from recovery_kit.records.window import Entry, Region, Window

from .agent import READY, Compacting, Visit
from .asking_model import bill
from .blocks import kind_of
from .messages import Message
from .providers import Reply, Turn
from .regions import add, clear, holding, region_of, retotalled
from .request import Request
from .running import Running
from .stage_ledger import enter_stage

KEPT = frozenset({"pinned", "compact_history", "hashmap"})
"""Kinds that no edge clears or summarises."""

COMPACTOR = (
    "You are a context compaction assistant. Your job is to summarize content concisely while preserving all key "
    "information, decisions, and actionable items. Never lose critical details."
)
SUMMARIZE = (
    'Summarize the following content from the "{}" context region. Preserve key facts, decisions, code snippets, and '
    "actionable items. Be concise but thorough.\n\n{}"
)
SUMMARY_TOKENS = 1000


def enter(run: Running, edge: Edge) -> None:
    """Take an edge, whatever its gate says: the run is in its target afterwards."""
    queue = _transformed(run, edge)
    begin(run, edge.target)
    if run.agent.over:
        return
    if queue:
        run.put(doing=Compacting(queue))
    run.snapshot_if_due()


def begin(run: Running, name: str) -> None:
    """Be in a stage: a new visit, its layout, its instructions. Nothing is written here."""
    agent, at = run.agent, run.now()
    index = agent.blueprint.stage_index(name)
    assert index is not None
    visit_id = run.host.ids.visit()
    entered = (*agent.entered, name)
    granted = frozenset(pair for pair in agent.granted if pair[0] != "stage")
    run.put(
        entered=entered, doing=READY, cut_off=0, granted=granted,
        visits={**agent.visits, name: agent.visits.get(name, 0) + 1},
        ledger=enter_stage(agent.ledger, index, visit_id, at),
    )  # fmt: skip
    run.put_meta(stage_index=index, current_stage=name)
    stage = run.agent.stage
    window = replace(agent.window, stage_name=name)
    if stage.regions is not None:
        window = relaid(window, stage.regions, run.agent.layout.sorted, agent.rules)
    if stage.reset:
        window = clear(window, stage.reset)
    run.silently(clear(window, (INSTRUCTIONS,)) if region_of(window, INSTRUCTIONS) else window)
    text = stage_prompt(agent.blueprint, stage, agent.meta.output_request)
    if text is not None:
        place = INSTRUCTIONS if region_of(run.agent.window, INSTRUCTIONS) else "conversation"
        done = run.append(place, Entry(text, tokens_of(text)), "transform")
        if done.refusal is not None:
            run.fail(f"the instructions of stage {name} do not fit: {done.refusal}")
            return
    at_entry = {region.name: run.names.region(region) for region in run.agent.window.regions}
    run.put(visit=Visit(id=visit_id, entered_at=at, at_entry=at_entry))


def relaid(window: Window, own: Sequence[RegionSpec], order: object, rules: Engine) -> Window:
    """The window in a stage's own layout: its regions made anew, each with the entries that still fit; the others stay
    behind them."""
    held = {region.name: region for region in window.regions}
    for spec in own:
        fresh = Region(spec.name, KIND_WORDS.get(spec.kind, spec.kind), 0, spec.ceiling(0), (), spec.description)
        held[spec.name] = _carried(fresh, held.get(spec.name), spec, rules)
    names = order(held)  # type: ignore[operator]
    return retotalled(replace(window, regions=tuple(held[name] for name in names)))


def _carried(fresh: Region, old: Region | None, spec: RegionSpec, rules: Engine) -> Region:
    if old is None:
        return fresh
    if kind_of(fresh) == "hashmap":
        return holding(fresh, old.entries)
    window = Window("", 0, 0, (fresh,))
    for entry in old.entries:
        window = add(window, fresh.name, entry, spec, rules).window
    return window.regions[0]


# Transforms.


def _transformed(run: Running, edge: Edge) -> tuple[str, ...]:
    """The edge's transform, on the old window; which regions are to be summarised after the entry."""
    agent = run.agent
    loose = tuple(r.name for r in agent.window.regions if kind_of(r) not in KEPT)
    if edge.transform == "clear":
        run.silently(clear(agent.window, loose))
    if edge.transform == "compact":
        return tuple(_summarizable(run, loose))
    if edge.transform == "custom" and edge.carry is not None:
        if edge.carry.clear:
            run.change(clear(agent.window, edge.carry.clear), "transform")
        return tuple(_summarizable(run, edge.carry.compact))
    return ()


def _summarizable(run: Running, names: Sequence[str]) -> Iterator[str]:
    if run.agent.blueprint.compaction is None:
        return
    definitions = run.agent.layout.definitions
    for name in names:
        region, spec = region_of(run.agent.window, name), definitions.get(name)
        if region is not None and region.entries and (spec is None or spec.summarizable):
            yield name


# Compaction.


def compact(run: Running) -> bool:
    """Summarise what an edge asked for: one call a region, then all of it into the window (T10.1)."""
    doing, settings = run.agent.doing, run.agent.blueprint.compaction
    assert isinstance(doing, Compacting) and settings is not None
    summaries = {}
    for name in doing.regions:
        region = region_of(run.agent.window, name)
        if region is not None and region.entries:
            summaries[name] = _summary(run, region, settings)
    run.put(doing=READY)
    for name, text in summaries.items():
        if not text.strip():
            continue  # an empty summary leaves the region alone
        for spec in run.agent.layout.definitions.values():
            if spec.source_region == name and spec.kind == "compact_history":
                run.append(spec.name, Entry(text, tokens_of(text)), "compaction")
        run.change(clear(run.agent.window, (name,)), "compaction")
    return True


def _summary(run: Running, region: Region, settings: Compaction) -> str:
    held = "\n\n".join(text_of(entry.content) for entry in region.entries)
    asked = settings.prompts.get("user") or SUMMARIZE
    text = asked.format(region.name, held) if asked is SUMMARIZE else f"{asked}\n\n{held}"
    messages = (Message("system", COMPACTOR), Message("user", text))
    request = Request((), messages, (), settings.max_summary_tokens or SUMMARY_TOKENS, settings.temperature)
    model = _model(settings)
    turn = Turn(
        kind="compaction", stage=run.agent.stage.name, iteration=run.agent.iteration, provider=model.provider,
        model=model.model,
    )  # fmt: skip
    answer = run.host.provider.infer(request, turn)
    if not isinstance(answer, Reply):
        run.log(f"[error] no summary of {region.name}: {answer.why}")
        return ""
    bill(run, answer, "compaction", model, run.agent.iteration)
    return answer.text


def _model(settings: Compaction) -> ModelRef:
    return ModelRef(settings.provider or "", settings.model or "")
