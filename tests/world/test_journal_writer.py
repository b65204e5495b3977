"""Run directories as they are written: read back alike, whole after a crash, never continued behind a tear."""

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from msgspec.structs import replace
from samples import SAMPLES, run_folders

from recovery_kit.errors import CannotWrite, RunBusy
from recovery_kit.formats import durable
from recovery_kit.formats.durable import Durable
from recovery_kit.formats.journal import Journal
from recovery_kit.records.journal import (
    BatchCall,
    ContextTransaction,
    InferenceUsage,
    Interaction,
    ToolBatch,
    ToolCallDone,
)
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.sidecars import OpenPoint, StageRecord
from recovery_kit.records.window import AssistantTurn, Entry, Region, ToolResult, Window
from recovery_kit.runs.opening import open_run
from recovery_kit.world.deltas import transaction
from recovery_kit.world.ids import Owner
from recovery_kit.world.journal_writer import JournalWriter, Snapshot

OWNER = Owner("0" * 16, "1" * 16)
META = RunMeta(
    run_id="r-1", agent_name="a", agent_path="/nowhere/agent.leviath", task="t", status="running", current_stage="s",
    stage_index=0, num_stages=1, iteration=0, prompt_tokens=0, completion_tokens=0, workdir="/nowhere", started_at=100,
    updated_at=100,
)  # fmt: skip
STAGE = StageRecord(name="s", index=0, status="active", entered=True, prompt_tokens=0, completion_tokens=0)


def window(*texts: str) -> Window:
    entries = tuple(Entry(text, 1) for text in texts)
    return Window("s", len(texts), 100, (Region("conversation", "sliding_window", len(texts), 50, entries),))


def at(second: int, *texts: str, **members: object) -> Snapshot:
    """A snapshot of that second."""
    return Snapshot(replace(META, updated_at=second, **members), window(*texts), (STAGE,))


def batch(iteration: int, *ids: str) -> ToolBatch:
    calls = tuple(BatchCall(id=name, execution_id=f"x-{name}", name="shell", arguments="{}") for name in ids)
    return ToolBatch(calls=calls, at=105, iteration=iteration, response="go")


def usage(iteration: int) -> InferenceUsage:
    return InferenceUsage(
        stage="s", iteration=iteration, provider="p", model="m", prompt_tokens=1, completion_tokens=1, cached_tokens=0,
        cache_write_tokens=0, at=104,
    )  # fmt: skip


