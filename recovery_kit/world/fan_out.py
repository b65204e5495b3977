"""Handing items out to workers and putting their results together (leviath-runtime T12; leviath-run-directory 5.9).

A worker is named in `fanout.json`, durably, before it exists; so after a crash no item is handed out twice.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from recovery_kit.errors import RecoveryKitError
from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import Blueprint, Edge
from recovery_kit.records.scalars import U64_MAX
from recovery_kit.records.sidecars import FanOut, FanOutConfig, FanOutItem, OriginTool, ToolOrigin
from recovery_kit.records.window import AssistantTurn, Entry, UserMessage, Window

from .agent import READY, Lane, Splitting
from .answering import answer_text
from .blocks import kind_of
from .regions import region_of
from .results import CONVERSATION, apply_batch, result_entry, turn_entry
from .running import Running, is_over
from .stage_end import failed_stage, move_on
from .stage_entry import enter

MIXED = "[error] fan_out cannot be combined with calls that run outside the window; nothing was handed out."
SECOND = "[error] one fan_out at a time; this one was not started."
MOST_WORKERS = 30
AT_ONCE = 4
"""Workers started in one pass."""
LEAST_SECTION = 200
"""Bytes of a report's section at least."""


def second_split(run: Running) -> str:
    """What is said to a second fan-out of one turn."""
    return SECOND


def start(run: Running, lane: Lane, place: int) -> None:
    """Begin a fan-out: the turn and the other results go into the window, and the run waits (T12)."""
    agent = run.agent
    call = lane.batch.calls[place]
    arguments = msgspec.json.decode(call.arguments, type=dict[str, Raw])
    items = msgspec.json.decode(arguments["items"], type=list[FanOutItem])
    spec = agent.stage.fan_out
    most = spec.max_items if spec else None
    items = items[:most] if most else items
    named = msgspec.json.decode(arguments["agent"], type=str) if "agent" in arguments else None
    workers = spec.max_workers if spec and spec.max_workers is not None else MOST_WORKERS
    config = FanOutConfig(
        worker_agent=named, worker_stage=spec.worker_stage if spec and not named else None,
        merge_stage=spec.merge_stage if spec else None, max_workers=workers,
        on_worker_failure=spec.on_worker_failure if spec else "continue",  # type: ignore[arg-type]
        split_prompt=spec.split_prompt if spec else "", results_region=spec.results_region if spec else None,
    )  # fmt: skip
    pairs = enumerate(zip(lane.batch.calls, lane.results, strict=True))
    others = [(c.id, result) for n, (c, result) in pairs if n != place and result is not None]
    turn = turn_entry(lane.batch.response, lane.turn_calls, agent.placing, lane.reasoning)
    for step in apply_batch(agent.window, turn, others, agent.placing, agent.rules).steps:
        run.change(step.window, step.cause)
    origin = "Stage" if spec is not None else OriginTool(ToolOrigin(call.id))
    state = FanOut(
        config=config, max_workers=workers or U64_MAX, pending=tuple(items), active=(), summaries=(), failures=(),
        origin=origin,  # type: ignore[arg-type]
    )  # fmt: skip
    run.put(doing=Splitting(state))
    run.put_visit(split=True)
    run.set_status("waiting_input")
    go_on(run)
    run.snapshot_if_due()


def go_on(run: Running) -> bool:
    """One pass: take what workers have done, start more, or go on once all are through."""
    moved = _collect(run)
    state = _state(run)
    if state.failures and state.config.on_worker_failure == "fail_all":
        run.set_status("running")
        failed_stage(run, f"the worker of {state.failures[0][0]} failed")
        return True
    if state.pending and len(state.active) < state.max_workers:
        _start_more(run)
        return True
    if not state.active and not state.pending:
        _deliver(run)
        return True
    if moved:
        run.snapshot()
    return moved


def _state(run: Running) -> FanOut:
    doing = run.agent.doing
    assert isinstance(doing, Splitting)
    return doing.state


def _put(run: Running, state: FanOut) -> None:
    run.put(doing=Splitting(state))


def _collect(run: Running) -> bool:
    """Results of workers that are over."""
    state = _state(run)
    active, summaries, failures = [], list(state.summaries), list(state.failures)
    for item, worker in state.active:
        told = result_of(run, worker)
        if told is None:
            active.append((item, worker))
        elif told[0]:
            summaries.append((item, told[1]))
        else:
            failures.append((item, told[1]))
    if len(active) == len(state.active):
        return False
    _put(run, replace(state, active=tuple(active), summaries=tuple(summaries), failures=tuple(failures)))
    return True


def result_of(run: Running, worker: str) -> tuple[bool, str] | None:
    """Whether a worker succeeded, and its text; None while it is at work."""
    other = run.host.find(worker)
    if other is None:
        return False, "the worker is not there any more"
    if not is_over(other.agent.meta) or other.stopped:
        return None
    meta, answer = other.agent.meta, answer_text(other)
    if meta.status != "complete":
        return False, meta.error or meta.status
    if answer is None and other.agent.stage.require_output:
        return False, "the worker ended without the answer that it owes"
    return True, answer if answer is not None else other.agent.said


