"""`compare` of Runs of workflows: a mirror with its source, unrelated ones, up to a boundary, and of two systems."""

import json

import pytest
from samples import SAMPLES, sample

import recovery_kit as rk
from recovery_kit.errors import OtherRuntime

PROJECT = SAMPLES / "22-workflow-killed-at-every-boundary"


def by_intent(word: str):
    return next(run for run in rk.open_runs(PROJECT).loom_runs if word in run.meta.intent and not _is_mirror(run))


def _is_mirror(run) -> bool:
    return bool(run.meta.lineage)


def test_a_mirror_and_its_source() -> None:
    """They say the same from where it branched, in either order."""
    mirror = next(run for run in rk.open_runs(PROJECT).loom_runs if _is_mirror(run))
    source = rk.open_runs(PROJECT)[mirror.meta.lineage.run_id]
    for found in (rk.compare(source, mirror), rk.compare(mirror, source)):
        assert found.pairs[0].related and found.pairs[0].parting.same >= 1
        assert json.dumps(found.as_json()) and repr(found)


def test_two_runs() -> None:
    """Two Runs part at the first boundary that says something else; one is the same as itself."""
    short, whole = by_intent("killed when a Step had finished"), by_intent("finished")
    found = rk.compare(short, whole)
    assert not found.same and rk.compare(whole, whole).same and rk.compare((whole, 2), (whole, 2)).same
    assert list(rk.compare((whole, 1), whole).pairs[0].parting.differs) == ["length"]
    assert any("share 2 boundaries" in sentence for sentence in rk.compare((whole, 1), whole).sentences())


def test_two_systems() -> None:
    """A run of an agent is not compared with one of a workflow."""
    with pytest.raises(OtherRuntime):
        rk.compare(by_intent("finished"), rk.open_run(sample("01-finished")))
