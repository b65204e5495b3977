"""What a mirror is made of, what stays behind, and what is left when making one fails."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from branching import agents_folder, all_bytes, tree_hash
from samples import CASES, sample

from recovery_kit.errors import CannotMirror, CannotWrite, RecoveryKitError, UnknownMoment, UnsafeName
from recovery_kit.formats.durable import Durable
from recovery_kit.formats.framing import PREAMBLE
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.mirrors.publishing import sweep
from recovery_kit.runs.opening import open_run, open_runs

KILLED = sample("02a-killed-mid-batch")
PARTS = sample("17a-images-and-files")
TREE = sample("09a-parents-and-children").parent
PARENT = next(p for p in sorted(TREE.iterdir()) if b'"children": [\n' in (p / "meta.json").read_bytes())
SIGNED = next((CASES / "H08-signing-key-in-the-journal" / "input" / "runs").iterdir())


def test_files_modes_and_size(tmp_path: Path) -> None:
    """Folders 0700, files 0600, and little more than the window is written."""
    run = open_run(KILLED)
    mirror = create_mirror(run, "end", tmp_path / "m")
    for path in (mirror.path, *mirror.path.rglob("*"), Path(mirror.run.files.meta.workdir)):  # type: ignore[union-attr]
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    written = sum(path.stat().st_size for path in mirror.path.rglob("*"))
    window = len(json.dumps({r.name: [str(e.content) for e in r.entries] for r in run.at().window.regions}))
    assert written <= 1.05 * window + 16_384
    assert sorted(path.name for path in mirror.path.iterdir()) == ["blueprint.leviath", "meta.json", "run.lvr"]


def test_blobs_come_along_by_name(tmp_path: Path) -> None:
    """Stored bytes that the window names come along with their names; those of another moment do not."""
    run = open_run(PARTS)
    held = {name.removeprefix("blobs/") for name in run.files.facts if name.startswith("blobs/")}
    assert held
    for at in (0, -1, "end"):
        mirror = create_mirror(run, at, tmp_path / str(at))
        have = {path.name for path in (mirror.path / "blobs").glob("*")}
        named = {sha for sha in held if sha.encode() in (mirror.path / "run.lvr").read_bytes()}
        assert have == named
        assert all((mirror.path / "blobs" / sha).read_bytes() == bytes(run.files.blob(sha) or b"") for sha in have)


def test_ties_are_cut_unless_named(tmp_path: Path) -> None:
    """Webhook, key, parent, children and the source's own labels stay behind, and come along by name only."""
    run, agents = open_run(SIGNED), agents_folder(tmp_path, "ledger-clerk")
    alone = create_mirror(run, "end", tmp_path / "a", agents=agents).run.files.meta
    tied = create_mirror(run, "end", tmp_path / "t", agents=agents, keep=("webhook", "metadata")).run.files.meta
    assert alone is not None and tied is not None and run.meta is not None
    assert alone.callback_url is None and alone.callback_secret is None
    assert (tied.callback_url, tied.callback_secret) == (run.meta.callback_url, run.meta.callback_secret)
    assert run.meta.metadata.items() <= tied.metadata.items()
    with pytest.raises(CannotMirror):
        create_mirror(run, "end", tmp_path / "x", agents=agents, keep=("everything",))


def test_lineage_of_a_mirror_of_a_mirror(tmp_path: Path) -> None:
    """A mirror names its source, the cut and the digest of what lay before it; one of a mirror names the whole line."""
    run = open_run(KILLED)
    first = create_mirror(run, 1, tmp_path / "m")
    second = create_mirror(first, "end", tmp_path / "m", "full")
    origin = Mirror(second.path).origin
    assert (origin.source, origin.line, origin.at, origin.batch) == (first.id, (run.id,), "end", "keep")
    data = (KILLED / "run.lvr").read_bytes()
    assert first.origin.journal_sha256 == hashlib.sha256(data[: first.origin.bytes]).hexdigest()
    assert str(KILLED).encode() not in all_bytes(first) + all_bytes(second)


def test_run_ids_inside_are_rewritten(tmp_path: Path) -> None:
    """With the history too, every metadata record and the identity carry the new id, and the source's ties are cut."""
    mirror = create_mirror(open_run(PARENT), "end", tmp_path, "full")
    reading = mirror.run.story.reading()
    metas = [r.meta for r in map(reading.record, reading.frames) if hasattr(r, "meta")]
    assert {meta.run_id for meta in metas} == {mirror.id}
    assert {meta.children for meta in metas} == {()} and {meta.parent_run_id for meta in metas} == {None}
    assert all(meta.workdir == metas[0].workdir for meta in metas)


LIVES = """
import os, signal, sys
from recovery_kit.formats.durable import Durable
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.mirrors.mirror import Mirror
source, into, act, stop = sys.argv[1:]
count = 0
def failpoint(moment):
    global count
    count += 1
    if count == int(stop):
        os.kill(os.getpid(), signal.SIGKILL)
disk = Durable(failpoint)
if act == "create":
    create_mirror(source, "end", into, disk=disk)
else:
    Mirror(source, disk=disk).edit(task="Another task.", tools=["shell"])
"""


