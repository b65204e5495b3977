"""The answers of `check --json`, one small function a key, listed in `ANSWERS`. Values are raw; the caller masks them."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import orjson

from recovery_kit.formats.writing import plain
from recovery_kit.history.blueprints import BlueprintFacts
from recovery_kit.history.disagreements import drift
from recovery_kit.history.fold import Fold, Pending
from recovery_kit.history.pairs import request_check, tool_pairs
from recovery_kit.history.story import Story
from recovery_kit.history.trips import Tokens, usage_by_kind, usage_totals
from recovery_kit.history.waits import is_terminal, wait_of
from recovery_kit.history.windows import text_of, tokens_of
from recovery_kit.records.engines import Engine
from recovery_kit.records.scalars import U64_MAX

from .outlook import Outlook

Answer = Callable[[Story, Engine, Outlook], Any]


def journal_answer(story: Story, rules: Engine) -> dict[str, Any]:
    """How the journal divides into frames for that engine."""
    reading, framing = story.reading(rules), story.journal.framing
    header = next((e for e in story.events if e.kind == "Header" and e.meta is not None), None)
    refused = reading.error is not None
    data: dict[str, Any] = {
        "error_class": reading.error,
        "version": framing.version,
        "file_bytes": None if story.journal.missing else framing.size,
        "starts_at_iteration": header.meta.iteration if header and header.meta and header.meta.iteration else None,
    }
    if not refused:
        data |= {
            "n_frames": reading.n_frames,
            "n_records": len(reading),
            "n_unreadable": len(reading.unread),
            "valid_prefix_bytes": framing.end,
            "torn_tail_bytes": framing.torn_bytes,
            "torn_at": framing.torn_at,
        }
    return data


def fold_answer(state: Fold | None) -> dict[str, Any] | None:
    """The engine's state from the journal."""
    if state is None:
        return None
    meta = state.skim_meta()
    return {
        "status": meta.status if meta else None,
        "stage_index": meta.stage_index if meta else None,
        "stage_name": state.window.stage_name,
        "iteration": meta.iteration if meta else None,
        "prompt_tokens": meta.prompt_tokens if meta else None,
        "completion_tokens": meta.completion_tokens if meta else None,
        "cached_tokens": meta.cached_tokens if meta else None,
        "cache_write_tokens": meta.cache_write_tokens if meta else None,
        "tool_calls": meta.tool_calls if meta else None,
        "total_tokens": state.window.total_tokens,
        "max_tokens": state.window.max_tokens,
        "regions": {r.name: [len(r.entries()), r.current_tokens] for r in state.window.regions},
        "n_usage": state.usages,
        "n_inferences": state.inferences,
        "n_tool_calls": state.tool_calls,
        "n_messages": state.messages,
        "owner_machine": state.owner_machine,
        "owner_world": state.owner_world,
        "pending_batch": pending_answer(state.pending),
    }


def pending_answer(pending: Pending | None) -> dict[str, Any] | None:
    if pending is None:
        return None
    calls = [
        {"id": c.id, "name": c.name, "state": "interrupted" if r is None else "completed", "result": plain(r)}
        for c, r in pending.calls()
    ]
    batch = pending.batch
    return {"stage_index": batch.stage_index, "iteration": batch.iteration, "response": batch.response, "calls": calls}


def _unreadable(story: Story, rules: Engine, _: Outlook) -> list[dict[str, Any]]:
    zeros = story.journal.salvage.zeros
    return [
        {"offset": u.offset, "bytes": u.size, "kind": u.kind}
        for u in story.reading(rules).unread
        if not any(z.offset <= u.offset < z.offset + z.size for z in zeros)
    ]


