"""One look over many runs: the same tables whoever does the work, and no run that stops the others."""

import os
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places_of_tests import journal, same
from samples import SAMPLES

import recovery_kit as rk
from recovery_kit.fleet import batches as work
from recovery_kit.fleet.scan import Scan, scan, scan_batch, scan_batches, table_of
from recovery_kit.runs.places import list_places, run_at


def test_it_is_the_table_of_one_by_one() -> None:
    """`scan` gives what `runs_df` gives for the same runs verified, seen or verified: damage is always judged."""
    whole = rk.runs_df(rk.open_runs(SAMPLES).agent_runs, findings=None)
    for verified in (False, True):
        same(scan(SAMPLES, "serial", verified=verified).runs_df, whole)


def test_other_processes_say_the_same() -> None:
    """Several processes, many small batches: the same tables."""
    here, there = scan(SAMPLES, "serial"), scan(SAMPLES, "processes", batch_bytes=60_000)
    assert len(scan_batches(SAMPLES, 60_000)) > 3
    same(here.runs_df, there.runs_df)
    same(here.findings_df, there.findings_df)
    assert here.summaries == there.summaries


READ_BATCH = work.read_batch
_READ = {s.source: s for s in scan(SAMPLES, "serial").summaries}
_PLACES = list_places(SAMPLES).places


@settings(max_examples=30)
@given(order=st.permutations(range(len(_PLACES))), cuts=st.lists(st.integers(0, len(_PLACES)), max_size=6))
def test_any_order_of_completion_gives_the_same_table(order: list[int], cuts: list[int]) -> None:
    """Batches cut anywhere and done in any order make one table."""
    edges = sorted({0, len(order), *cuts})
    done = [[_READ[_PLACES[n].source] for n in order[a:b]] for a, b in zip(edges, edges[1:], strict=False)]
    found = {summary.source: summary for batch in reversed(done) for summary in batch}
    made = Scan("", tuple(found[place.source] for place in _PLACES))
    same(made.runs_df, table_of(_READ[place.source] for place in _PLACES))


@settings(max_examples=30)
@given(most=st.integers(1, 2_000_000), runs=st.integers(1, 30))
def test_batches_hold_every_place_once_and_in_order(most: int, runs: int) -> None:
    """However they are cut; only a run that is larger alone makes a batch too large."""
    cut = work.batches(_PLACES, most, runs)
    assert [place for batch in cut for place in batch] == list(_PLACES)
    assert all(len(batch) <= runs and (len(batch) == 1 or sum(p.size for p in batch) <= most) for batch in cut)


def test_a_failing_run_is_a_row_of_findings(runs_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kit cannot take, what vanishes and what nobody may read: findings, and every other run is told."""
    whole = scan(runs_folder, "serial").runs_df
    gone, odd = sorted(place.source for place in list_places(runs_folder).places)[:2]

    def spoiled(place, **how):  # type: ignore[no-untyped-def]
        if place.source == odd:
            raise ZeroDivisionError
        if place.source == gone:
            shutil.rmtree(runs_folder / gone, ignore_errors=True)
        return run_at(place, **how)

    monkeypatch.setattr("recovery_kit.fleet.summary.run_at", spoiled)
    found = scan(runs_folder, "serial")
    assert list(found.findings_df["source"]) == [gone, odd]
    assert "ZeroDivisionError" in found.findings_df["sentence"][1]
    same(found.runs_df, whole[~whole["source"].isin([gone, odd])])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_a_finding(runs_folder: Path) -> None:
    """It may hold runs: nobody can say."""
    closed = runs_folder / "closed"
    closed.mkdir(mode=0o000)
    assert list(scan(runs_folder, "serial").findings_df["kind"]) == ["folder_unreadable"]


def test_damage_is_told_in_the_row(runs_folder: Path) -> None:
    """Torn, empty, foreign and headless journals are runs like others."""
    journal(runs_folder, 0).write_bytes(b"")
    journal(runs_folder, 1).write_bytes(b"no journal at all")
    torn = journal(runs_folder, 2)
    torn.write_bytes(torn.read_bytes()[:-7])
    (journal(runs_folder, 3).parent / "meta.json").write_bytes(b"{")
    found = scan(runs_folder, "serial")
    same(found.runs_df, rk.runs_df(rk.open_runs(runs_folder), findings=None))
    assert len(found.findings_df) == 0


def _killed_once(batch, verified=False, keeping=None):  # type: ignore[no-untyped-def]
    mark = Path(os.environ["DIES_ONCE"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return READ_BATCH(batch, verified, keeping)


def test_a_killed_worker_costs_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is whole all the same."""
    monkeypatch.setenv("DIES_ONCE", str(tmp_path / "mark"))
    monkeypatch.setattr(work, "read_batch", _killed_once)
    found = scan(SAMPLES, "processes", batch_bytes=60_000)
    assert (tmp_path / "mark").exists()
    same(found.runs_df, table_of(_READ[place.source] for place in _PLACES))


def _hangs(batch, verified=False, keeping=None):  # type: ignore[no-untyped-def]
    signal.pause()


def test_a_source_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing for so long: a finding for each run, and an end."""
    monkeypatch.setattr(work, "read_batch", _hangs)
    found = scan(SAMPLES / "01-finished", "processes", timeout=0.3)
    assert "did not answer within 0.3 s" in found.findings_df["sentence"][0]
    assert len(found.runs_df) == 0


def test_runs_at_hand_and_bytes_are_read_here(runs_folder: Path) -> None:
    """`Runs`, and named bytes, which no other process could open."""
    files = {p.relative_to(runs_folder).as_posix(): p.read_bytes() for p in runs_folder.rglob("*") if p.is_file()}
    one, other = scan(files), scan(rk.open_runs(runs_folder))
    assert list(one.runs_df["n_unknown"]) == list(other.runs_df["n_unknown"])
    same(other.runs_df, scan(runs_folder, "serial").runs_df)


def test_an_executor_that_is_none() -> None:
    """A wrong word is said at once."""
    with pytest.raises(ValueError, match="serial"):
        scan(SAMPLES, "threads")


def test_a_table_of_a_batch_is_plain_work() -> None:
    """What an engine that the kit does not know is handed: a picklable batch in, a table out."""
    frames = [scan_batch(batch) for batch in scan_batches(SAMPLES, 60_000)]
    same(pd.concat(frames), scan(SAMPLES, "serial").runs_df)


def test_progress_ends_at_all() -> None:
    """Runs done, and runs in all."""
    told: list[tuple[int, int]] = []
    scan(SAMPLES, "serial", batch_bytes=60_000, progress=lambda done, n: told.append((done, n)))
    assert told[-1] == (len(_PLACES), len(_PLACES)) and told == sorted(told)
