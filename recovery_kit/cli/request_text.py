"""A request as text: its blocks in the order of the wire, its limits, and what a vendor would refuse."""

import json
from typing import Any

from recovery_kit.display import count_text
from recovery_kit.recovery.prompt_view import PromptView
from recovery_kit.world.acceptance import Violation

from .printing import Page


def print_request(page: Page, view: PromptView, full: bool) -> None:
    """All of it; texts by their beginning, or whole if `full`."""
    request = view.request
    for part in request.system:
        head = f"system, {part.region or 'of the framework'} ({part.cache_hint}, {part.volatility})"
        page.headed(head, part.text, full)
    for message in request.messages:
        for block, place in message.blocks():
            where = f" from {place}" if place.region else ""
            page.headed(f"{message.role}, {block.get('type', 'text')}{where}", _text_of(block), full)
    page.blank()
    page.say(f"tools: {', '.join(request.tools) or 'none'}")
    page.say(f"at most {count_text(request.max_tokens, 'token')} of output, temperature {request.temperature:.6g}")
    for sentence in view.assumes:
        page.say(f"assumed: {sentence}", "muted")
    for violation in view.violations:
        page.say(f"{view.api} {_refuses(violation)}", "bad")
    if view.api and not view.violations:
        page.say(f"nothing is known that {view.api} would refuse", "good")


def _text_of(block: Any) -> str:
    text = block.get("text")
    if isinstance(text, str):
        return text
    return json.dumps({key: member for key, member in block.items() if key != "type"}, ensure_ascii=False, default=str)


def _refuses(violation: Violation) -> str:
    call = f", call {violation.id}" if violation.id else ""
    return f"{'refuses' if violation.certain else 'refuses at times'} {violation}{call}"
