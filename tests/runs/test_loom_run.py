"""Runs of IntLoom projects on the same surfaces as any other run."""

import copy
from pathlib import Path
from typing import Any

import pytest
from looms.release_notes import (
    I2,
    RUNTIME,
    A,
    B,
    C,
    as_bytes,
    ask,
    call,
    history_a,
    history_b,
    history_c,
    history_m,
    key,
    named,
    on_disk,
    snapshot,
)

from recovery_kit.errors import NotARun, UnknownMoment
from recovery_kit.runs.loom_run import LoomRun, open_loom_runs

PHASES = Path(__file__).parents[1] / "data" / "cases" / "H11-loom-phases" / "input"


def run_of(*histories: list[dict[str, Any]]) -> LoomRun:
    (run,) = open_loom_runs(named(*histories)).values()
    return run


def test_points_are_boundaries() -> None:
    """One point a checkpoint, with its Stage State as the schema returned it."""
    run = run_of(history_a())
    assert (run.id, run.runtime, len(run.points), run.written_by) == (A, "intloom", 17, "format 3")
    state = run.at(11)
    assert (state.offset, state.boundary, state.status, state.stage, state.step) == (
        12, "waiting", "waiting", "publish", "confirm",
    )  # fmt: skip
    assert state.state == {"draftId": "ART-notes", "approved": False}
    assert state.pending is not None and state.pending.call_id == call(4)
    assert state.prompt is not None and state.prompt.request_id == ask(1)
    assert run.at().status == "completed" and run.record(12) is run.records[11]
    with pytest.raises(UnknownMoment):
        run.at(17)


def test_certainty_follows_from_the_boundary() -> None:
    """Finished Calls are done; the one that was announced last is unknown; commits are done."""
    whole = run_of(history_a())
    kinds = [(c.kind, c.call_id, c.certainty, c.evidence_offset) for c in whole.effects]
    assert kinds == [
        ("initializer", call(0), "done", 3),
        ("code", call(1), "done", 5),
        ("model", call(2), "done", 7),
        ("initializer", call(3), "done", 9),
        ("code", call(4), "done", 13),
        ("commit", call(4), "done", 11),
        ("recovery", call(5), "done", 16),
        ("commit", call(5), "done", 15),
    ]
    for cut, kind in ((2, "initializer"), (4, "code"), (6, "model"), (14, "recovery")):
        last = run_of(history_a(cut)).effects[-1]
        assert (last.kind, last.certainty, last.evidence_offset) == (kind, "unknown", cut)


def test_an_interrupted_end_leaves_its_call_unknown() -> None:
    """A restart's end over a Call says nothing of what the Call had done."""
    error = {"code": "RUN_INTERRUPTED", "message": "m", "retryable": False, "reason": "uncertain_execution"}
    rows = history_a(6)
    end = {name: rows[5][name] for name in rows[5] if name != "call"}
    end |= {"seq": 7, "boundary": "terminal", "instanceId": I2, "outcome": {"status": "failed", "error": error}}
    run = run_of([*rows, copy.deepcopy(end)])
    assert run.effects[-1].certainty == "unknown" and run.verdict.unknown == (run.effects[-1],)
    assert run.points[-1].status_shared == "interrupted" and not run.findings


def test_prompts() -> None:
    """A question is open, answered, or lost with its Run."""
    assert [p.settlement for p in run_of(history_a(12)).prompts] == ["open"]
    (answered,) = run_of(history_a(13)).prompts
    assert (answered.settlement, answered.answer, answered.offset) == ("answered", {"isConfirmed": True}, 12)
    assert run_of(history_b()).prompts[0].recoverable is False


def test_the_verdict_says_it_in_words() -> None:
    """Status, wait, unknown effects, the last certain thing, commits, damage: each in a sentence."""
    waiting = str(run_of(history_a(12)).verdict)
    assert "waiting" in waiting and ask(1) in waiting and "1 commit" in waiting and "No effect is unknown" in waiting
    unsure = str(run_of(history_c()).verdict)
    assert "1 Call of unknown outcome" in unsure and call(2) in unsure
    assert "no restart can ask again" in str(run_of(history_b()).verdict)
    assert "on hold" in str(run_of(history_m()).verdict)


def test_damage_is_an_answer() -> None:
    """A file that cannot be read is a finding with its path; the rest is there."""
    files = named(history_a(12))
    path = f"{RUNTIME}/{key(A)}/00000012.json"
    files[path] = files[path][:80]
    (run,) = open_loom_runs(files).values()
    assert [(f.problem, f.path) for f in run.findings] == [("corrupt", path)]
    assert len(run.points) == 11 and [e.why for e in run.evidence if e.why] == ["corrupt"]
    gap = named(history_a(12))
    del gap[f"{RUNTIME}/{key(A)}/00000003.json"]
    (gapped,) = open_loom_runs(gap).values()
    assert [f.problem for f in gapped.findings] == ["corrupt"]


def test_refresh(tmp_path: Path) -> None:
    """What was saved since is added; where earlier files became others the generation rises."""
    project = on_disk(tmp_path, history_a(5))
    (run,) = open_loom_runs(project).values()
    on_disk(project, history_a(7))
    assert run.refresh().points == 2 and run.generation == 0 and len(run.points) == 7
    other = history_a(7)
    other[2]["stage"]["input"] = {"version": "9"}
    on_disk(project, other)
    assert run.refresh().replaced and run.generation == 1


def test_search_and_evidence(tmp_path: Path) -> None:
    """Texts are found at their boundaries; every file is named with its digest; nothing is changed."""
    project = on_disk(tmp_path, history_a())
    before = snapshot(project)
    (run,) = open_loom_runs(project).values()
    assert [hit.offset for hit in run.search("publish THE 2.4")] == [12, 13]
    assert len(run.evidence) == 17 and all(e.sha256 and e.size == len(as_bytes(r)) for e, r in
                                           zip(run.evidence, history_a(), strict=True))  # fmt: skip
    assert snapshot(project) == before


def test_format_1() -> None:
    """A project of format 1: one point a Run, and certainty by its phase."""
    runs = {run.id: run for run in open_loom_runs(PHASES).values()}
    assert len(runs) == 10 and {run.format for run in runs.values()} == {1}
    certainty = {name: [call.certainty for call in run.effects] for name, run in runs.items()}
    assert certainty["run-executing"] == certainty["run-client-agent"] == ["unknown"]
    assert certainty["run-step-result"] == ["done"] and certainty["run-step-ready"] == []
    assert runs["run-waiting"].prompts[0].settlement == "open" and runs["run-done"].at().status == "completed"


def test_no_project(tmp_path: Path) -> None:
    """A folder that is no project is refused."""
    with pytest.raises(NotARun):
        open_loom_runs(tmp_path)


def test_several_runs() -> None:
    """Runs are found by their path inside the project."""
    runs = open_loom_runs(named(history_a(12), history_b(), history_c()))
    assert {run.id for run in runs.values()} == {A, B, C} and f"{RUNTIME}/{key(B)}" in runs
