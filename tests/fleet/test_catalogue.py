"""The index: what it saves, and that nothing is ever lost or wrong because of it."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places_of_tests import journal, same, shelf
from samples import SAMPLES

from recovery_kit.errors import NotARun
from recovery_kit.fleet import index as index_file
from recovery_kit.fleet.catalogue import DAMAGED, IN_MEMORY, Catalogue, catalogue, export
from recovery_kit.fleet.scan import scan


@pytest.fixture
def runs(runs_folder: Path) -> Iterator[Catalogue]:
    """A catalogue of seven runs."""
    with catalogue(runs_folder) as made:
        yield made


def right(made: Catalogue, folder: Path) -> bool:
    """Whether the catalogue says what a look at the runs says."""
    look = scan(folder, "serial")
    same(made.runs_df(), look.runs_df)
    same(made.findings_df(), look.findings_df)
    return True


def test_it_lies_in_the_cache_and_for_its_user_alone(runs: Catalogue, own_cache: Path) -> None:
    """Not beside the runs, and nobody else may read it."""
    assert runs.path is not None and runs.path.parent == own_cache / "recovery_kit"
    assert runs.path.stat().st_mode & 0o077 == 0 and runs.path.parent.stat().st_mode & 0o077 == 0


def test_a_second_look_reads_what_has_changed(runs: Catalogue, runs_folder: Path) -> None:
    """Nothing at first; then one run that changed, one that came and one that went."""
    nothing = runs.refresh()
    assert (nothing.fetched, nothing.unchanged, nothing.anything) == (0, 7, False)
    first, second = journal(runs_folder, 0), journal(runs_folder, 1)
    first.write_bytes(first.read_bytes() + b"\0\0\0\0\0")
    shutil.rmtree(second.parent)
    shutil.copytree(first.parent, runs_folder / "copy")
    found = runs.refresh()
    assert (found.new, found.changed, found.gone) == (("copy",), (first.parent.name,), (second.parent.name,))
    assert found.replaced == () and found.unchanged == 5
    assert right(runs, runs_folder)


def test_a_look_without_refresh_opens_no_run(runs: Catalogue, runs_folder: Path) -> None:
    """It tells what the last look found, the runs gone or not."""
    before = runs.runs_df()
    runs.close()
    shutil.rmtree(runs_folder)
    with catalogue(runs_folder, refresh=False) as again:
        same(again.runs_df(), before)
        with pytest.raises(NotARun):
            again.refresh()


@settings(max_examples=12)
@given(cut=st.floats(0, 1), at=st.integers(0, 6))
def test_a_journal_that_shrinks_is_read_again_and_said(
    tmp_path_factory: pytest.TempPathFactory, cut: float, at: int
) -> None:
    """Cut anywhere: never a stale row."""
    folder = shelf(tmp_path_factory.mktemp("runs"), ("02a-killed-mid-batch", "14a-torn-tail", "01-finished"))
    path = journal(folder, at % 3)
    with catalogue(folder, IN_MEMORY) as made:
        data = path.read_bytes()
        path.write_bytes(data[: int(cut * (len(data) - 1))])
        found = made.refresh()
        assert found.replaced == (path.parent.name,)
        assert any("shrank or is another one" in sentence for sentence in found.said)
        assert right(made, folder)


def test_a_journal_that_was_replaced_by_a_longer_one_is_said(runs: Catalogue, runs_folder: Path) -> None:
    """Same name, other bytes."""
    path = journal(runs_folder, 2)
    data = path.read_bytes()
    path.write_bytes(data[:200] + b" " + data[201:] + data[-90:])
    assert runs.refresh().replaced == (path.parent.name,)
    assert right(runs, runs_folder)


def test_deleting_it_loses_nothing(runs: Catalogue, runs_folder: Path) -> None:
    """It is built again from the runs."""
    before = runs.runs_df()
    runs.close()
    assert runs.path is not None
    for file in runs.path.parent.iterdir():
        file.unlink()
    with catalogue(runs_folder) as again:
        same(again.runs_df(), before)
        assert again.said == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, and beside them their index."""
    stories = ("01-finished", "05a-parked-at-a-question", "14a-torn-tail")
    folder = shelf(tmp_path_factory.mktemp("small") / "runs", stories)
    path = folder.parent / "index.sqlite"
    with catalogue(folder, path, executor="serial"):
        pass
    return folder


