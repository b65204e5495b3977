"""The open question of a stage after a restart (leviath-run-directory 5.8, 7; 0.5-to-0.6 N12, N15)."""

from dataclasses import dataclass

from recovery_kit.records.blueprint import InteractionPoint, Stage
from recovery_kit.records.engines import Engine
from recovery_kit.records.sidecars import OpenPoint

ROUNDS = 4
"""Revisions of one point after which the run goes on."""


@dataclass(frozen=True, slots=True)
class RestoredPoint:
    """What a restart makes of `interactions.json`."""

    shown: bool
    """The question is open again, and the run waits for its answer whatever its status was."""
    why_not: str | None = None
    cursor: int = 0
    round: int = 0
    body: str = ""
    request_id: str | None = None
    """None where the manifest, which names the point, is not known."""
    point: InteractionPoint | None = None
    strands_on: tuple[str, ...] = ()
    """Answers, of `edit` and `approve`, after which the run is `running` and nothing drives it."""
    assumes: tuple[str, ...] = ()

    @property
    def prompt_stranded(self) -> bool:
        """Whether some answer to it leads nowhere."""
        return bool(self.strands_on)


def restore_interaction_point(
    open_point: OpenPoint | None, stage: Stage | None, run_id: str, rules: Engine
) -> RestoredPoint | None:
    """The question that is asked again; None without a readable `interactions.json`.

    `stage` is the restored stage; None if the manifest is not known, and then the file is believed. Nothing is asked in
    a stage of another mode or beyond its points: the default restore stands (5.8).
    """
    if open_point is None:
        return None
    asked = {"cursor": open_point.cursor, "round": open_point.round, "body": open_point.body}
    if stage is None:
        assumed = "without the manifest the open question is taken for one of the stage that is restored"
        return RestoredPoint(True, assumes=(assumed,), **asked)  # type: ignore[arg-type]
    if stage.mode != "interactive_points":
        return RestoredPoint(False, f"stage {stage.name} asks no questions", **asked)  # type: ignore[arg-type]
    if open_point.cursor >= len(stage.interaction_points):
        count = len(stage.interaction_points)
        why = f"it is question {open_point.cursor + 1} of stage {stage.name}, which has {count}"
        return RestoredPoint(False, why, **asked)  # type: ignore[arg-type]
    point = stage.interaction_points[open_point.cursor]
    request_id = f"{run_id}-point-{point.name}-{open_point.round}"
    stranding = () if rules.presents_without_response else _stranding(open_point, point, stage)
    return RestoredPoint(True, None, open_point.cursor, open_point.round, open_point.body, request_id, point, stranding)


def _stranding(open_point: OpenPoint, point: InteractionPoint, stage: Stage) -> tuple[str, ...]:
    """What needs the last response to go on, which a restart has not: asking again, and asking the next question."""
    edits = bool(point.edit_options) and open_point.round + 1 < ROUNDS
    more = open_point.cursor + 1 < len(stage.interaction_points)
    return ("edit",) * edits + ("approve",) * more
