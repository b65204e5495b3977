"""From a window to the request that the engine hands to its provider, in its neutral form (leviath-requests R1 to R11).

A pure function of the window, the manifest, the stage and a `Situation`. What a vendor makes of it is not here, what a
vendor would refuse is in `acceptance`.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recovery_kit.history.layout import layout_after
from recovery_kit.history.pairs import NOWHERE
from recovery_kit.records.blueprint import Blueprint, RegionSpec, Stage
from recovery_kit.records.window import Region, Window

from .blocks import SystemBlock, in_prompt_order, kind_of, region_blocks, with_recent
from .media import sent
from .messages import (
    BEGIN,
    Message,
    conversation,
    flattened,
    lifted,
    unwrapped,
    with_breakpoint,
    with_ends,
    without_orphans,
)
from .offer import offered
from .siphash import system_hash
from .situation import AFTER_RESTART, Situation

ROUTING_TOKENS = 256
"""Output limit of a routing call (R14)."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the model is sent."""

    system: tuple[SystemBlock, ...]
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    """Names, in the order of the offer."""
    max_tokens: int
    temperature: float
    system_hash: int = 0
    """`digest.system_hash` that the attempt's record will have (R8)."""
    unknown: tuple[str, ...] = ()
    """What the files do not say and this request had to assume, a sentence each."""

    def as_json(self, whole: bool = False) -> dict[str, Any]:
        """`system` and `messages` in the neutral form; with `whole` also tools, output limit and temperature."""
        form: dict[str, Any] = {
            "system": [block.as_json() for block in self.system],
            "messages": [message.as_json() for message in self.messages],
        }
        rest = {"tools": list(self.tools), "max_tokens": self.max_tokens, "temperature": self.temperature}
        return form | rest if whole else form


def assemble(
    window: Window,
    blueprint: Blueprint | None,
    stage: str,
    situation: Situation = AFTER_RESTART,
    routing: bool = False,
) -> Request:
    """The request that a run with this window sends next.

    Without a blueprint every region is taken as visible, in the window's order, and no tool is offered; `unknown` says
    so. `routing` is for the call that chooses an edge, whose question is in the window already (R14).
    """
    regions, definitions, unknown = _in_force(window, blueprint, situation)
    spec = blueprint.stage(stage) if blueprint else None
    blocks, digest = _system(regions, definitions, situation)
    speaking = [region for region in regions if kind_of(region) == "sliding_window"]
    silent = [region for region in regions if kind_of(region) != "sliding_window"]
    messages = [*lifted(silent), *(message for region in speaking for message in conversation(region))]
    messages = without_orphans(messages)
    if situation.rules.version < (0, 5, 5):
        messages = unwrapped(messages)
    if situation.previous_hash in (None, digest):
        messages = with_breakpoint(messages)
    messages = with_ends(messages)
    if not routing:
        messages = sent(messages, situation, spec.as_text if spec else ())
    tools = offered(spec, situation) if situation.takes_tools else ()
    if not situation.takes_tools:
        messages = flattened(messages)
    if not situation.takes_system_prompt:
        blocks, messages = [], _folded_in(blocks, messages)
    limits = _routing_limits(window) if routing else _limits(window, spec, situation)
    if routing and not situation.forbids_calls:
        tools = ()
    return Request(tuple(blocks), tuple(messages), tools, *limits, digest, tuple(unknown))


def _in_force(
    window: Window, blueprint: Blueprint | None, situation: Situation
) -> tuple[list[Region], Mapping[str, RegionSpec], list[str]]:
    """The visible regions in memory order with their definitions, and what had to be assumed (R3)."""
    if blueprint is None:
        return list(window.regions), {}, ["without the manifest, layout, tools and limits of the stage are not known"]
    layout = layout_after(blueprint, situation.entered, situation.rules)
    regions = [region for region in layout.in_order(window).regions if region.name not in layout.hidden]
    scripted = [region.name for region in regions if kind_of(region) == "custom"]
    hooked = [stage.name for stage in blueprint.stages if "before_inference" in stage.hooks]
    return (
        regions,
        layout.definitions,
        [
            *(f"region {name} is rendered by a script" for name in scripted),
            *(f"a hook may rewrite regions before each request of stage {name}" for name in hooked),
        ],
    )


