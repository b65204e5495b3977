"""The calls of a batch, from leave to result (leviath-runtime T6.4, T7.5, T14).

Denials and questions are settled one after another first; then the permitted calls run, in call order. Nothing runs
before the batch is durable, every result is durable before the next call begins, and a call that was handed to a tool
is never handed out a second time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec

from recovery_kit.records.journal import Answer, BatchCall
from recovery_kit.records.window import Content

from .agent import READY, Lane
from .asked import Prompt, PromptKind
from .children import CHILD_TOOLS, child_call, waited_for
from .offer import ASKING
from .permissions import grant_key, policy_of
from .results import apply_batch, canonical, turn_entry
from .running import Running
from .tools import ToolContext

APPROVE_OPTIONS = ("Allow once", "Allow for this stage", "Allow for this run", "Deny")
"""What an approval offers, in the engine's order."""

MODIFYING = frozenset({"write_file", "edit_file"})


def go_on(run: Running) -> bool:
    """One pass over a batch: settle, run, apply. False where it waits for somebody."""
    lane = _lane(run)
    if lane.prompt is not None:
        return False
    if any(place in lane.handed for place, _ in lane.open_calls() if place not in lane.waits_for):
        run.stop("a tool call was cut short in this process, and nobody knows whether it took effect: reload the run")
        return False
    if not _settle(run):
        run.set_status("waiting_input")
        run.snapshot()
        return True
    moved = _run_permitted(run)
    if not _lane(run).open_calls():
        _apply(run)
        return True
    return moved


def _lane(run: Running) -> Lane:
    doing = run.agent.doing
    assert isinstance(doing, Lane)
    return doing


def _put(run: Running, lane: Lane) -> None:
    run.put(doing=lane)


def arguments_of(call: BatchCall) -> dict[str, object]:
    """A call's arguments; none where they are no object."""
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, object])
    except msgspec.DecodeError:
        return {}


# Leave.


def _settle(run: Running) -> bool:
    """Settle every call in call order; False as soon as a question stands open."""
    for place, call in _lane(run).open_calls():
        lane = _lane(run)
        if place in lane.permitted:
            continue
        if call.name in ASKING:
            _ask(run, place, _question(run, call))
            return False
        policy = policy_of(
            call.name, arguments_of(call), run.agent.blueprint, run.agent.stage, run.host.permissions
        )  # fmt: skip
        granted = run.agent.granted & {(s, grant_key(call.name, call.arguments)) for s in ("stage", "session")}
        if policy == "deny":
            done(run, place, f"[denied] Tool call '{call.name}' is not permitted here.")
        elif policy == "ask" and not granted and not run.agent.meta.yolo:
            text = f"Allow '{call.name}'?"
            _ask(run, place, _prompt(run, "approve", "tool_approval", text, call, options=APPROVE_OPTIONS))
            return False
        else:
            _put(run, replace(lane, permitted=lane.permitted | {place}))
    return True


def _ask(run: Running, place: int, prompt: Prompt) -> None:
    _put(run, replace(_lane(run), prompt=prompt, place=place))


def _prompt(
    run: Running, word: str, kind: PromptKind, text: str, call: BatchCall, options: tuple[str, ...] = (), body: str = ""
) -> Prompt:
    run.put(asked=run.agent.asked + 1)
    return Prompt(
        id=f"{run.id}-{word}-{run.agent.asked}", run_id=run.id, kind=kind, text=text, stage=run.agent.stage.name,
        asked_at=run.now(), options=options, body=body, tool=call.name if kind == "tool_approval" else None,
        arguments=call.arguments,
    )  # fmt: skip


def _question(run: Running, call: BatchCall) -> Prompt:
    word, kind, text, body = _QUESTIONS[call.name]
    given = arguments_of(call)
    options = given.get("options")
    offered = tuple(str(option) for option in options) if isinstance(options, list) else ()
    asked = str(given.get(text, "") or "")
    return _prompt(run, word, kind, asked, call, offered, str(given.get(body, "") or ""))


_QUESTIONS: Mapping[str, tuple[str, PromptKind, str, str]] = {
    "ask_user_text": ("ask", "free_text", "prompt", ""),
    "ask_user_choice": ("ask", "multiple_choice", "prompt", ""),
    "ask_user_confirm": ("ask", "confirm", "prompt", ""),
    "present_for_review": ("review", "free_text", "title", "markdown"),
    "edit_document": ("edit", "edit_text", "prompt", "content"),
}
"""By tool: the word in the id, the kind, the arguments that hold question and document."""


def answered(run: Running, answer: Answer) -> None:
    """A person's word on the open question; it is durable when this returns, and no tool runs here."""
    lane = _lane(run)
    prompt = lane.prompt
    assert prompt is not None
    call = lane.batch.calls[lane.place]
    _put(run, replace(lane, prompt=None))
    run.set_status("running")
    if prompt.kind == "tool_approval":
        _judged(run, lane.place, call, answer)
    else:
        done(run, lane.place, _ANSWERS[call.name](answer, prompt))
    run.note(prompt.settled(answer, run.now()))
    run.snapshot()


