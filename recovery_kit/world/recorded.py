"""A run's own journal as provider and as tools: what was answered then is answered again, at the same place.

Answers are found by the turn they belong to. A request that is not the recorded one is refused with the difference,
since an answer to another question would look like a fact. Rules: 0.5-to-0.6 N9; leviath-runtime T6, T8.4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from recovery_kit.formats.skim import read_entries
from recovery_kit.history.events import Event
from recovery_kit.history.windows import RegionView, WindowView, applied, text_of, whole
from recovery_kit.records.journal import BatchCall, InferenceUsage, RequestDigest, ToolBatch
from recovery_kit.records.window import AssistantTurn, Content, Entry, Window
from recovery_kit.runs.run import Run

from .messages import BEGIN, CONTINUE, Block, conversation, lifted
from .providers import ANY_TURN, Failure, Reply, ToolCall, Turn, arguments_json
from .request import Request
from .tools import NO_CONTEXT, ToolAnswer, ToolContext

ROUTED = "Transitioning to: "
"""How the engine begins the entry that keeps the answer of a routing call (leviath-runtime T8.4)."""


@dataclass(slots=True)
class RecordedTurn:
    """One billed call of a model, and what the journal holds of its answer."""

    offset: int
    """Of the bill's record."""
    usage: InferenceUsage
    digest: RequestDigest | None
    """Of the request that was sent; None where no trip is on record."""
    finish_reason: str = ""
    batch: ToolBatch | None = None
    entry: Entry | None = None
    """The turn as the window holds it."""
    windows: tuple[WindowView, ...] = ()
    """The points around it: the last before its bill, and the first after it."""

    @property
    def found(self) -> bool:
        return self.batch is not None or self.entry is not None

    def reply(self) -> Reply:
        """The answer as it was given. Only for a turn that was `found`."""
        u = self.usage
        text, calls = self._said()
        return Reply(
            text=text, tool_calls=calls, prompt_tokens=u.prompt_tokens, completion_tokens=u.completion_tokens,
            cached_tokens=u.cached_tokens, cache_write_tokens=u.cache_write_tokens,
            finish_reason=self.finish_reason,  # type: ignore[arg-type]
            reasoning=self.entry.reasoning if self.entry else None, cost_usd=u.cost_usd,
            cost_reported_by_provider=u.cost_reported_by_provider,
        )  # fmt: skip

    def _said(self) -> tuple[str, tuple[ToolCall, ...]]:
        if self.batch is not None:
            return self.batch.response, tuple(map(_call, self.batch.calls))
        assert self.entry is not None and isinstance(self.entry.kind, AssistantTurn)
        text = text_of(self.entry.content)
        if self.usage.kind == "routing":
            text = text.removeprefix(ROUTED)
        made = (
            ToolCall(c.id, c.name, arguments_json(bytes(c.arguments).decode()), c.thought_signature)
            for c in self.entry.kind.tool_calls
        )
        return text, tuple(made)


def _call(call: BatchCall) -> ToolCall:
    return ToolCall(call.id, call.name, call.arguments, call.thought_signature)


def recorded_turns(run: Run) -> tuple[RecordedTurn, ...]:
    """Every stage and routing call of a run with its answer, as far as the journal holds it, in file order.

    Titles and compactions are left out: their answers are not told apart in a window.
    """
    turns: list[RecordedTurn] = []
    digest, finish, view = None, "", WindowView()
    waiting: list[RecordedTurn] = []
    for event in run.records:
        if event.behind_tear:
            break
        record = event.record
        if event.kind == "InferenceAttempt" and record.outcome == "succeeded":
            digest, finish = record.digest, record.finish_reason
        elif event.kind == "InferenceUsage" and record.kind in ("stage", "routing"):
            stage = record.kind == "stage"
            turns.append(RecordedTurn(event.offset, record, digest if stage else None, finish if stage else ""))
            turns[-1].windows = (view,)
            waiting.append(turns[-1])
            digest, finish = None, ""
        elif event.kind == "ToolBatch":
            newest = next((t for t in reversed(turns) if t.usage.kind == "stage"), None)
            if newest is not None and newest.usage.iteration == record.iteration:
                newest.batch = record
        elif event.kind in _WINDOW_OF:
            before, view = view, _WINDOW_OF[event.kind](view, record)
            waiting = _met(waiting, before, view, event)
    return tuple(turns)


