"""Where two histories part, by meaning: the first boundary that says something else, and what each did from there.

Ids of Calls and questions, times and instances differ in any two Runs and say nothing. A mirror is compared with its
source from the checkpoint that it branched from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recovery_kit.formats.loom_text import same_json
from recovery_kit.records.loom import Checkpoint

from .loom_story import Moment


@dataclass(frozen=True, slots=True)
class LoomParting:
    """Where two Runs part. Texts are raw."""

    same: int
    """Boundaries that say the same, one after the other."""
    one: Moment | None
    """The first that differs; None where the Run ends before it."""
    other: Moment | None
    differs: tuple[str, ...]
    """What differs there: `boundary`, `cursor`, `stage`, `question`, `answer`, `outcome`, `error`, or `length`."""

    @property
    def is_same(self) -> bool:
        return not self.differs


def part(one: Sequence[Moment], other: Sequence[Moment]) -> LoomParting:
    """Compare two sequences of boundaries."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        differs = tuple(name for name, of in _MEANING.items() if not same_json(of(a), of(b)))
        if differs:
            return LoomParting(place, a, b, differs)
    shorter = min(len(one), len(other))
    if len(one) == len(other):
        return LoomParting(shorter, None, None, ())
    return LoomParting(shorter, _at(one, shorter), _at(other, shorter), ("length",))


def from_branch(source: Sequence[Moment], mirror: Sequence[Moment], first: Checkpoint) -> LoomParting:
    """Compare a Run with its mirror (`first` is the mirror's first checkpoint), from where it branched; the resumption
    says nothing new."""
    lineage = first.run.lineage
    begins = next((m.index for m in source if lineage and m.offset == lineage.seq), 0)
    own = [moment for moment in mirror if not moment.is_paused] or list(mirror[:1])
    return part(source[begins:], own)


def _at(moments: Sequence[Moment], place: int) -> Moment | None:
    return moments[place] if place < len(moments) else None


def _stage(moment: Moment) -> Any:
    stage = moment.stage
    return None if stage is None else {} if stage.is_cleared else {"value": stage.value}


_MEANING: dict[str, Any] = {
    "boundary": lambda m: m.boundary,
    "cursor": lambda m: str(m.cursor),
    "stage": _stage,
    "question": lambda m: None if m.action is None else [m.action.kind, m.action.request],
    "answer": lambda m: [m.has_answer, m.answer],
    "outcome": lambda m: m.outcome,
    "error": lambda m: m.error_code,
}
