"""Calls and their results in a window: what is paired, what the engine leaves out of a request, what stands in a place
where a provider does not accept it (leviath-requests R7.3, R15.1).

Matching is by id over the whole window first; order is looked at second. Only sliding windows count: in any other
region an entry is shown as text, whatever its kind.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from recovery_kit.records.window import AssistantTurn, Entry, Region, Text, ToolResult, Window

from .layout import KIND_WORDS
from .windows import text_of

NO_EFFECT = ("[error]", "[denied]", "[unavailable]", "[blocked]")
"""How a result begins that says the call had no effect: `is_error` is false even then (leviath-runtime T6.5)."""

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What the engine trims: Unicode's White_Space, without the four separators U+001C to U+001F that `str.strip` takes."""

SPOKEN = (("assistant", "Assistant: "), ("user", "User: "))
"""Texts of a sliding window that name who said them."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of a window."""

    region: str
    index: int

    def __str__(self) -> str:
        return f"{self.region}/{self.index}"


NOWHERE = Place("", 0)
"""The place of what the framework adds outside the window."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A call or a result, and the entry it is in."""

    id: str
    place: Place


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, as far as pairing looks at it."""

    role: str
    calls: tuple[Mention, ...] = ()
    results: tuple[Mention, ...] = ()
    has_text: bool = False


@dataclass(frozen=True, slots=True)
class PairFault:
    """A call or a result that something refuses or leaves out."""

    kind: str
    """`call_without_result`, `result_without_call`, `result_before_call`, `call_not_answered_next`,
    `result_not_after_call`, `call_id_repeated`, `result_repeated`."""
    id: str
    place: Place


@dataclass(frozen=True, slots=True)
class ToolPairs:
    """Ids of calls and results; each once, in the order of their calls, or of results where there is no call."""

    paired: tuple[str, ...]
    calls_without_result: tuple[str, ...]
    results_without_call: tuple[str, ...]
    result_before_call: tuple[str, ...]
    error_results: tuple[str, ...]
    faults: tuple[PairFault, ...] = ()
    """The three faults with the entries they are in."""


@dataclass(frozen=True, slots=True)
class RequestCheck:
    """What becomes of the calls and results of a window when it is sent."""

    engine_strips: tuple[str, ...]
    """Ids that the engine leaves out of the request."""
    provider_would_still_refuse: tuple[str, ...]
    """Ids in a place, or as often, as a provider with strict pairing does not accept."""
    ends_on_assistant: bool
    """The last message is the assistant's, so that the engine adds `Continue.`"""
    faults: tuple[PairFault, ...] = ()


def spoken_text(region_text: str) -> tuple[str, str] | None:
    """(role, rest) of a text that begins with `Assistant: ` or `User: ` (R7.1)."""
    trimmed = region_text.strip(WHITE_SPACE)
    return next(((role, trimmed.removeprefix(head)) for role, head in SPOKEN if trimmed.startswith(head)), None)


def message_regions(window: Window, hidden: Iterable[str] = ()) -> list[Region]:
    """The regions that become messages."""
    away = set(hidden)
    return [r for r in window.regions if KIND_WORDS.get(r.kind, r.kind) == "sliding_window" and r.name not in away]


def turns_of(window: Window, hidden: Iterable[str] = ()) -> list[Turn]:
    """The messages of a window; neighbouring results share one (R7.1)."""
    turns: list[Turn] = []
    for region in message_regions(window, hidden):
        fresh = True
        for index, entry in enumerate(region.entries):
            turn = _turn(entry, Place(region.name, index))
            if turn.results and not fresh and turns[-1].results:
                turns[-1] = replace(turns[-1], results=turns[-1].results + turn.results)
            else:
                turns.append(turn)
            fresh = False
    return turns


def _turn(entry: Entry, place: Place) -> Turn:
    kind = entry.kind
    if isinstance(kind, ToolResult):
        return Turn("user", results=(Mention(kind.tool_call_id, place),))
    text = text_of(entry.content)
    spoken = spoken_text(text) if isinstance(kind, Text) else None
    has_text = bool(text.strip(WHITE_SPACE))
    if isinstance(kind, AssistantTurn):
        return Turn("assistant", tuple(Mention(call.id, place) for call in kind.tool_calls), has_text=has_text)
    return Turn(spoken[0] if spoken else "user", has_text=has_text)


