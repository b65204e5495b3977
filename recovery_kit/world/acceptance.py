"""What a vendor would refuse in a request, and the entry that causes it (leviath-requests R15).

The engine checks size and pairing only. The rules here are those of the vendors' public references, applied to the
request as the engine's built-in provider for that vendor would send it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from recovery_kit.history.pairs import NOWHERE, WHITE_SPACE, Mention, Place, Turn, order_faults

from .messages import Block, Message
from .request import Request


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a vendor refuses."""

    rule: str
    """A short word for the rule: see `RULES`."""
    sentence: str
    place: Place = NOWHERE
    """The entry it comes from; nowhere for what the framework or the manifest adds."""
    id: str = ""
    """The tool call it is about, if it is about one."""
    certain: bool = True
    """False where the vendor has been seen to refuse it, but its reference does not say so."""

    def __str__(self) -> str:
        where = f" ({self.place})" if self.place != NOWHERE else ""
        return f"{self.rule}: {self.sentence}{where}"


PAIRING = {
    "call_not_answered_next": "a tool call is not answered in the next message",
    "result_not_after_call": "a tool result has no call in the message before it",
    "call_id_repeated": "one id stands for several tool calls",
    "result_repeated": "a tool call has more than one result",
}
"""What is said for each kind of `order_faults`."""

PLAIN_NAME = re.compile(r"[a-zA-Z0-9_-]+\Z")


def violations(request: Request, api: str) -> tuple[Violation, ...]:
    """What `anthropic` (Messages) or `openai` (Chat Completions) would refuse; empty if nothing is known against it.

    Raises ValueError for another api.
    """
    if api not in RULES:
        raise ValueError(f"no rules for this api; there are {', '.join(sorted(RULES))}")
    return tuple(violation for rule in RULES[api] for violation in rule(request))


def _pairing(request: Request) -> Iterator[Violation]:
    for fault in order_faults([_turn(message) for message in request.messages]):
        yield Violation(fault.kind, PAIRING[fault.kind], fault.place, fault.id)


def _turn(message: Message) -> Turn:
    calls = [Mention(block["id"], place) for block, place in message.blocks() if block["type"] == "tool_use"]
    results = [Mention(block["tool_use_id"], place) for block, place in _results(message)]
    return Turn(message.role, tuple(calls), tuple(results), has_text=True)


def _results(message: Message) -> Iterator[tuple[Block, Place]]:
    return ((block, place) for block, place in message.blocks() if block["type"] == "tool_result")


def _roles(request: Request) -> Iterator[Violation]:
    for message in request.messages:
        if message.role not in ("user", "assistant"):
            yield Violation("role", "a message is neither the user's nor the assistant's", message.places[0])


def _begins_with_user(request: Request) -> Iterator[Violation]:
    first = request.messages[0] if request.messages else None
    if first is not None and first.role == "assistant":
        sentence = "the first message is the assistant's; some versions of the API refuse that"
        yield Violation("first_is_assistant", sentence, first.places[0], certain=False)


def _ends_with_user(request: Request) -> Iterator[Violation]:
    last = request.messages[-1] if request.messages else None
    if last is None:
        yield Violation("no_message", "there is no message")
    elif last.role == "assistant":
        yield Violation("last_is_assistant", "the last message is the assistant's", last.places[-1])


def _results_first(request: Request) -> Iterator[Violation]:
    """By block, over messages that the vendor combines: a part stands right after its own result, before the next."""
    for _, group in groupby(request.messages, key=lambda message: message.role):
        blocks = [pair for message in group for pair in message.blocks()]
        yield from _before_a_result([([block], place) for block, place in blocks], "a block")


def _answered_at_once(request: Request) -> Iterator[Violation]:
    """By message: parts of results are sent behind all of them, but another message may not come in between."""
    for _, group in groupby(request.messages, key=lambda message: message.role):
        whole = [([block for block, _ in message.blocks()], message.places[0]) for message in group]
        yield from _before_a_result(whole, "a message")


def _before_a_result(pieces: Sequence[tuple[list[Block], Place]], what: str) -> Iterator[Violation]:
    """Each piece without a result that has a piece with one behind it."""
    holds = [any(block["type"] == "tool_result" for block in blocks) for blocks, _ in pieces]
    last = max((n for n, held in enumerate(holds) if held), default=0)
    for (_, place), held in list(zip(pieces, holds, strict=True))[:last]:
        if not held:
            yield Violation("results_not_first", f"{what} stands before a tool result in the same turn", place)


def _call_ids(request: Request) -> Iterator[Violation]:
    for message in request.messages:
        for block, place in message.blocks():
            if block["type"] == "tool_use" and not PLAIN_NAME.match(block["id"]):
                sentence = "the id of a tool call has characters that are not allowed"
                yield Violation("call_id", sentence, place, block["id"])


def _inputs(request: Request) -> Iterator[Violation]:
    for message in request.messages:
        for block, place in message.blocks():
            if block["type"] == "tool_use" and not isinstance(block["input"], dict):
                yield Violation("input", "the arguments of a tool call are no object", place, block["id"])


def _names(limit: int) -> Callable[[Request], Iterator[Violation]]:
    def rule(request: Request) -> Iterator[Violation]:
        called = [
            (block["name"], place, block["id"])
            for message in request.messages
            for block, place in message.blocks()
            if block["type"] == "tool_use"
        ]
        for name, place, id in [*((name, NOWHERE, "") for name in request.tools), *called]:
            if len(name) > limit or not PLAIN_NAME.match(name):
                sentence = f"a tool's name is longer than {limit} or has characters that are not allowed"
                yield Violation("tool_name", sentence, place, id)

    return rule


def _blank_texts(request: Request) -> Iterator[Violation]:
    for block in request.system:
        if not block.text.strip(WHITE_SPACE):
            yield Violation("blank_text", "a block of the system prompt is blank", Place(block.region, 0))
    for message in request.messages:
        for piece, place in message.blocks():
            if piece["type"] == "text" and not piece["text"].strip(WHITE_SPACE):
                yield Violation("blank_text", "a text is empty or only white space", place)


def _numbers(hottest: float) -> Callable[[Request], Iterator[Violation]]:
    def rule(request: Request) -> Iterator[Violation]:
        if request.max_tokens < 1:
            yield Violation("max_tokens", "the output limit is below 1")
        if not 0 <= request.temperature <= hottest:
            yield Violation("temperature", f"the temperature is outside 0 to {hottest:g}")

    return rule


RULES: dict[str, tuple[Callable[[Request], Iterator[Violation]], ...]] = {
    "anthropic": (
        _roles, _begins_with_user, _ends_with_user, _pairing, _results_first, _call_ids, _names(128), _inputs,
        _blank_texts, _numbers(1.0),
    ),
    "openai": (_pairing, _answered_at_once, _names(64), _numbers(2.0)),
}  # fmt: skip
"""By api: the rules, in the order in which they are told."""
