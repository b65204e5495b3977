"""A long journal that grows: what is kept of its beginning, so that only what was appended is read again.

At a quiet point of the journal (a `Progress` record before which every call has its result and every answer its bill)
the beginning is summed up in an `Anchor`. Later the run is read as a journal of its header and of what follows the
point, by the same functions as ever, and the sums are added. Whatever is not plainly additive (another life, a
question, a tear, a call that comes back late) is no matter for an anchor: then the whole journal is read.
"""

import zlib
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from recovery_kit.display import Masker
from recovery_kit.formats import rundir
from recovery_kit.formats.framing import OTHER, PREAMBLE, frame
from recovery_kit.formats.journal import Journal
from recovery_kit.formats.rundir import FileFact, Source
from recovery_kit.formats.skim import skim_meta
from recovery_kit.formats.writing import payload_of
from recovery_kit.history.clock import BUCKETS
from recovery_kit.history.events import Event
from recovery_kit.history.story import Story
from recovery_kit.records.journal import Checkpoint
from recovery_kit.records.meta import Children, FanOutWorkers
from recovery_kit.runs.moment import State
from recovery_kit.runs.places import part_of
from recovery_kit.runs.run import Run

from .summary import NAMES, Spend, Summary, paid_by, summary_of

GROW_FROM = 512 * 1024
"""Bytes of a journal from which an anchor is worth its bytes."""
WINDOW_FROM = 32 << 20
"""Bytes of a journal from which the window at the point is kept too."""
_MARK = 4096
"""Bytes before the point by which the journal is known again."""
_TRIES = 16
"""Points looked at, from the end."""
_PLAIN = frozenset({
    "Header", "Progress", "Inference", "InferenceUsage", "InferenceAttempt", "InferenceFailover", "ToolBatch",
    "ToolCallDone", "Message", "ContextTransaction", "ArtifactsProduced", "ContextCheckpoint", "ContextDiff",
    "Checkpoint", "StatusChanged",
})  # fmt: skip
"""Kinds that add up; an `Interaction` or an `OwnershipChanged` does not."""
_STILL = frozenset({"paused", "waiting_input"})
"""Statuses that can reach over records."""


class Anchor(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of a journal in sums."""

    at: int
    """Offset of the `Progress` record: the beginning is what lies before."""
    time: int
    """Of that record, Unix seconds."""
    head: int
    """Bytes of the header's frame."""
    head_digest: bytes
    mark: bytes
    """Digest of the bytes right before the point."""
    records: int
    calls: int
    bills: int
    priced: float
    unpriced: int
    computed: int
    unbilled: int
    """Answered trips for which no bill can come any more."""
    seconds: list[int]
    spend: list[Spend]
    written_by: str | None
    window: bytes | None
    """A `Checkpoint` frame, packed, that stands for the point's own record; None where the journal is short."""
    window_end: int
    """Offset behind the point's own record."""


pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder(Anchor).decode


class _Tail:
    """The files of a run with a journal that begins at the anchor."""

    def __init__(self, inner: Source, journal: bytes, fetched: int, shift: int, own_from: int) -> None:
        self.inner, self.journal, self.fetched = inner, journal, fetched
        self.shift = shift
        """What to add to an offset to have it in the whole journal."""
        self.own_from = own_from
        """From here on the bytes are those of the journal."""

    @property
    def label(self) -> str:
        return self.inner.label

    def facts(self) -> Mapping[str, FileFact]:
        return self.inner.facts()

    def read(self, name: str) -> bytes | memoryview | None:
        if name == rundir.JOURNAL:
            return self.journal
        data = self.inner.read(name)
        self.fetched += len(data) if data is not None else 0
        return data


def grown(run: Run, anchor: Anchor, known: int, crc: int, size: int) -> tuple[Summary, Anchor] | None:
    """The summary of a run whose journal only grew behind the anchor, and the next anchor.

    `known` and `crc` are of the journal when the anchor was taken, `size` is what it has now, in bytes. None where
    that cannot be told from the new bytes alone: read it whole. Raises OSError.
    """
    source = run._source
    tail = _tail(source, anchor, size)
    if tail is None or size < known:
        return None
    short = type(run)(run.id, tail, run.source, run._neighbour, verified=run.verified)
    if short.journal.framing.torn_at is not None:
        short._verified = True  # what lies behind a tear counts, and is seen only when each frame is judged
    if not _plain(short.journal) or not short.ask(lambda story: _adds_up(story, anchor)):
        return None
    told = summary_of(short)
    if told.trouble is not None or told.row["written_by"] != anchor.written_by:
        return None
    if told.failure is not None and told.failure.tool is None:
        return None
    added = tail.journal[known - tail.shift :]
    end = known + len(added)
    told = msgspec.structs.replace(told, journal=end, crc=zlib.crc32(added, crc), fetched=tail.fetched)
    found = _added(told, short, anchor)
    following = short.ask(lambda story: anchor_of(story, end, short.masker, anchor, tail))
    return found, msgspec.structs.replace(following or anchor, written_by=anchor.written_by)


def _tail(source: Source, anchor: Anchor, size: int) -> _Tail | None:
    """The journal from the point on, behind its header; None where it is no longer the same journal.

    Where the window at the point is kept it stands for the point's own record.
    """
    if size < anchor.window_end:
        return None
    begin = part_of(source, rundir.JOURNAL, 0, len(PREAMBLE) + anchor.head)
    if begin is None or _digest(begin) != anchor.head_digest:
        return None
    first = max(0, anchor.at - _MARK)
    more = part_of(source, rundir.JOURNAL, first)
    if more is None or _digest(more[: anchor.at - first]) != anchor.mark:
        return None
    between = zlib.decompress(anchor.window) if anchor.window else b""
    start = anchor.window_end if anchor.window else anchor.at
    tail = begin + between + more[start - first :]
    return _Tail(source, tail, len(begin) + len(more), start - len(begin) - len(between), len(begin) + len(between))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=12).digest()