def _start_more(run: Running) -> None:
    """Name the next workers on disk, then start them."""
    state = _state(run)
    free = min(AT_ONCE, state.max_workers - len(state.active))
    chosen = state.pending[:free]
    try:
        blueprint, stage = _worker(run, state.config)
    except RecoveryKitError as no:
        failures = (*state.failures, *((item.id, no.sentence) for item in state.pending))
        _put(run, replace(state, pending=(), failures=failures))
        return
    first = len(run.agent.meta.children)
    named = [(item.id, run.host.new_run_id(run, blueprint.name, first + n)) for n, item in enumerate(chosen)]
    _put(run, replace(state, pending=state.pending[free:], active=(*state.active, *named)))
    children = (*run.agent.meta.children, *(worker for _, worker in named))
    run.put_meta(children=children, max_child_depth=run.agent.blueprint.agent.max_child_depth)
    run.snapshot()
    for item, (_, worker) in zip(chosen, named, strict=True):
        run.host.start_child(run, worker, blueprint, task_of(item), stage)


def _worker(run: Running, config: FanOutConfig) -> tuple[Blueprint, int | None]:
    if config.worker_agent:
        found = run.host.blueprint_named(config.worker_agent)
        if found is None:
            raise RecoveryKitError(None, "there is no such agent for the workers")
        return found, None
    stage = run.agent.blueprint.stage_index(config.worker_stage or "")
    if stage is None:
        raise RecoveryKitError(None, "the call names no agent for the workers")
    return run.agent.blueprint, stage


def task_of(item: FanOutItem) -> str:
    """What a worker is told."""
    context = bytes(item.context).decode() or "null"
    return f"Work item id: {item.id}\nContext: {context}"


def restored(state: FanOut, tasks: Mapping[str, str], window: Window) -> FanOut:
    """A fan-out as a restart goes on with it; `tasks` are those of the runs that are below it, by id.

    A worker that was named and never made: its item waits again, with what the call in the window says of it. A worker
    that is there and that the file does not name: its item is at work.
    """
    items = {item.id: item for item in _asked_for(window)}
    lost = [(item, worker) for item, worker in state.active if worker not in tasks]
    active = [pair for pair in state.active if pair not in lost]
    known = {worker for _, worker in active}
    pending = []
    for item in (*(items.get(item, FanOutItem(item)) for item, _ in lost), *state.pending):
        found = next((run for run, task in tasks.items() if run not in known and task == task_of(item)), None)
        if found is None:
            pending.append(item)
        else:
            known.add(found)
            active.append((item.id, found))
    return replace(state, active=tuple(active), pending=tuple(pending))


def _asked_for(window: Window) -> list[FanOutItem]:
    """The items of the newest fan-out call in a window."""
    turns = [e.kind for r in window.regions for e in r.entries if isinstance(e.kind, AssistantTurn)]
    calls = [call for turn in turns for call in turn.tool_calls if call.name == "fan_out"]
    try:
        members = msgspec.json.decode(calls[-1].arguments, type=dict[str, Raw]) if calls else {}
        return msgspec.json.decode(members.get("items", b"[]"), type=list[FanOutItem])
    except msgspec.DecodeError:
        return []


# Delivery.


def _deliver(run: Running) -> None:
    state = _state(run)
    where = state.config.results_region or CONVERSATION
    run.put(doing=READY)
    run.set_status("running")
    if isinstance(state.origin, OriginTool):
        call_id = state.origin.tool.call_id
        text = report(state, _budget(run, CONVERSATION))
        run.append(CONVERSATION, result_entry(call_id, "fan_out", text), "tool_result")
        run.snapshot()
        return
    region = region_of(run.agent.window, where)
    name = where if region is not None and kind_of(region) != "hashmap" else CONVERSATION
    text = report(state, _budget(run, name))
    region = region_of(run.agent.window, name)
    free = max(0, region.max_tokens - region.current_tokens) if region else 0
    if tokens_of(text) > free and kind_of(region) == "pinned":  # type: ignore[arg-type]
        text = text.encode()[: free * 4].decode("utf-8", "ignore")
    run.append(name, Entry(text, tokens_of(text), UserMessage()), "fan_out")
    _onward(run, state.config.merge_stage)


def _onward(run: Running, merge: str | None) -> None:
    if merge is not None and run.agent.blueprint.stage(merge) is not None:
        enter(run, Edge(merge))
    else:
        move_on(run)
    run.snapshot_if_due()


def _budget(run: Running, name: str) -> int:
    region = region_of(run.agent.window, name)
    return region.max_tokens if region else 0


def report(state: FanOut, budget: int) -> str:
    """The results of all items, each cut to its share of the region's budget of so many tokens."""
    rows = [(f"## worker {item}", text) for item, text in state.summaries]
    rows += [(f"## worker {item} FAILED", why) for item, why in state.failures]
    most = max(LEAST_SECTION, int(budget * 4 * 0.9 / max(1, len(rows))))
    head = f"[fan_out results: {len(state.summaries)} succeeded, {len(state.failures)} failed]"
    cut = [f"{title}\n{text.encode()[:most].decode('utf-8', 'ignore')}" for title, text in rows]
    return "\n\n".join([head, *cut])