@settings(max_examples=15)
@given(at=st.floats(0, 1), n=st.sampled_from([1, 100, 4096, 20_000]), cut=st.booleans())
def test_a_damaged_one_is_built_anew(small: Path, at: float, n: int, cut: bool) -> None:
    """Bytes overwritten or cut off anywhere: the right table, with one sentence where it was noticed.

    Zeros in the middle of the full text's own pages go unnoticed: a search may find less then, and never what is not
    there.
    """
    path, data = small.parent / "damaged.sqlite", bytearray((small.parent / "index.sqlite").read_bytes())
    place = int(at * (len(data) - 1))
    data[place : len(data) if cut else place + n] = b"" if cut else bytes(min(n, len(data) - place))
    path.write_bytes(data)
    with catalogue(small, path, executor="serial") as again:
        assert right(again, small)
        assert len(list(again.search("invoices"))) <= 2
        assert again.said in ([], [DAMAGED])
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def test_a_foreign_file_is_no_index(runs_folder: Path, tmp_path: Path) -> None:
    """Another program's bytes are not trusted."""
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    with catalogue(runs_folder, path) as made:
        assert made.said == [DAMAGED] and right(made, runs_folder)


def test_a_locked_one_is_done_without(runs: Catalogue, runs_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody holds it: this look is kept in memory, and said."""
    monkeypatch.setattr(index_file, "BUSY_SECONDS", 0.05)
    path = runs.path
    runs.close()
    holder = sqlite3.connect(str(path), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    journal(runs_folder).write_bytes(b"")
    with catalogue(runs_folder) as made:
        assert made.path is None and "in memory only" in made.said[0]
        assert right(made, runs_folder)
    holder.close()


def test_a_full_disk_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is kept in memory, and said."""
    made_whole = index_file.Index.__init__

    def made_small(self: index_file.Index, path: Path | None) -> None:
        made_whole(self, path)
        if path is not None:
            self._db.execute("PRAGMA max_page_count = 1")

    monkeypatch.setattr(index_file.Index, "__init__", made_small)
    with catalogue(SAMPLES) as made:
        assert "full" in made.said[0] and made.path is None
        assert right(made, SAMPLES)


def test_a_folder_that_is_no_folder(runs_folder: Path, tmp_path: Path) -> None:
    """An index that cannot be made is no trouble for the runs."""
    (tmp_path / "file").write_bytes(b"")
    with catalogue(runs_folder, tmp_path / "file" / "index.sqlite") as made:
        assert made.path is None and right(made, runs_folder)


_WRITER = """
import sys
from recovery_kit.fleet.catalogue import catalogue
for _ in range(8):
    with catalogue(sys.argv[1], sys.argv[2], executor="serial") as runs:
        assert len(runs.runs_df()) == 7 and runs.said == [], runs.said
"""


def test_two_processes_use_it_at_once(runs_folder: Path, tmp_path: Path) -> None:
    """Both read, both write, neither is told of trouble."""
    command = [sys.executable, "-c", _WRITER, str(runs_folder), str(tmp_path / "index.sqlite")]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for at in range(30):
        path = journal(runs_folder, at % 7)
        os.utime(path, ns=(at, at))
    assert [(process.communicate(timeout=60)[1], process.returncode) for process in both] == [("", 0), ("", 0)]
    with catalogue(runs_folder, tmp_path / "index.sqlite") as made:
        assert right(made, runs_folder)


_SLOW = """
import sys
from recovery_kit.fleet import catalogue as c, batches as b
c.BATCH_BYTES = 1
real = b.read_batch
def slow(*a, **k):
    found = real(*a, **k)
    print("read", flush=True)
    import threading; threading.Event().wait(0.05)
    return found
b.read_batch = slow
try:
    c.catalogue(sys.argv[1], sys.argv[2], executor="serial")
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(130)
"""


def test_ctrl_c_leaves_it_usable(tmp_path: Path) -> None:
    """A refresh that is broken off has kept what it read, and the next one goes on from there."""
    path = tmp_path / "index.sqlite"
    command = [sys.executable, "-c", _SLOW, str(SAMPLES), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "read\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().endswith("stopped\n")
    assert process.returncode == 130
    with catalogue(SAMPLES, path, refresh=False) as made:
        held = len(made)
        assert 0 < held < 20 and made.said == []
        assert made.refresh().unchanged == held
        assert right(made, SAMPLES)


def test_killed_at_any_moment_it_is_usable(runs_folder: Path, tmp_path: Path) -> None:
    """The same without a chance to clean up."""
    path = tmp_path / "index.sqlite"
    command = [sys.executable, "-c", _SLOW, str(runs_folder), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.kill()
    with catalogue(runs_folder, path) as made:
        assert made.said == [] and right(made, runs_folder)


def test_a_run_that_could_not_be_read_is_tried_again(runs_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trouble is no property of its bytes."""
    name = journal(runs_folder).parent.name
    with monkeypatch.context() as patch:
        patch.setattr("recovery_kit.fleet.summary.Run.masker", property(lambda run: 1 / 0))
        with catalogue(runs_folder, executor="serial") as made:
            assert len(made.findings_df()) == 7 and len(made.runs_df()) == 0
    with catalogue(runs_folder) as made:
        assert made.findings_df().empty and name in list(made.runs_df()["run_id"])


def test_search_shows_where_it_stands(runs: Catalogue) -> None:
    """Case ignored, by words, from tasks, errors and answers; the excerpt is of the run's own files."""
    found = list(runs.search("LEDGER of"))
    assert len(found) == 4 and {each.where for each in found} == {"task"}
    assert all("ledger of" in each.excerpt for each in found)
    assert list(runs.search("edger of")) == [] and list(runs.search("!!")) == []


def test_secrets_are_neither_in_it_nor_found(runs_folder: Path, tmp_path: Path) -> None:
    """Texts are masked before they are kept."""
    meta = journal(runs_folder).parent / "meta.json"
    secret = "sk-ant-api03-" + "Zq4" * 12
    told = json.loads(meta.read_bytes())
    meta.write_text(json.dumps(told | {"task": f"{secret} is the key. {told['task']}"}))
    path = tmp_path / "index.sqlite"
    with catalogue(runs_folder, path) as made:
        assert list(made.search(secret)) == [] and len(list(made.search("is the key"))) == 1
        assert secret not in str(made.summaries)
    assert secret.encode() not in path.read_bytes()


def test_a_text_that_changed_is_found_anew(runs: Catalogue, runs_folder: Path) -> None:
    """And what it was no longer."""
    meta = journal(runs_folder).parent / "meta.json"
    meta.write_text(meta.read_text().replace("Reconcile", "Reshuffle"))
    runs.refresh()
    assert len(list(runs.search("reshuffle"))) == 1 and list(runs.search("reconcile")) == []


def test_export(runs: Catalogue, tmp_path: Path) -> None:
    """CSV always, Parquet where pyarrow is there, with every dtype kept."""
    assert (runs.export(tmp_path / "runs.csv")).read_text().count("\n") == 8
    pytest.importorskip("pyarrow")
    import pandas as pd

    back = pd.read_parquet(runs.export(tmp_path / "runs.parquet"))
    assert list(back.columns) == list(runs.runs_df().columns)
    assert back["cost_usd"].isna().equals(runs.runs_df()["cost_usd"].isna())
    export(runs.findings_df(), tmp_path / "none.parquet")


def test_bytes_have_no_place_to_come_back_to() -> None:
    """An index is of places."""
    with pytest.raises(NotARun):
        catalogue({"meta.json": b"{}"})  # type: ignore[arg-type]


def test_it_is_small(tmp_path: Path) -> None:
    """A row of a run takes a few hundred bytes however long its journal is."""
    path = tmp_path / "index.sqlite"
    with catalogue(SAMPLES, path) as made:
        rows = [len(index_file._packed(summary, 0)) for summary in made.summaries]
    assert sum(rows) / len(rows) < 500
