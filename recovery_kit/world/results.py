"""A reply's calls and their results into the window: the turn, then each result where the stage routes it.

The same for a batch that just ran and for one that a restart replays. Rules: leviath-run-directory 6, 0.5-to-0.6 N14,
leviath-runtime T2.6, T6.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from msgspec.structs import replace

from recovery_kit.history.layout import layout_after
from recovery_kit.history.windows import text_of, tokens_of
from recovery_kit.records.blueprint import Blueprint, RegionSpec, Stage, ToolRouting
from recovery_kit.records.engines import Engine
from recovery_kit.records.window import (
    AssistantTurn,
    BlobRef,
    Content,
    Entry,
    Part,
    Taint,
    ToolResult,
    TurnCall,
    Window,
)

from .regions import Refusal, add, region_of

CONVERSATION, SCRATCH = "conversation", "scratch"

SENSITIVITY: dict[str, Taint] = dict.fromkeys(
    """read_file read_files write_file edit_file list_dir context_write context_append context_read context_delete
    context_list context_attach context_export todo_add todo_done todo_note""".split(),
    "Internal",
)
"""Taint of what a tool returns, by its exact name; every other tool's is Public (leviath-runtime T14)."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Placing:
    """Where results go and what the regions there are: a stage's routing and the layout in force."""

    definitions: Mapping[str, RegionSpec] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    routing: ToolRouting | None = None
    sensitivity: Mapping[str, Taint] | None = None
    """None while nothing tracks taint."""

    def taint_of(self, tool: str) -> Taint:
        """What is written on disk for a result of that tool: an untracked region shows Internal."""
        return "Internal" if self.sensitivity is None else self.sensitivity.get(tool, "Public")

    def region_for(self, tool: str, window: Window) -> str:
        """The region that takes a result of that tool."""
        if self.routing is None:
            return CONVERSATION
        if not self.routing.keep_results and region_of(window, SCRATCH) is not None:
            return SCRATCH
        override = _of_tool(self.routing.overrides, tool)
        return (override.region if override else None) or self.routing.default_region

    def cap_for(self, tool: str) -> int | None:
        """Tokens that a result of that tool may have, None for no cap."""
        if self.routing is None:
            return None
        override = _of_tool(self.routing.overrides, tool)
        own = override.max_result_tokens if override else None
        per_tool = _of_tool(self.routing.max_result_tokens_per_tool, tool)
        return next((cap for cap in (own, per_tool, self.routing.max_result_tokens) if cap is not None), None)


NO_PLACING = Placing()


def placing_of(blueprint: Blueprint | None, stage: Stage | None, entered: Sequence[str], rules: Engine) -> Placing:
    """The placing of a stage in a process that entered these stages after its first one."""
    if blueprint is None:
        return NO_PLACING
    layout = layout_after(blueprint, entered, rules)
    sensitivity = SENSITIVITY if tracks_taint(blueprint, stage) else None
    return Placing(layout.definitions, layout.hidden, stage.tool_routing if stage else None, sensitivity)


def tracks_taint(blueprint: Blueprint, stage: Stage | None = None) -> bool:
    """Whether entries carry taints of their own: the stage's word, else the manifest's; not, where neither says so."""
    own = stage.taint_tracking if stage else None
    return bool(blueprint.taint_tracking if own is None else own)


def canonical(tool: str) -> str:
    """The name under which a tool is looked up in routing tables; only `bash` has another one."""
    return "shell" if tool == "bash" else tool


def _of_tool(table: Mapping[str, T], tool: str) -> T | None:
    if tool in table:
        return table[tool]
    return next((value for key, value in table.items() if canonical(key) == canonical(tool)), None)


Fate = Literal["whole", "prefix", "refused"]
"""What became of a text: stored as it is, its beginning stored, or no more than a placeholder."""


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted write, in order: what a journal attributes."""

    region: str
    cause: Literal["model_reply", "tool_result"]
    call_id: str | None
    window: Window = field(repr=False)
    """As it is after it."""


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a result went."""

    call_id: str
    region: str
    fate: Fate
    dropped: int = 0
    """UTF-8 bytes that were left out to make it fit, the cap's not counted."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The window with a turn and its results in it."""

    window: Window
    steps: tuple[Step, ...]
    landings: tuple[Landing, ...]
    turn_refused: Refusal | None = None
    """Why the turn itself is not in the window: the conversation had no room for it."""


def apply_batch(
    window: Window,
    turn: Entry,
    results: Sequence[tuple[str, Content]],
    placing: Placing,
    rules: Engine,
) -> Applied:
    """Put a turn into `conversation` and one result a call behind it, in call order (6).

    `turn` is what `turn_entry` makes; `results` are (call id, content). Two calls with one id are told apart by nobody:
    each result gets the name of the first call with its id. Nothing is stored as a blob here: a text above the inline
    limit stays inline, which is what a restart does with it (N14).
    """
    work = _Work(window, placing, rules)
    work.write(CONVERSATION, turn, "model_reply", None)
    refused = work.refusal
    calls = turn.kind.tool_calls if isinstance(turn.kind, AssistantTurn) else ()
    names = {call.id: call.name for call in reversed(calls)}
    landings = tuple(_land(work, call_id, names.get(call_id, ""), content) for call_id, content in results)
    return Applied(work.window, tuple(work.steps), landings, refused)


def turn_entry(
    response: Content, calls: Sequence[TurnCall], placing: Placing = NO_PLACING, reasoning: str | None = None
) -> Entry:
    """The entry of a reply with calls: its text or parts, all its calls, the provider's token if there is one."""
    taint: Taint = "Internal" if placing.sensitivity is None else "Public"
    return Entry(response, tokens_of(response), AssistantTurn(tuple(calls)), taint=taint, reasoning=reasoning)


