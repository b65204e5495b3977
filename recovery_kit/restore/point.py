"""The open question of a stage after a restart (leviath-run-directory 5.8, 7; 0.5-to-0.6 N12, N15)."""

from dataclasses import dataclass

from recovery_kit.records.blueprint import InteractionPoint, Stage
from recovery_kit.records.engines import Engine
from recovery_kit.records.sidecars import OpenPoint

ROUNDS = 4
"""Revisions of one point after which the run goes on."""

NO_MANIFEST = "without the manifest the open question is taken for one of the stage that is restored"


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
    saved = (open_point.cursor, open_point.round, open_point.body)
    if stage is None:
        return RestoredPoint(True, None, *saved, assumes=(NO_MANIFEST,))
    why_not = _why_not(open_point, stage)
    if why_not is not None:
        return RestoredPoint(False, why_not, *saved)
    point = stage.interaction_points[open_point.cursor]
    request_id = f"{run_id}-point-{point.name}-{open_point.round}"
    stranding = () if rules.presents_without_response else _stranding(open_point, point, stage)
    return RestoredPoint(True, None, *saved, request_id, point, stranding)


def _why_not(open_point: OpenPoint, stage: Stage) -> str | None:
    count = len(stage.interaction_points)
    if stage.mode != "interactive_points":
        return f"stage {stage.name} asks no questions"
    return None if open_point.cursor < count else f"stage {stage.name} has {count} questions, this is one behind them"


def _stranding(open_point: OpenPoint, point: InteractionPoint, stage: Stage) -> tuple[str, ...]:
    """What needs the last response to go on, which a restart has not: asking again, and asking the next question."""
    edits = bool(point.edit_options) and open_point.round + 1 < ROUNDS
    more = open_point.cursor + 1 < len(stage.interaction_points)
    return ("edit",) * edits + ("approve",) * more