_WINDOW_OF = {
    "ContextCheckpoint": lambda view, record: whole(record.snapshot),
    "Checkpoint": lambda view, record: whole(record.context),
    "ContextDiff": lambda view, record: applied(view, record.delta),
    "Progress": lambda view, record: applied(view, record.delta),
}


def _met(waiting: list[RecordedTurn], before: WindowView, after: WindowView, event: Event) -> list[RecordedTurn]:
    """Give the turns of a window that are new in it to the calls that wait for theirs; which still wait."""
    for turn in waiting:
        turn.windows = (*turn.windows[:1], after)
    for entry in _new_turns(before, after):
        assert isinstance(entry.kind, AssistantTurn)
        ids = {call.id for call in entry.kind.tool_calls}
        place = next((n for n, turn in enumerate(waiting) if _fits(turn, entry, ids)), None)
        if place is not None:
            waiting[place].entry = entry
            waiting = waiting[place + 1 :]
    return waiting


def _fits(turn: RecordedTurn, entry: Entry, ids: set[str]) -> bool:
    """Whether a turn of the window can be the answer to a call: by its calls, or, without a batch, by its order."""
    if turn.batch is not None:
        return bool(turn.batch.calls) and turn.batch.calls[0].id in ids
    routed = text_of(entry.content).startswith(ROUTED) and not ids
    return routed == (turn.usage.kind == "routing")


def _new_turns(before: WindowView, after: WindowView) -> Iterator[Entry]:
    old = {region.name: region for region in before.regions}
    for region in after.regions:
        for entry in _new_entries(old.get(region.name), region):
            if isinstance(entry.kind, AssistantTurn):
                yield entry


def _new_entries(old: RegionView | None, new: RegionView) -> Sequence[Entry]:
    """Entries that came to a region: what was appended, or what of a new value does not continue the old one."""
    if old is None or old is new:
        return new.entries() if old is None else ()
    if new.before is old:
        return read_entries(new.json)
    had, has = old.entries(), new.entries()
    for kept in range(min(len(had), len(has)), -1, -1):
        if had[len(had) - kept :] == has[:kept]:
            return has[kept:]
    return has


class RecordedProvider:
    """Answers with what a run's journal holds, turn by turn.

    A turn is found by its kind and `turn.iteration`; without one (0), calls are answered one after another. With
    `strict`, the request has to be the recorded one: its system prompt by its digest, its messages by number and by
    content, as far as the journal tells. Refusals are a `Failure` with the difference.
    """

    def __init__(self, run: Run, *, strict: bool = True) -> None:
        self.run = run
        self.strict = strict
        self.turns = recorded_turns(run)
        self._next = 0

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Reply | Failure:
        """The recorded answer of that turn, or why there is none."""
        place = self._place(turn)
        if place is None:
            return _refused(f"the recording has no {turn.kind} call of iteration {turn.iteration}")
        recorded = self.turns[place]
        if not recorded.found:
            return _refused(f"the recording does not hold what was answered in iteration {recorded.usage.iteration}")
        asked = self.strict and turn.kind == "stage"
        differs = difference(recorded, request, self._before(place)) if asked else None
        if differs is not None:
            return _refused(f"not the request of iteration {recorded.usage.iteration} in the recording: {differs}")
        self._next = place + 1
        return recorded.reply()

    def _before(self, place: int) -> RecordedTurn | None:
        """The call before it, if it was of the same stage: its results are the newest that the request holds."""
        earlier = [turn for turn in self.turns[:place] if turn.usage.iteration < self.turns[place].usage.iteration]
        newest = earlier[-1] if earlier else None
        return newest if newest and newest.usage.stage == self.turns[place].usage.stage else None

    def _place(self, turn: Turn) -> int | None:
        if not turn.iteration:
            return self._next if self._next < len(self.turns) else None
        fits = [
            n for n, recorded in enumerate(self.turns)
            if (recorded.usage.kind, recorded.usage.iteration) == (turn.kind, turn.iteration)
        ]  # fmt: skip
        # An iteration that stands twice was asked again after a crash: the later answer is the one that counted.
        return next((n for n in reversed(fits) if self.turns[n].found), fits[-1] if fits else None)


