"""Moments of a run by what a person types: `end`, `7`, `-1`, `record:12`, `iteration:3`, `call:c1`.

Belongs here: reading such a name, and finding the moment and the record that it means. Finding runs is in
`runs_named.py`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from recovery_kit.errors import OtherRuntime, UnknownMoment

from .collection import AnyRun
from .loom_run import LoomRun, LoomState
from .moment import State
from .run import Run

Naming = Literal["end", "point", "record", "iteration", "call"]

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_HOW = "a moment is end, a number of a point, record:N, iteration:N or call:ID"


@dataclass(frozen=True, slots=True)
class PointName:
    """What a text means by a moment; whether the run has it is not known yet."""

    naming: Naming
    number: int = 0
    """For `point`, `record` and `iteration`."""
    id: str = ""
    """For `call`: a call id or an execution id."""

    def __str__(self) -> str:
        if self.naming == "end":
            return "end"
        value = self.id if self.naming == "call" else str(self.number)
        return value if self.naming == "point" else f"{self.naming}:{value}"


def point_name(text: str | int) -> PointName:
    """Read a moment's name. Raises UnknownMoment, saying how one is written."""
    if isinstance(text, int):
        return PointName("point", text)
    if text == "end":
        return PointName("end")
    if _NUMBER.fullmatch(text):
        return PointName("point", int(text))
    word, colon, value = text.partition(":")
    if colon and value and word == "call":
        return PointName("call", id=value)
    if colon and _NUMBER.fullmatch(value) and word == "record":
        return PointName("record", int(value))
    if colon and _NUMBER.fullmatch(value) and word == "iteration":
        return PointName("iteration", int(value))
    raise UnknownMoment(None, f"{text!r} names no moment: {_HOW}")


def moment(run: Run, text: str | int | PointName = "end") -> State:
    """The state of a run at a moment by its name (verified).

    `end` is after everything that is readable, pending batch included; a number is a point of `run.points`, negative
    from the end; `record:N` is after the first N readable records; `iteration:N` is the point of the first `Progress`
    of that iteration; `call:ID` is just before that call's batch was handed out. Raises UnknownMoment.
    """
    name = text if isinstance(text, PointName) else point_name(text)
    if name.naming == "end":
        return run.at()
    if name.naming == "point":
        return run.at(name.number)
    if name.naming == "iteration":
        return run.at(_point_of_iteration(run, name.number))
    return run.at_record(records_until(run, name))


def any_moment(run: AnyRun, text: str | int | PointName = "end") -> State | LoomState:
    """The same for a run of either system.

    Of a workflow's Run a record is a checkpoint, `call:ID` is just before that Call began, and there are no iterations.
    """
    if isinstance(run, Run):
        return moment(run, text)
    return _loom_moment(run, text if isinstance(text, PointName) else point_name(text))


def _loom_moment(run: LoomRun, name: PointName) -> LoomState:
    if name.naming == "iteration":
        raise OtherRuntime(run.id, "it is a Run of a workflow: it has no iterations")
    if name.naming == "record" and not 0 < name.number <= len(run.points):
        raise UnknownMoment(run.id, f"there is no record {name.number}: {len(run.points)} checkpoints are readable")
    if name.naming == "call":
        begun = next((call for call in run.effects if call.call_id == name.id), None)
        place = next((m.index for m in run.points if begun is not None and m.offset == begun.offset), 0)
        if not place:
            raise UnknownMoment(run.id, f"no checkpoint lies before a Call {name.id!r}")
        return run.at(place - 1)
    return run.at(None if name.naming == "end" else name.number - (name.naming == "record"))


def records_until(run: Run, text: str | int | PointName) -> int:
    """How many of the first readable records lie up to that moment: what a journal cut there would hold.

    Raises UnknownMoment.
    """
    name = text if isinstance(text, PointName) else point_name(text)
    reading, points = run.story.reading(), run.points
    if name.naming == "end":
        return len(reading)
    if name.naming == "record":
        if not 0 < name.number <= len(reading):
            raise UnknownMoment(
                run.id, f"there is no record {name.number}: {len(reading)} are readable, counted from 1"
            )
        return name.number
    if name.naming == "call":
        return _records_before_call(run, name.id)
    number = _point_of_iteration(run, name.number) if name.naming == "iteration" else name.number
    if not -len(points) <= number < len(points):
        raise UnknownMoment(run.id, f"there is no point {number}: the journal has {len(points)}")
    return points[number].place + 1


def _point_of_iteration(run: Run, iteration: int) -> int:
    """The first `Progress` of an iteration; where no `Progress` has it, the first point that has."""
    fitting = [point for point in run.points if point.skim_meta().iteration == iteration]
    if not fitting:
        there = sorted({point.skim_meta().iteration for point in run.points})
        span = f"they go from {there[0]} to {there[-1]}" if there else "the journal has no points"
        raise UnknownMoment(run.id, f"no point is of iteration {iteration}: {span}")
    return next((point for point in fitting if point.kind == "Progress"), fitting[0]).index


def _records_before_call(run: Run, id: str) -> int:
    """Records before the batch of a call, by call id or execution id."""
    mine = [call for call in run.effects if id in (call.call_id, call.execution_id)]
    if not mine:
        raise UnknownMoment(run.id, f"no batch hands out a call {id!r}")
    offsets = sorted({call.offset for call in mine if not call.behind_tear})
    reading = run.story.reading()
    places = {reading.offset(frame): place for place, frame in enumerate(reading.frames)}
    reachable = [places[offset] for offset in offsets if offset in places]
    if not reachable:
        raise UnknownMoment(run.id, f"the batch of call {id!r} lies behind a tear, where nothing folds", mine[0].offset)
    if len(reachable) > 1:
        before = " or ".join(f"record:{place}" for place in reachable)
        raise UnknownMoment(
            run.id, f"{len(reachable)} batches hand out a call {id!r}: say {before}, or the execution id"
        )
    return reachable[0]
