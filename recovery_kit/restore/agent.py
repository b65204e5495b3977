"""The saved window laid over the window that a fresh build makes, and where the run stands.

Values in, values out: which manifest and which files to believe is somebody else's question. Rules:
leviath-run-directory 5.2 to 5.4, 0.5-to-0.6 N13.
"""

from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from recovery_kit.formats.skim import MetaSkim
from recovery_kit.history.fold import Fold, Pending
from recovery_kit.history.layout import KIND_WORDS, NEWEST_RULES, Layout, built_window, layout_after
from recovery_kit.records.blueprint import Blueprint, Stage
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import Region, Window
from recovery_kit.world.regions import holding, placed, region_of, retotalled
from recovery_kit.world.results import NO_PLACING, Placing, placing_of, tracks_taint

WindowSource = Literal["journal", "json_pair", "nothing"]

NO_MANIFEST = "without the manifest the regions, their ceilings and the stage are taken as the saved window has them"


@dataclass(frozen=True, slots=True)
class Totals:
    """What a restored run counts on from (5.2, 0.5-to-0.6 N13.1)."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    tool_calls: int = 0
    cost_priced_usd: float = 0.0
    unpriced_calls: int = 0
    cost_is_exact: bool = True
    """Never true again once it was not: a call with a computed price is counted in."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A region of the saved window that the built one does not have: its entries are gone after the reload."""

    name: str
    entries: int


@dataclass(frozen=True, slots=True)
class RestoredAgent:
    """A run as it stands right after the overlay, before a pending batch is replayed."""

    window: Window
    source: WindowSource
    """Where the window is from: the fold, `context.json`, or neither."""
    stage_name: str
    """Of the saved window; the manifest may not know it."""
    stage_index: int
    """As saved."""
    stage: Stage | None
    """The stage whose model, tools and routing are in force: the first one where the saved index is out of range."""
    iteration: int
    totals: Totals
    pending: Pending | None
    placing: Placing
    """Routing of that stage, regions and hidden ones of the layout in force."""
    entered: tuple[str, ...] = ()
    """Stages that count as entered by the new process; no engine has any."""
    dropped: tuple[Dropped, ...] = ()
    built: tuple[str, ...] = ()
    """Regions that the saved window does not have and that keep what the build put there."""
    assumes: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[Dropped, ...]:
        """Dropped regions that held something."""
        return tuple(region for region in self.dropped if region.entries)


def restore_agent(
    fold: Fold | None,
    meta: RunMeta,
    context: Window | None = None,
    blueprint: Blueprint | None = None,
    rules: Engine = NEWEST_RULES,
    context_tokens: int = 200_000,
) -> RestoredAgent:
    """The agent that a reload makes of a run.

    A fold decides window, position and totals, however old it is; without one `context` and `meta` do (5.2 step 3).
    `context_tokens` is the window of the first stage's model; it matters only where a region's budget is a share of it.
    Without a blueprint the saved window is taken as it is, and `assumes` says so.
    """
    saved, source = _saved(fold, meta, context)
    position = _position(fold, meta)
    totals, pending = _totals(fold, meta, rules), fold.pending if fold else None
    if blueprint is None:
        window = retotalled(replace(saved, regions=tuple(holding(r, r.entries) for r in saved.regions)))
        return RestoredAgent(
            window, source, saved.stage_name, position.stage_index, None, position.iteration, totals, pending,
            NO_PLACING, assumes=(NO_MANIFEST,),
        )  # fmt: skip
    stage = _stage_at(blueprint, position.stage_index)
    entered = _entered(blueprint, saved, rules)
    tracked = tracks_taint(blueprint, blueprint.stages[0])
    shape = _shape(blueprint, entered, rules, meta, context_tokens)
    window, dropped = overlaid(shape, saved, tracked)
    held = {region.name for region in saved.regions}
    return RestoredAgent(
        window, source, saved.stage_name, position.stage_index, stage, position.iteration, totals, pending,
        placing_of(blueprint, stage, entered, rules), entered, dropped,
        tuple(region.name for region in window.regions if region.name not in held),
        _assumed(blueprint, context_tokens),
    )  # fmt: skip


def overlaid(built: Window, saved: Window, tracked: bool = False) -> tuple[Window, tuple[Dropped, ...]]:
    """The saved entries over the built regions of the same names, and the saved regions that have none (5.4).

    Kind, ceiling and description are the built region's, sums are made anew, and neither budget nor item limit is
    enforced. Where nothing tracks taint every entry shows Internal.
    """
    window, dropped = built, []
    for region in saved.regions:
        under = region_of(window, region.name)
        if under is None:
            dropped.append(Dropped(region.name, len(region.entries)))
            continue
        entries = region.entries if tracked else tuple(replace(entry, taint="Internal") for entry in region.entries)
        window = placed(window, holding(under, entries))
    return replace(retotalled(window), stage_name=saved.stage_name), tuple(dropped)


def _saved(fold: Fold | None, meta: RunMeta, context: Window | None) -> tuple[Window, WindowSource]:
    if fold is not None:
        return fold.window.window(), "journal"
    if context is not None:
        return context, "json_pair"
    return Window(meta.current_stage, 0, 0, ()), "nothing"


def _position(fold: Fold | None, meta: RunMeta) -> MetaSkim | RunMeta:
    return (fold.skim_meta() if fold else None) or meta


def _totals(fold: Fold | None, meta: RunMeta, rules: Engine) -> Totals:
    source = (fold.read_meta() if fold else None) or meta
    members = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "tool_calls")
    priced = ("cost_priced_usd", "unpriced_calls", "cost_is_exact") if rules.restores_cost else ()
    return Totals(**{name: getattr(source, name) for name in members + priced})


def _stage_at(blueprint: Blueprint, index: int) -> Stage:
    return blueprint.stages[index] if index < len(blueprint.stages) else blueprint.stages[0]


def _entered(blueprint: Blueprint, saved: Window, rules: Engine) -> tuple[str, ...]:
    """What the new process has entered: its first stage only, unless the rules bring later layouts back."""
    name = saved.stage_name
    known = name != blueprint.stages[0].name and blueprint.stage(name) is not None
    return (name,) if rules.keeps_later_regions and known else ()


def _shape(blueprint: Blueprint, entered: tuple[str, ...], rules: Engine, meta: RunMeta, context_tokens: int) -> Window:
    """The window that is laid under: the built one, in the layout of the stages entered."""
    built = built_window(blueprint, context_tokens, rules, meta.output_request)
    if not entered:
        return built
    layout = layout_after(blueprint, entered, rules)
    regions = (_region(name, built, layout, context_tokens) for name in layout.order)
    return retotalled(replace(built, regions=tuple(region for region in regions if region is not None)))


def _region(name: str, built: Window, layout: Layout, context_tokens: int) -> Region | None:
    under, spec = region_of(built, name), layout.definitions.get(name)
    if spec is None:
        return under
    fresh = Region(name, KIND_WORDS.get(spec.kind, spec.kind), 0, spec.ceiling(context_tokens), (), spec.description)
    return fresh if under is None else holding(fresh, under.entries)


def _assumed(blueprint: Blueprint, context_tokens: int) -> tuple[str, ...]:
    declared = [*blueprint.regions, *(region for stage in blueprint.stages for region in stage.regions or ())]
    if not any(region.budget is not None for region in declared):
        return ()
    return (f"budgets that are a share of the model's window are taken of {context_tokens} tokens",)
