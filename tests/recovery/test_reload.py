"""Carrying a plan out: what comes back, what is refused with nothing written, and that twice is once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from samples import SAMPLES, files_of

from recovery_kit.errors import (
    CannotRestore,
    NotARun,
    PlanOutOfDate,
    RecoveryKitError,
    RunBusy,
    UnknownMoment,
    UnsafeName,
)
from recovery_kit.history.windows import window_sha256
from recovery_kit.recovery.plan import plan_recovery
from recovery_kit.recovery.reload import reload_persisted_agents, reload_run
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import RefusingProvider, ScriptedProvider
from recovery_kit.world.recorded import RecordedProvider, RecordedTools
from recovery_kit.world.tools import NO_CONTEXT, Arguments, StubTools, ToolAnswer, ToolContext

STORIES = sorted({path.parent.parent.name for path in SAMPLES.glob("*/*/meta.json")})
KILLED, ENDED = "02a-killed-mid-batch", "02a-as-it-ended.zip"


class NeverTools:
    """Tools that must not be called."""

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """Fail."""
        raise AssertionError(f"{name} was called")


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a story in a data root of its own."""

    def copy(story: str) -> Path:
        runs = tmp_path / story / "root" / "runs"
        shutil.copytree(SAMPLES / story, runs)
        return runs

    return copy


@pytest.fixture
def worlds() -> Iterator[Callable[..., AgentWorld]]:
    """Worlds that refuse to ask and to do anything, unless told otherwise; closed at the end."""
    made: list[AgentWorld] = []

    def build(provider: object = None, tools: object = None, **more: object) -> AgentWorld:
        made.append(AgentWorld(provider or RefusingProvider(), tools or NeverTools(), **more))  # type: ignore[arg-type]
        return made[-1]

    yield build
    for world in made:
        world.close()


def bytes_of(runs: Path) -> dict[str, dict[str, bytes]]:
    """Every file of every run."""
    return {folder.name: files_of(folder) for folder in runs.iterdir()}


@pytest.mark.parametrize("story", STORIES)
def test_every_sample_comes_back_as_planned(
    story: str, copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]
) -> None:
    """Each run that a plan says comes back does, with the very window of the plan; the others are not touched."""
    runs = copied(story)
    before = bytes_of(runs)
    plan = plan_recovery(runs, "kit", SAMPLES / "agents")
    world = worlds()
    done = reload_persisted_agents(world, plan)
    back = tuple(row.run_id for row in plan.resumes)
    assert done.restored == back and done.failed == {} and bool(done)
    for row in plan.rows:
        if row.run_id not in back:
            assert files_of(runs / row.run_id) == before[row.run_id]
            continue
        agent, again = world[row.run_id], open_run(runs / row.run_id)
        assert row.after is not None and agent.window == row.after.window
        assert window_sha256(again.at().window) == row.window_sha256
        assert agent.status == again.meta.status and not again.at().pending  # type: ignore[union-attr]
    world.run()  # nobody answers, so nothing is done


@pytest.mark.parametrize("story", STORIES)
def test_twice_is_once(story: str, copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """A second restart finds the window of the first one, stands in for nothing more, and adds its handoff only."""
    runs = copied(story)
    windows = []
    for _ in range(2):
        before = {name: files.get("run.lvr", b"") for name, files in bytes_of(runs).items()}
        plan = plan_recovery(runs, "kit", SAMPLES / "agents")
        world = worlds()
        assert not reload_persisted_agents(world, plan).failed
        world.close()
        windows.append({row.run_id: row.window_sha256 for row in plan.resumes})
    assert windows[0] == windows[1]
    for run_id in windows[1]:
        run = open_run(runs / run_id)
        assert (runs / run_id / "run.lvr").read_bytes().startswith(before[run_id])
        added = [event.kind for event in run.records if event.offset >= len(before[run_id])]
        assert added == ["ContextTransaction", "OwnershipChanged", "ContextCheckpoint"]


def test_a_held_result_is_never_handed_to_a_tool(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]
) -> None:
    """The killed batch is told to the model and no call of it runs; real results stay, the rest is verify-first."""
    runs = copied(KILLED)
    world = worlds(ScriptedProvider(["I look first.", "Nothing.", "Nothing.", "Nothing."]))
    done = reload_persisted_agents(world, runs)
    run_id = done.restored[0]
    world.run()
    run = open_run(runs / run_id)
    calls = {call.call_id: call for call in run.effects}
    assert [calls[name].certainty for name in ("b1", "b2", "b3", "b4")] == ["done", "stood_in", "stood_in", "stood_in"]
    given_up = [
        e.record.call_id for e in run.records if e.kind == "ToolCallDone" and e.record.outcome == "indeterminate"
    ]
    assert given_up == ["b2", "b3", "b4"] and world[run_id].status == "complete"


