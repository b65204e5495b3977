"""Moments by name."""

from pathlib import Path

import pytest

from recovery_kit.errors import UnknownMoment
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.points_named import PointName, moment, point_name, records_until
from recovery_kit.runs.run import Run

SAMPLES = Path(__file__).parents[2] / "sample_runs"


@pytest.fixture(scope="module")
def killed() -> Run:
    return open_run(SAMPLES / "02a-killed-mid-batch")


@pytest.mark.parametrize("text", ["end", "7", "-1", "record:12", "iteration:3", "call:a:b"])
def test_a_name_reads_back(text: str) -> None:
    """What a name says of itself means the same moment."""
    assert point_name(str(point_name(text))) == point_name(text)


@pytest.mark.parametrize(
    "text", ["", "noon", "record:", "record:x", "call:", "iteration:1.5", "٣", "9" * 5000, "end:1"]
)
def test_what_is_no_name(text: str) -> None:
    """It is said how one is written."""
    with pytest.raises(UnknownMoment, match="record:N"):
        point_name(text)


def test_each_way_leads_to_its_moment(killed: Run) -> None:
    """End, point, record, iteration and call, and how many records lie up to there."""
    records = len(killed.story.reading())
    assert records_until(killed, "end") == records
    assert moment(killed, "end").pending is not None
    assert moment(killed, -1).point == len(killed.points) - 1 == moment(killed, "-1").point
    first = moment(killed, "record:1")
    assert first.offset == 6 and records_until(killed, "record:1") == 1
    turn = moment(killed, "iteration:1")
    assert turn.iteration == 1 and killed.points[turn.point or 0].kind == "Progress"
    before = moment(killed, "call:b2")
    batch = killed.story.reading().frames[records_until(killed, "call:b2")]
    assert before.pending is None and killed.story.reading().offset(batch) == killed.effects[-1].offset


def test_a_moment_is_the_state_that_a_cut_there_folds_to(killed: Run) -> None:
    """A point and the records up to it give the same window."""
    for index in range(len(killed.points)):
        name = PointName("point", index)
        assert killed.at_record(records_until(killed, name)).window == moment(killed, name).window


@pytest.mark.parametrize("text", ["99", "-99", "record:0", "record:99", "iteration:99", "call:none"])
def test_moments_that_are_not_there(killed: Run, text: str) -> None:
    """They raise, whichever way they are asked for."""
    with pytest.raises(UnknownMoment):
        moment(killed, text)
    with pytest.raises(UnknownMoment):
        records_until(killed, text)


def test_a_call_behind_a_tear() -> None:
    """Its batch folds nowhere, and that is what is said."""
    run = open_run(SAMPLES / "14a-torn-tail")
    hidden = [
        call
        for call in run.effects
        if call.behind_tear and all(c.behind_tear for c in run.effects if c.call_id == call.call_id)
    ]
    for call in hidden:
        with pytest.raises(UnknownMoment, match="behind a tear"):
            moment(run, f"call:{call.call_id}")
