"""What the scrubber is told about one point: the regions that differ from those it has, and which entries are new.

Belongs here: pieces of answers, kept small. A window may hold megabytes; an answer holds beginnings of a few entries a
region, and as few as fit into `BUDGET`.
"""

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import msgspec

from recovery_kit.display import count_text, duration_text, time_text
from recovery_kit.formats.writing import plain
from recovery_kit.history.fold import Point
from recovery_kit.history.windows import RegionView, text_of
from recovery_kit.pictures.vocabulary import CERTAINTY, SERIES, SETTLEMENT
from recovery_kit.records.window import AssistantTurn, Entry, ToolResult, UserMessage
from recovery_kit.runs.run import Run

from .trees import line, whole

BUDGET = 4700
"""Bytes of one answer as JSON; with its envelope a step stays under 5 KB."""
_HOW_MANY = (10, 6, 4, 2, 1, 0)
"""Entries a region, the newest, tried from the left until all fit."""
_PREVIEW = 90
MOST_MORE = 40
"""Entries in one answer to somebody who wants more of a region."""
MARKS = ("restart", "unknown", "batch", "prompt", "pause", "failed")
"""Kinds of marks on the timeline, in the order of their lanes."""

Key = tuple[str, int]
"""Name of a region, and which of those with that name."""


def keyed(point: Point) -> dict[Key, RegionView]:
    """Regions of a point by key, in the order of its window."""
    seen: Counter[str] = Counter()
    found = {}
    for view in point.window.regions:
        found[view.name, seen[view.name]] = view
        seen[view.name] += 1
    return found


def same(one: RegionView | None, other: RegionView | None) -> bool:
    """Whether two regions hold the same; that of two points that share it is the same object."""
    if one is None or other is None:
        return one is other
    while one is not other:
        if (one.current_tokens, one.max_tokens, one.kind) != (other.current_tokens, other.max_tokens, other.kind):
            return False
        if bytes(one.json) != bytes(other.json) or (one.before is None) != (other.before is None):
            return False
        if one.before is None or other.before is None:
            return True
        one, other = one.before, other.before
    return True


def bytes_of(answer: Any) -> int:
    """Bytes of an answer as JSON, spelled at its longest."""
    return len(json.dumps(answer))