def test_a_killed_run_goes_on_as_it_was_recorded(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]
) -> None:
    """With the recording of what the engine did next, the same requests are asked and the same end is reached."""
    runs, end = copied(KILLED), open_run(SAMPLES / ENDED)
    world = worlds(RecordedProvider(end), RecordedTools(end))
    run_id = reload_run(world, runs, next(runs.iterdir()).name)
    world.run()
    assert world[run_id].status == "complete"
    mine = {region.name: region.entries for region in world[run_id].window.regions}
    assert mine == {region.name: region.entries for region in end.at().window.regions}


def test_a_question_opens_again_and_leads_on(copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """The open point comes back with its id and its document; an edit, which strands the engine, leads on."""
    runs = copied("05a-parked-at-a-question")
    world = worlds()
    run_id = reload_persisted_agents(world, runs).restored[0]
    first = world.prompts[0]
    assert first.id == f"{run_id}-point-approve_notes-0" and first.body.startswith("## 2.4.0")
    assert open_run(runs / run_id).files.open_point is not None
    world.answer(first, choice="I will edit them")
    world.answer(world.prompts[0], text="Edited by hand.")
    assert world.prompts[0].id == f"{run_id}-point-approve_notes-1"
    world.answer(world.prompts[0], choice="Publish")
    assert world[run_id].stage.name == "publish" and world.prompts == ()


def test_a_paused_run_stays_paused(copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """It comes back, and makes no step until somebody resumes it."""
    world = worlds(ScriptedProvider(["Done."] * 4))
    run_id = reload_persisted_agents(world, copied("07a-paused")).restored[0]
    assert world[run_id].paused and not world.tick()
    world.resume(run_id)
    world.run()
    assert world[run_id].status == "complete"


def test_a_fan_out_is_kept_and_its_workers_are_collected(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]
) -> None:
    """A worker that ended, three at work, one of which the parent's file does not know: all four are in the report."""
    runs = copied("08a-fan-out-with-workers")
    world = worlds(ScriptedProvider(["ended"] * 40), StubTools())
    plan = plan_recovery(runs, "kit")
    assert not reload_persisted_agents(world, plan).failed
    parent = next(a for a in world.agents.values() if a.meta.parent_run_id is None)
    assert parent.status == "waiting_input" and len(world.agents) == 5 and len(parent.meta.children) == 4
    world.run()
    figures = next(r for r in world[parent.id].window.regions if r.name == "figures").entries[0].content
    assert str(figures).startswith("[fan_out results: 4 succeeded, 0 failed]") and "north: 1200.00 EUR" in str(figures)
    assert world[parent.id].status == "complete" and len(world.agents) == 5


def test_a_torn_tail_is_kept_beside_the_journal(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]
) -> None:
    """The intact prefix goes on in a new file, the torn bytes stay, and no later restart rolls anything back."""
    runs = copied("14a-torn-tail")
    whole = next(runs.iterdir()).joinpath("run.lvr").read_bytes()
    done = reload_persisted_agents(worlds(), runs)
    run_id = done.restored[0]
    tail = done.torn[run_id]
    now = (runs / run_id / "run.lvr").read_bytes()
    assert now.startswith(whole[: tail.offset]) and (runs / run_id / tail.kept_as).read_bytes() == whole[tail.offset :]
    run = open_run(runs / run_id)
    assert not run.journal.framing.torn_bytes and run.journal.salvage.swallowed is None


# Refusals: one sentence, nothing written.


def refused(runs: Path, act: Callable[[], object], kind: type[RecoveryKitError]) -> str:
    """The sentence of a refusal that left every byte as it was."""
    before = bytes_of(runs)
    with pytest.raises(kind) as no:
        act()
    assert bytes_of(runs) == before
    assert "\n" not in str(no.value)
    return str(no.value)


@pytest.mark.parametrize(
    ("run_id", "kind"), [("nobody", UnknownMoment), ("../runs", UnsafeName), ("a/b", UnsafeName), ("", UnsafeName)]
)
def test_ids_that_are_none(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld], run_id: str, kind: type[RecoveryKitError]
) -> None:
    """An unknown id and one with path parts."""
    runs = copied(KILLED)
    refused(runs, lambda: reload_run(worlds(), runs, run_id), kind)


