"""A small world at work: order of the records, people's words, trees, loops, and failures that stay where they are."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import msgspec
import pytest

from recovery_kit.errors import CannotRestore, CannotWrite, ManifestUnreadable, RunBusy, UnknownMoment
from recovery_kit.formats.durable import Durable
from recovery_kit.records.meta import NeedsSetup, ToolApproval
from recovery_kit.records.window import AssistantTurn, ToolResult
from recovery_kit.runs.opening import open_run, open_runs
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.journal_writer import JournalWriter
from recovery_kit.world.providers import Failure, Reply, ScriptedProvider, ToolCall
from recovery_kit.world.tools import NO_CONTEXT, Arguments, StubTools, ToolAnswer, ToolContext

REGIONS = """
[context.regions]
task = { kind = "pinned", max_tokens = 1000 }
notes = { kind = "hashmap", max_entries = 20, max_tokens = 2000 }
todo = { kind = "checklist", max_tokens = 500 }
figures = { kind = "pinned", max_tokens = 4000 }
conversation = { kind = "sliding_window", max_items = 60, max_tokens = 12000 }
"""
MODEL = 'model = { provider = "p", model = "m" }'
CLERK = f"""
[agent]
name = "clerk"
[stages.work]
{MODEL}
available_tools = ["shell", "write_file", "context_write", "todo_add", "todo_done", "submit_output"]
system_prompt = "Do the task."
{REGIONS}"""


def said(text: str, *calls: tuple[str, dict[str, object]], first: int = 0, **members: object) -> Reply:
    """A reply with calls whose ids count on."""
    made = tuple(
        ToolCall(f"c{first + n}", name, msgspec.json.encode(arguments, order="sorted").decode())
        for n, (name, arguments) in enumerate(calls)
    )
    return Reply(text=text, tool_calls=made, prompt_tokens=10, completion_tokens=2, **members)  # type: ignore[arg-type]


def shell(command: str) -> tuple[str, dict[str, object]]:
    return "shell", {"command": command}


class Scripts:
    """Each run its own script, found by its task."""

    def __init__(self, **scripts: list[object]) -> None:
        self.scripts = {task: iter(replies) for task, replies in scripts.items()}

    def infer(self, request, turn):  # type: ignore[no-untyped-def]
        """The next answer of the run whose task the system prompt holds."""
        text = " ".join(block.text for block in request.system)
        task = next(task for task in self.scripts if task in text)
        answer = next(self.scripts[task], None)
        return answer if answer is not None else Failure(why="the script is over")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A runs folder in a data root of its own."""
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


@pytest.fixture
def make(folder: Path) -> Iterator[Callable[..., AgentWorld]]:
    """Worlds with a clock that counts, closed at the end."""
    worlds: list[AgentWorld] = []

    def build(provider: object, tools: object = None, **more: object) -> AgentWorld:
        ticking = count(1_000)
        more = {"folder": folder, "clock": lambda: next(ticking), "sleep": lambda seconds: None, **more}
        worlds.append(AgentWorld(provider, tools or StubTools(), **more))  # type: ignore[arg-type]
        return worlds[-1]

    yield build
    for world in worlds:
        world.close()


def kinds(folder: Path) -> list[str]:
    """Kinds of a run's records; a change of the window with its cause."""
    run = open_run(folder)
    return [f"tx {e.record.cause}" if e.kind == "ContextTransaction" else e.kind for e in run.records]


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
        "InferenceAttempt", "InferenceUsage", "tx tool_result", "ToolBatch", "tx model_reply", "tx tool_result",
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


def results(world: AgentWorld, run_id: str) -> list[str]:
    """Texts of the results in a run's conversation."""
    entries = next(r.entries for r in world[run_id].window.regions if r.name == "conversation")
    return [str(entry.content) for entry in entries if isinstance(entry.kind, ToolResult)]


