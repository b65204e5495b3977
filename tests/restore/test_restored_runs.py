"""Whole restarts: the window, the status and the request against what the real engine made of the same files."""

import json
from typing import Any

import msgspec
import pytest
from before_and_after import FOLDER, NAMES, Restart
from hypothesis import given, settings
from hypothesis import strategies as st

from recovery_kit.formats.journal import Journal
from recovery_kit.history.fold import fold
from recovery_kit.history.pairs import tool_pairs
from recovery_kit.history.windows import window_sha256
from recovery_kit.records.window import Region
from recovery_kit.restore.agent import Dropped, overlaid, restore_agent
from recovery_kit.restore.batch import restore_pending_batch
from recovery_kit.restore.point import restore_interaction_point
from recovery_kit.world.request import assemble
from recovery_kit.world.situation import Situation

RELOADED = [name for name in NAMES if "status_after" in Restart(name).facts]
"""Those of which the engine's files were copied before the first answer after the restart."""

RUNNING = [name for name in NAMES if "request" in Restart(name).facts]


@pytest.mark.parametrize("name", [*RELOADED, "tracked"])
def test_the_window_is_the_engines(name: str) -> None:
    """Overlay and replay give, to the last entry and number, the window that the engine wrote after the reload."""
    restart = Restart(name)
    assert window_sha256(restart.window()) == window_sha256(restart.after)


@pytest.mark.parametrize("name", RELOADED)
def test_the_status_is_the_engines(name: str) -> None:
    """A question that is open again makes the run wait; what was not paused goes on."""
    restart = Restart(name)
    point = restore_interaction_point(restart.open_point, restart.agent().stage, restart.meta.run_id, restart.rules)
    status = "waiting_input" if point and point.shown else "running"
    assert status == restart.facts["status_after"]