def restart_answer(ahead: Outlook) -> dict[str, Any]:
    """What a restart would do."""
    row: dict[str, Any] = {
        "resumes": ahead.resumes,
        "why": ahead.why,
        "why_text": ahead.why_text,
        "priority": ahead.priority,
        "on_demand": ahead.on_demand,
        "window_source": ahead.window_source,
        "status_after": ahead.status_after,
        "stage_index": ahead.stage_index,
        "stage_name": ahead.stage_name,
        "iteration": ahead.iteration,
        "prompt_tokens": ahead.prompt_tokens,
        "completion_tokens": ahead.completion_tokens,
        "turn_repeated": ahead.turn_repeated,
        "calls_run_again_by_the_engine": [],
        "entries_added_to_window": {
            "assistant_turns": ahead.assistant_turns_added,
            "tool_results": ahead.tool_results_added,
        },
        "check_before_repeating": list(ahead.check_before_repeating),
        "children_named_for": {call: list(runs) for call, runs in ahead.children_named_for.items()},
        "prompt_shown_again": ahead.prompt_shown_again,
        "reason_survives": ahead.reason_survives,
        "fan_out_after": None,
        "fan_out_dropped": None,
    }
    after = ahead.fan_out_after
    if after is not None:
        row["fan_out_dropped"] = after.dropped
        row["fan_out_after"] = {
            "active": [item for item, _ in after.active],
            "pending": [item.id for item in after.pending],
            "failed": dict(after.failed),
            "summaries": [item for item, _ in after.summaries],
        }
    return row


def _wait(member: str) -> Answer:
    return lambda story, rules, ahead: getattr(wait_of(story.meta, story.files.fan_out, story.files.open_point), member)


def _open_point(story: Story, rules: Engine, ahead: Outlook) -> Any:
    return plain(story.files.open_point) if story.files.open_point else None


def _fan_out(story: Story, rules: Engine, ahead: Outlook) -> dict[str, Any] | None:
    fan_out = story.files.fan_out
    if fan_out is None:
        return None
    return {
        "max_workers": fan_out.max_workers,
        "unlimited": fan_out.max_workers == U64_MAX,
        "outstanding": len(fan_out.active) + len(fan_out.pending),
        "paused": fan_out.paused,
        "origin": "stage" if isinstance(fan_out.origin, str) else "tool",
        "n_summaries": len(fan_out.summaries),
        "n_failures": len(fan_out.failures),
        "n_parts": len(fan_out.parts),
    }


def _workers(story: Story, rules: Engine, ahead: Outlook) -> dict[str, str | None] | None:
    fan_out = story.files.fan_out
    if fan_out is None or story.neighbour is None:
        return None
    metas = {run_id: story.neighbour(run_id) for _, run_id in fan_out.active}
    return {run_id: meta.status if meta else None for run_id, meta in metas.items()}


def _drift(story: Story, rules: Engine, ahead: Outlook) -> Any:
    state, context = story.fold(), story.files.context
    return drift(state, context) if state is not None and context is not None else {}


def _tool_pairs(story: Story, rules: Engine, ahead: Outlook) -> Any:
    if story.window is None:
        return None
    pairs = asdict(tool_pairs(story.window))
    pairs["faults"] = [{"kind": f["kind"], "id": f["id"], "entry": _entry(f["place"])} for f in pairs["faults"]]
    return pairs


def _entry(place: dict[str, Any]) -> str:
    return f"{place['region']}/{place['index']}"


def _request_check(story: Story, rules: Engine, ahead: Outlook) -> Any:
    if story.window is None:
        return None
    row = asdict(request_check(story.window))
    row["faults"] = [{"kind": f["kind"], "id": f["id"], "entry": _entry(f["place"])} for f in row["faults"]]
    return row


def _tear(story: Story, rules: Engine, ahead: Outlook) -> dict[str, int] | None:
    tear = story.journal.salvage.tear
    return {"from": tear[0], "to": tear[1]} if tear else None


def _before_tear(story: Story, rules: Engine, ahead: Outlook) -> int | None:
    tear = story.journal.salvage.tear
    reading = story.reading()
    return None if tear is None else sum(1 for frame in reading.frames if reading.offset(frame) < tear[0])


