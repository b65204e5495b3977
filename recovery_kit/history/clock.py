"""Where the time of a run went: each second of its life lies in exactly one bucket, and the buckets add up to the wall clock.

Rules in the order in which they count where several apply: between two lives; paused; a person; model; backoff; tool;
children; what is left is unknown. Milliseconds are rounded up to whole seconds before they are placed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from recovery_kit.records.meta import (
    AtInteractionPoint,
    Children,
    FanOutWorkers,
    TaintGate,
    ToolApproval,
    UserPrompt,
    WaitingOn,
)

from .calls import Call
from .events import Event
from .lives import Life

Bucket = Literal["model", "backoff", "tool", "person", "children", "paused", "no_process", "unknown"]
BUCKETS: tuple[Bucket, ...] = ("model", "backoff", "tool", "person", "children", "paused", "no_process", "unknown")

_PERSON = (ToolApproval, UserPrompt, TaintGate, AtInteractionPoint)
_CHILDREN = (FanOutWorkers, Children)


class Interval(NamedTuple):
    """Whole seconds from `start` up to `stop`, in one bucket, and the record that shows it."""

    start: int
    stop: int
    bucket: Bucket
    evidence_offset: int | None

    @property
    def seconds(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class TimeAccount:
    """The life of a run in seconds."""

    start: int
    """Unix seconds of its creation."""
    stop: int
    """The newest time in the files."""
    intervals: tuple[Interval, ...]

    @property
    def wall_seconds(self) -> int:
        return self.stop - self.start

    @property
    def seconds(self) -> dict[Bucket, int]:
        """Seconds by bucket; they add up to `wall_seconds`."""
        sums = dict.fromkeys(BUCKETS, 0)
        for interval in self.intervals:
            sums[interval.bucket] += interval.seconds
        return sums


def time_account(
    events: Sequence[Event], all_lives: Sequence[Life], calls: Sequence[Call], newest: int | None = None
) -> TimeAccount | None:
    """The account of a run; `newest` is the newest time in its other files. None without a readable record."""
    if not events:
        return None
    start = all_lives[0].began_at
    stop = max([start, *(event.at for event in events), *([newest] if newest is not None else [])])
    claims = [
        *_gaps(events, all_lives),
        *_paused(events, stop),
        *_asked(events),
        *_model(events),
        *_backoff(events),
        *_tools(calls, all_lives, stop),
        *_children(events, all_lives, stop),
    ]
    return TimeAccount(start, stop, _placed(claims, start, stop))


def _placed(claims: Sequence[Interval], start: int, stop: int) -> tuple[Interval, ...]:
    """The first claim on each second counts; neighbouring seconds of one claim are one interval."""
    edges = sorted({start, stop, *(t for c in claims for t in (c.start, c.stop) if start < t < stop)})
    waiting = sorted(range(len(claims)), key=lambda number: claims[number].start, reverse=True)
    standing: list[int] = []  # a heap of claims by their rank
    found: list[Interval] = []
    for low, high in zip(edges, edges[1:], strict=False):
        while waiting and claims[waiting[-1]].start <= low:
            heappush(standing, waiting.pop())
        while standing and claims[standing[0]].stop <= low:
            heappop(standing)
        bucket, evidence = ("unknown", None) if not standing else claims[standing[0]][2:]
        if found and (found[-1].bucket, found[-1].evidence_offset) == (bucket, evidence):
            found[-1] = found[-1]._replace(stop=high)
        else:
            found.append(Interval(low, high, bucket, evidence))
    return tuple(found)


def _gaps(events: Sequence[Event], all_lives: Sequence[Life]) -> Iterator[Interval]:
    """Between the last record of a life and the first of the next. A parked run writes nothing, so its silence does not
    say when the process went."""
    for life, following in zip(all_lives, all_lives[1:], strict=False):
        status, waiting = _last_word(events, life)
        bucket: Bucket = "no_process"
        if status == "paused":
            bucket = "paused"
        elif status == "waiting_input" and isinstance(waiting, _PERSON + _CHILDREN):
            if not _settled_since(events, life):
                bucket = "unknown"
        yield Interval(life.ended_at, following.began_at, bucket, events[life.last].offset)


def _last_word(events: Sequence[Event], life: Life) -> tuple[str | None, WaitingOn | None]:
    """Status and wait when a life ends. Of an earlier life's only a pause and an open point hold: a restart brings those
    two back and nothing else (leviath-run-directory 5.2, steps 11 and 12)."""
    status: str | None = None
    for event in reversed(events[: life.last + 1]):
        if event.kind == "StatusChanged" and status is None:
            status = event.record.status
        elif event.meta is not None:
            status, waiting = status or event.meta.status, event.meta.waiting_on
            own = event.place >= life.first
            return (
                (status, waiting)
                if own or status == "paused" or isinstance(waiting, AtInteractionPoint)
                else (None, None)
            )
    return status, None


def _settled_since(events: Sequence[Event], life: Life) -> bool:
    """Whether the last thing a life wrote about a wait is that a person ended it."""
    for event in reversed(events[life.first : life.last + 1]):
        if event.kind == "Interaction":
            return True
        if event.meta is not None:
            return False
    return False


def _paused(events: Sequence[Event], stop: int) -> Iterator[Interval]:
    """Stretches in which the status says paused, whatever processes came and went: a restart pauses again."""
    since: Event | None = None
    for event in events:
        status = event.record.status if event.kind == "StatusChanged" else event.meta.status if event.meta else None
        if status == "paused" and since is None:
            since = event
        elif status not in (None, "paused") and since is not None:
            yield Interval(since.at, event.at, "paused", since.offset)
            since = None
    if since is not None:
        yield Interval(since.at, stop, "paused", since.offset)


def _children(events: Sequence[Event], all_lives: Sequence[Life], stop: int) -> Iterator[Interval]:
    """Stretches in which the run says that it waits for children, within each life: a restart does not wait again."""
    for life in all_lives:
        since: Event | None = None
        for event in events[life.first : life.last + 1]:
            waits = _waits_for_children(event)
            if waits and since is None:
                since = event
            elif waits is False and since is not None:
                yield Interval(since.at, event.at, "children", since.offset)
                since = None
        if since is not None:
            end = stop if life is all_lives[-1] else life.ended_at
            yield Interval(since.at, end, "children", since.offset)


def _waits_for_children(event: Event) -> bool | None:
    """None where a record does not say."""
    if event.kind == "StatusChanged":
        return None if event.record.status == "waiting_input" else False
    if event.meta is None:
        return None
    return event.meta.status == "waiting_input" and isinstance(event.meta.waiting_on, _CHILDREN)


def _asked(events: Sequence[Event]) -> Iterator[Interval]:
    for event in events:
        if event.kind == "Interaction":
            yield Interval(event.record.asked_at, event.record.at, "person", event.offset)


def _ceil(milliseconds: int) -> int:
    return -(-milliseconds // 1000)


def _model(events: Sequence[Event]) -> Iterator[Interval]:
    for event in events:
        if event.kind == "InferenceAttempt":
            yield Interval(event.at - _ceil(event.record.duration_ms), event.at, "model", event.offset)


def _backoff(events: Sequence[Event]) -> Iterator[Interval]:
    for event in events:
        if event.kind == "InferenceAttempt" and event.record.backoff_ms:
            end = event.at - _ceil(event.record.duration_ms)
            yield Interval(end - _ceil(event.record.backoff_ms), end, "backoff", event.offset)


def _tools(calls: Sequence[Call], all_lives: Sequence[Life], stop: int) -> Iterator[Interval]:
    """From a batch to a call's own result, or to the end of the life that handed it out."""
    for call in calls:
        if call.inline or call.certainty == "not_started":
            continue
        life = next(life for life in reversed(all_lives) if life.first <= call.place)
        end = call.ended_at if call.ended_at is not None else life.ended_at
        yield Interval(call.started_at, end, "tool", call.evidence_offset)
