"""Runs that the kit's own world wrote, cut where a crash would cut them."""

from pathlib import Path

import pytest

from recovery_kit.recovery.reload import reload_persisted_agents
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import Reply, ScriptedProvider, ToolCall
from recovery_kit.world.tools import StubTools

MANIFEST = """
[agent]
name = "clerk"
[stages.work]
model = { provider = "p", model = "m" }
available_tools = ["shell", "submit_output"]
"""


@pytest.mark.parametrize("second", ["submit_output", "shell"])
def test_a_batch_cut_off_from_its_step_hides_no_results(tmp_path: Path, second: str) -> None:
    """The next batch is on disk and its step is not: the results of the batch before it are still told."""
    runs = tmp_path / "runs"
    runs.mkdir()
    arguments = {"shell": '{"command":"post"}', "submit_output": '{"content":"Done."}'}
    replies = [
        Reply(tool_calls=(ToolCall(f"c{n}", name, arguments[name]),)) for n, name in enumerate(("shell", second))
    ]
    with AgentWorld(ScriptedProvider(replies), StubTools({"shell": "posted"}), folder=runs) as world:
        run_id = world.spawn(
            MANIFEST.replace("[stages", '[context.regions]\ntask = { kind = "pinned" }\n[stages'), "Post."
        )
        world.tick()
        before = {path: path.read_bytes() for path in (runs / run_id).iterdir() if path.suffix == ".json"}
        world.tick()
    events = open_run(runs / run_id).records
    place = [n for n, event in enumerate(events) if event.kind == "ToolBatch"][1]
    data = (runs / run_id / "run.lvr").read_bytes()
    (runs / run_id / "run.lvr").write_bytes(data[: events[place + 1].offset + 20])
    for path, text in before.items():
        path.write_bytes(text)
    with AgentWorld(ScriptedProvider([]), StubTools(otherwise=None), folder=runs) as again:
        assert reload_persisted_agents(again, runs).restored == (run_id,)
        assert any(e.content == "posted" for r in again[run_id].window.regions for e in r.entries)