class Moments:
    """Answers about the points of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.points: Sequence[Point] = run.points
        self._offsets = [point.offset for point in self.points]
        self._decoded: dict[int, tuple[RegionView, tuple[Entry, ...]]] = {}
        self.marks = self._marks()
        self._out = self._calls_out()
        self._spent = self._money()

    # The whole, told once.

    def shape(self) -> dict[str, Any]:
        """Points, regions by the room they take, stages and marks: numbers, and names once."""
        names = [line(name, self.run.masker, 60) for name in self.names]
        return {
            "points": len(self.points),
            "regions": [{"name": name, "colour": SERIES[n % len(SERIES)]} for n, name in enumerate(names)],
            "stages": self._stages(),
            "marks": {kind: sorted({point for point, _ in self.marks[kind]}) for kind in MARKS if self.marks[kind]},
            "ends": [time_text(self.points[0].at), time_text(self.points[-1].at)] if self.points else ["", ""],
        }

    @cached_property
    def names(self) -> list[str]:
        """Names of regions in the order in which they came."""
        return list(dict.fromkeys(region.name for point in self.points for region in point.window.regions))

    def tokens(self) -> list[list[int]]:
        """Tokens by region and point."""
        rows = {name: [0] * len(self.points) for name in self.names}
        for place, point in enumerate(self.points):
            for region in point.window.regions:
                rows[region.name][place] += min(max(region.current_tokens, 0), 2**31)
        return list(rows.values())

    def at_or_before(self, offset: int) -> int:
        """The last point before a record; the first where there is none."""
        return max(bisect_right(self._offsets, offset) - 1, 0)

    def _stages(self) -> list[list[Any]]:
        """Stretches of one stage: first point, last point, name."""
        found: list[list[Any]] = []
        for point in self.points:
            name = line(point.window.stage_name or point.skim_meta().current_stage, self.run.masker, 40)
            if found and found[-1][2] == name:
                found[-1][1] = point.index
            else:
                found.append([point.index, point.index, name])
        return found

    def _marks(self) -> dict[str, list[tuple[int, str]]]:
        """Things beside the window, by kind: point and words, raw."""
        story, found = self.run.story, {kind: list[tuple[int, str]]() for kind in MARKS}
        if not self.points:
            return found
        at = self.at_or_before
        for life in story.lives[1:]:
            made_up = f", it made up {count_text(len(life.stand_ins), 'result')}" if life.stand_ins else ""
            found["restart"].append(
                (at(life.offset or story.events[life.first].offset), f"restart {life.index}{made_up}")
            )
        for call in story.calls:
            kind = "unknown" if call.is_unknown else "batch"
            found[kind].append((at(call.offset), f"{CERTAINTY[call.certainty].word}: {call.name} {call.call_id}"))
        for prompt in story.prompts:
            if prompt.offset is not None:
                what = f"{SETTLEMENT[prompt.settlement].word}: {prompt.kind or prompt.reason} {prompt.tool or ''}"
                found["prompt"].append((at(prompt.offset), what.rstrip()))
        for event in story.events:
            if event.kind == "StatusChanged":
                found["pause"].append((at(event.offset), f"status {event.record.status}"))
        for trip in story.trips.attempts:
            if not trip.succeeded:
                r = trip.record
                waited = duration_text(r.backoff_ms / 1000)
                words = f"{r.provider}/{r.model}: {trip.failure_kind or 'failed'}, waited {waited}"
                found["failed"].append((at(trip.offset), words))
        return found

    def _calls_out(self) -> list[int]:
        """By point: calls handed out before it whose result comes later, or never."""
        steps = [0] * (len(self.points) + 1)
        for call in self.run.story.calls:
            if call.inline or call.certainty == "not_started":
                continue
            first = bisect_left(self._offsets, call.offset)
            ended = call.evidence_offset if call.certainty != "unknown" else None
            last = len(self.points) if ended is None else bisect_left(self._offsets, ended)
            steps[first] += 1
            steps[max(first, last)] -= 1
        return list(accumulate(steps[:-1]))

    def _money(self) -> list[tuple[float, int]]:
        """By point: USD of bills so far, and bills without a figure."""
        bills = sorted((bill for bill in self.run.story.trips.bills if not bill.behind_tear), key=lambda b: b.offset)
        spent, priced, without, rest = [], 0.0, 0, iter(bills)
        bill = next(rest, None)
        for offset in self._offsets:
            while bill is not None and bill.offset <= offset:
                cost = bill.record.cost_usd
                priced, without = priced + (cost or 0.0), without + (cost is None)
                bill = next(rest, None)
            spent.append((priced, without))
        return spent

    # One point.

    def moment(self, place: int, before: int | None) -> dict[str, Any]:
        """A point for somebody who has point `before` (None: nothing): changed regions only, within `BUDGET`."""
        now, had = keyed(self.points[place]), keyed(self.points[before]) if before is not None else {}
        previous = keyed(self.points[place - 1]) if place else {}
        changed = [key for key, view in now.items() if not same(view, had.get(key))]
        answer: dict[str, Any] = {"step": place, "head": self._head(place)}
        if list(now) != list(had):
            answer["order"] = [self._id(key) for key in now]
        new = {}
        for key, view in now.items():
            if not same(view, previous.get(key)):
                new[self._id(key)] = self._new(view, previous.get(key))
        answer["new"] = new
        for many in _HOW_MANY:
            answer["regions"] = [self._region(key, now[key], many) for key in changed]
            if bytes_of(answer) <= BUDGET:
                break
        return answer

    def _id(self, key: Key) -> str:
        """A name for the browser: the region's number among all names of the run, and which of that name."""
        return f"{self._numbers[key[0]]}.{key[1]}"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def key(self, place: int, wanted: str) -> Key:
        """The region that `_id` named so. Raises KeyError."""
        return next(key for key in keyed(self.points[place]) if self._id(key) == wanted)

    def _head(self, place: int) -> dict[str, Any]:
        point, masker = self.points[place], self.run.masker
        meta, (usd, without) = point.skim_meta(), self._spent[place]
        status = line(meta.status.replace("_", " "), masker, 30)
        money = " and ".join(
            [f"{usd:.4f} USD"] * bool(usd or not without)
            + [f"{count_text(without, 'bill')} without a figure"] * bool(without)
        )
        words = [line(text, masker, 80) for kind in MARKS for at, text in self.marks[kind] if at == place]
        return {
            "said": f"{time_text(point.at)}, {status}, turn {count_text(meta.iteration)}",
            "record": f"{point.kind} at byte {count_text(point.offset)}",
            "tokens": f"{count_text(point.window.total_tokens)} of {count_text(point.window.max_tokens, 'token')}",
            "spent": money if self.run.story.trips.bills else "no bill on record",
            "out": self._out[place],
            "marks": words[:6] + ([f"and {len(words) - 6} more"] if len(words) > 6 else []),
        }

    def _region(self, key: Key, view: RegionView, many: int) -> dict[str, Any]:
        entries = self.entries(view)
        first = max(len(entries) - many, 0)
        return {
            "id": self._id(key), "name": line(key[0], self.run.masker, 60), "kind": view.kind.replace("_", " ")[:24],
            "tokens": view.current_tokens, "most": view.max_tokens, "count": len(entries),
            "first": first, "entries": [self.head(entry) for entry in entries[first:]],
        }  # fmt: skip

    def more(self, place: int, wanted: str, until: int) -> dict[str, Any]:
        """Earlier entries of a region, those before number `until`."""
        entries = self.entries(keyed(self.points[place])[self.key(place, wanted)])
        until = max(0, min(until, len(entries)))
        first = max(until - MOST_MORE, 0)
        return {"id": wanted, "first": first, "entries": [self.head(entry) for entry in entries[first:until]]}

    def entry(self, place: int, wanted: str, number: int) -> dict[str, Any]:
        """One entry, its text masked and up to a bound, and the calls it makes."""
        found = self.entries(keyed(self.points[place])[self.key(place, wanted)])[number]
        masker, texts = self.run.masker, [whole(text_of(found.content), self.run.masker)]
        if isinstance(found.kind, AssistantTurn):
            for call in found.kind.tool_calls:
                arguments = bytes(call.arguments).decode("utf-8", "replace")
                texts.append(f"{line(f'{call.id} {call.name}', masker)}\n{whole(arguments, masker)}")
        return {"texts": texts}

    def entries(self, view: RegionView) -> tuple[Entry, ...]:
        """Decoded entries; the last few regions are kept."""
        known = self._decoded.get(id(view))
        if known is None or known[0] is not view:
            if len(self._decoded) > 32:
                self._decoded.clear()
            known = self._decoded[id(view)] = (view, view.entries())
        return known[1]

    def _new(self, view: RegionView, before: RegionView | None) -> list[int]:
        """Numbers of the entries that the point before did not have; of many, the newest."""
        held = Counter(map(_mark_of, self.entries(before))) if before is not None else Counter[bytes]()
        fresh = []
        for number, entry in enumerate(self.entries(view)):
            mark = _mark_of(entry)
            if held[mark] > 0:
                held[mark] -= 1
            else:
                fresh.append(number)
        return fresh[-MOST_MORE:]

    def head(self, entry: Entry) -> list[Any]:
        """An entry in a line: who, tokens, beginning."""
        masker = self.run.masker
        match entry.kind:
            case AssistantTurn(tool_calls=calls):
                who = f"model, {count_text(len(calls), 'call')}" if calls else "model"
            case ToolResult(tool_name=name):
                who = f"result of {line(name, masker, 24)}"
            case UserMessage():
                who = "person"
            case _:
                who = f"text {line(entry.key, masker, 24)}" if entry.key else "text"
        return [who, entry.tokens, line(text_of(entry.content), masker, _PREVIEW)]


def _mark_of(entry: Entry) -> bytes:
    """What makes two entries the same: all of them."""
    return msgspec.json.encode(plain(entry))