ASKING = f"""
[agent]
name = "desk"
[tool_permissions]
shell = "ask"
[stages.pay]
{MODEL}
available_tools = ["shell", "ask_user_text", "ask_user_choice", "ask_user_confirm", "present_for_review"]
allow_blocking_tools = true
{REGIONS}"""


def test_questions_are_values_until_somebody_answers(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """One question is open at a time; nothing runs before all are settled; a denial carries its reason."""
    calls = [shell("pay 1"), ("ask_user_text", {"prompt": "Which?"}), shell("pay 2"), shell("echo harmless")]
    tools = StubTools({"shell": "paid"})
    world = make(ScriptedProvider([said("", *calls), said("Done.")]), tools)
    run_id = world.spawn(ASKING, "Pay.")
    world.run()
    first = world.prompts[0]
    assert (first.kind, first.id, world[run_id].status) == ("tool_approval", f"{run_id}-approve-1", "waiting_input")
    assert open_run(folder / run_id).meta.waiting_on == ToolApproval()  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="asks for leave"):
        world.answer(first, text="hm")
    world.answer(first, approve=True)
    world.run()
    assert world.prompts[0].text == "Which?" and tools.called == []
    world.answer(world.prompts[0].id, text="the second")
    world.run()
    world.answer(world.prompts[0], deny=True, feedback="Too much.")
    with pytest.raises(UnknownMoment):
        world.answer(first, approve=True)
    world.run()
    assert world[run_id].status == "complete" and len(tools.called) == 2
    assert results(world, run_id) == [
        "paid", "the second", "[denied] User declined tool call 'shell'. Feedback: Too much.", "paid",
    ]  # fmt: skip
    settled = [e.record for e in open_run(folder / run_id).records if e.kind == "Interaction"]
    assert [(r.kind, r.tool) for r in settled] == [
        ("tool_approval", "shell"),
        ("free_text", None),
        ("tool_approval", "shell"),
    ]
    assert kinds(folder / run_id).count("ToolCallDone") == 4


def test_an_approval_for_longer_asks_no_more(make: Callable[..., AgentWorld]) -> None:
    """Leave for the session holds for the command's first word."""
    world = make(ScriptedProvider([said("", shell("pay 1")), said("", shell("pay 2"), first=3), said("Done.")]))
    run_id = world.spawn(ASKING, "Pay.")
    world.run()
    world.answer(world.prompts[0], approve="session")
    world.run()
    assert world[run_id].status == "complete" and world.prompts == ()


POINTS = f"""
[agent]
name = "notes"
[stages.draft]
mode = "interactive_points"
{MODEL}
available_tools = ["context_write"]
[[stages.draft.interaction_points]]
name = "agree"
prompt = "Good?"
style = "multiple_choice"
options = ["Yes", "Shorter", "I edit", "Stop"]
edit_options = ["I edit"]
abort_options = ["Stop"]
document_region = "figures"
[stages.draft.interaction_points.directives]
"Shorter" = "Make it shorter."
[[stages.draft.interaction_points]]
name = "where"
prompt = "Where to?"
[stages.draft.transitions.publish]
[stages.publish]
{MODEL}
available_tools = ["shell"]
{REGIONS}"""