def _system(
    regions: Sequence[Region], definitions: Mapping[str, RegionSpec], situation: Situation
) -> tuple[list[SystemBlock], int]:
    """All system blocks in prompt order, the framework's first, and the digest over those of regions (R4, R8)."""
    made = [block for region in regions for block in region_blocks(region, definitions.get(region.name))]
    times = [situation.changed_at.get(block.region, 0) for block in made if block.cache_hint == "UntilChanged"]
    ordered = in_prompt_order(made)
    digest = system_hash(block.text for block in ordered)
    steadiness = "rewritten" if situation.rules.version < (0, 5, 5) else "stable"
    hints = [SystemBlock("", text, "Always", steadiness) for text in situation.hints]
    return hints + with_recent(ordered, times), digest


def _folded_in(blocks: Sequence[SystemBlock], messages: Sequence[Message]) -> list[Message]:
    """The system prompt in the first user message, for a model that reads none (R9.3)."""
    prompt = "\n\n".join(block.text for block in blocks)
    place = next(n for n, message in enumerate(messages) if message.role == "user")
    first = messages[place]
    if isinstance(first.content, str):
        first = replace(first, content=prompt if first.content == BEGIN else f"{prompt}\n\n{first.content}")
    else:
        block = {"text": prompt, "type": "text"}
        first = replace(first, content=(block, *first.content), places=(NOWHERE, *first.places))
    return [first if n == place else message for n, message in enumerate(messages)] if prompt else list(messages)


def _routing_limits(window: Window) -> tuple[int, float]:
    return min(ROUTING_TOKENS, max(0, window.max_tokens - window.total_tokens)), 0.0


def _limits(window: Window, stage: Stage | None, situation: Situation) -> tuple[int, float]:
    """Output limit and temperature (R11.1, R11.2)."""
    newer = situation.rules.version >= (0, 5, 5)
    parameters = stage.model.parameters if stage else {}
    used = window.total_tokens + situation.shortfall
    room = max(0, window.max_tokens - used)
    if newer:
        room = max(0, room - used // 16)
    cap = _cap(parameters.get("max_output_tokens"), window, situation)
    if situation.cap_raised and newer:
        cap = max(cap, situation.output_tokens)
    wish = parameters.get("temperature")
    warmth = float(wish) if isinstance(wish, int | float) else 0.7
    return max(1, min(room, cap)), _float32(warmth) if situation.takes_temperature else 0.0


def _cap(wish: object, window: Window, situation: Situation) -> int:
    """`max_output_tokens`: a number as it is, `"40%"` of the model's window, `"50% of region"` of a ceiling."""
    if isinstance(wish, int) and not isinstance(wish, bool):
        return max(1, wish)
    if isinstance(wish, Mapping):
        wish = f"{str(wish.get('percent', '')).rstrip('%')}% of {wish.get('of', '')}"
    if not isinstance(wish, str):
        return situation.output_tokens
    percent, _, name = (piece.strip() for piece in wish.partition("%"))
    name = name.removeprefix("of").strip()
    whole = next((r.max_tokens for r in window.regions if r.name == name), None) if name else situation.context_tokens
    try:
        share = None if whole is None else int(whole * float(percent) / 100 + 0.5)
    except ValueError:
        share = None
    return situation.output_tokens if share is None else max(1, min(share, situation.output_tokens))


def _float32(value: float) -> float:
    """The nearest 32-bit float, which is what the engine keeps."""
    return float(struct.unpack("f", struct.pack("f", value))[0])
