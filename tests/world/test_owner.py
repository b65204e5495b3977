"""A run directory is not written while the engine or another writer is at work on it."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from recovery_kit.errors import RunBusy
from recovery_kit.world import owner
from recovery_kit.world.ids import Ids, Owner
from recovery_kit.world.owner import own, refuse_if_engine_runs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory in a data root of its own."""
    folder = tmp_path / "runs" / "r-1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def dead_pid() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def listening(run: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Somebody who answers on the engine's socket."""
    monkeypatch.chdir(run.parent.parent)  # a socket's path has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("control.sock")
        server.listen()
        yield server


def test_a_quiet_folder_is_locked(run: Path) -> None:
    """With no engine about, the folder is locked, and nothing is written to it or beside it."""
    with own(run) as lock:
        assert lock.held
    assert os.listdir(run) == [] and os.listdir(run.parent.parent) == ["runs"]


def test_an_answering_socket_is_refused(run: Path, listening: socket.socket) -> None:
    """While something answers on the control socket, the folder is not touched."""
    with pytest.raises(RunBusy, match="the engine is running and owns these runs") as told:
        own(run)
    assert told.value.path == str(run.parent.parent / "control.sock")


def test_a_left_over_socket_is_nobody(run: Path, listening: socket.socket) -> None:
    """A socket that nobody listens on is what a crash leaves."""
    listening.close()
    assert (run.parent.parent / "control.sock").exists()
    own(run).release()


def test_a_file_that_is_no_socket_is_nobody(run: Path) -> None:
    """Something else of that name answers nothing."""
    (run.parent.parent / "control.sock").write_text("no")
    own(run).release()


def test_a_living_process_is_refused(run: Path) -> None:
    """A recorded process that lives is taken for the engine, and the sentence says what to do if it is not."""
    (run.parent.parent / "daemon.pid").write_text(str(os.getppid()))
    with pytest.raises(RunBusy, match=f"process {os.getppid()}, recorded as the engine's daemon, is alive"):
        own(run)


def test_a_process_that_is_younger_than_the_file_is_another(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process id that was given away again after the file was written is not the engine."""
    recorded = run.parent.parent / "daemon.pid"
    recorded.write_text(str(os.getppid()))
    os.utime(recorded, (1000, 1000))
    monkeypatch.setattr(owner, "_stat_of", lambda pid: ["S", *["0"] * 18, "100"])
    own(run).release()


@pytest.mark.parametrize("text", ["", "no number", "0", "-4", "99999999999999"])
def test_junk_is_no_process(run: Path, text: str) -> None:
    """What is no process id names nobody."""
    (run.parent.parent / "daemon.pid").write_text(text)
    refuse_if_engine_runs(run)


def test_a_dead_process_is_nobody(run: Path, dead_pid: int) -> None:
    """A recorded process that has ended does not hold the folder."""
    (run.parent.parent / "daemon.pid").write_text(f"{dead_pid}\n")
    own(run).release()


def test_another_data_root_can_be_named(run: Path, tmp_path: Path) -> None:
    """Where the runs folder lies apart, the engine's data root is told."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "daemon.pid").write_text(str(os.getppid()))
    own(run).release()
    with pytest.raises(RunBusy):
        own(run, data_root=tmp_path / "home")


def test_second_writer_is_refused(run: Path) -> None:
    """One writer at a time."""
    with own(run), pytest.raises(RunBusy):
        own(run)


def test_ids_sort_by_minting() -> None:
    """Ids have the engine's form and sort in the order they were made; the kinds share a counter."""
    ids = Ids(lambda: 0x18ECD906CC684B99)
    assert ids.execution() == "x18ecd906cc684b99-00000000"
    assert [ids.visit(), ids.attempt()] == ["v18ecd906cc684b99-00000001", "a18ecd906cc684b99-00000002"]


def test_the_machine_is_the_engines(tmp_path: Path) -> None:
    """The machine's id is the one the engine keeps, if there is one; each world has its own."""
    (tmp_path / "machine-id").write_text("0123456789abcdef\n")
    one, two = Owner.here(tmp_path), Owner.here(tmp_path)
    assert one.machine_id == two.machine_id == "0123456789abcdef"
    assert one.world_id != two.world_id
    (tmp_path / "machine-id").write_text("not an id")
    assert len(Owner.here(tmp_path).machine_id) == len(Owner.here().machine_id) == 16