def _killed(source: Path, into: Path, act: str, stop: int) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", LIVES, str(source), str(into), act, str(stop)], capture_output=True, text=True
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("stop", [1, 3, 5, 9, 14, 19])
def test_killed_while_creating(stop: int, tmp_path: Path) -> None:
    """Whoever dies while making a mirror leaves none that a scan of the folder finds, and the next one tidies up."""
    into = tmp_path / "mirrors"
    before = tree_hash(KILLED)
    assert _killed(KILLED, into, "create", stop)
    assert tree_hash(KILLED) == before
    if into.exists():
        with pytest.raises(RecoveryKitError):
            open_runs(into)
    whole = create_mirror(KILLED, "end", into)
    assert [run.id for run in open_runs(into).values()] == [whole.id]
    assert not list(tmp_path.glob(".lev-write-*"))


@pytest.mark.parametrize("stop", [2, 5, 8, 12, 16, 21])
def test_killed_while_editing(stop: int, tmp_path: Path) -> None:
    """Whoever dies while editing leaves the mirror as it was or as it should be, its files of one mind."""
    mirror = create_mirror(KILLED, "end", tmp_path / "m")
    unedited = tree_hash(mirror.path)
    _killed(mirror.path, tmp_path, "edit", stop)
    again = Mirror(mirror.path)
    meta, state = again.run.files.meta, again.run.at()
    assert meta is not None and state.meta is not None and meta.task == state.meta.task
    if not again.edits:
        assert tree_hash(mirror.path) == unedited
    else:
        assert meta.task == "Another task." and again.run.story.blueprint_facts().digest_matches
        again.undo_all()
        assert tree_hash(mirror.path) == unedited
    sweep(tmp_path, Durable())
    assert not list(tmp_path.glob(".lev-write-*"))


def test_bad_input_leaves_nothing(tmp_path: Path) -> None:
    """Each mistake is one sentence of the right kind, and nothing is left behind."""
    run = open_run(KILLED)
    there = create_mirror(run, 0, tmp_path / "there")
    before = tree_hash(tmp_path)
    (tmp_path / "file").write_text("x")
    wrong: list[tuple[type[Exception], dict[str, object]]] = [
        (UnknownMoment, {"at": 99}),
        (UnknownMoment, {"at": "record:0"}),
        (UnknownMoment, {"at": "call:nobody"}),
        (UnknownMoment, {"at": "noon"}),
        (CannotMirror, {"into": KILLED / "inside"}),
        (CannotMirror, {"into": KILLED}),
        (CannotMirror, {"into": tmp_path / "file"}),
        (CannotMirror, {"into": tmp_path / "there", "run_id": there.id}),
        (UnsafeName, {"run_id": "../outside"}),
        (UnsafeName, {"run_id": ".."}),
        (CannotMirror, {"batch": "both"}),
        (CannotMirror, {"history": "some"}),
        (CannotMirror, {"workdir": tmp_path / "file"}),
    ]
    for kind, members in wrong:
        with pytest.raises(kind):
            create_mirror(run, **({"into": tmp_path / "new"} | members))  # type: ignore[arg-type]
    (tmp_path / "file").unlink()
    assert tree_hash(tmp_path) == before


def test_no_manifest_no_mirror(tmp_path: Path) -> None:
    """Without a manifest nothing is made; a folder of agents without the right one is no help."""
    run = open_run(SIGNED)
    with pytest.raises(CannotMirror, match="agents="):
        create_mirror(run, "end", tmp_path / "m")
    with pytest.raises(CannotMirror, match="none of that folder"):
        create_mirror(run, "end", tmp_path / "m", agents=agents_folder(tmp_path, "somebody-else"))
    assert not (tmp_path / "m").exists()


def test_a_newer_source_is_refused(tmp_path: Path) -> None:
    """A journal of a newer format is not cut."""
    files = {"r/run.lvr": b"LVR1\x00\x02" + (KILLED / "run.lvr").read_bytes()[len(PREAMBLE) :]}
    files |= {f"r/{name}": (KILLED / name).read_bytes() for name in ("meta.json", "blueprint.leviath")}
    with pytest.raises(CannotMirror, match="newer format"):
        create_mirror(open_run(files), "end", tmp_path)


def test_a_full_disk(tmp_path: Path) -> None:
    """Whenever the disk is full, one sentence is raised and nothing is left behind."""
    for stop in range(1, 40):
        left = [stop]

        def full(moment: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise OSError(28, os.strerror(28))

        try:
            create_mirror(KILLED, "end", tmp_path / "m", disk=Durable(full))
        except CannotWrite as no:
            assert "disk is full" in no.sentence
            assert list(tmp_path.iterdir()) == []
        else:
            break
    assert left[0] > 0


def test_without_a_journal(tmp_path: Path) -> None:
    """A run whose journal is gone is cut from its JSON files, and that is said."""
    files = {f"r/{name}": (KILLED / name).read_bytes() for name in ("meta.json", "context.json", "blueprint.leviath")}
    run = open_run(files)
    mirror = create_mirror(run, "end", tmp_path)
    assert mirror.run.at().window == run.at().window
    assert "made from context.json" in mirror.said[0] and mirror.origin.record == 0
