"""Stays in stages: visits of the ledger, the ledger's sums where it has no visits, else rebuilt from bills
(leviath-run-directory 2.3; 0.5-to-0.6 N11)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from recovery_kit.records.sidecars import StageRecord, Visit

from .places import StageNames
from .trips import Bill

Basis = Literal["visit", "ledger", "bills"]


class Stay(NamedTuple):
    """A stay in a stage."""

    basis: Basis
    """What tells of it. A stay rebuilt from bills is known from the first to the last of them only."""
    offset: int | None
    """Of its first bill, where it is rebuilt."""
    stage: str
    stage_index: int | None
    visit: int | None
    """Which stay in this stage, from 0; None for sums over all of them."""
    visit_id: str | None
    status: str | None
    """Of the stage, not of the stay."""
    entered_at: int | None
    left_at: int | None
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    cost_usd: float | None
    priced_usd: float | None
    unpriced_calls: int | None
    cost_is_exact: bool | None


def stays(ledger: Sequence[StageRecord], bills: Sequence[Bill], names: StageNames) -> Iterator[Stay]:
    """Stays by the ledger, stage by stage; without a ledger by the bills before any tear, in file order."""
    if not ledger:
        yield from _of_bills([bill for bill in bills if not bill.behind_tear], names)
    for stage in ledger:
        if stage.visits:
            dropped = max(0, stage.visit_count - len(stage.visits))  # the ledger keeps the newest only
            for number, visit in enumerate(stage.visits, dropped):
                yield _of_visit(stage, visit, number)
        elif stage.entered or stage.started_at is not None or stage.prompt_tokens or stage.completion_tokens:
            yield _of_stage(stage)


def _of_visit(stage: StageRecord, visit: Visit, number: int) -> Stay:
    return Stay(
        "visit", None, stage.name, stage.index, number, visit.id or None, stage.status, visit.entered_at, visit.left_at,
        visit.prompt_tokens, visit.completion_tokens, visit.cached_tokens, visit.cache_write_tokens, visit.cost_usd,
        visit.cost_priced_usd, visit.unpriced_calls, visit.cost_is_exact,
    )  # fmt: skip


def _of_stage(stage: StageRecord) -> Stay:
    return Stay(
        "ledger", None, stage.name, stage.index, None, None, stage.status, stage.started_at, stage.ended_at,
        stage.prompt_tokens, stage.completion_tokens, stage.cached_tokens, stage.cache_write_tokens, stage.cost_usd,
        stage.cost_priced_usd, stage.unpriced_calls, stage.cost_is_exact,
    )  # fmt: skip


def _of_bills(bills: Sequence[Bill], names: StageNames) -> Iterator[Stay]:
    seen: dict[str, int] = {}
    for stage, group in groupby(bills, key=lambda bill: bill.record.stage):
        rows = list(group)
        mine = [bill.record for bill in rows]
        figures = [record.cost_usd for record in mine if record.cost_usd is not None]
        number = seen[stage] = seen.get(stage, -1) + 1
        unpriced = len(mine) - len(figures)
        exact = not unpriced and all(record.cost_reported_by_provider for record in mine)
        yield Stay(
            "bills", rows[0].offset, stage, names.index(stage), number, None, None, mine[0].at, mine[-1].at,
            sum(r.prompt_tokens for r in mine), sum(r.completion_tokens for r in mine),
            sum(r.cached_tokens for r in mine), sum(r.cache_write_tokens for r in mine),
            None if unpriced else float(sum(figures)), float(sum(figures)), unpriced, exact,
        )  # fmt: skip