def _plain(journal: Journal) -> bool:
    framing = journal.framing
    return framing.error is None and OTHER not in framing.kinds and 0 not in framing.lengths


def _adds_up(story: Story, anchor: Anchor) -> bool:
    """Whether what follows the anchor leaves its sums as they are."""
    events = story.events
    if len(events) < 2 or events[1].kind not in ("Progress", "Checkpoint") or not _ordinary(story, events):
        return False
    account = story.time_account
    early = () if account is None else [i for i in account.intervals if i.start < anchor.time]
    return (
        all(interval.bucket == "unknown" for interval in early)
        and min(event.at for event in events[1:]) >= anchor.time
        and not _strangers(events)
    )


def _ordinary(story: Story, events: tuple[Event, ...]) -> bool:
    return (
        all(event.kind in _PLAIN and not event.behind_tear for event in events)
        and not any(event.kind == "StatusChanged" and event.record.status == "paused" for event in events)
        and not story.prompts
        and len(story.lives) == 1
        and not story.reading().unread
    )


def _strangers(events: tuple[Event, ...]) -> bool:
    """Whether a result belongs to no batch of these records."""
    handed = {(e.record.iteration, c.id) for e in events if e.kind == "ToolBatch" for c in e.record.calls}
    return any((e.record.iteration, e.record.call_id) not in handed for e in events if e.kind == "ToolCallDone")


def _added(told: Summary, short: Run, anchor: Anchor) -> Summary:
    bills = [bill.record for bill in short.told.trips.bills]
    priced = anchor.priced
    for bill in bills:
        priced += bill.cost_usd or 0.0
    n, unpriced = anchor.bills + len(bills), anchor.unpriced + sum(bill.cost_usd is None for bill in bills)
    cost = short.told.cost
    computed = anchor.computed + cost.computed_calls
    row = told.row
    row["n_records"] += anchor.records - 1
    row["n_calls"] += anchor.calls
    exact = told.cost_exact
    if n:
        exact = not (unpriced or computed or anchor.unbilled or short.told.trips.unbilled)
        row |= {
            "billed_calls": n, "priced_usd": priced, "unpriced_calls": unpriced, "computed_calls": computed,
            "cost_usd": None if unpriced else priced, "cost_is_exact": exact, "behind_tear_usd": 0.0,
        }  # fmt: skip
    seconds = list(told.seconds)
    if seconds:
        early = max(0, anchor.time - short.told.events[0].at)
        seconds[BUCKETS.index("unknown")] -= early
        seconds = [a + b for a, b in zip(seconds, anchor.seconds, strict=True)]
    return msgspec.structs.replace(
        told, cells=[row[name] for name in NAMES], seconds=seconds, cost_exact=exact,
        spend=_both(anchor.spend, told.spend, bills, short.masker),
    )  # fmt: skip


def _both(first: list[Spend], second: list[Spend], bills: list[Any], mask: Masker) -> list[Spend]:
    """Sums of both, figures added one by one as reading the whole would."""
    sums = {(spend.stage, spend.model): spend for spend in first}
    for spend in second:
        key = spend.stage, spend.model
        old = sums.get(key, Spend(key[0], key[1], 0, 0, 0, 0, 0, 0.0, 0))
        priced = old.priced_usd
        for bill in bills:
            if paid_by(bill, mask) == key:
                priced += bill.cost_usd or 0.0
        counts = {name: getattr(old, name) + getattr(spend, name) for name in _COUNTS}
        sums[key] = msgspec.structs.replace(old, **counts, priced_usd=priced)
    return [sums[key] for key in sorted(sums)]


_COUNTS = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "unpriced_calls")


# Where the next beginning ends.


def anchor_of(
    story: Story, size: int, mask: Masker, before: Anchor | None = None, tail: _Tail | None = None
) -> Anchor | None:  # fmt: skip
    """The newest point of a journal at which it can be summed up, None where there is none.

    `before`: the story begins with that anchor's header and goes on at its point, as `tail` has it.
    """
    events = story.events
    if size < GROW_FROM or not _plain(story.journal) or len(events) < 3 or events[0].kind != "Header":
        return None
    if not _ordinary(story, events) or _strangers(events) or story.fold() is None:
        return None
    if skim_meta(events[0].record.meta).status in _STILL:
        return None
    points = [event for event in events[2 if before else 1 :] if event.kind == "Progress"]
    last_batch = max((event.place for event in events if event.kind == "ToolBatch"), default=-1)
    for point in points[: -_TRIES - 1 : -1]:
        if size >= WINDOW_FROM and last_batch < point.place:
            continue  # what is pending at the end is told by the last batch, so that has to come after the point
        if _quiet(story, events, point):
            return _anchored(story, point, size, mask, before, tail)
    return None


