"""Events of many runs, as they happen."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from places_of_tests import journal

from recovery_kit.fleet.catalogue import IN_MEMORY
from recovery_kit.fleet.waking import Waker
from recovery_kit.fleet.watch import Event, watch


class Steps(Waker):
    """Instead of waiting, does the next thing."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        super().__init__()
        self.steps = list(steps)
        self.delays: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.delays.append(seconds)
        if self.steps:
            self.steps.pop(0)()
        return True


def _seen(folder: Path, *steps: Callable[[], object]) -> list[Event]:
    return list(watch(folder, IN_MEMORY, waker=Steps(*steps), looks=len(steps)))


def _meta(folder: Path, **members: object) -> None:
    path = folder / "meta.json"
    new = path.with_name("meta.new")
    new.write_text(json.dumps(json.loads(path.read_bytes()) | members))
    os.replace(new, path)


def test_new_moved_verdict_gone(runs_folder: Path) -> None:
    """A run that comes, moves, has another thing said of it, and goes."""
    run, copy = journal(runs_folder).parent, runs_folder / "copy"
    told = _seen(
        runs_folder,
        lambda: None,
        lambda: shutil.copytree(run, copy),
        lambda: _meta(copy, last_progress_at=1_796_060_000),
        lambda: _meta(copy, status="paused"),
        lambda: shutil.rmtree(copy),
    )
    assert [(event.event, event.run_id) for event in told] == [
        ("new", "copy"), ("moved", "copy"), ("verdict", "copy"), ("gone", "copy")
    ]  # fmt: skip
    assert told[2].before is not None and told[2].before["status"] == "complete" and told[2].needs_person is True


def test_replaced_and_unreadable(runs_folder: Path) -> None:
    """A journal that shrank is said; what changes nothing is not."""
    path = journal(runs_folder, 1)
    told = _seen(
        runs_folder,
        lambda: path.write_bytes(path.read_bytes()[:-40]),
        lambda: os.utime(path),
        lambda: (path.parent / "note.txt").write_text("x"),
    )
    assert [event.event for event in told] == ["replaced"]


def test_the_longer_nothing_comes_the_longer_it_waits(runs_folder: Path) -> None:
    """And soon again after something came."""
    steps = Steps(*[lambda: None] * 6, lambda: shutil.rmtree(journal(runs_folder).parent), lambda: None)
    list(watch(runs_folder, IN_MEMORY, waker=steps, looks=8))
    assert steps.delays[:6] == sorted(steps.delays[:6]) and steps.delays[5] > 4 and steps.delays[7] < 1


def test_events_are_json(runs_folder: Path) -> None:
    """Every one a line for another program."""
    told = _seen(runs_folder, lambda: _meta(journal(runs_folder, 3).parent, status="cancelled"))
    assert [json.loads(json.dumps(event.as_json()))["event"] for event in told] == ["verdict"]


def test_the_kernel_wakes(runs_folder: Path) -> None:
    """Where it tells of changes one is not slept through; where not, time passes."""
    waker = Waker()
    try:
        waker.look_at([str(runs_folder)])
        if waker.told:
            assert waker.wait(0) is False
            (runs_folder / "x").write_text("")
            assert waker.wait(30) is True
            assert waker.wait(0) is False
        else:
            assert waker.wait(0) is False
    finally:
        waker.close()
    assert not waker.told and waker.wait(0) is False


def test_it_is_lazy(runs_folder: Path) -> None:
    """Nothing happens before the first event is asked for."""
    events: Iterator[Event] = watch(runs_folder / "nowhere", IN_MEMORY)
    assert iter(events) is events
