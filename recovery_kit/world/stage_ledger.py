"""The stage ledger of a live run: bills, visits, marks (leviath-run-directory 2.3; 0.5-to-0.6 N10, N11)."""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.meta import Clock, ModelRef, RunMeta
from recovery_kit.records.sidecars import StageRecord, Visit
from recovery_kit.records.window import Window

from .providers import Reply

MOST_VISITS = 128
"""Visits that the file keeps, the earliest (N11)."""

Billed = TypeVar("Billed", RunMeta, StageRecord, Visit)

LIVE = {"complete": "complete", "error": "error", "cancelled": "error", "waiting_input": "waiting_input"}
"""The word of the stage that a run is in, by the run's status; `active` for all others."""


def new_ledger(blueprint: Blueprint) -> tuple[StageRecord, ...]:
    """One empty record for each stage."""
    return tuple(
        StageRecord(
            name=stage.name, index=index, status="pending", prompt_tokens=0, completion_tokens=0, cost_usd=0.0,
            cost_is_exact=True,
        )
        for index, stage in enumerate(blueprint.stages)
    )  # fmt: skip


def billed(record: Billed, reply: Reply) -> Billed:
    """The record with one more bill. A cost is known only while every call was priced (N10)."""
    priced = record.cost_priced_usd + (reply.cost_usd or 0.0)
    unpriced = record.unpriced_calls + (reply.cost_usd is None)
    exact = record.cost_is_exact and reply.cost_usd is not None and bool(reply.cost_reported_by_provider)
    return replace(
        record,
        prompt_tokens=record.prompt_tokens + reply.prompt_tokens,
        completion_tokens=record.completion_tokens + reply.completion_tokens,
        cached_tokens=record.cached_tokens + reply.cached_tokens,
        cache_write_tokens=record.cache_write_tokens + reply.cache_write_tokens,
        cost_priced_usd=priced, unpriced_calls=unpriced, cost_is_exact=exact,
        cost_usd=None if unpriced else priced,
    )  # fmt: skip


def bill_stage(
    ledger: tuple[StageRecord, ...], index: int, reply: Reply, model: ModelRef, first: bool
) -> tuple[StageRecord, ...]:
    """A bill on a stage and on its open visit. `first` marks the stage's first request of all."""

    def change(record: StageRecord) -> StageRecord:
        record = billed(record, reply)
        if model not in record.models:
            record = replace(record, models=(*record.models, model))
        if first and record.first_call_prompt_tokens is None:
            record = replace(record, first_call_prompt_tokens=reply.prompt_tokens)
        if record.visits and record.visits[-1].left_at is None:
            record = replace(record, visits=(*record.visits[:-1], billed(record.visits[-1], reply)))
        return record

    return _at(ledger, index, change)


def enter_stage(ledger: tuple[StageRecord, ...], index: int, visit_id: str, at: int) -> tuple[StageRecord, ...]:
    """Close every open visit and open one in that stage."""

    def change(record: StageRecord) -> StageRecord:
        visit = Visit(
            id=visit_id, entered_at=at, prompt_tokens=0, completion_tokens=0, cached_tokens=0, cache_write_tokens=0,
            cost_usd=0.0, unpriced_calls=0, cost_is_exact=True, cost_priced_usd=0.0, active=Clock(0, at),
        )  # fmt: skip
        kept = (*record.visits, visit)[:MOST_VISITS]
        return replace(
            record, entered=True, status="active", started_at=record.started_at or at, ended_at=None, visits=kept,
            visit_count=record.visit_count + 1, active=Clock((record.active or Clock()).banked_secs, at),
        )  # fmt: skip

    return _at(tuple(_left(record, at) for record in ledger), index, change)


def reconciled(ledger: tuple[StageRecord, ...], meta: RunMeta, window: Window, at: int) -> tuple[StageRecord, ...]:
    """The ledger as a snapshot writes it: marks by the run's status, clocks, high-water marks (2.3)."""
    over = meta.status in ("complete", "error", "cancelled")
    runs = clock_runs(meta)
    made = []
    for record in ledger:
        if record.index == meta.stage_index:
            word = LIVE.get(meta.status, "active")
            record = replace(
                record, entered=True, status=word, started_at=record.started_at or at,
                ended_at=at if word in ("complete", "error") and record.ended_at is None else record.ended_at,
                region_tokens=_highest(record.region_tokens, window), active=ticking(record.active, runs, at),
            )  # fmt: skip
            if record.visits and record.visits[-1].left_at is None:
                visit = replace(record.visits[-1], active=ticking(record.visits[-1].active, runs, at))
                visit = replace(visit, left_at=at) if over else visit
                record = replace(record, visits=(*record.visits[:-1], visit))
        elif record.entered or record.prompt_tokens or record.completion_tokens:
            record = replace(_left(record, at), status="complete")
        else:
            record = replace(record, status="skipped" if over else "pending")
        made.append(record)
    return tuple(made)


def ticking(clock: Clock | None, runs: bool, at: int) -> Clock:
    """A working clock that runs, or is stopped, from that second on."""
    clock = clock or Clock()
    if runs:
        return clock if clock.since is not None else Clock(clock.banked_secs, at)
    return clock if clock.since is None else Clock(clock.banked_secs + max(0, at - clock.since), None)


def clock_runs(meta: RunMeta) -> bool:
    """Whether time counts as work: not while a person is waited for (N10)."""
    waits = type(meta.waiting_on).__name__ if meta.waiting_on is not None else ""
    return meta.status in ("starting", "running") or (
        meta.status == "waiting_input" and waits in ("FanOutWorkers", "Children")
    )


def _left(record: StageRecord, at: int) -> StageRecord:
    if record.visits and record.visits[-1].left_at is None:
        visit = replace(record.visits[-1], left_at=at, active=ticking(record.visits[-1].active, False, at))
        record = replace(record, visits=(*record.visits[:-1], visit))
    if record.entered and record.ended_at is None:
        record = replace(record, ended_at=at)
    return replace(record, active=ticking(record.active, False, at)) if record.active else record


def _highest(known: dict[str, int], window: Window) -> dict[str, int]:
    marks = dict(known)
    for region in window.regions:
        marks[region.name] = max(marks.get(region.name, 0), region.current_tokens)
    return dict(sorted(marks.items()))


def _at(
    ledger: tuple[StageRecord, ...], index: int, change: Callable[[StageRecord], StageRecord]
) -> tuple[StageRecord, ...]:
    return tuple(change(record) if record.index == index else record for record in ledger)
