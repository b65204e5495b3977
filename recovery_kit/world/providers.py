"""What answers a request: one method, its answer or its failure as a value, and the two doubles that need no run.

Nothing here knows what becomes of an answer. Answers from a recording are in `recorded`, a real model in `live`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Raw, Struct

from recovery_kit.errors import NotARun
from recovery_kit.history.windows import sorted_json
from recovery_kit.records.meta import Blocker

from .request import Request

Finish = Literal["", "complete", "token_limit", "tool_call", "stop", "unknown"]
CallKind = Literal["stage", "routing", "compaction", "title"]


class Turn(Struct, frozen=True, kw_only=True):
    """Which call of a run is asked for; what a bill and a trip will name."""

    kind: CallKind = "stage"
    stage: str = ""
    iteration: int = 0
    """The run's iteration once this call is answered: N for the call whose usage will be N."""
    provider: str = ""
    model: str = ""


ANY_TURN = Turn()


class ToolCall(Struct, frozen=True):
    """A call that a reply asks for."""

    id: str
    name: str
    arguments: str = "{}"
    """JSON text, compact, keys sorted, as the journal holds it (leviath-runtime T6.2)."""
    thought_signature: str | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """A model's answer and what it counted."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    finish_reason: Finish = ""
    stopped_for: str | None = None
    """The provider's own word, only with `unknown`."""
    reasoning: str | None = None
    """An opaque token of the provider."""
    cost_usd: float | None = None
    """None is unpriced, never free."""
    cost_reported_by_provider: bool | None = None
    duration_ms: int = 0


class Failure(Struct, frozen=True, kw_only=True):
    """A call that was not answered, in the engine's classes (leviath-runtime T16; 0.5-to-0.6 N5.6)."""

    kind: str = ""
    """`dns-failure`, `connection-refused`, `tls-failure`, `timeout`, `connection-dropped`, `transport`, `bad-request`,
    `not-found`, `server-error`, `malformed-response`, or empty."""
    transient: bool = False
    """Worth another try on the same model."""
    capacity: bool = False
    """Too much asked of the provider: worth another try, later."""
    reason: Literal["", "credits-exhausted", "auth-failed", "forbidden", "unreachable"] = ""
    """Why the model is given up for the next one; empty where no other model would do better."""
    blocker: Blocker | None = None
    """What a person has to set up before the run can go on; it is paused meanwhile."""
    why: str = ""
    """One sentence."""
    retry_after: float | None = None
    """Seconds, where the provider asked for it."""


class Provider(Protocol):
    """Whoever answers requests."""

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Reply | Failure:
        """Answer one request. Failures are values; what is raised is a defect."""


def arguments_json(arguments: object) -> str:
    """Arguments as the journal holds them: JSON text with sorted keys; a text is taken for JSON already."""
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    try:
        return sorted_json(text.encode()).decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return well_formed(text)


def well_formed(text: str) -> str:
    """The text without lone surrogates, which no journal can hold."""
    return text.encode("utf-8", "replace").decode()


class _ScriptedCall(Struct, frozen=True):
    id: str
    name: str
    arguments: Raw = Raw(b"{}")
    thought_signature: str | None = None


class _ScriptedReply(Reply, frozen=True, kw_only=True):
    tool_calls: tuple[_ScriptedCall, ...] = ()  # type: ignore[assignment]

    def reply(self) -> Reply:
        members = {name: getattr(self, name) for name in Reply.__struct_fields__}
        calls = tuple(
            ToolCall(call.id, call.name, _given(call.arguments), call.thought_signature) for call in self.tool_calls
        )
        return Reply(**members | {"tool_calls": calls})


def _given(arguments: Raw) -> str:
    value = msgspec.json.decode(arguments)
    return arguments_json(value if isinstance(value, str) else bytes(arguments).decode())


class _ScriptedLine(Struct, frozen=True):
    failure: Failure | None = None


Scripted = Reply | Failure | str
"""A text stands for a reply that says it."""


class ScriptedProvider:
    """Answers from a list, one after another. At its end it fails, so that nothing goes on by accident."""

    def __init__(self, replies: Iterable[Scripted], name: str = "script") -> None:
        self.name = name
        self.requests: list[Request] = []
        """Every request that was asked, for tests to look at."""
        self._replies: Iterator[Scripted] = iter(tuple(replies))

    @classmethod
    def from_file(cls, path: Path | str) -> "ScriptedProvider":
        """A JSON array of replies (members as `Reply`'s, `arguments` a value or a text), texts, or `{"failure": {…}}`.

        Raises NotARun where the file cannot be read as that.
        """
        try:
            rows = msgspec.json.decode(Path(path).read_bytes(), type=list[Raw])
            return cls([_scripted(row) for row in rows], str(path))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as no:
            raise NotARun(path, "a script is a JSON array of replies, and this cannot be read as one") from no

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Reply | Failure:
        """The next answer of the list."""
        self.requests.append(request)
        answer = next(self._replies, None)
        if answer is None:
            return Failure(kind="not-found", why="the script has no reply left")
        return Reply(text=answer, finish_reason="complete") if isinstance(answer, str) else answer


def _scripted(row: Raw) -> Scripted:
    if bytes(row).lstrip()[:1] == b'"':
        return msgspec.json.decode(row, type=str)
    failure = msgspec.json.decode(row, type=_ScriptedLine).failure
    return failure or msgspec.json.decode(row, type=_ScriptedReply).reply()


class RefusingProvider:
    """Answers nothing: for looking at what would be asked. A run that meets it is paused, not ended."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Failure:
        """Keep the request and refuse."""
        self.requests.append(request)
        return Failure(blocker="provider_missing", why="no provider was given: this world asks no model")