@pytest.mark.parametrize("name", RUNNING)
def test_the_next_request_is_the_one_that_was_sent(name: str) -> None:
    """The restored window, assembled, is what the model really received next."""
    restart = Restart(name)
    stage = restart.agent().stage
    assert stage is not None
    made = assemble(restart.window(), restart.blueprint, stage.name, Situation(rules=restart.rules)).as_json()
    form: dict[str, Any] = json.loads(json.dumps(made))
    assert [[b["region"], b["text"]] for b in form["system"]] == restart.facts["request"]["system"]
    assert [[m["role"], m["content"]] for m in form["messages"]] == restart.facts["request"]["messages"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_wherever_the_journal_is_cut_every_call_of_a_replay_is_answered(data: st.DataObject) -> None:
    """A torn journal restores to a window in which the replayed turn has exactly one result for each of its calls."""
    restart = Restart("batch-cut")
    whole = (FOLDER / "batch-cut" / "run.lvr").read_bytes()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    state = fold(Journal(cut).read(restart.rules))
    agent = restore_agent(state, restart.meta, None, restart.blueprint, restart.rules)
    batch = restore_pending_batch(agent.pending, restart.meta.children, restart.rules)
    if batch is None:
        return
    pairs = tool_pairs(batch.applied(agent.window, agent.placing, restart.rules).window)
    assert set(pairs.paired) >= {call.id for call in batch.calls}
    assert not pairs.faults


def test_regions_of_a_later_layout_are_said_to_be_lost() -> None:
    """What only a later stage's layout declares is dropped by the engine, and named with its entries."""
    agent = Restart("later-layout").agent()
    assert agent.lost == (Dropped("working_papers", 5), Dropped("verdicts", 1))
    assert agent.entered == ()
    assert agent.stage is not None and agent.stage.name == "assess"


def test_the_kit_brings_regions_of_a_later_layout_back() -> None:
    """With the corrected rules the same run has its working papers again, in the later stage's order."""
    restart = Restart("later-layout", "kit")
    agent = restart.agent()
    assert agent.lost == ()
    assert agent.entered == ("assess",)
    regions = {region.name: region for region in agent.window.regions}
    saved = {region.name: region for region in restart.fold.window.window().regions}  # type: ignore[union-attr]
    assert {name: len(region.entries) for name, region in regions.items()} == {
        name: len(saved[name].entries) for name in regions
    }
    assert agent.placing.hidden == {"inbox"}
    assert [landing.region for landing in _landings(restart)] == ["working_papers"] * 2


def _landings(restart: Restart) -> Any:
    agent, batch = restart.agent(), restart.batch()
    assert batch is not None
    return batch.applied(agent.window, agent.placing, restart.rules).landings


def test_without_a_manifest_the_snapshot_is_taken_as_it_is() -> None:
    """Regions, ceilings and order stay the saved ones, sums are made anew, and the assumption is said."""
    restart = Restart("batch-cut")
    agent = restore_agent(restart.fold, restart.meta, None, None, restart.rules)
    saved = restart.fold.window.window()  # type: ignore[union-attr]
    assert agent.window.regions == saved.regions
    assert agent.window.total_tokens == sum(region.current_tokens for region in saved.regions) > saved.total_tokens
    assert agent.assumes and agent.stage is None and agent.dropped == ()


def test_without_a_fold_the_json_pair_counts() -> None:
    """Window from `context.json`, position and totals from `meta.json`, and no pending batch."""
    restart = Restart("batch-cut")
    agent = restore_agent(None, restart.meta, restart.after, restart.blueprint, restart.rules)
    assert agent.source == "json_pair" and agent.pending is None
    assert agent.window == restart.after
    assert agent.totals.prompt_tokens == restart.meta.prompt_tokens


def test_with_nothing_but_metadata_the_window_is_the_built_one() -> None:
    """The first stage's prompt and no task: what a placeholder is started with."""
    restart = Restart("batch-cut")
    agent = restore_agent(None, restart.meta, None, restart.blueprint, restart.rules)
    assert agent.source == "nothing"
    held = [region.name for region in agent.window.regions if region.entries]
    assert held == ["stage_instructions"]
    assert agent.window.stage_name == restart.meta.current_stage


def test_an_overlay_takes_entries_and_nothing_else() -> None:
    """Kind, ceiling and description are the built region's; sums are made anew and no budget is enforced."""
    restart = Restart("batch-cut")
    built = restore_agent(None, restart.meta, None, restart.blueprint, restart.rules).window
    saved = restart.after
    notes = next(region for region in saved.regions if region.name == "conversation")
    odd = Region("conversation", "pinned", 7, 1, notes.entries * 3, "elsewhere")
    window, dropped = overlaid(built, type(saved)("x", 1, 2, (odd, Region("gone", "pinned", 0, 9))))
    after = next(region for region in window.regions if region.name == "conversation")
    assert (after.kind, after.description) == ("sliding_window", None)
    assert after.max_tokens == next(r.max_tokens for r in built.regions if r.name == "conversation")
    assert after.current_tokens == 3 * sum(entry.tokens for entry in notes.entries)
    assert window.total_tokens == sum(region.current_tokens for region in window.regions)
    assert (window.stage_name, window.max_tokens, dropped) == ("x", built.max_tokens, (Dropped("gone", 0),))


def test_taints_are_kept_only_where_something_tracks_them() -> None:
    """A tracked run gets its levels back; an untracked one shows Internal throughout."""
    restart = Restart("tracked")
    levels = {entry.taint for region in restart.agent().window.regions for entry in region.entries}
    assert "Public" in levels
    untracked, _ = overlaid(restart.agent().window, restart.after, tracked=False)
    assert {entry.taint for region in untracked.regions for entry in region.entries} == {"Internal"}


def test_a_stage_the_manifest_does_not_have_leaves_the_first_ones_configuration() -> None:
    """The saved index is kept as a number, but the first stage's model, tools and routing stay in force."""
    restart = Restart("batch-cut")
    far = msgspec.structs.replace(restart.meta, stage_index=9)
    agent = restore_agent(None, far, restart.after, restart.blueprint, restart.rules)
    assert agent.stage_index == 9
    assert agent.stage is not None and agent.stage.name == restart.blueprint.stages[0].name
