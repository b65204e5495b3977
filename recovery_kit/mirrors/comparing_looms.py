"""Two Runs of workflows side by side: the boundaries they share, where they part, and what each did from there.

A mirror is laid beside its source from the boundary that it branched from. Values only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from recovery_kit.display import SHAPES_ONLY, Masker
from recovery_kit.errors import OtherRuntime
from recovery_kit.history.loom_compare import LoomParting, from_branch, part
from recovery_kit.history.loom_story import Moment, says
from recovery_kit.records.loom import Checkpoint
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.points_named import any_moment, point_name


@dataclass(frozen=True)
class LoomSide:
    """A Run, up to some boundary, as one side."""

    run: LoomRun
    label: str
    points: tuple[Moment, ...]
    first: Checkpoint | None
    """Its first checkpoint; None of format 1, which has no mirrors."""

    @property
    def mirror_of(self) -> str | None:
        """Id of the Run that it branched from."""
        lineage = self.first.run.lineage if self.first else None
        return lineage.run_id if lineage else None


@dataclass(frozen=True)
class LoomPair:
    """Two sides."""

    a: LoomSide
    b: LoomSide
    related: bool
    """One is a mirror of the other: they are compared from where it branched."""
    parting: LoomParting

    @property
    def same(self) -> bool:
        return self.parting.is_same

    def sentences(self) -> Iterator[str]:
        """Where they part. Texts are raw."""
        a, b, parting = self.a.label, self.b.label, self.parting
        since = ", from where one branched from the other" if self.related else ""
        if self.same:
            yield f"{a} and {b} say the same{since}"
            return
        shared = f"{parting.same} boundar{'y' if parting.same == 1 else 'ies'}"
        yield f"{a} and {b} share {shared}{since}"
        yield f"they part in {', '.join(parting.differs)}"
        yield f"first in {a}: {_words(parting.one)}"
        yield f"first in {b}: {_words(parting.other)}"


@dataclass(frozen=True)
class LoomComparison:
    """Two or more Runs of workflows, each laid beside the first."""

    sides: tuple[LoomSide, ...]
    pairs: tuple[LoomPair, ...]

    @property
    def same(self) -> bool:
        return all(pair.same for pair in self.pairs)

    @property
    def masker(self) -> Masker:
        return SHAPES_ONLY

    def sentences(self) -> Iterator[str]:
        """Where they part, a line each. Texts are raw."""
        for pair in self.pairs:
            yield from pair.sentences()

    def as_json(self) -> dict[str, Any]:
        """One object. Texts are raw."""
        return {
            "same": self.same,
            "branches": [
                {"run_id": side.run.id, "label": side.label, "source": side.run.source, "mirror_of": side.mirror_of}
                for side in self.sides
            ],
            "pairs": [
                {
                    "a": pair.a.label, "b": pair.b.label, "related": pair.related, "same_boundaries": pair.parting.same,
                    "differs": list(pair.parting.differs), "first_in_a": _json(pair.parting.one),
                    "first_in_b": _json(pair.parting.other),
                }
                for pair in self.pairs
            ],
        }  # fmt: skip

    def __repr__(self) -> str:
        return "\n".join(self.masker(sentence) for sentence in self.sentences())


def compare_looms(things: Sequence[Any]) -> LoomComparison:
    """Lay Runs of workflows beside the first of them; each is a `LoomRun`, or a pair of one and the name of a moment.

    Raises UnknownMoment; OtherRuntime where one is a run of an agent.
    """
    sides = tuple(map(_side, things))
    return LoomComparison(sides, tuple(_pair(sides[0], other) for other in sides[1:]))


def _side(thing: Any) -> LoomSide:
    run, at = thing if isinstance(thing, tuple) else (thing, "end")
    if not isinstance(run, LoomRun):
        raise OtherRuntime(getattr(run, "id", run), "it is a run of an agent: a workflow's is compared with its kind")
    name = point_name(at)
    points = tuple(run.points)
    if points and name.naming != "end":
        points = points[: (any_moment(run, name).point or 0) + 1]
    label = run.id if name.naming == "end" else f"{run.id}@{name}"
    first = next((record for record in run.records if isinstance(record, Checkpoint)), None)
    return LoomSide(run, label, points, first)


def _pair(a: LoomSide, b: LoomSide) -> LoomPair:
    if b.first is not None and b.mirror_of == a.run.id:
        return LoomPair(a, b, True, from_branch(a.points, b.points, b.first))
    if a.first is not None and a.mirror_of == b.run.id:
        told = from_branch(b.points, a.points, a.first)
        return LoomPair(a, b, True, LoomParting(told.same, told.other, told.one, told.differs))
    return LoomPair(a, b, False, part(a.points, b.points))


def _words(moment: Moment | None) -> str:
    if moment is None:
        return "nothing more"
    told = says(moment)
    where = f"checkpoint {moment.offset}: {moment.boundary.replace('_', ' ')} at {moment.cursor}, {moment.status}"
    return f"{where}, {told}" if told else where


def _json(moment: Moment | None) -> dict[str, Any] | None:
    if moment is None:
        return None
    return {
        "offset": moment.offset, "boundary": moment.boundary, "cursor": str(moment.cursor), "status": moment.status,
        "says": says(moment),
    }  # fmt: skip
