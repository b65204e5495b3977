"""What a timeline shows: lanes of marks, each with its place, its look and its words. Text in a mark is raw.

Belongs here: reading marks off a story, and putting together what is too much to draw, column by column, the word that
matters most on top. The drawing is in `timeline.py`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from recovery_kit.display import count_text, duration_text, time_text
from recovery_kit.history.story import Story

from .axis import Axis
from .vocabulary import BLUE, CERTAINTY, GREY, SETTLEMENT, STATUS, TRIP, Look

MOST_MARKS = 160
"""Marks a lane before they are put together, and columns they are put into."""
ROWS_OF_CALLS = 4
"""Calls of one batch stand below each other, in so many rows."""


class Mark(NamedTuple):
    """Something in a lane. `text` and `label` are raw."""

    left: float
    right: float
    look: Look
    text: str
    label: str = ""
    row: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the picture."""

    name: str
    marks: tuple[Mark, ...]
    height: int = 16
    """Pixels a row of marks."""
    rows: int = 1

    @property
    def whole_height(self) -> int:
        return self.height * self.rows


_PLAIN = Look("", "", "open", GREY)
_STAGE = Look("stage", "", "open", BLUE)


class _Places:
    """Records of a story by offset and on the axis."""

    def __init__(self, story: Story) -> None:
        self.story, self.events = story, story.events
        self.axis = Axis(story.events)
        self.by_offset = {event.offset: event.place for event in story.events}

    def span(self, first: int, last: int) -> tuple[float, float]:
        return self.axis.left(first), self.axis.right(max(first, last))

    def end_of_life(self, place: int) -> int:
        for life in self.story.lives:
            if life.first <= place <= life.last:
                return life.last
        return len(self.events) - 1


def lanes(story: Story) -> tuple[Lane, ...]:
    """What the timeline shows, before any of it is put together (verified)."""
    places = _Places(story)
    calls = tuple(_calls(places))
    all_lanes = (
        Lane("Process", tuple(_lives(places))),
        Lane("Status", tuple(_statuses(places))),
        Lane("Stage", tuple(_stages(places))),
        Lane("Model", tuple(_model(places))),
        Lane("Tools", calls, 15, min(1 + max((mark.row for mark in calls), default=0), ROWS_OF_CALLS)),
        Lane("People", tuple(_people(places))),
    )
    return tuple(lane for lane in all_lanes if lane.marks)


def _lives(places: _Places) -> Iterator[Mark]:
    for life in places.story.lives:
        made_up = f"; it made up {count_text(len(life.stand_ins), 'result')}" if life.stand_ins else ""
        name = "start" if life.index == 0 else f"restart {life.index}"
        when = f"{time_text(life.began_at)} to {time_text(life.ended_at)}"
        yield Mark(*places.span(life.first, life.last), _PLAIN, f"{name}: records from {when}{made_up}", name)


def _stretches(places: _Places, word_of: dict[int, str]) -> Iterator[tuple[str, int, int]]:
    """Equal words of neighbouring records as one stretch: word, first and last place."""
    word, since = None, 0
    for place in range(len(places.events)):
        now = word_of.get(place, word)
        if now != word:
            if word is not None:
                yield word, since, place - 1
            word, since = now, place
    if word is not None:
        yield word, since, len(places.events) - 1


def _statuses(places: _Places) -> Iterator[Mark]:
    said = {e.place: str(e.record.status) for e in places.events if e.kind == "StatusChanged"}
    said |= {e.place: str(e.meta.status) for e in places.events if e.meta is not None}
    for word, first, last in _stretches(places, said):
        look = STATUS.get(word, _PLAIN)
        begun = time_text(places.events[first].at)
        yield Mark(*places.span(first, last), look, f"{look.word or word} from {begun}", look.word or word)


def _stages(places: _Places) -> Iterator[Mark]:
    said = {e.place: e.meta.current_stage for e in places.events if e.meta is not None and e.meta.current_stage}
    for word, first, last in _stretches(places, said):
        begun = time_text(places.events[first].at)
        yield Mark(*places.span(first, last), _STAGE, f"stage {word} from {begun}", word)


def _model(places: _Places) -> Iterator[Mark]:
    trips = places.story.trips
    for trip in trips.attempts:
        r = trip.record
        came = (
            "answered"
            if trip.succeeded
            else f"failed ({trip.failure_kind or 'no kind'}), then {trip.next or 'nothing'}"
        )
        text = f"{r.provider}/{r.model}: trip {r.attempt} {came} after {duration_text(r.duration_ms / 1000)}"
        span = places.span(trip.place, trip.place)
        yield Mark(*span, TRIP["answered" if trip.succeeded else "failed"], text)
    for bill in trips.bills:
        u = bill.record
        money = "no figure" if u.cost_usd is None else f"{u.cost_usd:.4f} USD"
        text = f"bill of {u.provider}/{u.model}: {u.prompt_tokens} in, {u.completion_tokens} out, {money}"
        yield Mark(*places.span(bill.place, bill.place), TRIP["bill"], text)


def _calls(places: _Places) -> Iterator[Mark]:
    for call in places.story.calls:
        evidence = places.by_offset.get(call.evidence_offset) if call.evidence_offset is not None else None
        last = places.end_of_life(call.place) if call.certainty == "unknown" or evidence is None else evidence
        look = CERTAINTY[call.certainty]
        text = f"{look.word}: {call.name} {call.call_id}, turn {call.iteration}: {call.why}"
        yield Mark(*places.span(call.place, last), look, text, call.name, call.position % ROWS_OF_CALLS)


def _people(places: _Places) -> Iterator[Mark]:
    for prompt in places.story.prompts:
        first, last = _asked(places, prompt.asked_at, prompt.offset, prompt.life)
        if first is None or last is None:
            continue
        look = SETTLEMENT[prompt.settlement]
        text = f"{look.word}: {prompt.kind or prompt.reason or 'question'} {prompt.tool or ''}".rstrip()
        yield Mark(*places.span(first, last), look, text, look.word)


def _asked(places: _Places, at: int | None, offset: int | None, life: int | None) -> tuple[int | None, int | None]:
    if offset is not None and offset in places.by_offset:
        last = first = places.by_offset[offset]
        while first > 0 and at is not None and places.events[first - 1].at >= at:
            first -= 1
        return first, last
    if life is not None and life < len(places.story.lives):
        return places.story.lives[life].last, places.story.lives[life].last
    return None, None


# -- putting together ------------------------------------------------------------------------------------------------

_RANK: dict[str, int] = {
    "unknown": 9,
    "stood in": 8,
    "lost": 8,
    "failed": 7,
    "timed out": 6,
    "open": 6,
    "not started": 5,
}


def condensed(lane: Lane, columns: int = MOST_MARKS) -> Lane:
    """A lane of at most so many marks: what falls into one column is one mark of its weightiest word, with counts.

    Its rows become one.
    """
    if len(lane.marks) <= columns:
        return lane
    groups: dict[int, list[Mark]] = defaultdict(list)
    for mark in lane.marks:
        groups[min(int(mark.left * columns), columns - 1)].append(mark)
    return Lane(lane.name, tuple(_together(groups[column], column, columns) for column in sorted(groups)), lane.height)


def _together(marks: list[Mark], column: int, columns: int) -> Mark:
    counts = Counter(mark.look.word or mark.label for mark in marks)
    top = max(marks, key=lambda mark: _RANK.get(mark.look.word, 0))
    said = ", ".join(f"{n} {word}" for word, n in counts.most_common(6))
    return Mark(column / columns, (column + 1) / columns, top.look, f"{count_text(len(marks), 'mark')}: {said}")
