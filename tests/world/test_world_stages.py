"""Trees of runs and stages: children, workers, loops, choices, caps."""

from collections.abc import Callable
from pathlib import Path

from small_world import CLERK, MODEL, REGIONS, Scripts, results, said, shell

from recovery_kit.records.window import AssistantTurn
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import ScriptedProvider

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
