"""A real model behind an optional package: the neutral request as its messages, its answer as a `Reply`.

The package's client is a coroutine; its event loop lives in one thread here, so that the core stays synchronous and
works inside a notebook's own loop too.
"""

import asyncio
import base64
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from recovery_kit.errors import MissingExtra

from .messages import Block, Message
from .providers import ANY_TURN, Failure, Finish, Reply, ToolCall, Turn, arguments_json, well_formed
from .request import Request

INSTALL = "pip install 'recovery-kit[live]'"

ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """What a model is told of a tool."""

    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: ANY_OBJECT)
    """JSON schema of its arguments."""


class LiveProvider:
    """Asks a model by its name (`anthropic:…`, `openai:…`, as pydantic-ai spells it), or an object of that package.

    `tools` describes the tools that a request names; one without a description takes any arguments. Keys are read
    from the environment by the package and never kept here. Raises MissingExtra where the package is not installed.
    """

    def __init__(
        self, model: Any, tools: Mapping[str, ToolDescription] | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        try:
            import pydantic_ai.direct
        except ImportError as no:
            raise MissingExtra(None, f"asking a live model needs an optional package: {INSTALL}") from no
        self._ask = pydantic_ai.direct.model_request
        self.model = model
        self.tools = dict(tools or {})
        self.settings = dict(settings or {})
        self._thread = ThreadPoolExecutor(1, "live-provider")
        self._loop: asyncio.AbstractEventLoop | None = None

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Reply | Failure:
        """Ask once. What the package raises becomes a `Failure`; trying again is the caller's business."""
        return self._thread.submit(self._infer, request).result()

    def close(self) -> None:
        """End the thread and its event loop."""
        if self._loop is not None:
            self._thread.submit(self._loop.close).result()
            self._loop = None
        self._thread.shutdown()

    def _infer(self, request: Request) -> Reply | Failure:
        from pydantic_ai.exceptions import AgentRunError, UserError
        from pydantic_ai.models import ModelRequestParameters

        settings: Any = {"max_tokens": request.max_tokens, "temperature": request.temperature, **self.settings}
        parameters = ModelRequestParameters(function_tools=self._offer(request.tools))
        # One loop for all calls: the package's clients keep connections that belong to it.
        self._loop = self._loop or asyncio.new_event_loop()
        began = time.monotonic()
        try:
            asking = self._ask(
                self.model, messages_of(request), model_settings=settings, model_request_parameters=parameters
            )
            answer = self._loop.run_until_complete(asking)
        except ImportError as no:
            raise MissingExtra(None, f"this model's own client is not installed: {no}") from no
        except (AgentRunError, UserError, OSError) as no:
            return failure_of(no)
        return reply_of(answer, int((time.monotonic() - began) * 1000))

    def _offer(self, names: Sequence[str]) -> list[Any]:
        from pydantic_ai.tools import ToolDefinition

        told = ((name, self.tools.get(name, ToolDescription())) for name in names)
        return [
            ToolDefinition(name=name, description=tool.description or None, parameters_json_schema=dict(tool.schema))
            for name, tool in told
        ]


def messages_of(request: Request) -> list[Any]:
    """A request as the package's messages."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart

    names = {b["id"]: b["name"] for m in request.messages for b, _ in m.blocks() if b["type"] == "tool_use"}
    made: list[Any] = []
    if request.system:
        made.append(ModelRequest(parts=[SystemPromptPart(content=block.text) for block in request.system]))
    for message in request.messages:
        if message.role == "assistant":
            made.append(ModelResponse(parts=[_said(block) for block, _ in message.blocks()]))
        else:
            made.append(ModelRequest(parts=_asked(message, names)))
    return made


def _said(block: Block) -> Any:
    from pydantic_ai.messages import TextPart, ToolCallPart

    if block["type"] == "tool_use":
        return ToolCallPart(tool_name=block["name"], args=block["input"], tool_call_id=block["id"])
    return TextPart(content=block["text"])


def _asked(message: Message, names: Mapping[str, str]) -> list[Any]:
    from pydantic_ai.messages import BinaryContent, ToolReturnPart, UserPromptPart

    made: list[Any] = []
    for block, _ in message.blocks():
        if block["type"] == "tool_result":
            call = block["tool_use_id"]
            made.append(ToolReturnPart(tool_name=names.get(call, ""), content=block["content"], tool_call_id=call))
        elif block["type"] == "mime":
            data = BinaryContent(data=base64.b64decode(block["data"]), media_type=block["part"]["mime_type"])
            made.append(UserPromptPart(content=[data]))
        else:
            made.append(UserPromptPart(content=block["text"]))
    return made


_FINISH: dict[str, Finish] = {"stop": "complete", "length": "token_limit", "tool_call": "tool_call"}


def reply_of(answer: Any, duration_ms: int = 0) -> Reply:
    """The package's answer as a reply. Its prompt tokens count cached ones too, as the engine's do."""
    texts = [part.content for part in answer.parts if part.part_kind == "text"]
    calls = [part for part in answer.parts if part.part_kind == "tool-call"]
    word = answer.finish_reason or ""
    usage = answer.usage
    finish = _FINISH.get(word, "unknown" if word else "")
    return Reply(
        text=well_formed("".join(texts)),
        tool_calls=tuple(ToolCall(part.tool_call_id, part.tool_name, _arguments(part.args)) for part in calls),
        prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens, cache_write_tokens=usage.cache_write_tokens,
        finish_reason=finish, stopped_for=word if finish == "unknown" else None, duration_ms=duration_ms,
    )  # fmt: skip


def _arguments(args: Any) -> str:
    return arguments_json(args if args is not None else {})


_BY_STATUS: dict[int, dict[str, Any]] = {
    401: {"reason": "auth-failed", "blocker": "auth_failed", "kind": "bad-request"},
    402: {"reason": "credits-exhausted", "blocker": "credits_exhausted", "kind": "bad-request"},
    403: {"reason": "forbidden", "blocker": "forbidden", "kind": "bad-request"},
    404: {"kind": "not-found"},
    408: {"kind": "timeout", "transient": True},
    429: {"kind": "server-error", "transient": True, "capacity": True},
    503: {"kind": "server-error", "transient": True, "capacity": True},
    529: {"kind": "server-error", "transient": True, "capacity": True},
}


def failure_of(no: BaseException) -> Failure:
    """What the package raised, in the engine's classes (leviath-runtime T16)."""
    status = getattr(no, "status_code", None)
    why = f"the model did not answer ({type(no).__name__}{f', status {status}' if status else ''})"
    if isinstance(status, int):
        otherwise = {"kind": "server-error", "transient": True} if status >= 500 else {"kind": "bad-request"}
        return Failure(why=why, **_BY_STATUS.get(status, otherwise))
    name = type(no).__name__.lower()
    if isinstance(no, TimeoutError) or "timeout" in name:
        return Failure(kind="timeout", transient=True, reason="unreachable", blocker="provider_timed_out", why=why)
    if isinstance(no, OSError) or "connection" in name:
        return Failure(kind="transport", transient=True, reason="unreachable", blocker="provider_unreachable", why=why)
    if "usererror" in name:
        return Failure(kind="bad-request", blocker="provider_missing", why=why)
    return Failure(kind="malformed-response", why=why)
