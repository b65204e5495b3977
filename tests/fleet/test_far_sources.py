"""Runs behind URLs, in archives, and in lists of places: the same runs, and no byte more than is needed."""

import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from places_of_tests import journal, same, shelf
from samples import SAMPLES

import recovery_kit as rk
from recovery_kit.errors import NotARun
from recovery_kit.fleet.catalogue import catalogue
from recovery_kit.fleet.scan import scan
from recovery_kit.runs.places import list_places, part_of, run_at
from recovery_kit.runs.remote import is_url, shown_url

ZIP = SAMPLES / "02a-as-it-ended.zip"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Seven runs in a store, and the same in a folder."""
    fsspec = pytest.importorskip("fsspec")
    folder = shelf(tmp_path / "runs")
    files = fsspec.filesystem("memory")
    files.put(str(folder) + "/", "/fleet/runs/", recursive=True)
    yield "memory://fleet/runs", folder
    files.rm("/fleet", recursive=True)


def test_a_store_holds_the_same_runs(store: tuple[str, Path]) -> None:
    """Tables, verdicts and findings are those of the folder; the neighbours are known, too."""
    url, folder = store
    far, near = rk.open_runs(url), rk.open_runs(folder)
    assert list(far) == list(near)
    same(rk.runs_df(far), rk.runs_df(near))
    same(rk.findings_df(far), rk.findings_df(near))
    same(scan(url, "serial").runs_df, scan(folder, "serial").runs_df)


def test_opening_fetches_nothing(store: tuple[str, Path]) -> None:
    """A listing alone; then what is asked for, once."""
    runs = rk.open_runs(store[0])
    run = next(iter(runs.values()))
    remote = run._source.remote
    assert remote.fetched == 0
    assert run.meta is not None
    held = remote.fetched
    assert 0 < held < 200_000
    assert run.meta is not None and remote.fetched == held


def test_a_range_is_a_range(store: tuple[str, Path]) -> None:
    """Of a journal no more is fetched than is asked for, near and far."""
    for source in store:
        run = run_at(list_places(str(source)).places[0])
        whole = run._source.read("run.lvr")
        assert whole is not None
        assert part_of(run._source, "run.lvr", 6, 40) == bytes(whole[6:40])
        assert part_of(run._source, "run.lvr", len(whole) - 9) == bytes(whole[-9:])
        assert part_of(run._source, "none", 0, 9) is None
    before = run_at(list_places(store[0]).places[0])._source.remote  # type: ignore[attr-defined]
    held = before.fetched
    before.read("x", 0, 3)
    assert before.fetched == held


def test_an_index_of_a_store(store: tuple[str, Path]) -> None:
    """Changes are known by size and by what the store says of a file's version; nothing is fetched without one."""
    import fsspec

    url, folder = store
    with catalogue(url, executor="serial") as runs:
        assert runs.refresh().fetched == 0
        name = journal(folder).parent.name
        files = fsspec.filesystem("memory")
        files.pipe(f"/fleet/runs/{name}/run.lvr", journal(folder).read_bytes()[:-3])
        found = runs.refresh()
        assert found.changed == found.replaced == (name,) and found.unchanged == 6
        same(runs.runs_df(), scan(url, "serial").runs_df)


def test_what_nobody_has() -> None:
    """Nothing there, a protocol nobody speaks: one sentence, without what the URL holds of credentials."""
    pytest.importorskip("fsspec")
    for url in ("memory://nowhere", "nosuch://user:secret@host/runs", "zip::/no/such.zip"):
        with pytest.raises((NotARun, ImportError)) as no:
            rk.open_runs(url)
        assert "secret" not in str(no.value)


def test_credentials_are_on_no_surface() -> None:
    """Labels, reprs and errors hold neither user nor password nor query."""
    url = "sftp://robot:hunter2@host/runs?token=abc"
    assert shown_url(url) == "sftp://host/runs"
    assert shown_url("zip::https://u:p@h/a.zip?sig=1") == "zip::https://h/a.zip"
    assert is_url(url) and not is_url("C:\\runs") and not is_url("runs/a") and not is_url(Path("a"))
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("/robot:hunter2@host/runs/r/meta.json", b"{}")
    runs = rk.open_runs("memory://robot:hunter2@host/runs")
    place = list_places("memory://robot:hunter2@host/runs").places[0]
    look = scan("memory://robot:hunter2@host/runs")
    shown = [repr(runs), runs.label, repr(place), repr(runs["r"]._source), repr(look)]
    assert "hunter2" not in " ".join(shown)
    fsspec.filesystem("memory").rm("/robot:hunter2@host", recursive=True)


def test_the_engines_own_zip(tmp_path: Path) -> None:
    """A bug report opens as it is, by its path and through a URL."""
    pytest.importorskip("fsspec")
    (one,), (other,) = scan(ZIP, "serial").summaries, scan(f"zip::{ZIP}", "serial").summaries
    unpacked = scan(SAMPLES / "02a-killed-mid-batch", "serial").summaries[0]
    assert one.row["status"] == other.row["status"] and one.row["n_unknown"] == other.row["n_unknown"]
    assert one.row["task"] == unpacked.row["task"]


@pytest.mark.parametrize("how", ["w", "w:gz"])
def test_a_tar_of_a_runs_folder(runs_folder: Path, tmp_path: Path, how: str) -> None:
    """Plain or packed; other processes open it, too, and a link in it is nobody's file."""
    path = tmp_path / "runs.tar"
    with tarfile.open(path, how) as archive:  # type: ignore[call-overload]
        archive.add(runs_folder, "runs")
        link = tarfile.TarInfo("runs/link/meta.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        outside = tarfile.TarInfo("../outside/meta.json")
        archive.addfile(outside, io.BytesIO())
    here = scan(runs_folder, "serial").runs_df
    for executor in ("serial", "processes"):
        there = scan(path, executor, batch_bytes=60_000).runs_df
        assert list(there["run_id"]) == list(here["run_id"])
        assert list(there["n_unknown"]) == list(here["n_unknown"])
    with catalogue(path) as runs:
        assert runs.refresh().fetched == 0 and len(runs) == 7


def test_a_list_of_places(runs_folder: Path, tmp_path: Path) -> None:
    """Each below the last part of its name; the same name twice is told apart."""
    other = tmp_path / "elsewhere" / "runs"
    shutil.copytree(runs_folder, other)
    runs = rk.open_runs([runs_folder, str(other), ZIP])
    sources = [run.source for run in runs.values()]
    assert len(set(sources)) == 15
    assert {source.split("/")[0] for source in sources} == {"runs", "runs~2", "02a-as-it-ended.zip"}
    same(rk.runs_df(runs, findings=None), scan([runs_folder, other, ZIP], "serial", verified=True).runs_df)
    with catalogue([runs_folder, other]) as made:
        assert len(made) == 14


def test_a_single_run_is_a_source(runs_folder: Path) -> None:
    """A run directory itself, named by its folder."""
    folder = journal(runs_folder).parent
    assert [s.source for s in scan(folder, "serial").summaries] == [folder.name]
