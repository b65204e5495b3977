"""Trips to providers and what they cost. A trip is not a bill, free is not unknown, and a sum is exact only if every
answered trip is in it with the provider's own figure (frames: attempts, failovers, inferences; 0.5-to-0.6 N5.3, N5.6)."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, isfinite
from typing import Literal

from recovery_kit.records.journal import InferenceAttempt, InferenceFailover, InferenceUsage

from .events import Event
from .lives import Life

JoinConfidence = Literal["certain", "likely", "none"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A trip to a provider."""

    offset: int
    place: int
    record: InferenceAttempt
    usage_offset: int | None
    """Of the bill that follows it, if one does."""
    behind_tear: bool

    @property
    def succeeded(self) -> bool:
        return self.record.outcome == "succeeded"

    @property
    def failure_kind(self) -> str | None:
        return None if isinstance(self.record.outcome, str) else self.record.outcome.failed.kind

    @property
    def next(self) -> str | None:
        return None if isinstance(self.record.outcome, str) else self.record.outcome.failed.next


@dataclass(frozen=True, slots=True)
class Failover:
    """A model given up for the next one."""

    offset: int
    record: InferenceFailover
    attempt_offset: int | None
    """Of the nearest earlier trip with its stage and pair."""
    behind_tear: bool


@dataclass(frozen=True, slots=True)
class Bill:
    """One billed call."""

    offset: int
    place: int
    record: InferenceUsage
    attempt_offset: int | None
    join_confidence: JoinConfidence
    """They share no id: certain where one trip stands right before the bill and no other can be meant."""
    behind_tear: bool


@dataclass(frozen=True, slots=True)
class Trips:
    attempts: tuple[Attempt, ...]
    failovers: tuple[Failover, ...]
    bills: tuple[Bill, ...]
    unbilled: tuple[Attempt, ...]
    """Trips that were answered and have no bill: the answer was lost, or the run ended on it."""


def trips(events: Sequence[Event], all_lives: Sequence[Life] = ()) -> Trips:
    """Trips, failovers and bills, joined by order within each life: an answer dies with its process, and the bill of
    the next one (whose engine may write no trips) is of another call."""
    billed: dict[int, int] = {}  # place of a trip -> place of its bill
    open_trip: Event | None = None
    begins = {life.first for life in all_lives}
    for event in events:
        if event.place in begins:
            open_trip = None
        if event.kind == "InferenceAttempt":
            open_trip = event if event.record.outcome == "succeeded" else None
        elif event.kind == "InferenceUsage" and open_trip is not None and _fits(event.record, open_trip.record):
            billed[open_trip.place] = event.place
            open_trip = None
    by_bill = {bill: trip for trip, bill in billed.items()}
    attempts = tuple(
        Attempt(e.offset, e.place, e.record, _offset(events, billed.get(e.place)), e.behind_tear)
        for e in events
        if e.kind == "InferenceAttempt"
    )
    bills = tuple(
        Bill(
            e.offset, e.place, e.record, _offset(events, by_bill.get(e.place)),
            _confidence(e, by_bill.get(e.place)), e.behind_tear,
        )
        for e in events
        if e.kind == "InferenceUsage"
    )  # fmt: skip
    unbilled = tuple(a for a in attempts if a.succeeded and a.usage_offset is None)
    return Trips(attempts, _failovers(events), bills, unbilled)


def _fits(usage: InferenceUsage, attempt: InferenceAttempt) -> bool:
    same = (usage.stage, usage.provider, usage.model) == (attempt.stage, attempt.provider, attempt.model)
    return usage.kind == "stage" and same


def _offset(events: Sequence[Event], place: int | None) -> int | None:
    return None if place is None else events[place].offset


def _confidence(bill: Event, trip: int | None) -> JoinConfidence:
    if trip is None:
        return "none"
    return "certain" if trip == bill.place - 1 else "likely"


def _failovers(events: Sequence[Event]) -> tuple[Failover, ...]:
    found, newest = [], dict[tuple[str, str, str], int]()
    for event in events:
        if event.kind == "InferenceAttempt":
            newest[event.record.stage, event.record.provider, event.record.model] = event.offset
        elif event.kind == "InferenceFailover":
            record = event.record
            pair = newest.get((record.stage, record.from_provider, record.from_model))
            found.append(Failover(event.offset, record, pair, event.behind_tear))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sums over bills."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0


def _sum(records: Sequence[InferenceUsage]) -> Tokens:
    return Tokens(
        len(records),
        sum(r.prompt_tokens for r in records),
        sum(r.completion_tokens for r in records),
        sum(r.cached_tokens for r in records),
        sum(r.cache_write_tokens for r in records),
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """What the bills of a run add up to, in USD."""

    priced_usd: float
    """Sum of the figures that are known."""
    total_usd: float | None
    """None if a bill has no figure (or no number holds the sum)."""
    exact: bool
    """Every answered trip is in the sum with the provider's own figure."""
    priced_calls: int
    unpriced_calls: int
    free_calls: int
    """Known to cost 0.0."""
    computed_calls: int
    """Figures said to be worked out from rates. One of which nobody says whose it is counts as neither."""
    behind_tear_usd: float
    """Priced bills behind a tear; in none of the other sums."""


def cost(found: Trips) -> Cost:
    """The cost by the bills before any tear."""
    bills = [bill.record for bill in found.bills if not bill.behind_tear]
    figures = [record.cost_usd for record in bills if record.cost_usd is not None]
    unpriced = len(bills) - len(figures)
    computed = sum(1 for r in bills if r.cost_usd is not None and r.cost_reported_by_provider is False)
    vouched = all(r.cost_reported_by_provider is True for r in bills if r.cost_usd is not None)
    unbilled = any(not trip.behind_tear for trip in found.unbilled)
    behind, _ = _added([b.record.cost_usd or 0.0 for b in found.bills if b.behind_tear])
    priced, held = _added(figures)
    return Cost(
        priced, None if unpriced or not held else priced, vouched and held and not (unpriced or unbilled),
        len(figures), unpriced,
        sum(1 for figure in figures if figure == 0.0), computed, behind,
    )  # fmt: skip


def _added(figures: Sequence[float]) -> tuple[float, bool]:
    """The sum, and whether a number holds it: figures that add up beyond the largest float are no infinite bill."""
    total = float(sum(figures))
    return (total, True) if isfinite(total) else (copysign(sys.float_info.max, total), False)


def usage_totals(found: Trips) -> Tokens:
    """Sums over all bills before any tear."""
    return _sum([bill.record for bill in found.bills if not bill.behind_tear])


def usage_by_kind(found: Trips) -> dict[str, Tokens]:
    """Sums by what the call was for."""
    groups: dict[str, list[InferenceUsage]] = defaultdict(list)
    for bill in found.bills:
        if not bill.behind_tear:
            groups[bill.record.kind].append(bill.record)
    return {kind: _sum(records) for kind, records in groups.items()}
