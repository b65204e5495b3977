"""One turn of a run: request, reply, inline calls, the batch on record before its first effect (leviath-runtime T6).

What the calls of the lane do is in `lane`, what comes after a reply without calls in `stage_end`.
"""

from dataclasses import replace

import msgspec
from msgspec import Raw

from recovery_kit.history.windows import tokens_of
from recovery_kit.records.journal import ArtifactsProduced, BatchCall, Record, ToolBatch
from recovery_kit.records.window import Entry, TurnCall, UserMessage

from .agent import READY, Lane
from .answering import submit_output
from .argument_rules import misfit
from .asking_model import ask, parked, situation
from .fan_out import MIXED, second_split, start
from .inline_tools import INLINE
from .lane import go_on, put_turn
from .offer import ASKING, offered
from .providers import Failure, Reply, ToolCall
from .request import assemble
from .results import CONVERSATION, canonical, turn_entry
from .running import Running, note_text
from .stage_end import capped, ended, failed_stage, stuck

Answered = str | tuple[str, ArtifactsProduced | None] | None
"""A text, a text with what came with it, or nothing yet."""

CUT = "Your last reply was cut off at the output limit. Go on from where it ended, in smaller steps."
CUT_CALLS = (
    "[error] the reply was cut off at the output limit inside this call, which was not run. Make it shorter.",
    "[error] cut off again inside this call, which was not run. Write less at once, or in several calls.",
    "[error] cut off for the third time inside this call, which was not run. One more ends this stage.",
)
MOST_CUT = 3


def take_turn(run: Running) -> bool:
    """One turn from a run that is ready."""
    deliver(run)
    if capped(run) or stuck(run):
        return True
    stage = run.agent.stage
    request = assemble(run.agent.window, run.agent.blueprint, stage.name, situation(run))
    answer = ask(run, request, "stage")
    if isinstance(answer, Failure):
        if not parked(run, answer):
            failed_stage(run, answer.why or "the model gave no answer")
        return True
    run.put_visit(iterations=run.agent.visit.iterations + 1)
    processed(run, answer)
    return True


def deliver(run: Running) -> None:
    """Messages from people, if the stage takes any (T15)."""
    if not run.agent.stage.accepts_messages:
        return
    inbox = run.agent.inbox
    run.put(inbox=())
    for text, region in inbox:
        run.append(region or CONVERSATION, Entry(text, tokens_of(text), UserMessage()), "message")


def processed(run: Running, reply: Reply) -> None:
    """A reply that came: its text, its calls."""
    run.put(said=reply.text)
    run.speak(reply.text)
    run.put_meta(tool_calls=run.agent.meta.tool_calls + len(reply.tool_calls))
    if not reply.tool_calls:
        _text_only(run, reply)
        return
    cut = reply.finish_reason == "token_limit" and any(_arguments(call) is None for call in reply.tool_calls)
    run.put(cut_off=run.agent.cut_off + 1 if cut else 0)
    if run.agent.cut_off > MOST_CUT:
        run.put_meta(tool_calls=run.agent.meta.tool_calls - len(reply.tool_calls))
        failed_stage(run, "the model's replies were cut off inside a call again and again")
        return
    run.put_visit(tool_calls=run.agent.visit.tool_calls + len(reply.tool_calls))
    _with_calls(run, reply)


def _text_only(run: Running, reply: Reply) -> None:
    if reply.text.strip():
        run.append(CONVERSATION, turn_entry(reply.text, (), run.agent.placing, reply.reasoning), "model_reply")
    if reply.finish_reason == "token_limit" and run.agent.cut_off < MOST_CUT:
        run.put(cut_off=run.agent.cut_off + 1)
        text = note_text(CUT)
        run.append(CONVERSATION, Entry(text, tokens_of(text)), "framework")
        run.snapshot_if_due()
        return
    run.put(cut_off=0)
    ended(run)