def test_runs_that_do_not_come_back(copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """A run that is over, a folder that is not there, a plan for an engine."""
    runs = copied("01-finished")
    run_id = next(runs.iterdir()).name
    assert "it is over" in refused(runs, lambda: reload_run(worlds(), runs, run_id), CannotRestore)
    refused(runs, lambda: reload_persisted_agents(worlds(), runs / "nothing"), NotARun)
    refused(runs, lambda: reload_persisted_agents(worlds(), plan_recovery(runs, "0.6.4")), CannotRestore)


def test_a_manifest_that_is_gone_or_changed(copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """Without the manifest that was executed, a run is left as it is."""
    runs = copied(KILLED)
    folder = next(runs.iterdir())
    (folder / "blueprint.leviath").write_text((folder / "blueprint.leviath").read_text() + "\n# changed\n")
    assert "was changed" in refused(runs, lambda: reload_run(worlds(), runs, folder.name), CannotRestore)
    (folder / "blueprint.leviath").unlink()
    assert "no manifest" in refused(runs, lambda: reload_run(worlds(), runs, folder.name), CannotRestore)
    done = reload_persisted_agents(worlds(), runs)
    assert not done and list(done.failed) == [folder.name]


@pytest.mark.parametrize("name", ["meta.json", "run.lvr", "interactions.json"])
def test_files_that_changed_since_the_plan(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld], name: str
) -> None:
    """A plan is carried out on the very files that it was made from, or not at all."""
    runs = copied(KILLED)
    folder = next(runs.iterdir())
    plan = plan_recovery(runs, "kit")
    with (folder / name).open("ab") as file:
        file.write(b" ")
    assert name in refused(runs, lambda: reload_run(worlds(), plan, folder.name), PlanOutOfDate)
    assert isinstance(reload_persisted_agents(worlds(), plan).failed[folder.name], PlanOutOfDate)


def test_a_journal_that_a_living_process_owns(copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """Another process that holds the folder, and an engine whose recorded process lives."""
    runs = copied(KILLED)
    folder = next(runs.iterdir())
    hold = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), 2); print('held', flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", f"{hold}; sys.stdin.read()", str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as owner:  # fmt: skip
        assert owner.stdout is not None and owner.stdout.readline() == "held\n"
        refused(runs, lambda: reload_run(worlds(), runs, folder.name), RunBusy)
        (runs.parent / "daemon.pid").write_text(str(owner.pid))
        owner.communicate("")
    (runs.parent / "daemon.pid").write_text(str(os.getppid()))
    os.utime(runs.parent / "daemon.pid")
    assert "daemon" in refused(runs, lambda: reload_run(worlds(), runs, folder.name), RunBusy)
    (runs.parent / "daemon.pid").unlink()
    reload_run(worlds(), runs, folder.name)


def test_one_run_does_not_read_the_others(copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]) -> None:
    """Paging one run in opens no file of another."""
    runs = copied("09a-parents-and-children")
    wanted = next(path for path in runs.iterdir() if path.name.startswith("audit-probe"))
    for other in runs.iterdir():
        if other != wanted:
            (other / "meta.json").write_bytes(b"{")
            (other / "run.lvr").write_bytes(b"x")
    world = worlds()
    assert reload_run(world, runs, wanted.name) == wanted.name and list(world.agents) == [wanted.name]


def test_an_answered_question_is_not_asked_again(
    copied: Callable[[str], Path], worlds: Callable[..., AgentWorld]
) -> None:
    """A crash between the journal and the removal of its file leaves a question that only looks open."""
    runs = copied("05a-parked-at-a-question")
    folder = next(runs.iterdir())
    stale = {name: (folder / name).read_bytes() for name in ("interactions.json", "meta.json", "context.json")}
    world = worlds()
    run_id = reload_persisted_agents(world, runs).restored[0]
    world.answer(world.prompts[0], choice="Shorten")
    world.close()
    for name, data in stale.items():
        (folder / name).write_bytes(data)
    assert plan_recovery(runs, "kit")[run_id].prompts_back == ()
    assert plan_recovery(runs)[run_id].prompts_back != ()  # the engine asks again
    again = worlds()
    assert reload_persisted_agents(again, runs).restored == (run_id,) and again.prompts == ()
