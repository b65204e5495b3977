"""Questions to people: settled ones from their records, open and lost ones only where the files prove that one was open
(0.5-to-0.6 N5.5, N15; reader quirks)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recovery_kit.records.journal import Answer, Answered
from recovery_kit.records.meta import AtInteractionPoint, RunMeta, TaintGate, ToolApproval, UserPrompt, WaitingOn
from recovery_kit.records.sidecars import OpenPoint

from .events import Event
from .lives import Life

Settlement = Literal["answered", "timed_out", "cancelled", "refused", "open", "lost"]

ASKS_A_PERSON: dict[type, str | None] = {
    ToolApproval: "tool_approval",
    UserPrompt: None,
    TaintGate: None,
    AtInteractionPoint: None,
}
"""Reasons for which a person is asked, and the kind of the prompt where the reason tells it."""


NOTHING_SAID = Answer()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question to a person."""

    request_id: str | None
    kind: str | None
    """None where the files do not say it."""
    tool: str | None
    prompt: str | None
    stage: str | None
    """For an interaction point the name of the point."""
    settlement: Settlement
    approved: bool | None
    scope: str | None
    choice: int | None
    text: str | None
    feedback: str | None
    asked_at: int | None
    settled_at: int | None
    offset: int | None
    life: int | None
    """Index of the life in which it was asked."""
    behind_tear: bool
    reason: str | None = None
    """What `waiting_on` called it, for one without a record."""


def prompts(
    events: Sequence[Event], all_lives: Sequence[Life], meta: RunMeta | None, point: OpenPoint | None = None
) -> tuple[Prompt, ...]:
    """Every question the files prove: settled ones in file order, then lost ones, then the one that stands open now."""
    settled = tuple(_settled(event, all_lives) for event in events if event.kind == "Interaction")
    lost = tuple(
        _without_record(waiting, "lost", life.index, life.behind_tear)
        for life in all_lives[:-1]
        if (waiting := _open_at_end(events, life)) is not None and not _came_back(events, life, waiting, meta)
    )
    return settled + lost + open_now(meta, len(all_lives) - 1, point)


def waits_for(meta: RunMeta, point: OpenPoint | None) -> WaitingOn | None:
    """What a run that stands still waits on: `waiting_on`, or the point whose file is there. Engines before 0.3.9 write no
    reason, and the file only while the run is parked at its point (leviath-run-directory 2.5)."""
    if meta.status not in ("waiting_input", "paused"):
        return None
    return meta.waiting_on or (AtInteractionPoint() if point is not None else None)


def open_now(meta: RunMeta | None, life: int, point: OpenPoint | None = None) -> tuple[Prompt, ...]:
    """The question that `meta.json`, or the file of an open point, says stands open."""
    waiting = waits_for(meta, point) if meta is not None else None
    if waiting is None or type(waiting) not in ASKS_A_PERSON:
        return ()
    return (_without_record(waiting, "open", max(life, 0), False),)


def _settled(event: Event, all_lives: Sequence[Life]) -> Prompt:
    record = event.record
    how = record.settlement
    said = how.answered if isinstance(how, Answered) else NOTHING_SAID
    return Prompt(
        record.request_id, record.kind, record.tool, record.prompt, record.stage,
        "answered" if isinstance(how, Answered) else how, said.approved, "session" if said.scope == "run" else said.scope,
        said.choice, said.text, said.feedback, record.asked_at, record.at, event.offset, _life_of(event, all_lives),
        event.behind_tear,
    )  # fmt: skip


def _life_of(event: Event, all_lives: Sequence[Life]) -> int | None:
    return next((life.index for life in reversed(all_lives) if life.first <= event.place), None)


def _without_record(waiting: WaitingOn, settlement: Settlement, life: int, behind_tear: bool) -> Prompt:
    return Prompt(
        None, ASKS_A_PERSON[type(waiting)], None, None, None, settlement, None, None, None, None, None, None, None, None,
        life, behind_tear, reason_of(waiting),
    )  # fmt: skip


def reason_of(waiting: WaitingOn) -> str:
    """The word that `waiting_on` has for it."""
    return str(type(waiting).__struct_config__.tag)


def _open_at_end(events: Sequence[Event], life: Life) -> WaitingOn | None:
    """What a life waited on a person for when its records end, if no later record of it settles that."""
    for event in reversed(events[life.first : life.last + 1]):
        if event.kind == "Interaction":
            return None
        if event.kind == "StatusChanged" and event.record.status not in ("waiting_input", "paused"):
            return None
        if event.meta is not None:
            waits = event.meta.status in ("waiting_input", "paused")
            return event.meta.waiting_on if waits and type(event.meta.waiting_on) in ASKS_A_PERSON else None
    return None


def _came_back(events: Sequence[Event], life: Life, waiting: WaitingOn, meta: RunMeta | None) -> bool:
    """An interaction point comes back after a restart; nothing else does (leviath-run-directory 5.8, 9 W19)."""
    if not isinstance(waiting, AtInteractionPoint):
        return False
    later = events[life.last + 1 :]
    settled = any(e.kind == "Interaction" and "-point-" in e.record.request_id for e in later)
    return settled or (meta is not None and isinstance(meta.waiting_on, AtInteractionPoint))
