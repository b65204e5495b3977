"""What becomes of stored parts right before sending: bytes, text or stand-in (leviath-requests R11.3)."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .messages import Block, Message
from .situation import Situation


def matches(mime_type: str, patterns: Iterable[str]) -> bool:
    """Whether a type is covered by patterns like `text/*`."""
    return any(p in ("*/*", mime_type) or (p.endswith("/*") and mime_type.startswith(p[:-1])) for p in patterns)


def sent(messages: Sequence[Message], situation: Situation, as_text: Sequence[str] = ()) -> list[Message]:
    """The messages with every stored part as it goes out; the oldest give way where all together are too much."""
    parts = [block for m in messages for block, _ in m.blocks() if block["type"] == "mime"]
    excess = -situation.media_limit
    excess += sum(block["part"]["size"] for block in parts if _way(block, situation, as_text) == "bytes")
    out = []
    for message in messages:
        blocks = []
        for block, _ in message.blocks():
            if block["type"] == "mime":
                way = _way(block, situation, as_text)
                if way == "bytes" and excess > 0:
                    excess -= block["part"]["size"]
                    way = "stand_in"
                block = _sent(block, way, situation)
            blocks.append(block)
        out.append(message if isinstance(message.content, str) else replace(message, content=tuple(blocks)))
    return out


def _way(block: Block, situation: Situation, as_text: Sequence[str]) -> str:
    mime_type, deliver = block["part"]["mime_type"], block.get("deliver")
    if deliver is None and matches(mime_type, as_text):
        deliver = "text"
    if deliver not in ("text", "stand_in") and matches(mime_type, situation.accepts):
        return "bytes"
    if deliver != "stand_in" and (deliver == "text" or matches(mime_type, situation.text_types)):
        return "text"
    return "stand_in"


def _sent(block: Block, way: str, situation: Situation) -> Block:
    part = block["part"]
    data = None if way == "stand_in" else situation.blob(part["sha256"])
    if data is not None and way == "bytes":
        return {"data": base64.b64encode(data).decode("ascii")} | block
    text = None
    if data is not None:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = None
    return {"text": part["stand_in"] if text is None else text, "type": "text"}
