"""Sliding windows into messages: roles, blocks, orphans, ends (leviath-requests R7, R8.2, R9.4)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from recovery_kit.history.pairs import NOWHERE, WHITE_SPACE, Place, spoken_text
from recovery_kit.history.windows import text_of
from recovery_kit.records.window import AssistantTurn, BlobRef, Content, Entry, Part, Region, Text, ToolResult, TurnCall

Block = dict[str, Any]
"""A block of a message in the engine's neutral form: `text`, `tool_use`, `tool_result` or `mime`."""

BEGIN, CONTINUE = "Begin.", "Continue."


@dataclass(frozen=True, slots=True)
class Message:
    """A message in the engine's neutral form."""

    role: str
    content: str | tuple[Block, ...]
    cache_breakpoint: bool = False
    places: tuple[Place, ...] = (NOWHERE,)
    """The entry each block is from; one for a plain text."""

    def as_json(self) -> dict[str, Any]:
        """Content and role, and the breakpoint where there is one."""
        content = self.content if isinstance(self.content, str) else [dict(block) for block in self.content]
        mark = {"cache_breakpoint": True} if self.cache_breakpoint else {}
        return mark | {"content": content, "role": self.role}

    def blocks(self) -> Iterator[tuple[Block, Place]]:
        """Each block with its entry; a plain text as one block."""
        if isinstance(self.content, str):
            yield {"type": "text", "text": self.content}, self.places[0]
        else:
            yield from zip(self.content, self.places, strict=True)


def conversation(region: Region) -> list[Message]:
    """The messages of one sliding window (R7.1)."""
    messages: list[Message] = []
    results: list[tuple[Block, Place]] = []
    for index, entry in enumerate(region.entries):
        place = Place(region.name, index)
        if isinstance(entry.kind, ToolResult):
            results += [(block, place) for block in _result_blocks(entry.kind, entry.content)]
            continue
        messages += _flushed(results)
        results = []
        messages += _said(entry, place)
    return messages + _flushed(results)


def _flushed(results: Sequence[tuple[Block, Place]]) -> list[Message]:
    """Neighbouring results as one message of the user."""
    return [_message("user", [block for block, _ in results], [place for _, place in results])] if results else []


def _said(entry: Entry, place: Place) -> list[Message]:
    if isinstance(entry.kind, AssistantTurn):
        return _assistant(entry.kind.tool_calls, entry.content, place)
    spoken = spoken_text(text_of(entry.content)) if isinstance(entry.kind, Text) else None
    if spoken is not None:
        return [Message(*spoken, places=(place,))]
    return [_user(entry.content, place)]


def _assistant(calls: Sequence[TurnCall], content: Content, place: Place) -> list[Message]:
    if calls:
        blocks = [*_blocks(content, media=False), *map(_use, calls)]
        return [_message("assistant", blocks, [place] * len(blocks))]
    made = [mime_block(part) for part in stored_parts(content)]
    shown = [_message("user", made, [place] * len(made))] if made else []
    return [Message("assistant", text_of(content), places=(place,)), *shown]


def _user(content: Content, place: Place) -> Message:
    if not stored_parts(content):
        return Message("user", text_of(content), places=(place,))
    blocks = list(_blocks(content, media=True))
    return _message("user", blocks, [place] * len(blocks))


def _message(role: str, blocks: Iterable[Block], places: Iterable[Place]) -> Message:
    return Message(role, tuple(blocks), places=tuple(places))


def _result_blocks(kind: ToolResult, content: Content) -> list[Block]:
    answer = {
        "content": text_of(content), "is_error": kind.is_error, "tool_use_id": kind.tool_call_id, "type": "tool_result"
    }  # fmt: skip
    return [answer, *(mime_block(part) for part in stored_parts(content))]


def _use(call: TurnCall) -> Block:
    return {"id": call.id, "input": _input(call), "name": call.name, "type": "tool_use"}


def _input(call: TurnCall) -> Any:
    """The stored arguments, keys sorted as the engine's maps are; `_raw` around what is no object (R7.1)."""
    try:
        value = _sorted(msgspec.json.decode(bytes(call.arguments)))
    except (msgspec.DecodeError, RecursionError, ValueError):
        value = bytes(call.arguments).decode("utf-8", "replace")
    return value if isinstance(value, dict) else {"_raw": value}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-8", "surrogatepass"))}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def unwrapped(messages: Iterable[Message]) -> list[Message]:
    """Arguments that are no object as they are, which is how 0.4.0 sends them (R16)."""

    def bare(block: Block) -> Block:
        value = block.get("input")
        return block | {"input": value["_raw"]} if isinstance(value, dict) and list(value) == ["_raw"] else block

    return [m if isinstance(m.content, str) else replace(m, content=tuple(map(bare, m.content))) for m in messages]


