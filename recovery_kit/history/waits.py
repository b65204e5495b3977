"""What a run waits on, and whether a person is needed: read from `meta.json`, never guessed (leviath-run-directory 2.1.4)."""

from dataclasses import dataclass

from recovery_kit.records.meta import TERMINAL, Children, FanOutWorkers, NeedsSetup, RunMeta
from recovery_kit.records.sidecars import FanOut, OpenPoint

from .prompts import reason_of, waits_for

NEEDS_A_PERSON: dict[str, bool] = {
    "tool_approval": True,
    "user_prompt": True,
    "taint_gate": True,
    "interaction_point": True,
    "needs_setup": True,
    "fan_out_workers": False,
    "children": False,
}

BY_STATUS: dict[str, bool | None] = {
    "paused": True,
    "complete": False,
    "complete_interactive": False,
    "error": False,
    "cancelled": False,
}
"""Where no reason is given: a paused run goes on only when somebody resumes it; of one that waits nothing is known."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a run stands still."""

    reason: str | None
    needs_person: bool | None
    """None where the files do not tell."""
    blocker: str | None = None
    remedy: str | None = None
    outstanding: int | None = None
    """Workers or children still counted."""


def wait_of(meta: RunMeta | None, fan_out: FanOut | None, point: OpenPoint | None = None) -> Wait:
    """The wait of a run now."""
    if meta is None:
        return Wait(None, None)
    waiting = waits_for(meta, point)
    if waiting is None:
        reason = "fan_out_workers" if fan_out is not None and meta.status == "waiting_input" else None
        outstanding = len(fan_out.active) + len(fan_out.pending) if reason and fan_out else None
        return Wait(reason, False if reason else BY_STATUS.get(meta.status), None, None, outstanding)
    reason = reason_of(waiting)
    blocker, remedy = (waiting.blocker, waiting.remedy) if isinstance(waiting, NeedsSetup) else (None, None)
    outstanding = waiting.outstanding if isinstance(waiting, (FanOutWorkers, Children)) else None
    return Wait(reason, NEEDS_A_PERSON[reason], blocker, remedy, outstanding)


def is_terminal(meta: RunMeta | None) -> bool | None:
    """Whether recovery takes the run for over."""
    return None if meta is None else meta.status in TERMINAL
