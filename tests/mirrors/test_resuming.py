"""A mirror goes on through the same reload as any restart: nothing unknown unanswered, nothing done for real."""

import json
import shutil
from pathlib import Path

import pytest
from branching import tree_hash
from samples import sample

from recovery_kit.errors import CannotMirror
from recovery_kit.mirrors.comparing import compare
from recovery_kit.mirrors.create import create_mirror, create_mirrors
from recovery_kit.mirrors.doubles import branch_tools
from recovery_kit.mirrors.lineage import lineage
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.mirrors.resume import Budget, answer_effects, resume_mirror
from recovery_kit.records.window import ToolResult
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import RefusingProvider, Reply, ScriptedProvider
from recovery_kit.world.recorded import RecordedProvider
from recovery_kit.world.tools import StubTools, ToolAnswer

KILLED = open_run(sample("02a-killed-mid-batch"))
FINISHED = open_run(sample("01-finished"))


def test_open_calls_have_to_be_answered(tmp_path: Path) -> None:
    """While a call is open nothing goes on and nothing is recorded; what is wrong with an answer is said."""
    mirror = create_mirror(KILLED, "end", tmp_path / "m")
    before = tree_hash(mirror.path)
    with AgentWorld(RefusingProvider()) as world:
        for answers, word in (
            ({}, "b2, b3, b4"),
            ({"b2": "skip"}, "b3, b4"),
            ({"b2": "skip", "b3": "skip", "b4": "maybe"}, "b4"),
            ({"b1": "did-not"}, "b1"),
        ):
            with pytest.raises(CannotMirror, match=word):
                resume_mirror(mirror, world, answers=answers)
        assert world.agents == {}
    assert tree_hash(mirror.path) == before and mirror.edits == ()


def test_answers_are_recorded_and_reach_the_model(tmp_path: Path) -> None:
    """It happened, it did not, skip: each an edit; the model reads the first two, for the third the restart's word."""
    mirror = create_mirror(KILLED, "end", tmp_path / "m")
    answers = {"b2": "happened:posted = fine", "b3": "did-not", "b4": "skip"}
    with AgentWorld(ScriptedProvider([Reply(text="Closed.")])) as world:
        done = resume_mirror(mirror, world, answers=answers, author="A", budget=Budget(turns=1))
    assert done.turns == 1
    assert [(edit.author, edit.reason) for edit in mirror.edits] == [
        ("A", "effect of b2: happened"), ("A", "effect of b3: did-not"), ("A", "effect of b4: skip"),
    ]  # fmt: skip
    window = mirror.run.at().window
    entries = [entry for region in window.regions for entry in region.entries]
    texts = {e.kind.tool_call_id: str(e.content) for e in entries if isinstance(e.kind, ToolResult)}
    assert texts["b2"] == "posted = fine" and texts["b3"].startswith("[error] this call did not happen")
    assert "interrupted" in texts["b4"]


def test_a_skip_is_not_asked_again(tmp_path: Path) -> None:
    """What was skipped once counts as answered."""
    mirror = create_mirror(KILLED, "end", tmp_path / "m")
    assert answer_effects(mirror, dict.fromkeys(("b2", "b3", "b4"), "skip")) == ("b2", "b3", "b4")
    assert answer_effects(Mirror(mirror.path), {}) == ("b2", "b3", "b4")


def test_a_recording_goes_the_same_way_again(tmp_path: Path) -> None:
    """From any point, with recorded answers and results, a branch does what the source did, touching nothing of it."""
    before = tree_hash(FINISHED.folder)  # type: ignore[arg-type]
    calls = [(call.name, call.result) for call in FINISHED.effects if call.name != "submit_output"]
    for point in (0, 1, 2):
        mirror = create_mirror(FINISHED, point, tmp_path / str(point))
        with AgentWorld(RecordedProvider(FINISHED)) as world:
            resume_mirror(mirror, world)
        pair = compare(FINISHED, mirror).pairs[0]
        same = [row for row in pair.rows if row.how == "same" and row.a and row.a.kind == "call"]
        went = [(row.a.name, row.a.result) for row in same if row.a]
        assert went == calls[-len(went) :] and len(went) >= 2
    assert tree_hash(FINISHED.folder) == before  # type: ignore[arg-type]


