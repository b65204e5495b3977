"""What may follow what in the history of a Run, as one table, and the reading of a history by it.

Values in, the first broken rule out; no files. (intloom-recovery 2.7 step 7, 2.13)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, structs

from recovery_kit.formats.loom_text import same_json
from recovery_kit.records.loom import Checkpoint, RunHead

WORKING = frozenset({"code", "recovery"})
STEPPING = frozenset({"code", "model", "agent"})
EXECUTING = frozenset({"code", "recovery", "model", "agent"})
BRANCHES = frozenset({"ready", "step_result", "waiting", "answered"})
"""Boundaries that a mirror may begin with."""


@dataclass(slots=True)
class _Seen:
    """Names that a Run has used up."""

    calls: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)


Rule = Callable[[Checkpoint, Checkpoint, _Seen], bool]


def same_value(one: Any, other: Any) -> bool:
    """Equality of two values by their JSON."""
    return same_json(msgspec.to_builtins(one), msgspec.to_builtins(other))


def _new_call(_: Checkpoint, after: Checkpoint, seen: _Seen) -> bool:
    return after.call.id not in seen.calls  # type: ignore[union-attr]


def _same_call(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
    return before.call == after.call


def _new_action(_: Checkpoint, after: Checkpoint, seen: _Seen) -> bool:
    return after.action.id not in seen.actions  # type: ignore[union-attr]


def _same_action(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
    return same_value(before.action, after.action)


def _same_stage(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
    return same_value(before.stage, after.stage)


def _grows(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
    """One commit more, of this Call."""
    more = len(after.commits) == len(before.commits) + 1 and after.commits[:-1] == before.commits
    return more and after.commits[-1].call_id == after.call.id  # type: ignore[union-attr]


def _keeps(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
    return before.commits == after.commits


def _stays(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
    return before.cursor == after.cursor


def _goes_to(kind: str) -> Rule:
    def at_target(before: Checkpoint, after: Checkpoint, _: _Seen) -> bool:
        route = before.result.route  # type: ignore[union-attr]
        return route.kind == kind and (route.cursor is UNSET or route.cursor == after.cursor)

    return at_target


_Side = tuple[str, frozenset[str] | bool | str | None]
"""A boundary, and what narrows it: kinds of Call, whether a Stage is there, the status of the end."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table."""

    before: _Side
    after: _Side
    rules: tuple[Rule, ...]


def _row(before: _Side, after: _Side, *rules: Rule) -> Transition:
    return Transition(before, after, rules)


_INIT: _Side = ("executing", frozenset({"initializer"}))

TRANSITIONS: tuple[Transition, ...] = (
    _row(("ready", False), _INIT, _new_call, _keeps, _stays),
    _row(("ready", True), ("executing", STEPPING), _new_call, _keeps, _stays),
    _row(_INIT, ("ready", True), _keeps, _stays),
    _row(("executing", WORKING), ("executing", WORKING), _same_call, _grows, _stays),
    _row(("executing", WORKING), ("waiting", None), _same_call, _new_action, _keeps, _stays),
    _row(("executing", EXECUTING), ("step_result", None), _keeps, _stays),
    _row(("waiting", None), ("answered", None), _same_action, _same_call, _same_stage, _keeps, _stays),
    _row(("answered", None), ("executing", WORKING), _same_call, _keeps, _stays),
    _row(("answered", None), ("executing", frozenset({"recovery"})), _new_call, _keeps, _stays),
    _row(("step_result", None), ("executing", STEPPING), _goes_to("step"), _new_call, _keeps),
    _row(("step_result", None), _INIT, _goes_to("stage"), _new_call, _keeps),
    _row(("step_result", None), ("terminal", "completed"), _goes_to("end"), _keeps, _stays),
    *(
        _row((boundary, None), ("terminal", "failed"), _keeps, _stays)
        for boundary in ("ready", "executing", "step_result", "waiting", "answered")
    ),
)
"""Everything that may happen, but for a mirror's beginning and its resumption."""

_BY_BOUNDARY: dict[tuple[str, str], list[Transition]] = {}
for _transition in TRANSITIONS:
    _BY_BOUNDARY.setdefault((_transition.before[0], _transition.after[0]), []).append(_transition)