def _refused(why: str) -> Failure:
    return Failure(kind="not-found", blocker="provider_missing", why=why)


def difference(recorded: RecordedTurn, request: Request, before: RecordedTurn | None = None) -> str | None:
    """How a request differs from the one that was sent then; None where nothing tells of a difference.

    `before` is the recorded call whose results that request was the first to hold.
    """
    digest = recorded.digest
    if digest is not None and digest.system_hash != request.system_hash:
        return "the system prompt is another one"
    known = _blocks_of(recorded.windows)
    for number, message in enumerate(request.messages):
        for block, _ in message.blocks():
            if block["type"] in _COMPARED and block.get("text") not in (BEGIN, CONTINUE):
                if _key(message.role, block) not in known:
                    return f"block {block['type']} of message {number} is not in the recorded window"
    if digest is not None and digest.messages != len(request.messages):
        return f"{len(request.messages)} messages, recorded {digest.messages}"
    if digest is not None and digest.tools != len(request.tools):
        return f"{len(request.tools)} tools, recorded {digest.tools}"
    if before is not None and before.batch is not None and _newest_calls(request) != {c.id for c in before.batch.calls}:
        return "the newest calls in it are others"
    return None


def _newest_calls(request: Request) -> set[str]:
    """Ids of the calls of the last turn that has some."""
    for message in reversed(request.messages):
        ids = {block["id"] for block, _ in message.blocks() if block["type"] == "tool_use"}
        if ids:
            return ids
    return set()


_COMPARED = ("text", "tool_use", "tool_result")


def _key(role: str, block: Block) -> bytes:
    return role.encode() + msgspec.json.encode(block, order="deterministic")


def _blocks_of(windows: Sequence[WindowView]) -> set[bytes]:
    """Every block that the messages of these windows can have."""
    found: set[bytes] = set()
    for view in windows:
        window: Window = view.window()
        messages = [message for region in window.regions for message in conversation(region)]
        for message in (*messages, *lifted(window.regions)):
            found.update(_key(message.role, block) for block, _ in message.blocks())
    return found


# Tools.


@dataclass(slots=True)
class _Recorded:
    call: BatchCall
    iteration: int
    result: Content | None
    used: bool = False


@dataclass(slots=True)
class RecordedTools:
    """Answers calls with the results that a run's journal holds; nothing is done.

    A call is found by its iteration and id, or, where there is none of them, as the first unused one of equal name and
    arguments. A call without a tool's own result (lost, or stood in for by a restart) is refused.
    """

    run: Run
    _held: list[_Recorded] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._held = list(_results(self.run))

    def call(self, name: str, arguments: dict[str, object], context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """The recorded result of that call."""
        asked = arguments_json(arguments)
        same = [r for r in self._held if r.call.name == name and arguments_json(r.call.arguments) == asked]
        found = [r for r in same if (r.iteration, r.call.id) == (context.iteration, context.call_id)]
        found = [r for r in found if not r.used] or found[:1] or [r for r in same if not r.used]
        if not found:
            return ToolAnswer.refuse(f"the recording has no such call of {name}")
        found[0].used = True
        if found[0].result is None:
            return ToolAnswer.refuse(f"the recording holds no result of this call of {name}")
        return ToolAnswer(found[0].result)


def _results(run: Run) -> Iterator[_Recorded]:
    """Every call that was handed out, with the tool's own result where one is on record."""
    by_offset = {event.offset: event for event in run.records}
    for call in run.effects:
        batch = by_offset[call.offset].record
        handed = batch.calls[call.position]
        result = handed.result
        if call.certainty == "done" and result is None and call.evidence_offset is not None:
            result = by_offset[call.evidence_offset].record.result
        if call.certainty not in ("done", "not_started"):
            result = None
        yield _Recorded(handed, call.iteration, result)
