"""What a person says, carried out: an answer to the open question of a run."""

from dataclasses import replace

from recovery_kit.records.journal import Answer

from . import lane, points
from .agent import READY, AtPoint, Lane
from .running import Running
from .stage_end import move_on


def settle(run: Running, answer: Answer) -> None:
    """Answer the open question. It is durable when this returns, and neither a model nor a tool has been asked."""
    if isinstance(run.agent.doing, Lane):
        lane.answered(run, answer)
    elif isinstance(run.agent.doing, AtPoint) and points.answered(run, answer) == "proceed":
        cursor = len(run.agent.stage.interaction_points)
        run.put(visit=replace(run.agent.visit, cursor=cursor, round=0), doing=READY)
        run.set_status("running")
        move_on(run)
        run.snapshot_if_due()
