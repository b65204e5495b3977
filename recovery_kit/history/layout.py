"""Which regions a window has, in which order, and which of them are hidden: a manifest and the stages entered since the
process took the run (leviath-requests R3; leviath-run-directory 5.4; leviath-runtime T3, T9).

A folded journal point lists regions in the order of their first `Set`; in memory, in `context.json` and in a window's
revision they stand in layout order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from recovery_kit.records.blueprint import ALWAYS_VISIBLE, Blueprint, RegionSpec, Stage
from recovery_kit.records.engines import NEWEST, Engine, engine
from recovery_kit.records.meta import OutputSpec
from recovery_kit.records.window import Entry, Region, Window

from .windows import tokens_of

INSTRUCTIONS = "stage_instructions"

ADDED = (
    RegionSpec("tool_results", kind="temporary", max_tokens=5000),
    RegionSpec("conversation", kind="sliding_window", max_tokens=10000, max_items=50),
    RegionSpec("final_output", kind="pinned", max_tokens=2000),
)
"""What the engine adds behind the declared regions where the manifest does not declare it."""

SINCE = {
    "final_output": (0, 3, 6),
    INSTRUCTIONS: (0, 3, 10),
    "omitted regions stay": (0, 3, 6),
    "hiding ends with the layout": (0, 5, 5),
    "hide": (0, 5, 5),
    "kind words": (0, 5, 5),
}
"""Engine versions from which a region or a rule is there."""

OLD_KIND_WORDS = {"sliding_window": "sliding", "compact_history": "history"}
"""What snapshots called them up to 0.4.0."""

KIND_WORDS = {old: new for new, old in OLD_KIND_WORDS.items()}

NEWEST_RULES = engine(NEWEST)


def _has(rules: Engine, what: str) -> bool:
    return rules.version >= SINCE.get(what, rules.version)


@dataclass(frozen=True, slots=True)
class Layout:
    """The regions in force."""

    order: tuple[str, ...]
    """All region names the process knows, in memory order."""
    definitions: Mapping[str, RegionSpec]
    """By name. `stage_instructions` has none unless it is declared."""
    hidden: frozenset[str]
    """Regions that give no block and no message; they keep their entries."""

    def sorted(self, names: Iterable[str]) -> list[str]:
        """Those names in memory order; unknown ones last, as they came."""
        places = {name: place for place, name in enumerate(self.order)}
        return sorted(names, key=lambda name: places.get(name, len(places)))

    def in_order(self, window: Window) -> Window:
        """The window with its regions in memory order: what its revision is computed from."""
        places = {name: place for place, name in enumerate(self.order)}
        regions = sorted(window.regions, key=lambda region: places.get(region.name, len(places)))
        return replace(window, regions=tuple(regions))


def layout_after(blueprint: Blueprint, entered_stages: Sequence[str] = (), rules: Engine = NEWEST_RULES) -> Layout:
    """The regions in force after a process started, which enters the first stage, and then entered these stages.

    A name that the manifest does not have changes nothing. Naming the first stage first is harmless.
    """
    definitions = {region.name: region for region in blueprint.regions}
    added = [region for region in ADDED if _has(rules, region.name)]
    order = list(dict.fromkeys([*definitions, *(region.name for region in added)]))
    if _has(rules, INSTRUCTIONS) and INSTRUCTIONS not in order:
        order.append(INSTRUCTIONS)
    definitions = {region.name: region for region in added} | definitions
    hidden: set[str] = set()
    for name in (blueprint.stages[0].name, *entered_stages):
        stage = blueprint.stage(name)
        if stage is not None:
            order, hidden = _enter(stage, order, hidden, definitions, rules)
    return Layout(tuple(order), definitions, frozenset(hidden))


def _enter(
    stage: Stage, order: list[str], hidden: set[str], definitions: dict[str, RegionSpec], rules: Engine
) -> tuple[list[str], set[str]]:
    """Order and hidden set after entering a stage; its definitions are laid over the ones in force."""
    if _has(rules, "hiding ends with the layout"):
        hidden = set()
    if stage.regions is not None:
        own = {region.name: region for region in stage.regions}
        definitions.update(own)
        others = [name for name in order if name not in own]
        if not _has(rules, "omitted regions stay"):
            others = [name for name in others if name in ALWAYS_VISIBLE]
        hidden = set(others) - ALWAYS_VISIBLE
        order = [*own, *others]
    if _has(rules, "hide"):
        hidden = hidden | (set(stage.hide) - ALWAYS_VISIBLE)
    return sorted(order, key=INSTRUCTIONS.__eq__), hidden


def layout_order(
    blueprint: Blueprint,
    window_region_names: Iterable[str],
    entered_stages: Sequence[str] = (),
    rules: Engine = NEWEST_RULES,
) -> list[str]:
    """The names of a window's regions in the order they have in memory (R3); unknown ones last, as they came."""
    return layout_after(blueprint, entered_stages, rules).sorted(window_region_names)


