"""Where two Runs of a Workflow part."""

import copy
from typing import Any

from looms.release_notes import as_bytes, history_a, history_m

from recovery_kit.formats.loom_v3 import parse_checkpoint
from recovery_kit.history.loom_compare import from_branch, part
from recovery_kit.history.loom_story import Moment, moments_of


def moments(rows: list[dict[str, Any]]) -> tuple[Moment, ...]:
    return moments_of([parse_checkpoint(as_bytes(row)) for row in rows])


def test_the_same_and_shorter() -> None:
    """Equal histories do not part; a shorter one parts where it ends."""
    assert part(moments(history_a()), moments(history_a())).is_same
    parting = part(moments(history_a(5)), moments(history_a(7)))
    assert (parting.same, parting.one, parting.differs) == (5, None, ("length",)) and parting.other is not None


def test_another_answer() -> None:
    """The boundary and the part of it that differ are named; ids and times are not."""
    other = history_a()
    other[12]["answer"] = {"isConfirmed": False}
    for row in other:
        row["savedAt"] = "2027-02-01T00:00:00.000Z"
    parting = part(moments(history_a()), moments(other))
    assert (parting.same, parting.differs) == (12, ("answer",)) and parting.one is not None and parting.one.offset == 13


def test_a_mirror_with_its_source() -> None:
    """A mirror is compared from where it branched, its resumption left out."""
    first = history_m()[0]
    resumed = copy.deepcopy(first) | {"seq": 2}
    resumed["run"]["lineage"]["paused"] = False
    parting = from_branch(moments(history_a()), moments([first, resumed]), parse_checkpoint(as_bytes(first)))
    assert (parting.same, parting.differs) == (1, ("length",)) and parting.one is not None and parting.one.offset == 13
