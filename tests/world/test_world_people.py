"""People's words: questions, points, pause, messages, cancel."""

from collections.abc import Callable
from pathlib import Path

import pytest
from small_world import CLERK, MODEL, REGIONS, kinds, results, said, shell

from recovery_kit.errors import UnknownMoment
from recovery_kit.records.meta import ToolApproval
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import ScriptedProvider
from recovery_kit.world.tools import StubTools

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