def hidden_regions(
    blueprint: Blueprint, entered_stages: Sequence[str] = (), rules: Engine = NEWEST_RULES
) -> frozenset[str]:
    """Names of the regions that the model is not shown (R3)."""
    return layout_after(blueprint, entered_stages, rules).hidden


def stages_entered(blueprint: Blueprint, stage_names: Iterable[str], restarted: bool = False) -> tuple[str, ...]:
    """The stages that a process entered, from the stage names of its points in order.

    A process that took a run over begins with the first stage's layout, whatever stage its first point names (R3): that
    name is no entry. Empty names say nothing.
    """
    current = None if restarted else blueprint.stages[0].name
    entered = []
    for name in stage_names:
        if name and name != current:
            if current is not None:
                entered.append(name)
            current = name
    return tuple(entered)


DEMAND = (
    "Before this stage ends you must call `submit_output` with your final answer. "
    "It is the only thing the caller receives."
)
FORMAT = "Return it in this format: {}."
GOVERNS = (
    "This governs how the answer is presented. Where anything else you were told says to present it differently - "
    "its length, its structure, what to lead with - follow this."
)


def stage_prompt(blueprint: Blueprint, stage: Stage, asked: OutputSpec | None = None) -> str | None:
    """The entry that `stage_instructions` gets when the stage is entered; None for a stage without a prompt (T9).

    `asked` is the answer's description that came with the launch; it goes before the manifest's. The demand for an
    answer is worded as the engine does for a format; more detailed descriptions are worded by the kit.
    """
    pieces = [stage.system_prompt, stage.fan_out.split_prompt.strip() if stage.fan_out else None]
    spec = asked or stage.output or blueprint.agent.output
    if stage.require_output and spec is not None:
        pieces += [DEMAND, *_described(spec), GOVERNS]
    text = "\n\n".join(piece for piece in pieces if piece)
    return f"[Stage instructions: {text}]" if text else None


def _described(spec: OutputSpec) -> list[str]:
    said = [FORMAT.format(spec.format)] if spec.format else []
    said += [spec.instructions] if spec.instructions else []
    said += [f"An example:\n{spec.example}"] if spec.example else []
    files = [f"{a.name} ({a.type}{', required' if a.required else ''})" for a in spec.artifacts]
    return said + ([f"Files to hand over with it: {', '.join(files)}."] if files else [])


def built_window(
    blueprint: Blueprint,
    context_tokens: int = 200_000,
    rules: Engine = NEWEST_RULES,
    asked: OutputSpec | None = None,
) -> Window:
    """The window that building an agent produces, before any seed: shape, ceilings, the first stage's prompt (5.4, T3).

    `context_tokens` is the model's window; it matters only where a budget is a share of it. A reload overlays the saved
    entries on this window by region name.
    """
    first = blueprint.stages[0]
    layout = layout_after(blueprint, (), rules)
    shares = any(region.budget is not None for region in blueprint.regions)
    whole = context_tokens if shares else sum(region.ceiling(context_tokens) for region in blueprint.regions)
    sizes = [tokens_of(text) for stage in blueprint.stages if (text := stage_prompt(blueprint, stage, asked))]
    instructions = RegionSpec(INSTRUCTIONS, kind="pinned", max_tokens=min(max(sizes, default=0), whole // 4))
    specs = {INSTRUCTIONS: instructions} | dict(layout.definitions)
    names = [name for name in layout.order if name != INSTRUCTIONS or sizes or name in layout.definitions]
    regions = [_empty(specs[name], context_tokens, rules) for name in names]
    prompt = stage_prompt(blueprint, first, asked)
    if prompt is not None:
        place = _prompt_place(regions)
        regions[place] = _holding(regions[place], prompt)
    return Window(first.name, sum(region.current_tokens for region in regions), whole, tuple(regions))


def _empty(spec: RegionSpec, context_tokens: int, rules: Engine) -> Region:
    word = spec.kind if _has(rules, "kind words") else OLD_KIND_WORDS.get(spec.kind, spec.kind)
    return Region(spec.name, word, 0, spec.ceiling(context_tokens), (), spec.description)


def _prompt_place(regions: Sequence[Region]) -> int:
    """Where a stage's prompt goes: its own region, else the first pinned one, else the conversation."""
    tests = (("name", INSTRUCTIONS), ("kind", "pinned"), ("name", "conversation"))
    places = (n for member, word in tests for n, region in enumerate(regions) if getattr(region, member) == word)
    return next(places, 0)


def _holding(region: Region, text: str) -> Region:
    size = tokens_of(text)
    return replace(region, current_tokens=size, entries=(Entry(text, size),))
