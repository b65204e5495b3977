"""What a run waited for: the open question of a stage, and the workers of a fan-out."""

import msgspec
from before_and_after import Restart

from recovery_kit.records.blueprint import InteractionPoint, Stage
from recovery_kit.records.engines import engine
from recovery_kit.records.scalars import U64_MAX
from recovery_kit.records.sidecars import FanOut, FanOutConfig, FanOutItem, OpenPoint, OriginTool, ToolOrigin
from recovery_kit.restore.fan_out import restore_fan_out
from recovery_kit.restore.point import restore_interaction_point

NEWEST, KIT = engine("0.6.4"), engine("kit")


def asking(*points: InteractionPoint, mode: str = "interactive_points") -> Stage:
    return Stage("draft", mode=mode, interaction_points=points)


def test_the_same_question_is_open_again() -> None:
    """Same request id, same body, same round, as the engine re-opened it."""
    restart = Restart("parked")
    stage = restart.agent().stage
    point = restore_interaction_point(restart.open_point, stage, restart.meta.run_id, restart.rules)
    assert point is not None and point.shown
    assert point.request_id == f"{restart.meta.run_id}-point-approve_notes-0"
    assert restart.open_point is not None and point.body == restart.open_point.body
    assert point.point is not None and point.point.options[0] == "Publish"


def test_an_edit_and_an_approval_with_more_points_strand_the_run() -> None:
    """Both were seen to leave the run running with nothing to drive it; the kit's own rules do better."""
    edited, two = Restart("old-parked"), Restart("two-points")
    for restart, answer in ((edited, "edit"), (two, "approve")):
        stage = restart.agent().stage
        point = restore_interaction_point(restart.open_point, stage, restart.meta.run_id, restart.rules)
        assert point is not None and answer in point.strands_on and point.prompt_stranded
        better = restore_interaction_point(restart.open_point, stage, restart.meta.run_id, KIT)
        assert better is not None and better.shown and not better.prompt_stranded


def test_the_last_point_without_edits_strands_nothing() -> None:
    """Approval of the last point, a directive and an abort work after a restart; in the last round an edit does too."""
    point = InteractionPoint("only", edit_options=("Edit",))
    last = restore_interaction_point(OpenPoint(0, 3, ""), asking(point), "r", NEWEST)
    assert last is not None and last.strands_on == ()
    plain = restore_interaction_point(OpenPoint(0, 0, ""), asking(InteractionPoint("only")), "r", NEWEST)
    assert plain is not None and plain.strands_on == ()


def test_a_stale_file_asks_nothing() -> None:
    """In a stage of another mode, or beyond its points, the default restore stands, with the reason."""
    moved = restore_interaction_point(OpenPoint(0, 0, "x"), asking(mode="autonomous"), "r", NEWEST)
    beyond = restore_interaction_point(OpenPoint(1, 0, "x"), asking(InteractionPoint("a")), "r", NEWEST)
    assert moved is not None and not moved.shown and moved.why_not
    assert beyond is not None and not beyond.shown and beyond.why_not
    assert restore_interaction_point(None, asking(), "r", NEWEST) is None


def test_without_a_manifest_the_file_is_believed() -> None:
    """The question is taken as open, its id stays unknown, and the assumption is said."""
    point = restore_interaction_point(OpenPoint(0, 1, "plan"), None, "r", NEWEST)
    assert point is not None and point.shown and point.request_id is None and point.assumes


FAN_OUT = FanOut(
    config=FanOutConfig(),
    max_workers=U64_MAX,
    pending=(FanOutItem("w3"), FanOutItem("w4")),
    active=(("w1", "run-1"), ("w2", "run-2")),
    summaries=(("w0", "done"),),
    failures=(("w9", "it broke"),),
)


def test_a_worker_that_does_not_come_back_is_a_failure_of_its_item() -> None:
    """Recorded failures first, then those of lost workers; the rest stays as it was stored."""
    fan_out = restore_fan_out(FAN_OUT, {"run-1"}, NEWEST)
    assert fan_out is not None
    assert fan_out.active == (("w1", "run-1"),)
    assert [item.id for item in fan_out.pending] == ["w3", "w4"]
    assert fan_out.failed == (("w9", "recorded"), ("w2", "worker_did_not_reload"))
    assert fan_out.summaries == (("w0", "done"),)
    assert fan_out.unlimited and fan_out.max_workers == U64_MAX and fan_out.outstanding == 3


def test_every_engine_forgets_the_fan_out_and_the_kit_does_not() -> None:
    """What is attached is dropped on the first pass, and then nobody collects the workers' results."""
    engines = restore_fan_out(FAN_OUT, {"run-1", "run-2"}, NEWEST)
    kits = restore_fan_out(FAN_OUT, {"run-1", "run-2"}, KIT)
    assert engines is not None and engines.dropped and engines.results_reach_nobody == ("run-1", "run-2")
    assert kits is not None and not kits.dropped and kits.results_reach_nobody == ()


def test_a_real_fan_out_is_attached_whole() -> None:
    """Of a real parent every live worker is found by its run id, and its origin is the stage."""
    restart = Restart("fan-out")
    saved = restart.fan_out
    assert saved is not None
    fan_out = restore_fan_out(saved, {run for _, run in saved.active}, restart.rules)
    assert fan_out is not None
    assert fan_out.active == saved.active and fan_out.lost_workers == ()
    assert fan_out.origin_call is None


def test_a_fan_out_by_tool_keeps_its_call() -> None:
    """The call that gets the report is remembered by its id; an unreadable file attaches nothing."""
    by_tool = msgspec.structs.replace(FAN_OUT, origin=OriginTool(ToolOrigin("c7")))
    fan_out = restore_fan_out(by_tool, (), NEWEST)
    assert fan_out is not None and fan_out.origin_call == "c7" and fan_out.active == ()
    assert restore_fan_out(None, (), NEWEST) is None