def tool_pairs(window: Window, hidden: Iterable[str] = ()) -> ToolPairs:
    """How calls and results of a window match: by id over the whole of it, whatever their order."""
    calls: dict[str, Mention] = {}
    results: dict[str, Mention] = {}
    early: set[str] = set()
    for turn in turns_of(window, hidden):
        for call in turn.calls:
            calls.setdefault(call.id, call)
        for result in turn.results:
            results.setdefault(result.id, result)
            if result.id not in calls:
                early.add(result.id)
    unanswered = [id for id in calls if id not in results]
    uncalled = [id for id in results if id not in calls]
    before = [id for id in calls if id in early]
    return ToolPairs(
        paired=tuple(id for id in calls if id in results),
        calls_without_result=tuple(unanswered),
        results_without_call=tuple(uncalled),
        result_before_call=tuple(before),
        error_results=_failed(window, hidden),
        faults=(
            *(PairFault("call_without_result", id, calls[id].place) for id in unanswered),
            *(PairFault("result_without_call", id, results[id].place) for id in uncalled),
            *(PairFault("result_before_call", id, results[id].place) for id in before),
        ),
    )


def _failed(window: Window, hidden: Iterable[str]) -> tuple[str, ...]:
    """Ids of results that say that the call failed, by their text or by the flag."""
    found = (
        entry.kind.tool_call_id
        for region in message_regions(window, hidden)
        for entry in region.entries
        if isinstance(entry.kind, ToolResult) and (entry.kind.is_error or text_of(entry.content).startswith(NO_EFFECT))
    )
    return tuple(dict.fromkeys(found))


def stripped(turns: Sequence[Turn]) -> tuple[list[Turn], tuple[str, ...]]:
    """The turns without calls that have no result and results that have no call, and the ids left out (R7.3)."""
    calls = {m.id for turn in turns for m in turn.calls}
    results = {m.id for turn in turns for m in turn.results}
    kept: list[Turn] = []
    for turn in turns:
        left = replace(
            turn,
            calls=tuple(m for m in turn.calls if m.id in results),
            results=tuple(m for m in turn.results if m.id in calls),
        )
        if left.calls or left.results or left.has_text:
            kept.append(left)
    order = [m.id for turn in turns for m in (*turn.calls, *turn.results)]
    return kept, tuple(dict.fromkeys(id for id in order if (id in calls) != (id in results)))


def order_faults(turns: Sequence[Turn]) -> tuple[PairFault, ...]:
    """What a provider with strict pairing refuses in these turns (R15.1).

    It wants every call answered in the next message, every result for a call of the message before, each id used for
    one call, and one result for a call.
    """
    return tuple(_order_faults(list(_combined(turns))))


def _order_faults(turns: Sequence[Turn]) -> Iterator[PairFault]:
    seen: set[str] = set()
    for place, turn in enumerate(turns):
        after = turns[place + 1].results if place + 1 < len(turns) else ()
        before = {m.id for m in turns[place - 1].calls} if place else set()
        answered = {m.id for m in after}
        for call in turn.calls:
            if call.id in seen:
                yield PairFault("call_id_repeated", call.id, call.place)
            elif call.id not in answered:
                yield PairFault("call_not_answered_next", call.id, call.place)
            seen.add(call.id)
        counted: Counter[str] = Counter()
        for result in turn.results:
            counted[result.id] += 1
            if result.id not in before:
                yield PairFault("result_not_after_call", result.id, result.place)
            elif counted[result.id] > 1:
                yield PairFault("result_repeated", result.id, result.place)


def _combined(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Consecutive turns of one role as the vendor combines them."""
    held: Turn | None = None
    for turn in turns:
        if held is not None and held.role == turn.role:
            held = replace(held, calls=held.calls + turn.calls, results=held.results + turn.results)
            continue
        if held is not None:
            yield held
        held = turn
    if held is not None:
        yield held


def request_check(window: Window, hidden: Iterable[str] = ()) -> RequestCheck:
    """What the engine would leave out of the request that this window makes, and what a provider would refuse then."""
    left, gone = stripped(turns_of(window, hidden))
    faults = order_faults(left)
    refused = tuple(dict.fromkeys(fault.id for fault in faults))
    return RequestCheck(gone, refused, bool(left) and left[-1].role == "assistant", faults)
