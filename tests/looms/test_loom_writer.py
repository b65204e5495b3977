"""The checkpoint writer: files that appear once, failures that last, Runs that are opted out."""

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from looms.release_notes import RUNTIME, A, D, as_bytes, head, history_a, key, snapshot, whole

from recovery_kit.formats.loom_publish import Publisher
from recovery_kit.formats.loom_v3 import encode_checkpoint, parse_checkpoint
from recovery_kit.looms.refusals import Refused
from recovery_kit.looms.store import CheckpointStore
from recovery_kit.records.loom import Checkpoint


def checkpoints(until: int = 17) -> list[Checkpoint]:
    return [parse_checkpoint(as_bytes(row)) for row in history_a(until)]


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    store = CheckpointStore(tmp_path)
    store.prepare()
    return store


def test_a_history_is_written_as_the_document_has_it(store: CheckpointStore) -> None:
    """Every boundary of the example, byte for byte, in private files that nobody writes again."""
    for checkpoint in checkpoints():
        assert store.write(checkpoint)
    folder = store.root / key(A)
    assert snapshot(store.project) == {f"{key(A)}/{row['seq']:08d}.json": encode_checkpoint(c) for row, c in
                                       zip(history_a(), checkpoints(), strict=True)}  # fmt: skip
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_bytes_and_values_are_one(store: CheckpointStore) -> None:
    """What is read from a file is what would be written again."""
    for row in history_a():
        checkpoint = parse_checkpoint(as_bytes(row))
        assert msgspec.json.decode(encode_checkpoint(checkpoint)) == row


def test_nothing_is_replaced(store: CheckpointStore) -> None:
    """A file that is in the way stays, and the failure lasts."""
    for checkpoint in checkpoints(3):
        store.write(checkpoint)
    (store.root / key(A) / "00000004.json").write_bytes(b"foreign")
    with pytest.raises(Refused) as caught:
        store.write(checkpoints(4)[3])
    assert caught.value.code == "RUN_CHECKPOINT_FAILED"
    before = snapshot(store.project)
    with pytest.raises(Refused):
        store.write(parse_checkpoint(as_bytes(whole([history_a(1)[0]], head(D, 5))[0])))
    assert snapshot(store.project) == before and before[f"{key(A)}/00000004.json"] == b"foreign"


@pytest.mark.parametrize("gone", ["folder", "newest"])
def test_deleted_runs_are_opted_out(store: CheckpointStore, gone: str) -> None:
    """A Run whose directory or newest file was removed is never written again; others are."""
    for checkpoint in checkpoints(3):
        store.write(checkpoint)
    folder = store.root / key(A)
    shutil.rmtree(folder) if gone == "folder" else (folder / "00000003.json").unlink()
    before = snapshot(store.project)
    assert store.write(checkpoints(4)[3]) is False and store.write(checkpoints(5)[4]) is False
    assert snapshot(store.project) == before and store.is_opted_out(A)
    assert store.write(parse_checkpoint(as_bytes(whole([history_a(1)[0]], head(D, 5))[0])))


@pytest.mark.parametrize("place", ["folder", "newest", "root"])
def test_links_are_not_written_through(store: CheckpointStore, tmp_path_factory: Any, place: str) -> None:
    """A link where a directory or a file is expected is a failure, and nothing appears behind it."""
    outside = tmp_path_factory.mktemp("outside")
    for checkpoint in checkpoints(3):
        store.write(checkpoint)
    path = {"folder": store.root / key(A), "newest": store.root / key(A) / "00000003.json", "root": store.root}[place]
    moved = outside / "moved"
    os.rename(path, moved)
    path.symlink_to(moved)
    first = parse_checkpoint(as_bytes(whole([history_a(1)[0]], head(D, 5))[0]))
    with pytest.raises(Refused):
        store.write(first if place == "root" else checkpoints(4)[3])
    assert not list(outside.rglob("00000004.json")) and not list(outside.rglob(key(D)))


def test_a_missing_root_refuses_new_runs(tmp_path: Path) -> None:
    """A Run that could not be found again is not acknowledged."""
    with pytest.raises(Refused):
        CheckpointStore(tmp_path).write(checkpoints(1)[0])
    assert not (tmp_path / RUNTIME).exists()


def test_every_moment_of_a_write_leaves_a_whole_file_or_none(tmp_path: Path) -> None:
    """An error at any moment: the file is there whole or not at all, and no temporary name stays."""

    class Stop(Exception):
        pass

    seen: list[str] = []
    moments = ["begun", "half", "written", "synced", "linked", "unlinked", "done"]
    for stop in moments:
        project = tmp_path / stop

        def failpoint(moment: str, stop: str = stop) -> None:
            seen.append(moment)
            if moment == f"publish:{stop}":
                raise Stop

        project.mkdir()
        CheckpointStore(project).prepare()
        with pytest.raises(Stop):
            CheckpointStore(project, Publisher(failpoint)).write(checkpoints(1)[0])
        left = snapshot(project)
        assert set(left.values()) <= {encode_checkpoint(checkpoints(1)[0])}
        assert bool(left) == (moments.index(stop) >= moments.index("linked"))
    assert {f"publish:{moment}" for moment in moments} <= set(seen)