def _with_calls(run: Running, reply: Reply) -> None:
    splits = [call for call in reply.tool_calls if call.name == "fan_out" and _fits(run, call)]
    calls, artifacts, turn_calls = [], [], []
    for call in reply.tool_calls:
        execution = run.host.ids.execution()
        result = None if call in splits[:1] else _answered(run, call, execution)
        if isinstance(result, tuple):
            result, made = result
            artifacts += [made] if made is not None else []
        calls.append(
            BatchCall(
                id=call.id, execution_id=execution, name=call.name, arguments=call.arguments, result=result,
                thought_signature=call.thought_signature,
            )
        )  # fmt: skip
        turn_calls.append(TurnCall(call.id, call.name, _raw(call.arguments), call.thought_signature))
    batch = ToolBatch(
        calls=tuple(calls), at=run.now(), stage_index=run.agent.meta.stage_index, iteration=run.agent.iteration,
        visit_id=run.agent.visit.id, response=reply.text,
    )  # fmt: skip
    lane = Lane(batch, tuple(turn_calls), tuple(call.result for call in calls), reasoning=reply.reasoning)
    if splits:
        _split(run, lane, splits[0])
        return
    run.put(doing=lane)
    if not lane.open_calls():
        # All of it happened inside the window: batch, turn and step go down in one piece.
        run.note(batch, *artifacts)
        _settled_at_once(run, lane)
        return
    _handed_out(run, batch, *artifacts)
    go_on(run)


def _handed_out(run: Running, *records: Record) -> None:
    """The batch and the step that says its iteration, in one piece: a restart that saw the one without the other would
    take the batch for settled. Both are durable when this returns, and no call has begun."""
    run.note(*records)
    run.snapshot()


def _settled_at_once(run: Running, lane: Lane) -> None:
    run.put(doing=READY)
    put_turn(run, lane)
    run.snapshot_if_due()


def _split(run: Running, lane: Lane, call: ToolCall) -> None:
    """A fan-out starts: no batch is on record, and the other calls of the turn have to be inline ones (T12)."""
    place = next(n for n, c in enumerate(lane.batch.calls) if c.id == call.id and c.name == "fan_out")
    others = [n for n, _ in lane.open_calls() if n != place]
    if others:
        results = tuple(MIXED if n == place else result for n, result in enumerate(lane.results))
        calls = tuple(msgspec.structs.replace(c, result=r) for c, r in zip(lane.batch.calls, results, strict=True))
        lane = replace(lane, results=results, batch=msgspec.structs.replace(lane.batch, calls=calls))
        run.put(doing=lane)
        _handed_out(run, lane.batch)
        go_on(run)
        return
    start(run, lane, place)


def _answered(run: Running, call: ToolCall, execution: str) -> Answered:
    """What is answered without any tool, in the order of T6.3; None for what goes to the lane."""
    names = list(_offer(run))
    if canonical(call.name) not in names:
        return f"[unavailable] '{call.name}' is not available in this stage. You may call: {', '.join(names)}."
    arguments = _arguments(call)
    if arguments is None:
        return CUT_CALLS[min(max(run.agent.cut_off, 1), MOST_CUT) - 1]
    wrong = misfit(call.name, arguments)
    if wrong is not None:
        return wrong
    if call.name in INLINE:
        return INLINE[call.name](run, arguments, execution)
    if call.name == "fan_out":
        return second_split(run)
    if call.name == "submit_output":
        return submit_output(run, arguments, execution)
    return None


def _offer(run: Running) -> tuple[str, ...]:
    stage = run.agent.stage
    names = offered(stage, situation(run))
    return names if stage.allow_blocking_tools else tuple(name for name in names if name not in ASKING)


def _fits(run: Running, call: ToolCall) -> bool:
    arguments = _arguments(call)
    return call.name in _offer(run) and arguments is not None and misfit(call.name, arguments) is None


def _arguments(call: ToolCall) -> dict[str, object] | None:
    try:
        return msgspec.json.decode(call.arguments or "{}", type=dict[str, object])
    except msgspec.DecodeError:
        return None


def _raw(arguments: str) -> Raw:
    try:
        msgspec.json.decode(arguments)
        return Raw(arguments.encode())
    except msgspec.DecodeError:
        return Raw(msgspec.json.encode(arguments))