def _after_tear(story: Story, rules: Engine, ahead: Outlook) -> list[dict[str, Any]]:
    behind = story.journal.behind
    return [
        {"offset": behind.framing.offsets[frame], "bytes": behind.framing.lengths[frame], "kind": kind}
        for frame, kind in behind.read()
    ] if story.journal.salvage.frames else []  # fmt: skip


def _zeros(story: Story, rules: Engine, ahead: Outlook) -> list[dict[str, int]]:
    return [{"offset": block.offset, "bytes": block.size} for block in story.journal.salvage.zeros]


def _arguments(story: Story) -> dict[str, str]:
    state = story.fold()
    return {c.id: c.arguments for c in state.pending.batch.calls} if state and state.pending else {}


def _parses(arguments: str) -> bool:
    """Whether the engine's JSON library takes a call's arguments; it keeps a string that it does not (N14)."""
    try:
        value = orjson.loads(arguments.encode("utf-8", "surrogatepass"))
    except orjson.JSONDecodeError:
        return False
    return _depth(value) <= 127


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        nested = [item for item in level if isinstance(item, (dict, list))]
        depth += bool(nested)
        level = [m for item in nested for m in (item.values() if isinstance(item, dict) else item)]
    return depth


def _calls(story: Story, rules: Engine, ahead: Outlook) -> list[dict[str, Any]]:
    rows = []
    for call in story.calls:
        row = asdict(call)
        row["stage"] = story.stage_of(call)
        rows.append(row)
    return rows


def _hidden(story: Story, rules: Engine, ahead: Outlook) -> dict[str, Any] | None:
    hidden = story.hidden_batch
    if hidden is None:
        return None
    calls = [{"id": call.call_id, "name": call.name, "state": "interrupted"} for call in hidden.calls]
    return {"iteration": hidden.iteration, "offset": hidden.offset, "calls": calls}


def _attempts(story: Story, rules: Engine, ahead: Outlook) -> list[dict[str, Any]]:
    return [
        {
            "offset": a.offset, "id": a.record.id, "stage": a.record.stage, "attempt": a.record.attempt,
            "provider": a.record.provider, "model": a.record.model, "outcome": "succeeded" if a.succeeded else "failed",
            "failure_kind": a.failure_kind, "next": a.next, "duration_ms": a.record.duration_ms,
            "backoff_ms": a.record.backoff_ms, "at": a.record.at, "usage_offset": a.usage_offset,
            "behind_tear": a.behind_tear,
        }
        for a in story.trips.attempts
    ]  # fmt: skip


def _failovers(story: Story, rules: Engine, ahead: Outlook) -> list[dict[str, Any]]:
    return [
        {
            "offset": f.offset, "stage": f.record.stage, "iteration": f.record.iteration,
            "from": f"{f.record.from_provider}/{f.record.from_model}",
            "to": f"{f.record.to_provider}/{f.record.to_model}", "reason": f.record.reason, "kind": f.record.kind,
            "attempt_offset": f.attempt_offset, "behind_tear": f.behind_tear,
        }
        for f in story.trips.failovers
    ]  # fmt: skip


def _by_kind(story: Story, rules: Engine, ahead: Outlook) -> dict[str, list[int]]:
    def row(t: Tokens) -> list[int]:
        return [t.calls, t.prompt_tokens, t.completion_tokens]

    return {kind: row(tokens) for kind, tokens in usage_by_kind(story.trips).items()}


def _chain(story: Story, rules: Engine, ahead: Outlook) -> dict[str, Any]:
    chain = story.chain
    return {
        "transactions": chain.transactions,
        "gaps": [asdict(gap) for gap in chain.gaps],
        "unnamed_points": [asdict(point) for point in chain.unnamed_points],
        "intact": chain.intact,
    }


def _lives(story: Story, rules: Engine, ahead: Outlook) -> list[dict[str, Any]]:
    return [
        {
            "world_id": life.world_id, "began_at": life.began_at, "ended_at": life.ended_at, "offset": life.offset,
            "stand_ins": list(life.stand_ins), "behind_tear": life.behind_tear,
        }
        for life in story.lives
    ]  # fmt: skip