def _judged(run: Running, place: int, call: BatchCall, answer: Answer) -> None:
    if not answer.approved:
        told = f" Feedback: {answer.feedback}" if answer.feedback else ""
        run.put_visit(modified=run.agent.visit.modified or canonical(call.name) in MODIFYING)
        done(run, place, f"[denied] User declined tool call '{call.name}'.{told}")
        return
    if answer.scope in ("stage", "session", "run"):
        scope = "stage" if answer.scope == "stage" else "session"
        run.put(granted=run.agent.granted | {(scope, grant_key(call.name, call.arguments))})
    lane = _lane(run)
    _put(run, replace(lane, permitted=lane.permitted | {place}))


def _text(answer: Answer, prompt: Prompt) -> str:
    return answer.text or answer.feedback or "(no answer)"


def _choice(answer: Answer, prompt: Prompt) -> str:
    picked = prompt.options[answer.choice] if answer.choice is not None else answer.text or "(no answer)"
    return f"User chose: {picked}"


def _confirm(answer: Answer, prompt: Prompt) -> str:
    return f"User answered: {'Yes' if answer.approved else 'No'}"


def _review(answer: Answer, prompt: Prompt) -> str:
    return answer.feedback or answer.text or "User has reviewed it."


def _edit(answer: Answer, prompt: Prompt) -> str:
    if answer.text is None or answer.text == prompt.body:
        return f"The user changed nothing.\n{prompt.body}"
    return answer.text


_ANSWERS: Mapping[str, Callable[[Answer, Prompt], str]] = {
    "ask_user_text": _text,
    "ask_user_choice": _choice,
    "ask_user_confirm": _confirm,
    "present_for_review": _review,
    "edit_document": _edit,
}


# Running.


def _run_permitted(run: Running) -> bool:
    moved = False
    for place, call in _in_order(run):
        lane = _lane(run)
        if place in lane.waits_for:
            told = waited_for(run, lane.waits_for[place])
            if told is not None:
                done(run, place, told)
                moved = True
            continue
        moved = True
        _put(run, replace(lane, handed=lane.handed | {place}))
        if call.name in CHILD_TOOLS:
            answer = child_call(run, place, call.name, arguments_of(call))
            if answer.waits_for is not None:
                waits = {**_lane(run).waits_for, place: answer.waits_for}
                _put(run, replace(_lane(run), waits_for=waits))
                continue
            done(run, place, answer.text)
            continue
        if not _called(run, place, call):
            return True
    return moved


def _in_order(run: Running) -> list[tuple[int, BatchCall]]:
    """Open calls as they run: in call order, unless the world was told otherwise."""
    lane, order = _lane(run), run.host.call_order
    if order is None:
        return lane.open_calls()
    places = {place: n for n, place in enumerate(order(lane.batch.calls))}
    return sorted(lane.open_calls(), key=lambda pair: places.get(pair[0], len(places)))


def _called(run: Running, place: int, call: BatchCall) -> bool:
    """Hand a call to the tools. False where the run stops here."""
    meta = run.agent.meta
    context = ToolContext(run.id, run.agent.stage.name, run.agent.iteration, call.id, call.execution_id, meta.workdir)
    try:
        answer = run.host.tools.call(call.name, arguments_of(call), context)
    except Exception as defect:
        run.stop(f"tool {call.name} raised {type(defect).__name__}: whether the call took effect is not known")
        return False
    if answer.refused:
        # Nobody tried, so the call may be handed out again once there are tools that have it.
        lane = _lane(run)
        _put(run, replace(lane, handed=lane.handed - {place}))
        run.set_status("paused", answer.text)
        run.snapshot()
        return False
    if not answer.failed and canonical(call.name) in MODIFYING:
        _modified(run, str(arguments_of(call).get("path", "")))
    done(run, place, answer.content)
    return True


def _modified(run: Running, path: str) -> None:
    flags, edits = run.agent.meta.flags, run.agent.visit.edits
    files = flags.modified_files if path in flags.modified_files else (*flags.modified_files, path)[:200]
    run.put_flags(modified_files=files, modified_file_count=flags.modified_file_count + 1)
    run.put_visit(modified=True, edits={**edits, path: edits.get(path, 0) + 1})


def done(run: Running, place: int, result: Content) -> None:
    """A call has ended: durable when this returns."""
    lane = _lane(run)
    call = lane.batch.calls[place]
    run.call_done(lane.batch, call, result)
    results = (*lane.results[:place], result, *lane.results[place + 1 :])
    waits = {n: who for n, who in lane.waits_for.items() if n != place}
    _put(run, replace(lane, results=results, waits_for=waits))


# Applying.


def _apply(run: Running) -> None:
    """The batch is told, and a step says so before anything of the next turn is written: a later batch, itself cut off
    from its step by a crash, would make a fold forget results that no window shows yet."""
    lane = _lane(run)
    run.put(doing=READY)
    put_turn(run, lane)
    run.snapshot()


def put_turn(run: Running, lane: Lane) -> None:
    """The turn and its results into the window, each write on record, in call order (6)."""
    agent = run.agent
    turn = turn_entry(lane.batch.response, lane.turn_calls, agent.placing, lane.reasoning)
    # Two calls with one id both show the result of the first (T6.4).
    by_id: dict[str, Content] = {}
    for call, result in zip(lane.batch.calls, lane.results, strict=True):
        by_id.setdefault(call.id, "" if result is None else result)
    results = [(call.id, by_id[call.id]) for call in lane.batch.calls]
    for step in apply_batch(agent.window, turn, results, agent.placing, agent.rules).steps:
        run.change(step.window, step.cause)