# Parts.


def stored_parts(content: Content) -> list[Part]:
    """The parts whose bytes are in a blob."""
    return [] if isinstance(content, str) else [part for part in content if isinstance(part.body, BlobRef)]


def mime_block(part: Part) -> Block:
    """A stored part as a block, before anything decides how it is sent."""
    assert isinstance(part.body, BlobRef)
    body = {key: value for key, value in msgspec.structs.asdict(part.body).items() if value is not None}
    named = {key: value for key in ("deliver", "name") if (value := getattr(part, key)) is not None}
    return named | {"part": body, "type": "mime"}


def _blocks(content: Content, media: bool) -> Iterator[Block]:
    for part in (Part("text/plain", content),) if isinstance(content, str) else content:
        if isinstance(part.body, BlobRef):
            yield {"text": part.body.stand_in, "type": "text"}
            if media:
                yield mime_block(part)
        elif part.body:
            yield {"text": part.body, "type": "text"}


def lifted(regions: Iterable[Region]) -> list[Message]:
    """The message that shows the stored parts of regions that are no conversation (R7.2)."""
    blocks: list[Block] = []
    places: list[Place] = []
    for region in regions:
        for index, entry in enumerate(region.entries):
            label = f"[{region.name}]" if entry.key is None else f"[{region.name} / {entry.key}]"
            for part in stored_parts(entry.content):
                assert isinstance(part.body, BlobRef)
                blocks += [{"text": f"{label} {part.body.stand_in}", "type": "text"}, mime_block(part)]
                places += [Place(region.name, index)] * 2
    return [_message("user", blocks, places)] if blocks else []


# From all messages to what goes out.


def without_orphans(messages: Sequence[Message]) -> list[Message]:
    """Leaves out calls without a result and results without a call, by id over all messages (R7.3)."""
    every = [block for message in messages for block, _ in message.blocks()]
    calls = {block["id"] for block in every if block["type"] == "tool_use"}
    results = {block["tool_use_id"] for block in every if block["type"] == "tool_result"}
    orphans = calls ^ results
    if not orphans:
        return list(messages)
    kept = []
    for message in messages:
        if isinstance(message.content, str):
            kept.append(message)
            continue
        left = [(b, p) for b, p in message.blocks() if b.get("id", b.get("tool_use_id")) not in orphans]
        if left:
            kept.append(replace(message, content=tuple(b for b, _ in left), places=tuple(p for _, p in left)))
    return kept


def with_breakpoint(messages: Sequence[Message]) -> list[Message]:
    """One message is where a cache may end: the fourth from the end, or the first of up to four (R8.2)."""
    place = None if len(messages) < 2 else len(messages) - 4 if len(messages) >= 5 else 0
    return [replace(message, cache_breakpoint=True) if n == place else message for n, message in enumerate(messages)]


def with_ends(messages: Iterable[Message]) -> list[Message]:
    """Without blank texts, with a user's message in it and at its end (R7.5)."""
    kept = [m for m in messages if (m.content.strip(WHITE_SPACE) if isinstance(m.content, str) else m.content)]
    if not any(message.role == "user" for message in kept):
        kept.append(Message("user", BEGIN))
    if kept[-1].role == "assistant":
        kept.append(Message("user", CONTINUE))
    return kept


def flattened(messages: Iterable[Message]) -> list[Message]:
    """Calls and results as text, for a model without tools (R9.4)."""
    return [_flat(message) if _has_tools(message) else message for message in messages]


def _has_tools(message: Message) -> bool:
    return any(block["type"] in ("tool_use", "tool_result") for block, _ in message.blocks())


def _flat(message: Message) -> Message:
    blocks: list[Block] = []
    places: list[Place] = []
    for block, place in message.blocks():
        flat = _as_text(block)
        if flat["type"] == "text" and blocks and blocks[-1]["type"] == "text":
            blocks[-1] = {"text": f"{blocks[-1]['text']}\n{flat['text']}", "type": "text"}
            continue
        blocks.append(flat)
        places.append(place)
    return replace(message, content=tuple(blocks), places=tuple(places))


def _as_text(block: Block) -> Block:
    if block["type"] == "tool_use":
        given = msgspec.json.encode(block["input"]).decode()
        return {"text": f"[called {block['name']} with {given}]", "type": "text"}
    if block["type"] == "tool_result":
        head = "[tool error]" if block["is_error"] else "[tool result]"
        return {"text": f"{head}\n{block['content']}", "type": "text"}
    return block
