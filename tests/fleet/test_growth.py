"""Journals that grow: what was appended is read, and the row is that of the whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import journals

from recovery_kit.fleet import batches, growth
from recovery_kit.fleet.catalogue import IN_MEMORY, Catalogue
from recovery_kit.fleet.scan import scan
from recovery_kit.formats.framing import scan as frames_of
from recovery_kit.runs.opening import open_run

TOLD = ("cells", "seconds", "spend", "failure", "asked_at", "cost_exact", "journal", "trouble")
"""Everything but what it took to read it."""


@pytest.fixture(autouse=True)
def short_ones_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Anchors and windows are kept of the samples' short journals."""
    for module in (growth, batches):
        monkeypatch.setattr(module, "GROW_FROM", 1000)
    monkeypatch.setattr(growth, "WINDOW_FROM", 1000)
    monkeypatch.setattr(growth, "_MARK", 64)
    yield


def _grow(folder: Path, data: bytes, cuts: list[int]) -> int:
    """Let the journal grow from cut to cut; how many looks read less than everything."""
    path = folder / "run" / "run.lvr"
    less = 0
    with Catalogue(folder, IN_MEMORY) as made:
        for cut in cuts:
            path.write_bytes(data[:cut])
            assert made.refresh("serial").replaced == ()
            (now,), (whole,) = made.summaries, scan(folder, "serial").summaries
            assert [getattr(now, name) for name in TOLD] == [getattr(whole, name) for name in TOLD]
            less += now.fetched < whole.fetched
            there, here = made.last_state("run"), made.run("run").at()
            for name in ("window", "totals", "stage", "iteration", "offset", "at"):
                assert getattr(there, name) == getattr(here, name), name
            assert (there.pending and there.pending.batch) == (here.pending and here.pending.batch)
    return less


def _run(folder: Path, journal: Path) -> Path:
    (folder / "run").mkdir(parents=True)
    for name in ("meta.json", "context.json"):
        file = journal.parent / name
        if file.exists():
            (folder / "run" / name).write_bytes(file.read_bytes())
    return folder


@settings(max_examples=25)
@given(journal=st.sampled_from(journals()), where=st.lists(st.floats(0.2, 1), min_size=1, max_size=4))
def test_cut_anywhere_and_grown_it_is_the_row_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, journal: Path, where: list[float]
) -> None:
    """Whatever the cuts: the same row, the same last state."""
    data = journal.read_bytes()
    cuts = sorted(int(at * len(data)) for at in where)
    _grow(_run(tmp_path_factory.mktemp("runs"), journal), data, [*cuts, len(data)])


def test_a_long_one_reads_what_was_appended(tmp_path: Path) -> None:
    """A turn more is a turn read, wherever it ends."""
    journal = next(path for path in journals() if "01-finished" in str(path))
    data = journal.read_bytes()
    ends = list(frames_of(data).offsets)[20:]
    assert _grow(_run(tmp_path, journal), data, ends) >= len(ends) // 2


def test_another_beginning_is_another_journal(tmp_path: Path) -> None:
    """An anchor fits only the journal it is of, even if nothing else shows it."""
    journal = next(path for path in journals() if "01-finished" in str(path))
    folder, data = _run(tmp_path, journal), journal.read_bytes()
    path = folder / "run" / "run.lvr"
    path.write_bytes(data[: len(data) * 3 // 4])
    with Catalogue(folder, IN_MEMORY) as made:
        made.refresh("serial")
        path.write_bytes(data.replace(b"invoice-clerk", b"invoice-clerq"))
        assert made.refresh("serial").replaced == ("run",)
        assert made.summaries[0].cells == scan(folder, "serial").summaries[0].cells


def test_the_anchor_of_a_restarted_run_is_none(tmp_path: Path) -> None:
    """What is not plainly additive is read whole."""
    journal = next(path for path in journals() if "02e-killed-twice" in str(path))
    run = open_run(journal.parent)
    assert growth.anchor_of(run.story, len(run.journal.data), run.masker) is None
