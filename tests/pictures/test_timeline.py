"""The timeline and the window over time: what is marked, and that large runs stay small pictures."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from recovery_kit import pictures
from recovery_kit.history.events import Event
from recovery_kit.history.prompts import Prompt
from recovery_kit.history.trips import Trips
from recovery_kit.pictures.axis import Axis
from recovery_kit.pictures.lanes import Lane, Mark, condensed, lanes
from recovery_kit.pictures.vocabulary import CERTAINTY, SETTLEMENT, STATUS, TIME, TRIP
from recovery_kit.records.journal import StatusChanged
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run

SAMPLES = Path(__file__).parents[2] / "sample_runs"


def run_of(story: str) -> Run:
    return open_run(SAMPLES / story)


def event(place: int, at: int) -> Event:
    return Event(place, place * 10, 1, "StatusChanged", StatusChanged("running", at), at, None, False)


def test_an_axis_keeps_the_order_and_marks_silences() -> None:
    """Slots follow each other from 0 to 1; a night without records is a narrow band that knows its length."""
    axis = Axis([event(n, at) for n, at in enumerate([0, 0, 1, 30000, 30000, 29990, 30002])])
    slots = [(axis.left(n), axis.right(n)) for n in range(7)]
    assert all(left < right for left, right in slots)
    assert all(before[1] <= after[0] + 1e-9 for before, after in zip(slots, slots[1:], strict=False))
    assert abs(slots[-1][1] - 1) < 1e-9
    (gap,) = axis.gaps
    assert gap.seconds == 29999 and gap.right - gap.left < 0.1


def test_no_event_is_no_gap() -> None:
    """An axis of nothing has nothing on it."""
    assert Axis([]).gaps == ()


def test_certainty_has_a_word_a_sign_and_a_weave_of_its_own() -> None:
    """No two words of a vocabulary can be confused without colour."""
    for looks in (CERTAINTY, TRIP):
        assert len({look.weave for look in looks.values()}) == len(looks)
        assert len({look.sign for look in looks.values()}) == len(looks)
    for looks in (SETTLEMENT, STATUS, TIME):
        assert len({look.word for look in looks.values()}) == len(looks)


def test_a_run_killed_in_mid_batch() -> None:
    """Each unknown call is a mark that says so, up to the end of the life that handed it out."""
    run = run_of("02a-killed-mid-batch")
    tools = next(lane for lane in lanes(run.story) if lane.name == "Tools")
    unknown = [mark for mark in tools.marks if mark.look.word == "unknown"]
    assert len(unknown) == 3 and all(mark.text.startswith("unknown: ") for mark in unknown)
    svg = pictures.timeline_svg(run.story, run.masker)
    assert svg.count("? shell") == 3
    assert "3 unknown" in svg.split("</title>")[0]


def test_restarts_and_stand_ins_are_drawn() -> None:
    """Every restart is a dashed line and a life with its name."""
    run = run_of("02e-killed-twice-and-finished")
    svg = pictures.timeline_svg(run.story, run.masker)
    assert svg.count("<line") == len(run.story.lives) - 1 == 2
    assert "restart 2" in svg and "stood in: " in svg


def test_many_marks_become_columns_and_keep_the_weightiest_word() -> None:
    """14,000 calls are at most 160 marks, and the one that is unknown is still to be seen."""
    n = 14000
    done, unknown = CERTAINTY["done"], CERTAINTY["unknown"]
    marks = tuple(Mark(i / n, (i + 1) / n, unknown if i == 9000 else done, f"call {i}") for i in range(n))
    lane = condensed(Lane("Tools", marks))
    assert len(lane.marks) <= 160
    (seen,) = [mark for mark in lane.marks if mark.look is unknown]
    assert "1 unknown" in seen.text and seen.left <= 9000 / n < seen.right


def test_a_timeline_of_a_very_long_run_stays_small() -> None:
    """A run of 14,000 turns with a bill, a trip, a question and unknown calls in each is under 300 kB."""
    n, story = 14000, run_of("18a-retries-and-failover").story
    call = story.calls[0]
    prompt = Prompt("r", "confirm", *[None] * 3, "answered", *[None] * 8, None, False)  # type: ignore[arg-type]
    trip, bill = story.trips.attempts[0], story.trips.bills[0]
    certainties = ("done", "unknown", "stood_in", "not_started")
    long = SimpleNamespace(
        run_id="long",
        events=tuple(event(i, i * 7) for i in range(n)),
        lives=story.lives,
        calls=tuple(
            replace(call, place=i, evidence_offset=i * 10, position=i % 9, certainty=certainties[i % 4])
            for i in range(n)
        ),
        trips=Trips(
            tuple(replace(trip, place=i) for i in range(n)), (), tuple(replace(bill, place=i) for i in range(n)), ()
        ),
        prompts=tuple(replace(prompt, offset=i * 10) for i in range(n)),
    )
    assert len(pictures.timeline_svg(long)) < 300_000  # type: ignore[arg-type]


def test_a_window_over_many_points_is_sampled() -> None:
    """14,000 points give a small picture that ends with the last of them."""
    run = run_of("13a-stages-and-loops")
    points = [run.points[n % len(run.points)] for n in range(14000)]
    svg = pictures.context_svg(points, run.masker, run.story.lives)
    assert len(svg) < 100_000
    assert "240 of 14,000 points" in pictures.context_html(points, run.masker, ())


def test_pictures_of_all_samples_stay_small() -> None:
    """No timeline of a sample is over 60 kB, and drawing twice gives the same."""
    for story in ("01-finished", "08a-fan-out-with-workers", "13a-stages-and-loops", "14a-torn-tail"):
        for folder in sorted((SAMPLES / story).iterdir()):
            run = open_run(folder)
            svg = pictures.timeline_svg(run.story, run.masker)
            assert len(svg) < 60_000
            assert svg == pictures.timeline_svg(open_run(folder).story, run.masker)


def test_pictures_on_one_page_have_their_own_definitions() -> None:
    """A browser draws no weave whose definition lies in a closed fold, so ids of two pictures differ."""
    run = run_of("02e-killed-twice-and-finished")
    page = pictures.each_html([run, run])
    ids = re.findall(r'<pattern id="([^"]+)"', page)
    assert ids and len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)
