"""Runs of agents and of workflows out of one place: a tree, an archive, bytes, a list, a URL."""

import zipfile
from pathlib import Path

import pytest
from looms.release_notes import A, B, history_a, history_b, key, named, on_disk
from samples import SAMPLES, files_of, sample

import recovery_kit as rk
from recovery_kit.errors import NotARun, OtherRuntime
from recovery_kit.runs.points_named import any_moment
from recovery_kit.runs.run_rows import chosen, condition, run_row
from recovery_kit.runs.runs_named import agent_run_named, run_named, runs_named

RUNTIME = ".intloom/runtime"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with one run of an agent and a project of two Runs."""
    for name, data in (files_of(sample("01-finished")) | {}).items():
        path = tmp_path / "agents" / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "flows").mkdir()
    on_disk(tmp_path / "flows", history_a(12), history_b())
    return tmp_path


def project_of(tree: Path) -> Path:
    """Where the project of the tree lies."""
    return next(path.parent for path in tree.rglob(".intloom"))


def test_a_tree(tree: Path) -> None:
    """Both are opened, by id and by path, each with the path from where somebody pointed."""
    runs = rk.open_runs(tree)
    place = project_of(tree).relative_to(tree).as_posix()
    assert len(runs) == 3 and [run.runtime for run in runs.values()].count("intloom") == 2
    assert runs[A].source == f"{place}/{RUNTIME}/{key(A)}" and runs[runs[A].source] is runs[A]
    assert [project.source for project in runs.projects] == [place]
    assert list(rk.runs_df(runs).run_id) == [run.id for run in runs.values()]


def test_new_runs_of_a_project_are_found(tree: Path) -> None:
    """Looking again keeps what is held and finds what came."""
    runs = rk.open_runs(project_of(tree))
    held = runs[A]
    for number, data in ((path.name, path.read_bytes()) for path in (project_of(tree) / held.path).iterdir()):
        new = project_of(tree) / RUNTIME / key("RUN-20270115T090000000Z-" + "Z" * 21)
        new.mkdir(exist_ok=True)
        (new / number).write_bytes(data.replace(A.encode(), b"RUN-20270115T090000000Z-" + b"Z" * 21))
    assert len(runs.refresh()) == 1 and len(runs) == 3 and runs[A] is held


def test_an_empty_project(tmp_path: Path) -> None:
    """A project without a Run holds none, and is no mistake; a folder that is none is one."""
    (tmp_path / "intloom.yaml").write_text("version: 1\n")
    assert len(rk.open_runs(tmp_path)) == 0
    with pytest.raises(NotARun):
        rk.open_runs(tmp_path.parent / "nowhere")


def test_bytes_an_archive_and_a_url(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same Runs come out of named bytes, a zip, a list of places and a store."""
    fsspec = pytest.importorskip("fsspec")
    files = files_of(tree)
    archive = tmp_path_factory.mktemp("zip") / "all.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for name, data in files.items():
            zipped.writestr(name, data)
    store = fsspec.filesystem("memory")
    for name, data in files.items():
        store.pipe_file(f"/mixed/{name}", data)
    wanted = sorted(rk.open_runs(tree))
    for source in (files, archive, "memory://mixed"):
        runs = rk.open_runs(source)
        assert sorted(runs) == wanted and runs[A].evidence[0].sha256 == rk.open_runs(tree)[A].evidence[0].sha256
    listed = rk.open_runs([project_of(tree), tree / "agents"])
    assert listed[A].source.startswith(project_of(tree).name + "/") and len(listed) == 3
    assert list(rk.open_runs(named(history_b()))) == [B]


def test_a_run_is_named(tree: Path) -> None:
    """By id with a root, by the path of its directory; where an agent's run is wanted, one sentence."""
    project = project_of(tree)
    assert run_named(A, project).id == run_named(str(project / RUNTIME / key(A))).id == A
    assert list(runs_named(str(project / RUNTIME / key(B)))) == [B]
    with pytest.raises(OtherRuntime, match="a Run of a workflow: not here"):
        agent_run_named(A, "not here", project)
    with pytest.raises(OtherRuntime):
        rk.open_run(named(history_b()))


def test_moments_are_named(tree: Path) -> None:
    """A record is a checkpoint, a Call is named by its id, and there are no iterations."""
    run = rk.open_runs(tree)[A]
    assert any_moment(run).point == len(run.points) - 1 and any_moment(run, "record:1").point == 0
    call = run.effects[-1]
    assert any_moment(run, f"call:{call.call_id}").offset < call.offset
    assert any_moment(run, -1).point == any_moment(run).point
    for text, error in (("iteration:1", OtherRuntime), ("record:99", LookupError), ("call:none", LookupError)):
        with pytest.raises(error):
            any_moment(run, text)


def test_rows_of_a_listing() -> None:
    """The samples list all of them, and conditions hold for both."""
    rows = [run_row(run) for run in rk.open_runs(SAMPLES).values()]
    asked = chosen(rows, [condition("waits=user_ask_confirmation")])
    assert len(rows) == 42 and len(asked) == 3 and {row.run.runtime for row in asked} == {"intloom"}
