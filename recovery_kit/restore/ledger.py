"""The stage ledger over a freshly seeded one (leviath-run-directory 5.5; 0.5-to-0.6 N13.1, N13.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import Clock
from recovery_kit.records.sidecars import StageRecord, Visit


@dataclass(frozen=True, slots=True)
class RestoredLedger:
    """The ledger that a restored run goes on with."""

    records: tuple[StageRecord, ...]
    dropped: tuple[str, ...] = ()
    """Names of saved records that the manifest has no stage for."""
    zeroed: tuple[str, ...] = ()
    """Names of stages whose saved record holds something that is lost: engines before 0.3.7 start over."""
    cap_raised: frozenset[str] = frozenset()
    """Stages whose record says that the output limit was raised; the engine raises it again for the stage it is in."""


def seeded_ledger(blueprint: Blueprint) -> tuple[StageRecord, ...]:
    """One empty record for each stage of the manifest, as a build makes them."""
    return tuple(
        StageRecord(name=stage.name, index=index, status="pending", prompt_tokens=0, completion_tokens=0)
        for index, stage in enumerate(blueprint.stages)
    )


def restore_stage_ledger(
    blueprint: Blueprint | None, saved: Sequence[StageRecord], updated_at: int, rules: Engine
) -> RestoredLedger:
    """The saved records by the name of their stage, in the manifest's order and with its indexes.

    The first record of a name counts. Running clocks are closed at `updated_at` (Unix seconds, of the metadata); an
    open visit stays open. Without a blueprint the saved ledger keeps its own stages.
    """
    seeds = seeded_ledger(blueprint) if blueprint is not None else tuple(saved)
    names = {seed.name for seed in seeds}
    if not rules.restores_ledger:
        worked = tuple(record.name for record in saved if _worked(record))
        zero = tuple(_emptied(seed) for seed in seeds)
        return RestoredLedger(zero, tuple(r.name for r in saved if r.name not in names), worked)
    by_name: dict[str, StageRecord] = {}
    for record in saved:
        by_name.setdefault(record.name, record)
    records = tuple(
        replace(_stopped(by_name[seed.name], updated_at), index=seed.index) if seed.name in by_name else seed
        for seed in seeds
    )
    dropped = tuple(name for name in by_name if name not in names)
    raised = frozenset(record.name for record in records if record.output_cap_raised and rules.restores_cost)
    return RestoredLedger(records, dropped, (), raised)


def _emptied(record: StageRecord) -> StageRecord:
    return StageRecord(name=record.name, index=record.index, status="pending", prompt_tokens=0, completion_tokens=0)


def _worked(record: StageRecord) -> bool:
    return record.entered or bool(record.prompt_tokens or record.completion_tokens)


def _stopped(record: StageRecord, at: int) -> StageRecord:
    visits = record.visits
    if visits and visits[-1].left_at is None:
        last: Visit = replace(visits[-1], active=closed(visits[-1].active, at))
        visits = (*visits[:-1], last)
    return replace(record, active=closed(record.active, at), visits=visits)


def closed(clock: Clock | None, at: int) -> Clock | None:
    """A working clock stopped at a second; what ran before it began is no time."""
    if clock is None or clock.since is None:
        return clock
    return Clock(clock.banked_secs + max(0, at - clock.since), None)