def test_budget_and_stop(tmp_path: Path) -> None:
    """A budget or a condition holds the mirror, paused; it goes on from there."""
    mirror = create_mirror(FINISHED, 0, tmp_path / "m")
    with AgentWorld(RecordedProvider(FINISHED)) as world:
        first = resume_mirror(mirror, world, source=FINISHED, budget=Budget(turns=1))
        assert (first.ended, first.turns, first.status) == ("budget", 1, "paused") and first.why == "1 of 1 turns"
        second = resume_mirror(mirror, world, stop=lambda agent: agent.meta.tool_calls >= 5)
        assert (second.ended, second.status) == ("stop", "paused")
        third = resume_mirror(mirror, world, budget=Budget(tokens=1))
        assert third.ended == "budget" and third.tokens > 1
    assert mirror.run.at().status == "paused"


def test_tools_of_a_branch() -> None:
    """Recorded results first, then stubs, then a refusal; a real tool only by its name."""
    real = StubTools({}, otherwise="really")
    tools = branch_tools(FINISHED, {"shell": "stubbed"}, real, allow=("write_file",))
    call = next(call for call in FINISHED.effects if call.name == "read_file")
    assert tools.call(call.name, json.loads(call.arguments)).text == call.result
    assert tools.call("shell", {"command": "rm"}).text == "stubbed"
    assert tools.call("write_file", {"path": "x"}).text == "really"
    assert tools.call("list_dir", {}).refused and [name for name, _ in real.called] == ["write_file"]
    assert isinstance(branch_tools(None).call("shell", {}), ToolAnswer) and branch_tools(None).call("shell", {}).refused


def test_where_branches_part_and_why(tmp_path: Path) -> None:
    """The stem is told by the lineage, the parting by what was changed."""
    variants = {"edit": {"task": "Other."}, "model": {"model": "scripted/b"}, "plain": []}
    made = create_mirrors(KILLED, 1, tmp_path, variants)
    assert compare(KILLED, KILLED).same and compare(KILLED, KILLED).text().endswith("are the same")
    whys = {name: compare(KILLED, mirror).pairs[0].why for name, mirror in made.items()}
    assert whys == {"edit": "edit", "model": "model", "plain": "ended"}
    found = compare(made["plain"], made["edit"], made["model"])
    assert [pair.stem_record for pair in found.pairs] == [9, 9] and all(pair.related for pair in found.pairs)
    assert {r.region for r in found.pairs[0].regions} == {"task"}
    kept = create_mirror(KILLED, "end", tmp_path / "kept", "full")
    kept.edit(call="b2", result="posted")
    pair = compare(KILLED, kept).pairs[0]
    assert (pair.why, pair.parted and pair.parted.how) == ("answer", "result_differs")
    first, last = compare((KILLED, 0), (KILLED, "end")).branches
    assert len(first.steps) < len(last.steps)


def test_the_tree_of_branches(tmp_path: Path) -> None:
    """Mirrors below what they were cut from, by name where that is gone; a mirror alone tells its whole line."""
    first = create_mirror(KILLED, 1, tmp_path / "m")
    second = create_mirror(first, "end", tmp_path / "m")
    third = create_mirror(second, "end", tmp_path / "m")
    tree = lineage(tmp_path / "m")
    assert [(kin.run_id, kin.gone) for kin in tree] == [
        (KILLED.id, True), (first.id, False), (second.id, False), (third.id, False),
    ]  # fmt: skip
    assert [row["depth"] for row in tree.rows()] == [0, 1, 2, 3]
    shutil.rmtree(first.path)
    shutil.rmtree(second.path)
    assert [(kin.run_id, kin.gone) for kin in lineage(third)] == [
        (KILLED.id, True), (first.id, True), (second.id, True), (third.id, False),
    ]  # fmt: skip
    assert "(gone from here)" in repr(lineage(third.run))
