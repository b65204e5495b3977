"""The stage ledger after a restart."""

from before_and_after import Restart

from recovery_kit.records.engines import engine
from recovery_kit.records.meta import Clock
from recovery_kit.records.sidecars import StageRecord, Visit
from recovery_kit.restore.ledger import closed, restore_stage_ledger, seeded_ledger

NEWEST = engine("0.6.4")


def record(name: str, index: int = 7, **members: object) -> StageRecord:
    return StageRecord(name=name, index=index, status="active", prompt_tokens=5, completion_tokens=1, **members)  # type: ignore[arg-type]


def visit(active: Clock | None, left_at: int | None) -> Visit:
    return Visit(
        entered_at=1, left_at=left_at, prompt_tokens=0, completion_tokens=0, cached_tokens=0, cache_write_tokens=0,
        unpriced_calls=0, cost_is_exact=True, cost_priced_usd=0.0, active=active,
    )  # fmt: skip


def test_records_go_by_the_name_of_their_stage() -> None:
    """Order and index are the manifest's, the first record of a name counts, unknown names are dropped and said."""
    blueprint = Restart("later-layout").blueprint
    saved = (record("assess"), record("gone"), record("assess", entered=True))
    ledger = restore_stage_ledger(blueprint, saved, 100, NEWEST)
    assert [(r.name, r.index, r.prompt_tokens) for r in ledger.records] == [("collect", 0, 0), ("assess", 1, 5)]
    assert not ledger.records[1].entered
    assert ledger.dropped == ("gone",)


def test_clocks_stop_where_the_metadata_was_last_written() -> None:
    """The record's clock and that of an open last visit are closed; the visit stays open, and others are left alone."""
    saved = record("collect", active=Clock(3, 40), visits=(visit(Clock(1, 2), 5), visit(Clock(2, 90), None)))
    ledger = restore_stage_ledger(Restart("later-layout").blueprint, (saved,), 100, NEWEST)
    assert ledger.records[0].active == Clock(63, None)
    assert [v.active for v in ledger.records[0].visits] == [Clock(1, 2), Clock(12, None)]
    assert ledger.records[0].visits[-1].left_at is None


def test_a_clock_never_runs_backwards() -> None:
    """Metadata older than the open span banks nothing."""
    assert closed(Clock(4, 200), 100) == Clock(4, None)
    assert closed(None, 100) is None


def test_engines_before_the_ledger_was_restored_start_over() -> None:
    """All zeros, and the stages that lose something are named."""
    ledger = restore_stage_ledger(Restart("later-layout").blueprint, (record("collect"),), 100, engine("0.3.6"))
    assert ledger.zeroed == ("collect",)
    assert ledger.records == seeded_ledger(Restart("later-layout").blueprint)


def test_the_real_ledger_keeps_its_figures() -> None:
    """Of a real run every stage's tokens come back."""
    restart = Restart("later-layout")
    ledger = restore_stage_ledger(restart.blueprint, restart.ledger, restart.meta.updated_at, restart.rules)
    assert [r.prompt_tokens for r in ledger.records] == [r.prompt_tokens for r in restart.ledger]
    assert ledger.dropped == () and ledger.cap_raised == frozenset()


def test_without_a_manifest_the_saved_stages_stay() -> None:
    """Nothing is dropped where nobody says which stages there are."""
    ledger = restore_stage_ledger(None, (record("a"), record("b")), 100, NEWEST)
    assert [r.name for r in ledger.records] == ["a", "b"]
