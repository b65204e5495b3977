"""What the provider would be sent from a moment, as short lines for the browser; a whole message on demand."""

from typing import Any

import orjson

from recovery_kit.display import count_text
from recovery_kit.recovery.prompt_view import PromptView, prompt_view
from recovery_kit.runs.moment import State

from .moments import BUDGET, bytes_of
from .trees import line, whole

APIS = ("anthropic", "openai")
"""Vendors whose refusals can be asked for."""
_HOW_MANY = (16, 8, 4, 2, 0)


def sent(state: State, api: str | None, after_restart: bool) -> dict[str, Any]:
    """System blocks, the newest messages and what that vendor would refuse, within `BUDGET`."""
    view = prompt_view(state, api if api in APIS else None, after_restart=after_restart)
    for many in _HOW_MANY:
        answer = _told(view, state, many)
        if bytes_of(answer) <= BUDGET:
            break
    return answer


def _told(view: PromptView, state: State, many: int) -> dict[str, Any]:
    masker, request = state.masker, view.request
    first = max(len(request.messages) - many, 0)
    blocks = [(b.region or "framework", b.text) for b in request.system[:many]]
    return {
        "head": f"{count_text(len(request.system), 'system block')}, {count_text(len(request.messages), 'message')}, "
        f"{count_text(len(request.tools), 'tool')}, at most {count_text(request.max_tokens, 'token')} back",
        "system": [[n, line(name, masker, 40), line(text, masker, 80)] for n, (name, text) in enumerate(blocks)],
        "first": first,
        "messages": [[n, m.role, line(_text(m), masker, 100)] for n, m in enumerate(request.messages[first:], first)],
        "refused": [line(str(v), masker, 200) for v in view.violations[:6]],
        "assumes": [line(text, masker, 200) for text in view.assumes[:6]],
    }  # fmt: skip


def _text(message: Any) -> str:
    """A message as lines: texts as they are, calls and results named."""
    said = []
    for block, _ in message.blocks():
        match block.get("type"):
            case "text":
                said.append(str(block.get("text", "")))
            case "tool_use":
                said.append(
                    f"[call {block.get('id')} {block.get('name')}] {orjson.dumps(_plain(block.get('input'))).decode()}"
                )
            case "tool_result":
                said.append(f"[result of {block.get('tool_use_id')}] {block.get('content', '')}")
            case other:
                said.append(f"[{other}]")
    return "\n".join(said)


def _plain(value: Any) -> Any:
    try:
        orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return str(value)
    return value


def piece(state: State, api: str | None, after_restart: bool, part: str, number: int) -> dict[str, Any]:
    """One system block or message, its text masked and up to a bound. Raises IndexError."""
    request = prompt_view(state, None, after_restart=after_restart).request
    text = request.system[number].text if part == "system" else _text(request.messages[number])
    return {"texts": [whole(text, state.masker)]}
