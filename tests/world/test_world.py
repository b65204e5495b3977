"""A small world at work: the order of its records, refusals, and failures that stay where they are."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_world import CLERK, MODEL, Scripts, kinds, results, said, shell

from recovery_kit.errors import CannotRestore, CannotWrite, ManifestUnreadable, RunBusy
from recovery_kit.formats.durable import Durable
from recovery_kit.records.meta import NeedsSetup
from recovery_kit.runs.opening import open_run, open_runs
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.journal_writer import JournalWriter
from recovery_kit.world.providers import Failure, ScriptedProvider
from recovery_kit.world.tools import NO_CONTEXT, Arguments, StubTools, ToolAnswer, ToolContext


def test_a_run_from_its_start_to_its_end(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """Every record stands where the engine has it, and the files read without a finding of damage."""
    replies = [
        said(
            "go", shell("post 1"), ("context_write", {"content": "x", "key": "k", "region": "notes"}), shell("post 2")
        ),
        said("", ("submit_output", {"content": "All posted."}), first=5),
        said("That is all.", finish_reason="complete"),
    ]
    tools = StubTools({"shell": lambda arguments: f"did {arguments['command']}"})
    world = make(ScriptedProvider(replies), tools)
    run_id = world.spawn(CLERK, "Post them.")
    assert world[run_id].iteration == 0 and (folder / run_id / "run.lvr").exists()
    assert world.run() == 3 and world[run_id].status == "complete"
    assert kinds(folder / run_id) == [
        "Header", "ContextCheckpoint", "InferenceAttempt", "InferenceUsage", "tx context_tool", "ToolBatch", "Progress",
        "ToolCallDone", "ToolCallDone", "tx model_reply", "tx tool_result", "tx tool_result", "tx tool_result",
        "Progress", "InferenceAttempt", "InferenceUsage", "tx tool_result", "ToolBatch", "tx model_reply",
        "tx tool_result",
        "Progress", "InferenceAttempt", "InferenceUsage", "tx model_reply", "Progress", "StatusChanged",
    ]  # fmt: skip
    run = open_run(folder / run_id)
    assert run.at().window == world[run_id].window and run.meta == world[run_id].meta
    assert [call.certainty for call in run.effects] == ["done"] * 4
    assert {f.kind for f in run.findings} <= {"cost_not_exact"} and not run.story.disagreements
    assert run.files.raw("final_output") == b"All posted."
    assert [name for name, _ in tools.called] == ["shell", "shell"]
    record = run.files.stages[0]
    assert (record.status, record.prompt_tokens, len(record.visits), record.visits[0].left_at is None) == (
        "complete", 30, 1, False,
    )  # fmt: skip


def test_the_same_world_without_a_folder(make: Callable[..., AgentWorld]) -> None:
    """A world that keeps its runs in memory does the same."""
    world = make(ScriptedProvider([said("Done.")] * 5), folder=None)
    run_id = world.spawn(CLERK, "Say it.")
    world.run()
    assert world[run_id].status == "complete" and world[run_id].visit.nudges == 3


def test_unknown_tools_and_wrong_arguments_are_answered_at_once(make: Callable[..., AgentWorld]) -> None:
    """What is not offered or does not fit never reaches a tool."""
    replies = [
        said("", ("frobnicate", {}), ("shell", {}), ("todo_add", {"region": "nowhere", "item": "x"})),
        said("Done."),
    ]
    tools = StubTools()
    world = make(ScriptedProvider(replies), tools)
    run_id = world.spawn(CLERK, "Try.")
    world.run()
    texts = results(world, run_id)
    assert texts[0].startswith(
        "[unavailable] 'frobnicate' is not available in this stage. You may call: write_file, shell"
    )
    assert texts[1] == "[error] invalid arguments for 'shell': \"command\" is a required property"
    assert texts[2].startswith("[error] Section 'nowhere' not found.") and tools.called == []


def test_a_failure_touches_its_run_only(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """A tool that raises stops its run, whose files stay resumable; a provider that raises ends its run on record."""

    class Tools:
        def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
            if arguments["command"] == "break":
                raise OSError("broken")
            return ToolAnswer("fine")

    provider = Scripts(aaa=[said("", shell("break"))], bbb=[said("", shell("post")), said("Done.")], ccc=[])
    provider.scripts["ccc"] = (1 // 0 for _ in range(1))  # type: ignore[assignment]
    world = make(provider, Tools())
    broken, fine, defect = (world.spawn(CLERK, task) for task in ("aaa", "bbb", "ccc"))
    world.run()
    assert [world[name].status for name in (broken, fine, defect)] == ["error", "complete", "error"]
    assert "not known" in world.why_stopped(broken) and world.why_stopped(fine) == ""
    assert "ZeroDivisionError" in (world[defect].meta.error or "")
    on_disk = {run.id: run.meta.status for run in open_runs(folder).values() if run.meta}
    assert on_disk == {broken: "running", fine: "complete", defect: "error"}
    assert [call.certainty for call in open_run(folder / broken).effects] == ["unknown"]


def test_a_full_disk_stops_a_run_and_leaves_its_last_state(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """Where a record cannot be written no call is made; the files hold what they held."""
    limit = [10_000]

    def failpoint(moment: str) -> None:
        limit[0] -= 1
        if limit[0] < 0 and moment == "append:begun":
            raise OSError(28, "full")

    tools = StubTools()
    world = make(ScriptedProvider([said("", shell("post 1")), said("Done.")]), tools, disk=Durable(failpoint))
    run_id = world.spawn(CLERK, "Post.")
    before = (folder / run_id / "run.lvr").read_bytes()
    limit[0] = 0
    world.run()
    assert tools.called == [] and "disk is full" in world.why_stopped(run_id)
    assert (folder / run_id / "run.lvr").read_bytes() == before
    JournalWriter.take_over(folder / run_id).close()  # and nobody holds it


def test_one_owner_at_a_time(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """A run of a living world cannot be taken over."""
    world = make(ScriptedProvider([]))
    run_id = world.spawn(CLERK, "Post.")
    with pytest.raises(RunBusy):
        JournalWriter.take_over(folder / run_id)
    with pytest.raises((CannotWrite, RunBusy)):
        make(ScriptedProvider([])).spawn(CLERK, "Post.", run_id=run_id)


def test_providers_that_cannot_be_asked(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """What passes is tried again, credits move on to the next model and then park the run, a refusal ends it."""
    two = CLERK.replace(
        MODEL, 'model = { models = [{ provider = "p", model = "a" }, { provider = "p", model = "b" }] }'
    )
    broke = Failure(reason="credits-exhausted", why="no credits")
    replies = [Failure(kind="timeout", transient=True), broke, broke, said("", shell("x")), Failure(why="refused")]
    world = make(ScriptedProvider(replies))
    run_id = world.spawn(two, "Post.")
    world.run()
    assert world[run_id].paused and world[run_id].meta.waiting_on == NeedsSetup("credits_exhausted", "no credits")
    assert kinds(folder / run_id)[2:7] == [
        "InferenceAttempt",
        "InferenceAttempt",
        "InferenceFailover",
        "InferenceAttempt",
        "Progress",
    ]
    world.resume(run_id)
    world.run()
    assert (world[run_id].status, world[run_id].meta.error) == ("error", "refused")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("[stages.work.hooks]\non_stage_exit = 'x.rhai'", "stages.work.hooks"),
        ("[security]\ntaint_tracking = true", "security.taint_tracking"),
        ("[repetition_detection]", "repetition_detection"),
    ],
)
def test_what_is_not_done_is_refused_by_name(
    folder: Path, make: Callable[..., AgentWorld], line: str, name: str
) -> None:
    """A manifest that asks for more is refused at load, and nothing is written."""
    world = make(ScriptedProvider([]))
    with pytest.raises(CannotRestore, match=name):
        world.spawn(f"{CLERK}\n{line}\n", "x")
    with pytest.raises(ManifestUnreadable):
        world.spawn("[agent\n", "x")
    assert list(folder.iterdir()) == []


def test_a_call_cut_short_is_never_made_again(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """Ctrl-C in the middle of a tool: the world does not hand the call out a second time, a reload tells of it."""
    called: list[str] = []

    class Tools:
        def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
            called.append(name)
            raise KeyboardInterrupt

    world = make(ScriptedProvider([said("", shell("post"))]), Tools())
    run_id = world.spawn(CLERK, "Post.")
    with pytest.raises(KeyboardInterrupt):
        world.run()
    world.run()
    assert called == ["shell"] and "reload the run" in world.why_stopped(run_id)
    assert [call.certainty for call in open_run(folder / run_id).effects] == ["unknown"]


def test_ctrl_c_while_writing_stops_the_run(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """Nobody knows then what is on the disk, so the run goes on only after a reload."""
    armed = [False]

    def failpoint(moment: str) -> None:
        if armed[0] and moment == "append:done":
            armed[0] = False
            raise KeyboardInterrupt

    world = make(ScriptedProvider([said("", shell("post")), said("Done.")]), disk=Durable(failpoint))
    run_id = world.spawn(CLERK, "Post.")
    armed[0] = True
    with pytest.raises(KeyboardInterrupt):
        world.run()
    assert not world.tick() and "reload" in world.why_stopped(run_id)
    assert open_run(folder / run_id).story.fold() is not None


def test_files_become_parts_and_files_again(folder: Path, make: Callable[..., AgentWorld], tmp_path: Path) -> None:
    """A file is stored before the window names it, goes out again as it was, and comes with the answer."""
    work = tmp_path / "work"
    work.mkdir()
    picture = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (16).to_bytes(4, "big") * 2 + b"rest"
    (work / "stamp.png").write_bytes(picture)
    manifest = CLERK.replace('"submit_output"', '"submit_output", "context_attach", "context_export"')
    calls = [
        ("context_attach", {"region": "figures", "path": "stamp.png", "key": "stamp", "caption": "the stamp to use"}),
        ("context_export", {"name": "stamp.png", "path": "out/copy.png"}),
        ("context_export", {"name": "nothing"}),
        ("submit_output", {"content": "Stamped.", "artifacts": ["out/copy.png", {"path": "stamp.png"}, "../up"]}),
        ("submit_output", {"content": "Stamped.", "artifacts": ["out/copy.png"]}),
    ]
    world = make(ScriptedProvider([said("", *calls), said("Done.")]))
    run_id = world.spawn(manifest, "Stamp.", workdir=work)
    world.run()
    texts = results(world, run_id)
    assert texts[0].startswith("Attached 'stamp.png' to region 'figures' under key 'stamp' as image/png (")
    assert texts[2].startswith("[error] no stored part matches 'nothing'") and texts[3].startswith(
        "[error] artifact '../up'"
    )
    assert (work / "out" / "copy.png").read_bytes() == picture
    run = open_run(folder / run_id)
    assert run.meta.final_output.artifacts[0].path == "out/copy.png"  # type: ignore[union-attr]
    assert list((folder / run_id / "blobs").iterdir()) and run.story.disagreements == ()


def test_another_order_of_calls(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """Calls can be made in another order; their results stand in the window in call order all the same."""
    tools = StubTools({"shell": lambda arguments: str(arguments["command"])})
    world = make(
        ScriptedProvider([said("", shell("a"), shell("b")), said("Done.")]), tools,
        call_order=lambda calls: range(len(calls) - 1, -1, -1),
    )  # fmt: skip
    run_id = world.spawn(CLERK, "Go.")
    world.run()
    assert [arguments["command"] for _, arguments in tools.called] == ["b", "a"]
    assert results(world, run_id) == ["a", "b"]