def _quiet(story: Story, events: tuple[Event, ...], point: Event) -> bool:
    """Whether nothing reaches over the point: no call, no trip, no stretch of time."""
    meta = point.meta
    if meta is None or meta.status == "paused" or isinstance(meta.waiting_on, Children | FanOutWorkers):
        return False
    place, at = point.place, point.at
    if any(event.at > at for event in events[:place]) or any(event.at < at for event in events[place:]):
        return False
    for call in story.calls:
        if call.place < place and (call.is_unknown or (call.evidence_offset or 0) >= point.offset):
            return False
    trips = [trip for trip in story.trips.attempts if trip.place < place]
    if trips and trips[-1].succeeded and (trips[-1].usage_offset is None or trips[-1].usage_offset > point.offset):
        return False  # its bill may still come
    for trip in story.trips.attempts:
        spent = -(-(trip.record.duration_ms) // 1000) + -(-(trip.record.backoff_ms or 0) // 1000)
        if trip.place > place and trip.record.at - spent < at:
            return False
    return True


def _anchored(
    story: Story, point: Event, size: int, mask: Masker, before: Anchor | None, tail: _Tail | None
) -> Anchor | None:  # fmt: skip
    journal = story.journal
    head = 8 + journal.framing.lengths[0]
    if tail is not None and point.offset - _MARK < tail.own_from:
        return None  # what lies right before the point is not at hand
    bills = [bill.record for bill in story.trips.bills if bill.place < point.place]
    account = story.time_account
    start = account.start if account else point.at
    seconds = [0] * len(BUCKETS)
    for interval in account.intervals if account else ():
        if interval.start < point.at:
            seconds[BUCKETS.index(interval.bucket)] += min(interval.stop, point.at) - interval.start
    priced, base = (before.priced, before) if before else (0.0, None)
    for bill in bills:
        priced += bill.cost_usd or 0.0
    if base is not None:
        seconds[BUCKETS.index("unknown")] -= max(0, base.time - start)
        seconds = [a + b for a, b in zip(seconds, base.seconds, strict=True)]
    at = point.offset + (tail.shift if tail else 0)
    window = _window(story, point) if size >= WINDOW_FROM else None
    return Anchor(
        at, point.at, head, _digest(bytes(journal.data[: len(PREAMBLE) + head])),
        _digest(bytes(journal.data[max(0, point.offset - _MARK) : point.offset])),
        point.place + (base.records - 1 if base else 0),
        sum(call.place < point.place for call in story.calls) + (base.calls if base else 0),
        len(bills) + (base.bills if base else 0), priced,
        sum(bill.cost_usd is None for bill in bills) + (base.unpriced if base else 0),
        sum(b.cost_usd is not None and b.cost_reported_by_provider is not True for b in bills)
        + (base.computed if base else 0),
        sum(trip.place < point.place for trip in story.trips.unbilled) + (base.unbilled if base else 0),
        seconds, _both(base.spend if base else [], _spend_of(bills, mask), bills, mask), None,
        window, at + 8 + point.size,
    )  # fmt: skip


def _spend_of(bills: list[Any], mask: Masker) -> list[Spend]:
    sums: dict[tuple[str, str], list[int]] = {}
    for r in bills:
        row = sums.setdefault(paid_by(r, mask), [0] * 6)
        more = (1, r.prompt_tokens, r.completion_tokens, r.cached_tokens, r.cache_write_tokens, r.cost_usd is None)
        row[:] = [a + b for a, b in zip(row, more, strict=True)]
    return [
        Spend(stage, model, row[0], row[1], row[2], row[3], row[4], 0.0, row[5])
        for (stage, model), row in sorted(sums.items())
    ]


def _window(story: Story, point: Event) -> bytes | None:
    """The state at the point as the record that the format has for it."""
    found = next((p for p in reversed(story.points) if p.offset == point.offset), None)
    if found is None:
        return None
    return zlib.compress(frame(payload_of(Checkpoint(found.read_meta(), found.window.window(), found.at))))


def state_at_end(run: Run, anchor: Anchor, size: int) -> State | None:
    """The last state of a long journal without its middle, None where the anchor does not fit; `offset` is that of the
    journal. Raises OSError."""
    if anchor.window is None:
        return None
    tail = _tail(run._source, anchor, size)
    if tail is None:
        return None
    short = type(run)(run.id, tail, run.source, run._neighbour, verified=run.verified)
    if all(event.kind != "ToolBatch" for event in short.records):
        return None
    state = short.at()
    if state.offset is not None:
        state.offset += tail.shift
    return state
