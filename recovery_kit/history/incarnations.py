"""Each life of a run with what its restart put into the record (0.5-to-0.6 N9, N14)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .events import Event
from .lives import Life


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A life, and what its first records hold."""

    life: Life
    machine_id: str | None
    named_by: str | None
    """Kind of the record that names it."""
    resume_offset: int | None
    """Of the `resume` change with which a restart begins."""
    checkpoint_offset: int | None
    """Of the whole window that follows the record which names it."""
    records: int
    stand_ins: tuple[str, ...]
    """Ids of the calls whose results it made up."""


def incarnations(events: Sequence[Event], all_lives: Sequence[Life]) -> Iterator[Incarnation]:
    """The lives in order."""
    for life in all_lives:
        mine = events[life.first : life.last + 1]
        name = next((e for e in mine if e.offset == life.offset), None)
        resume = next((e for e in mine if e.kind == "ContextTransaction" and e.record.cause == "resume"), None)
        after = mine[name.place - life.first + 1 :] if name is not None else ()
        yield Incarnation(
            life, _machine(name), name.kind if name is not None else None, resume.offset if resume else None,
            next((e.offset for e in after if e.kind in ("ContextCheckpoint", "Checkpoint")), None), len(mine),
            life.stand_ins,
        )  # fmt: skip


def _machine(name: Event | None) -> str | None:
    if name is None:
        return None
    machine: str = name.record.identity.machine_id if name.kind == "Header" else name.record.machine_id
    return machine