def _is(side: _Side, checkpoint: Checkpoint) -> bool:
    narrowed = side[1]
    if narrowed is None:
        return True
    if isinstance(narrowed, bool):
        return (checkpoint.stage is not UNSET) == narrowed
    if isinstance(narrowed, str):
        return checkpoint.outcome is not UNSET and checkpoint.outcome.status == narrowed
    return checkpoint.call is not UNSET and checkpoint.call.kind in narrowed


def history_problem(numbers: Sequence[int], checkpoints: Sequence[Checkpoint]) -> str | None:
    """Why the checkpoints, in the order of their numbers, are no history of a Run; None where they are one."""
    for place, number in enumerate(numbers, start=1):
        if number != place:
            return f"checkpoint {place} is missing"
    seen = _Seen()
    reason = _begins_badly(checkpoints[0])
    if reason:
        return f"checkpoint 1: {reason}"
    _remember(checkpoints[0], seen)
    for before, after in zip(checkpoints, checkpoints[1:], strict=False):
        reason = _follows_badly(before, after, seen)
        if reason:
            return f"checkpoint {after.seq}: {reason}"
        _remember(after, seen)
    return None


def _remember(checkpoint: Checkpoint, seen: _Seen) -> None:
    if checkpoint.call is not UNSET:
        seen.calls.add(checkpoint.call.id)
    if checkpoint.action is not UNSET:
        seen.actions.add(checkpoint.action.id)


def _begins_badly(first: Checkpoint) -> str | None:
    if first.commits:
        return "a Run does not begin with commits"
    lineage = first.run.lineage
    if lineage is UNSET:
        plain = first.boundary == "ready" and first.stage is UNSET
        return None if plain else "a Run begins with ready, before its Stage"
    if first.boundary not in BRANCHES:
        return f"a mirror does not begin with {first.boundary}"
    if not lineage.paused:
        return "a mirror begins paused"
    if first.action is not UNSET and not first.action.recoverable:
        return "a mirror does not begin with a question that cannot be recovered"
    return None


def _follows_badly(before: Checkpoint, after: Checkpoint, seen: _Seen) -> str | None:
    if before.boundary == "terminal":
        return "nothing follows the end"
    if before.workflow_identity != after.workflow_identity:
        return "the Workflow's identity changed"
    if before.is_paused:
        return _leaves_hold_badly(before, after)
    if before.run != after.run:
        return "what is constant of a Run changed"
    rows = _BY_BOUNDARY.get((before.boundary, after.boundary), ())
    fitting = [row for row in rows if _is(row.before, before) and _is(row.after, after)]
    if not fitting:
        return f"{_worded(after)} does not follow {_worded(before)}"
    broken = [next((rule for rule in row.rules if not rule(before, after, seen)), None) for row in fitting]
    if None in broken:
        return None
    return f"{_worded(after)} after {_worded(before)} {_BROKEN[_name(broken[0])]}"


_BROKEN: dict[str, str] = {
    "_new_call": "reuses the id of a Call",
    "_same_call": "is of another Call",
    "_new_action": "reuses the id of a question",
    "_same_action": "is about another question",
    "_same_stage": "has another Stage State",
    "_grows": "does not add one commit of its Call",
    "_keeps": "changes the commits",
    "_stays": "moves the cursor",
    "at_target": "is not where the route leads",
}


def _name(rule: Rule | None) -> str:
    return getattr(rule, "__name__", "")


def _worded(checkpoint: Checkpoint) -> str:
    if checkpoint.call is not UNSET and checkpoint.boundary == "executing":
        return f"executing ({checkpoint.call.kind})"
    return checkpoint.boundary


def _leaves_hold_badly(before: Checkpoint, after: Checkpoint) -> str | None:
    """A paused mirror is resumed as it was, or ended as it was."""
    if after.boundary == "terminal":
        fails = after.outcome is not UNSET and after.outcome.status == "failed"
        same = before.run == after.run and before.commits == after.commits and before.cursor == after.cursor
        return None if fails and same else "a paused mirror is resumed, or it fails as it was"
    as_before = structs.replace(
        after, seq=before.seq, saved_at=before.saved_at, instance_id=before.instance_id, run=before.run
    )
    resumed = after.run == resumed_head(before.run) and same_value(as_before, before)
    return None if resumed else "a paused mirror is resumed with exactly what it held"


def resumed_head(run: RunHead) -> RunHead:
    """A mirror's head once it is on its own."""
    assert run.lineage is not UNSET
    return structs.replace(run, lineage=structs.replace(run.lineage, paused=False))
