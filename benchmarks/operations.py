"""What is measured on a journal, and the goal of each: a ratio to `orjson.loads` of every frame, results dropped."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

import recovery_kit as rk
from recovery_kit import frames
from recovery_kit.formats.framing import scan
from recovery_kit.formats.journal import Journal
from recovery_kit.history.fold import Fold, Point, fold, walk_points
from recovery_kit.history.windows import window_sha256
from recovery_kit.runs.run import Run

from .journals import Made, Shape
from .pairs import Operation

Goals = dict[Shape, float] | float | None


class Measured(NamedTuple):
    """An operation and its goal; None where none is set."""

    run: Callable[[bytes], object]
    goal: Goals
    prepare: Callable[[bytes], Any] | None = None
    """What is made of the journal first; then `run` gets that."""

    def of(self, data: bytes) -> Operation:
        prepare = self.prepare
        if prepare is None:
            return Operation(self.run, lambda: data)
        return Operation(self.run, lambda: prepare(data))


def all_frames(data: bytes) -> None:
    """The reference."""
    framing, view = scan(data), memoryview(data)
    for offset, length in zip(framing.offsets, framing.lengths, strict=True):
        orjson.loads(view[offset + 8 : offset + 8 + length])


def typed(data: bytes) -> list[Any]:
    reading = Journal(data).read(verified=False)
    return [reading.record(frame) for frame in reading.frames]


def folded(data: bytes, verified: bool) -> Fold | None:
    return fold(Journal(data).read(verified=verified))


def timeline(data: bytes) -> list[Point]:
    return list(walk_points(Journal(data).read(verified=False)))


def opened(data: bytes, verified: bool = False) -> Run:
    return rk.open_run({"bench-1-0/run.lvr": data}, verified=verified)


def tables(run: Run, text: bool = False) -> list[Any]:
    return [
        frames.records_df(run),
        frames.points_df(run, revisions=False),
        frames.calls_df(run, text=text),
        frames.inferences_df(run),
    ]


def random_point(run: Run) -> object:
    return run.at(random.Random(len(run.points)).randrange(len(run.points))).window


def _walked(data: bytes) -> Run:
    run = opened(data)
    assert run.points
    return run


def _grown(data: bytes) -> Run:
    """A run that was read without its last frames, which are there now."""
    framing = scan(data)
    files = {"bench-1-0/run.lvr": data[: framing.offsets[-11]]}
    run = rk.open_run(files, verified=True)
    assert run.points
    files["bench-1-0/run.lvr"] = data
    return run


OPERATIONS: dict[str, Measured] = {
    "scan and kinds": Measured(scan, 0.12),
    "every record, typed": Measured(typed, 1.2),
    "fold, seen": Measured(lambda data: folded(data, False), {"daemon": 0.9, "compact": 0.25}),
    "fold, verified": Measured(lambda data: folded(data, True), 1.5),
    "last state of a run, seen": Measured(lambda data: opened(data).at().window, {"daemon": 0.5}),
    "timeline, seen": Measured(timeline, 0.5),
    "a random point, decoded": Measured(random_point, None, _walked),
    "refresh by one turn, verified": Measured(lambda run: run.refresh(), None, _grown),
    "names of all windows, seen": Measured(lambda data: opened(data).told.named_points, None),
    "ledger of calls, seen": Measured(lambda data: opened(data).effects, None),
    "ledger of calls, verified": Measured(lambda data: opened(data, True).effects, None),
    "four tables, seen": Measured(lambda data: tables(opened(data)), 1.1),
    "four tables, verified": Measured(lambda data: tables(opened(data, True)), 1.6),
    "four tables with text, seen": Measured(lambda data: tables(opened(data), text=True), 1.6),
}
"""By what is done. Goals are those of performance for data that is peeked at, and for data that is judged."""


def check_truth(made: Made) -> None:
    """Nothing is timed before its result is right. Raises AssertionError."""
    truth = made.truth
    for verified in (False, True):
        state, run = folded(made.data, verified), opened(made.data, verified)
        assert state is not None
        found = (state.tool_calls, state.usages, state.messages, window_sha256(state.window.window()))
        assert found == (truth.tool_calls, truth.usages, truth.messages, truth.window_sha256), found
        assert (len(run.records), len(run.points)) == (truth.records, truth.points)
        assert run.at().iteration == truth.iteration
        assert run.at().window_sha256 == run.at(-1).window_sha256 == truth.window_sha256
        assert [len(table) for table in tables(run)] == [truth.records, truth.points, truth.tool_calls, truth.usages]
    grown = _grown(made.data)
    grown.refresh()
    assert grown.at().window_sha256 == truth.window_sha256 and len(grown.points) == truth.points