def test_points_with_rounds_edits_and_a_second_question(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """A directive asks the model again, an edit the person; after the last point the run goes on."""
    replies = [said("Long draft."), said("Short draft."), said("", shell("post")), said("Published.")]
    world = make(ScriptedProvider(replies))
    run_id = world.spawn(POINTS, "Draft.")
    world.run()
    assert world.prompts[0].id == f"{run_id}-point-agree-0" and world.prompts[0].body == "Long draft."
    assert open_run(folder / run_id).files.open_point is not None
    world.answer(world.prompts[0], choice="Shorter")
    world.run()
    assert world.prompts[0].id == f"{run_id}-point-agree-1"
    world.answer(world.prompts[0], choice="I edit")
    assert world.prompts[0].kind == "edit_text"
    world.answer(world.prompts[0], text="My draft.")
    assert world.prompts[0].id == f"{run_id}-point-agree-2"
    assert next(r for r in world[run_id].window.regions if r.name == "figures").entries[0].content.endswith("My draft.")
    world.answer(world.prompts[0], choice=0)
    world.answer(world.prompts[0], text="To all.")
    assert world[run_id].stage.name == "publish" and not (folder / run_id / "interactions.json").exists()
    world.run()
    assert world[run_id].status == "complete"
    told = [
        str(e.content) for r in world[run_id].window.regions for e in r.entries if str(e.content).startswith("User [")
    ]
    assert [text.split("]")[0] for text in told] == ["User [agree"] * 6 + ["User [where"]


def test_an_abort_cancels(make: Callable[..., AgentWorld]) -> None:
    """The abort option ends the run, later stages are skipped."""
    world = make(ScriptedProvider([said("Draft.")]))
    run_id = world.spawn(POINTS, "Draft.")
    world.run()
    world.answer(world.prompts[0], choice="Stop")
    assert world[run_id].status == "cancelled" and [r.status for r in world[run_id].ledger] == ["error", "skipped"]


def test_pause_resume_message_and_cancel(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """A held run makes no step and keeps its message; a cancelled one is over until it is resumed."""
    replies = [said("", shell("post 1")), said("", shell("post 2"), first=3), said("Done.")]
    world = make(ScriptedProvider(replies))
    run_id = world.spawn(CLERK, "Post.")
    world.tick()
    assert world.pause(run_id) and not world.pause(run_id) and not world.tick()
    assert open_run(folder / run_id).meta.status == "paused"  # type: ignore[union-attr]
    world.message(run_id, "Hurry.")
    assert world.resume(run_id)
    world.tick()
    assert "tx message" in kinds(folder / run_id)
    assert world.cancel(run_id) and not world.tick() and not world.cancel(run_id)
    assert world.resume(run_id)
    world.run()
    assert world[run_id].status == "complete"


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


LEAD = f"""
[agent]
name = "lead"
max_child_depth = 1
[stages.lead]
{MODEL}
available_tools = ["spawn_agent", "check_agent", "wait_for_agent", "kill_agent", "send_to_agent"]
{REGIONS}"""


def test_sub_agents_are_runs_of_their_own(folder: Path, make: Callable[..., AgentWorld], tmp_path: Path) -> None:
    """A child has its directory and its parent; who waits for it gets its answer."""
    (tmp_path / "agents" / "clerk").mkdir(parents=True)
    (tmp_path / "agents" / "clerk" / "agent.leviath").write_text(CLERK)
    provider = Scripts(
        LEADING=[
            said("", ("spawn_agent", {"blueprint": "clerk", "task": "CHILD", "wait": True})),
            said("", ("spawn_agent", {"blueprint": "nobody", "task": "x"}), first=3),
            said("Done."),
        ],
        CHILD=[said("", ("submit_output", {"content": "Ledger is clean."})), said("Done.")],
    )
    world = make(provider, agents=tmp_path / "agents")
    run_id = world.spawn(LEAD, "LEADING")
    world.run()
    child = next(name for name in world.agents if name != run_id)
    assert results(world, run_id) == [
        f"Sub-agent '{child}' finished with status: complete\n\n--- final output ---\nLedger is clean.",
        "[error] there is no agent 'nobody'",
    ]
    meta = open_run(folder / child).meta
    assert meta is not None and (meta.parent_run_id, meta.depth) == (run_id, 1)
    assert open_run(folder / run_id).meta.children == (child,)  # type: ignore[union-attr]


SPLIT = f"""
[agent]
name = "regional"
[stages.split]
mode = "fan_out"
{MODEL}
worker_stage = "region"
merge_stage = "merge"
max_workers = 2
results_region = "figures"
[stages.region]
{MODEL}
available_tools = ["shell", "submit_output"]
allow_as_worker = true
[stages.region.transitions]
[stages.merge]
{MODEL}
available_tools = ["shell"]
{REGIONS}"""


def test_a_fan_out_collects_its_workers(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """Two at a time; the report goes to its region, and the run to its merge stage."""
    items = [{"id": name, "context": {"region": name}} for name in ("north", "south", "east")]
    work = {
        f"Work item id: {name}": [said("", ("submit_output", {"content": f"{name} done"})), said("Done.")]
        for name in ("north", "south", "east")
    }
    provider = Scripts(
        **work, SPLIT=[said("", ("fan_out", {"items": items})), said("", shell("add up"), first=7), said("Ok.")]
    )
    world = make(provider)
    run_id = world.spawn(SPLIT, "SPLIT")
    world.tick()
    assert len(world.agents) == 3 and open_run(folder / run_id).files.fan_out is not None
    world.run()
    figures = next(r for r in world[run_id].window.regions if r.name == "figures").entries[0].content
    assert str(figures).startswith("[fan_out results: 3 succeeded, 0 failed]\n\n## worker north\nnorth done")
    assert world[run_id].status == "complete" and not (folder / run_id / "fanout.json").exists()
    assert {a.status for a in world.agents.values()} == {"complete"} and len(world[run_id].meta.children) == 3
    worker = open_run(folder / world[run_id].meta.children[0])
    assert (
        worker.records[0].record.meta.stage_index == 1
        if hasattr(worker.records[0].record.meta, "stage_index")
        else True
    )


LOOP = f"""
[agent]
name = "month"
[compaction]
provider = "p"
model = "compactor"
[stages.gather]
{MODEL}
available_tools = ["shell"]
max_revisits = 1
[stages.gather.transitions.review]
[stages.review]
{MODEL}
available_tools = ["shell"]
system_prompt = "Review."
transition_prompt = "Where to?"
[stages.review.context]
hide = ["todo"]
[stages.review.transitions.gather]
hint = "again"
[stages.review.transitions.report]
transform = "compact"
[stages.report]
mode = "output"
{MODEL}
[stages.report.output]
format = "markdown"
{REGIONS}"""


def test_stages_with_a_loop_a_choice_and_a_compaction(folder: Path, make: Callable[..., AgentWorld]) -> None:
    """One edge is taken, two are asked about, revisits run out, an edge summarises what it leaves behind."""
    replies = [
        said("", shell("a")), said("gathered"),
        said("", shell("b"), first=3), said("reviewed"), said("gather"),
        said("", shell("c"), first=5), said("gathered again"),
        said("", shell("d"), first=7), said("reviewed again"), said("Summary of the talk."),
        said("", ("submit_output", {"content": "Report."}), first=9), said("Done."),
    ]  # fmt: skip
    world = make(ScriptedProvider(replies))
    run_id = world.spawn(LOOP, "Close.")
    world.run()
    agent = world[run_id]
    assert agent.status == "complete" and agent.meta.final_output is not None
    assert [record.visit_count for record in agent.ledger] == [2, 2, 1]
    run = open_run(folder / run_id)
    bills = [e.record.kind for e in run.records if e.kind == "InferenceUsage"]
    assert bills.count("routing") == 1 and bills.count("compaction") == 1
    assert run.at().window == agent.window and not run.story.disagreements
    turns = [e for r in agent.window.regions for e in r.entries if isinstance(e.kind, AssistantTurn)]
    assert len(turns) == 2  # what came before was summarised away


def test_an_iteration_cap_ends_a_stage(make: Callable[..., AgentWorld]) -> None:
    """The visit's own count is held to the limit."""
    manifest = CLERK.replace(MODEL, MODEL + "\nmax_iterations = 2")
    world = make(ScriptedProvider([said("", shell("x"), first=n) for n in range(5)]))
    run_id = world.spawn(manifest, "Post.")
    world.run()
    agent = world[run_id]
    assert (agent.status, agent.iteration, agent.meta.flags.max_iterations_hit) == ("complete", 2, 1)


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