def result_entry(
    call_id: str, tool: str, content: Content, taint: Taint = "Internal", tokens: int | None = None
) -> Entry:
    """The entry of a result in a conversation; `is_error` is false even for failures (2.2)."""
    size = tokens_of(content) if tokens is None else tokens
    return Entry(content, size, ToolResult(call_id, tool, False), taint=taint)


def _land(work: "_Work", call_id: str, tool: str, content: Content) -> Landing:
    placing = work.placing
    region = placing.region_for(tool, work.window)
    taint = placing.taint_of(tool)
    content = capped(content, placing.cap_for(tool))
    told = result_entry(call_id, tool, content, taint)
    if region == CONVERSATION:
        fate, dropped = work.store(CONVERSATION, told, call_id)
        return Landing(call_id, CONVERSATION, fate, dropped)
    kept = Entry(content, tokens_of(content), taint=taint)
    hidden = region in placing.hidden
    if work.rules.points_after_storing:
        fate, dropped = work.store(region, kept, call_id)
        text = pointer(region, content, fate, dropped, hidden)
        work.store(CONVERSATION, result_entry(call_id, tool, text, taint), call_id)
    else:
        text = pointer(region, content, "whole", 0, hidden)
        work.store(CONVERSATION, result_entry(call_id, tool, text, taint), call_id)
        fate, dropped = work.store(region, kept, call_id)
    return Landing(call_id, region, fate, dropped)


class _Work:
    """A window that is being written to, and the writes so far."""

    def __init__(self, window: Window, placing: Placing, rules: Engine) -> None:
        self.window, self.placing, self.rules = window, placing, rules
        self.steps: list[Step] = []
        self.refusal: Refusal | None = None

    def write(self, region: str, entry: Entry, cause: Literal["model_reply", "tool_result"], call: str | None) -> bool:
        done = add(self.window, region, entry, self.placing.definitions.get(region), self.rules)
        self.window, self.refusal = done.window, done.refusal
        if done.accepted:
            self.steps.append(Step(region, cause, call, done.window))
        return done.accepted

    def store(self, name: str, entry: Entry, call_id: str) -> tuple[Fate, int]:
        """Store with the fallbacks: whole, else its beginning, else a placeholder, else nothing (6)."""
        if self.write(name, entry, "tool_result", call_id):
            return "whole", 0
        region = region_of(self.window, name)
        free = max(0, region.max_tokens - region.current_tokens) if region else 0
        text = text_of(entry.content)
        if free > LEAST_FREE:
            kept = text[: (free - 10) * 4]
            dropped = size_of(text) - size_of(kept)
            cut = f"{kept}... [truncated, {dropped} chars omitted]"
            if self.write(name, _with_text(entry, cut), "tool_result", call_id):
                return "prefix", dropped
        elif self.write(name, _with_text(entry, NO_ROOM.format(name)), "tool_result", call_id):
            return "refused", size_of(text)
        self.write(name, replace(entry, content=OMITTED, tokens=OMITTED_TOKENS), "tool_result", call_id)
        return "refused", size_of(text)


LEAST_FREE = 100
"""Tokens: with more than that free, the beginning of a text that does not fit is kept."""
NO_ROOM = "[tool result truncated: region '{}' has no room for it]"
OMITTED, OMITTED_TOKENS = "[result omitted]", 5


def size_of(text: str) -> int:
    """UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def _with_text(entry: Entry, text: str) -> Entry:
    return replace(entry, content=text, tokens=tokens_of(text))


def capped(content: Content, cap: int | None) -> Content:
    """A result as it is stored: its inline text, cut at a stage's limit of so many tokens, then its stored parts.

    The test counts bytes and the cut characters, so that a text of wide characters may lose nothing and still get the
    mark.
    """
    if isinstance(content, str):
        return _cut(content, cap)
    stored = tuple(part for part in content if isinstance(part.body, BlobRef))
    inline = tuple(part for part in content if isinstance(part.body, str))
    text = _cut(text_of(inline), cap)
    return (Part("text/plain", text), *stored) if stored else text


def _cut(text: str, cap: int | None) -> str:
    if cap is None or size_of(text) <= cap * 4:
        return text
    return f"{text[: cap * 4]}\n[...truncated]"


PREVIEW = 160
"""Characters of a result that its pointer shows."""

POINTERS: Mapping[str, str] = {
    "whole": "({tokens} tokens) is in your context under the '{region}' heading - it is already in this prompt, so no "
    "tool call is needed to see it.",
    "prefix": "is in your context under the '{region}' heading up to where it was cut: {dropped} bytes did not fit and "
    "were dropped.",
    "refused": "could NOT be stored - context region '{region}' is full and refused it, so only this preview survives. "
    "Release what you are finished with (context_delete) and fetch it again if you still need it.",
    "hidden": "({tokens} tokens) went to context region '{region}', which this stage does not show; read it with "
    "context_read if you need it here.",
}
"""What stands in the conversation for a result that went elsewhere. The engine's own words: `whole`, `refused`."""


def pointer(region: str, content: Content, fate: Fate, dropped: int, hidden: bool) -> str:
    """The note in the conversation for a routed result: where it is, and how it begins."""
    text = text_of(content)
    variant = "hidden" if hidden and fate == "whole" else fate
    note = POINTERS[variant].format(tokens=tokens_of(content), region=region, dropped=dropped)
    return f"[output {note} Preview: {text[:PREVIEW]}{'…' if len(text) > PREVIEW else ''}]"