def kinds(folder: Path) -> list[str]:
    return [kind for _, kind in Journal((folder / "run.lvr").read_bytes()).read()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a run directory is to be, in a data root of its own."""
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs" / "r-1"


def test_a_new_run_is_there_at_once(folder: Path) -> None:
    """A new run has header and window in its journal, its other files, and nothing that others may read."""
    first = Snapshot(META, window("hi"), (STAGE,), final_output=b"42", open_point=OpenPoint(0, 1, "?"))
    with JournalWriter.create(folder, first, owner=OWNER, blueprint=b"[agent]\n"):
        assert kinds(folder) == ["Header", "ContextCheckpoint"]
    run = open_run(folder)
    assert run.at().window == window("hi") and run.meta == META
    assert run.files.context == window("hi") and run.files.stages == (STAGE,)
    assert run.files.open_point == OpenPoint(0, 1, "?") and run.files.raw("final_output") == b"42"
    assert run.files.blueprint_text == b"[agent]\n"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {0o600} and stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_run_that_is_there_is_not_made_again(folder: Path) -> None:
    """Making a run where there is one is refused, and the one that is there stays as it is."""
    JournalWriter.create(folder, at(100, "hi"), owner=OWNER).close()
    before = (folder / "run.lvr").read_bytes()
    with pytest.raises(CannotWrite, match="there is a run in this folder already"):
        JournalWriter.create(folder, at(200, "other"), owner=OWNER)
    assert (folder / "run.lvr").read_bytes() == before


def test_what_was_written_folds_to_what_was_meant(folder: Path) -> None:
    """A turn with a call: each record where the engine has it, the pending batch, and the state at the end."""
    with JournalWriter.create(folder, at(100, "hi"), owner=OWNER) as writer:
        writer.record(usage(1))
        out = batch(1, "c1", "c2")
        writer.hand_out(out)
        writer.snapshot(at(105, "hi", iteration=1))
        writer.call_done(out, out.calls[0], "one", 106)
        pending = open_run(folder).at().pending
        assert pending is not None and pending.results == ("one", None)
        writer.call_done(out, out.calls[1], "two", 107)
        turn = Entry("go", 1, AssistantTurn(()))
        said = (*window("hi").regions[0].entries, turn)
        after = Window("s", 2, 100, (Region("conversation", "sliding_window", 2, 50, said),))
        change = transaction(window("hi"), after, "model_reply", 108)
        assert isinstance(change, ContextTransaction)
        writer.record(change)
        writer.snapshot(Snapshot(replace(META, iteration=2, updated_at=109, status="complete"), after, (STAGE,)))
    assert kinds(folder) == [
        "Header", "ContextCheckpoint", "InferenceUsage", "ToolBatch", "Progress", "ToolCallDone", "ToolCallDone",
        "ContextTransaction", "Progress", "StatusChanged",
    ]  # fmt: skip
    run = open_run(folder)
    assert run.at().window == after and run.at().status == "complete" and run.at().pending is None
    assert [call.certainty for call in run.effects] == ["done", "done"]
    assert run.points[-1].changed == ("conversation",)
    assert run.story.chain.unnamed_points == () and run.story.chain.gaps == ()


def test_a_quiet_snapshot_is_a_small_step(folder: Path) -> None:
    """A snapshot in which nothing changed says so, and writes no file but `meta.json`."""
    with JournalWriter.create(folder, at(100, "hi"), owner=OWNER) as writer:
        untouched = {name: (folder / name).stat().st_ino for name in ("context.json", "stages.json")}
        writer.snapshot(at(130, "hi"))
    assert open_run(folder).points[-1].changed == ()
    assert {name: (folder / name).stat().st_ino for name in untouched} == untouched


def test_sidecars_come_and_go(folder: Path) -> None:
    """A point's file is there while the run is parked at it; lines are appended to the stage's logs."""
    with JournalWriter.create(folder, at(100), owner=OWNER) as writer:
        parked = Snapshot(META, window(), open_point=OpenPoint(0, 1, "?"), said=((0, "one"), (1, "two")))
        writer.snapshot(parked)
        assert (folder / "interactions.json").read_bytes() == b'{"cursor":0,"round":1,"body":"?"}'
        writer.snapshot(Snapshot(META, window(), said=((0, "more"),), logged=((0, "line"),)))
        assert not (folder / "interactions.json").exists()
    assert (folder / "stages/0/output.log").read_text() == "one\nmore\n"
    assert open_run(folder).files.log_lines() == {
        "stages/0/logs.log": 1, "stages/0/output.log": 2, "stages/1/output.log": 1
    }  # fmt: skip


def test_a_window_that_no_delta_can_say_is_written_whole(folder: Path) -> None:
    """Two regions of one name are kept, by a whole window before the step."""
    region = window("a").regions[0]
    twice = Window("s", 2, 100, (region, region))
    with JournalWriter.create(folder, at(100, "a"), owner=OWNER) as writer:
        writer.snapshot(Snapshot(META, twice))
    assert kinds(folder)[-2:] == ["ContextCheckpoint", "Progress"]
    assert open_run(folder).at().window == twice


def test_a_take_over_is_a_life_of_its_own(folder: Path) -> None:
    """The next owner writes its name and a whole window; what it gave up is on record as such."""
    with JournalWriter.create(folder, at(100, "hi"), owner=OWNER) as writer:
        out = batch(1, "c1")
        writer.hand_out(out)
        writer.snapshot(at(105, "hi", iteration=1))
    with JournalWriter.take_over(folder, owner=Owner("0" * 16, "2" * 16)) as writer:
        writer.call_done(out, out.calls[0], "[error] interrupted: gone", 200, given_up=True)
        writer.snapshot(at(200, "hi", "again", iteration=1))
        writer.snapshot(at(201, "hi", "again", "more", iteration=2))
    assert kinds(folder)[-4:] == ["ToolCallDone", "OwnershipChanged", "ContextCheckpoint", "Progress"]
    run = open_run(folder)
    assert [life.world_id for life in run.story.lives] == ["1" * 16, "2" * 16]
    assert [call.certainty for call in run.effects] == ["stood_in"]


def test_one_writer_at_a_time(folder: Path) -> None:
    """A second writer is refused while the first holds the folder, and goes on when it has let go."""
    writer = JournalWriter.create(folder, at(100), owner=OWNER)
    with pytest.raises(RunBusy):
        JournalWriter.take_over(folder)
    writer.close()
    JournalWriter.take_over(folder).close()


def test_an_engine_at_work_is_refused_before_any_write(folder: Path) -> None:
    """With the engine's process alive neither a new run is made nor an old one taken."""
    (folder.parent.parent / "daemon.pid").write_text(str(os.getppid()))
    with pytest.raises(RunBusy):
        JournalWriter.create(folder, at(100), owner=OWNER)
    assert not folder.exists()


def _journal(folder: Path) -> bytes:
    """A small journal of three steps."""
    with JournalWriter.create(folder, at(100, "a"), owner=OWNER) as writer:
        writer.snapshot(at(101, "a", "b"))
        writer.snapshot(at(102, "a", "b", "c"))
    return (folder / "run.lvr").read_bytes()


def test_a_torn_tail_is_set_aside_wherever_it_is_cut(folder: Path) -> None:
    """Cut anywhere, the intact part goes on, the torn bytes are kept beside it, and all that follows is readable."""
    whole = _journal(folder)
    offsets = [*Journal(whole).framing.offsets, len(whole)]
    for cut in range(offsets[2], len(whole) + 1, 97):
        (folder / "run.lvr").write_bytes(whole[:cut])
        end = max(offset for offset in offsets if offset <= cut)
        with JournalWriter.take_over(folder, owner=OWNER) as writer:
            torn = writer.torn
            writer.snapshot(at(200, "a", "z"))
        data = (folder / "run.lvr").read_bytes()
        assert data[:end] == whole[:end] and Journal(data).framing.torn_bytes == 0
        assert kinds(folder)[-2:] == ["OwnershipChanged", "ContextCheckpoint"]
        assert open_run(folder).at().window == window("a", "z")
        if end == cut:
            assert torn is None
        else:
            assert torn is not None and (torn.offset, torn.size) == (end, cut - end)
            assert (folder / torn.kept_as).read_bytes() == whole[end:cut]
            assert torn.kept_as.startswith(f"run.lvr.torn-{end}")


def test_two_tears_at_one_place_are_both_kept(folder: Path) -> None:
    """A tail that was set aside is never replaced by another one."""
    whole = _journal(folder)
    end = Journal(whole).framing.offsets[-1]
    for tail in (b"one", b"two", b"one"):
        (folder / "run.lvr").write_bytes(whole[:end] + tail)
        JournalWriter.take_over(folder).close()
    assert (folder / f"run.lvr.torn-{end}").read_bytes() == b"one"
    assert (folder / f"run.lvr.torn-{end}-2").read_bytes() == b"two"
    assert not (folder / f"run.lvr.torn-{end}-3").exists()


STUMPS = [b"", b"LVR", b"LVR1\0\1", b"no journal at all", b'LVR1\0\1\0\0\0\0\0\0\0\x05{"a":']


@pytest.mark.parametrize("stump", STUMPS, ids=["empty", "short", "preamble", "other", "torn header"])
def test_a_journal_that_nobody_can_fold_is_begun_anew(folder: Path, stump: bytes) -> None:
    """A stump of a journal is kept beside a new one that begins with a header."""
    _journal(folder)
    (folder / "run.lvr").write_bytes(stump)
    with JournalWriter.take_over(folder, owner=OWNER) as writer:
        with pytest.raises(CannotWrite, match="a snapshot comes first"):
            writer.record(usage(1))
        writer.snapshot(at(200, "z"))
    assert kinds(folder) == ["Header", "ContextCheckpoint"]
    if stump:
        assert (folder / "run.lvr.torn-0").read_bytes() == stump


def test_a_newer_journal_is_left_alone(folder: Path) -> None:
    """A journal of a newer format is neither changed nor set aside."""
    data = b"LVR1\0\2" + _journal(folder)[6:]
    (folder / "run.lvr").write_bytes(data)
    with pytest.raises(CannotWrite, match="newer format"):
        JournalWriter.take_over(folder)
    assert (folder / "run.lvr").read_bytes() == data


def test_a_full_disk_leaves_no_torn_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full in mid-record, the journal ends with its last whole one and can go on later."""
    with JournalWriter.create(folder, at(100, "a"), owner=OWNER) as writer:
        size = writer.size
        real = os.write
        with monkeypatch.context() as full:
            left = [40]

            def write(handle: int, data: memoryview) -> int:
                if not left[0]:
                    raise OSError(28, "No space left on device")
                done = real(handle, data[: left[0]])
                left[0] -= done
                return done

            full.setattr(durable.os, "write", write)
            with pytest.raises(CannotWrite, match="the disk is full"):
                writer.hand_out(batch(1, "c1"))
        assert (folder / "run.lvr").stat().st_size == writer.size == size
        writer.hand_out(batch(1, "c1"))
    assert kinds(folder)[-1] == "ToolBatch"


@pytest.mark.parametrize("source", run_folders(), ids=lambda path: path.parent.name + "/" + path.name[-6:])
def test_a_real_run_written_again_reads_the_same(source: Path, folder: Path) -> None:
    """Every point of a real run, written by the kit with a take-over in the middle, is read back as it was."""
    run = open_run(source)
    points = list(run.points)
    wanted = [(point.window.window(), point.read_meta()) for point in points]
    if not wanted:
        pytest.skip("a run without points")
    writer = JournalWriter.create(folder, Snapshot(wanted[0][1], wanted[0][0]), owner=OWNER)
    for number, (context, meta) in enumerate(wanted[1:]):
        if number == len(wanted) // 2:
            writer.close()
            writer = JournalWriter.take_over(folder, owner=OWNER)
        writer.snapshot(Snapshot(meta, context, run.files.stages))
    writer.close()
    back = open_run(folder)
    assert [point.window.window() for point in back.points] == [context for context, _ in wanted]
    assert back.files.context == wanted[-1][0] and back.files.meta == wanted[-1][1]
    assert not back.journal.read().unread


CRASHES = """
    import os, signal, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from recovery_kit.formats.durable import Durable
    from world.test_journal_writer import play

    root = Path({root!r})
    number = 0
    while True:
        number += 1
        (root / str(number) / "runs").mkdir(parents=True)
        child = os.fork()
        if not child:
            left = [number]
            def failpoint(moment):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
            play(root / str(number) / "runs" / "r-1", Durable(failpoint))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert not status
            break
    print(number)
"""


CALLS = ("c1", "c2")


def play(folder: Path, disk: Durable) -> None:
    """A run of two turns with a take-over between them; each call leaves a file as its effect."""
    world = folder.parent.parent
    writer = JournalWriter.create(folder, at(100, "hi"), owner=OWNER, disk=disk)
    out = batch(1, *CALLS)
    writer.record(usage(1))
    writer.hand_out(out)
    writer.snapshot(at(105, "hi", iteration=1))
    for call in out.calls:
        (world / f"effect-{call.id}").touch()
        writer.call_done(out, call, "done", 106)
    writer.close()
    with open(folder / "run.lvr", "ab") as journal:
        journal.write(b"\0\0\0torn")
    writer = JournalWriter.take_over(folder, owner=OWNER, disk=disk)
    result = Entry("done", 1, ToolResult("c1", "shell", False))
    after = Window("s", 1, 100, (Region("conversation", "sliding_window", 1, 50, (result,)),))
    writer.snapshot(Snapshot(replace(META, updated_at=200, iteration=2), after))
    writer.close()


def test_killed_at_every_moment_the_run_is_readable(tmp_path: Path) -> None:
    """kill -9 at each step of a run's writing: what is there reads, no effect is unannounced, and a writer goes on."""
    code = textwrap.dedent(CRASHES).format(root=str(tmp_path), tests=str(Path(__file__).parents[1]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    deaths = int(done.stdout) - 1
    assert deaths > 60
    for number in range(1, deaths + 1):
        folder = tmp_path / str(number) / "runs" / "r-1"
        effects = {path.name.removeprefix("effect-") for path in folder.parent.parent.glob("effect-*")}
        if not (folder / "meta.json").exists():
            assert not effects  # nobody lists it, and nothing has happened
            continue
        run = open_run(folder)
        assert run.at().meta is not None and not run.journal.read().unread
        assert effects <= {call.call_id for call in run.effects}, number
        finished = {call.call_id for call in run.effects if call.certainty == "done"}
        assert finished <= effects
        with JournalWriter.take_over(folder, owner=OWNER) as writer:
            writer.snapshot(at(300, "end"))
        again = open_run(folder)
        assert again.at().window == window("end") and again.journal.framing.torn_bytes == 0
        assert not [name for name in os.listdir(folder) if name.startswith(".")]


def test_a_settled_prompt_is_read_back(folder: Path) -> None:
    """Other records go through as they are."""
    prompt = Interaction(
        request_id="r-1-approve-1", kind="tool_approval", tool="shell", prompt="Allow?", stage="s",
        settlement="timed_out", asked_at=1, at=2,
    )  # fmt: skip
    with JournalWriter.create(folder, at(100), owner=OWNER) as writer:
        offset = writer.record(prompt, ToolCallDone(iteration=1, call_id="c", result="x", at=3))
    assert open_run(folder).record(offset) == prompt


def test_samples_are_there() -> None:
    """The stories that these tests rewrite exist."""
    assert len(run_folders()) > 10 and SAMPLES.is_dir()