def _time(story: Story, rules: Engine, ahead: Outlook) -> dict[str, Any] | None:
    account = story.time_account
    if account is None:
        return None
    return {"from": account.start, "to": account.stop, "wall_seconds": account.wall_seconds, "seconds": account.seconds}


def _contents(read: Callable[[Any], Any]) -> Answer:
    """Of entries whose content is a list of parts."""

    def answer(story: Story, rules: Engine, ahead: Outlook) -> dict[str, Any]:
        regions = story.window.regions if story.window else ()
        return {
            f"{region.name}/{number}": read(entry.content)
            for region in regions
            for number, entry in enumerate(region.entries)
            if not isinstance(entry.content, str)
        }

    return answer


def _blueprint(story: Story, rules: Engine, ahead: Outlook) -> dict[str, Any]:
    facts: BlueprintFacts = story.blueprint_facts(rules)
    row = asdict(facts)
    row["scripts_missing"] = list(facts.scripts_missing)
    return row


def _last_moved(story: Story, rules: Engine, ahead: Outlook) -> int | None:
    return story.meta.last_progress_at if story.meta else None


ANSWERS: dict[str, Answer] = {
    "fold": lambda story, rules, ahead: fold_answer(story.fold(rules)),
    "restart": lambda story, rules, ahead: restart_answer(ahead),
    "waits_on": _wait("reason"),
    "needs_person": _wait("needs_person"),
    "blocker": _wait("blocker"),
    "remedy": _wait("remedy"),
    "outstanding": _wait("outstanding"),
    "open_point": _open_point,
    "last_moved": _last_moved,
    "terminal": lambda story, rules, ahead: is_terminal(story.meta),
    "fan_out": _fan_out,
    "workers": _workers,
    "drift": _drift,
    "tool_pairs": _tool_pairs,
    "request_check": _request_check,
    "disagreements": lambda story, rules, ahead: [d.sentence for d in story.disagreements],
    "unreadable": _unreadable,
    "records_after_tear": _after_tear,
    "zero_filled": _zeros,
    "has_signing_key": lambda story, rules, ahead: bool(story.best_meta and story.best_meta.callback_secret),
    "arguments_raw": lambda story, rules, ahead: _arguments(story),
    "arguments_parse_for_engine": lambda story, rules, ahead: {k: _parses(v) for k, v in _arguments(story).items()},
    "log_lines": lambda story, rules, ahead: story.files.log_lines(),
    "usage_kinds": lambda story, rules, ahead: list(dict.fromkeys(b.record.kind for b in story.trips.bills)),
    "calls": _calls,
    "n_unknown_effects": lambda story, rules, ahead: len(story.unknown_effects),
    "executions": lambda story, rules, ahead: [asdict(row) for row in story.executions],
    "hidden_batch": _hidden,
    "prompts": lambda story, rules, ahead: [asdict(row) for row in story.prompts],
    "attempts": _attempts,
    "failovers": _failovers,
    "cost": lambda story, rules, ahead: asdict(story.cost),
    "usage_totals": lambda story, rules, ahead: asdict(usage_totals(story.trips)),
    "usage_by_kind": _by_kind,
    "points": lambda story, rules, ahead: [asdict(point) for point in story.named_points],
    "chain": _chain,
    "incarnations": _lives,
    "time_account": _time,
    "parts": lambda story, rules, ahead: [asdict(part) for part in story.parts],
    "content_text": _contents(text_of),
    "content_tokens": _contents(tokens_of),
    "artifacts": lambda story, rules, ahead: [asdict(file) for file in story.produced_files],
    "final_output": lambda story, rules, ahead: asdict(story.answer) if story.answer else None,
    "blueprint": _blueprint,
    "tear": _tear,
    "records_before_tear": _before_tear,
    "fold_with_salvage": lambda story, rules, ahead: fold_answer(story.fold_with_salvage),
}
