"""A mirror holds exactly what the journal knew at its cut: every cut of every sample, and the field case of a batch."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from branching import agents_folder, shape, tree_hash
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import CASES, case, run_folders

from recovery_kit.history.fold import fold
from recovery_kit.history.windows import window_sha256
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.mirrors.cutting import cut
from recovery_kit.records.window import ToolResult
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run

H12 = CASES / "H12-mirror-in-mid-batch"
EXPECT = case("H12-mirror-in-mid-batch")
SOURCE = next((H12 / "input" / "runs").iterdir())
RUNS = [open_run(folder) for folder in run_folders()]
CUTTABLE = [run for run in RUNS if run.story.fold() is not None and run.story.blueprint is not None]


@pytest.mark.parametrize("records", sorted(EXPECT["mirror_at"], key=int))
def test_the_field_case(records: str, tmp_path: Path) -> None:
    """Each cut of the case folds as listed, is alone in the world, and says where it came from and what came after."""
    before = tree_hash(SOURCE)
    run = open_run(SOURCE)
    mirror = create_mirror(run, f"record:{records}", tmp_path / "m", agents=agents_folder(tmp_path, "ledger-clerk"))
    wanted = EXPECT["mirror_at"][records]
    state, meta = mirror.run.at(), mirror.run.files.meta
    assert meta is not None and mirror.run.journal.error is None and not mirror.run.journal.read().unread
    assert shape(state.window) == wanted["fold"]["regions"]
    assert state.iteration == wanted["fold"]["iteration"]
    assert _pending(state) == wanted["fold"]["pending_batch"]
    assert (mirror.origin.record, mirror.origin.bytes) == (wanted["records"], wanted["bytes"])
    assert mirror.origin.source == run.id
    after = EXPECT["source_did_after_cut"][records]
    assert mirror.after is not None
    assert [call.call_id for call in mirror.after.completed] == after["completed"]
    assert [call.call_id for call in mirror.after.sent_out] == after["sent_out"]
    always = EXPECT["mirror_always"]
    for name in ("status", "callback_url", "callback_secret", "parent_run_id", "yolo"):
        assert getattr(meta, name) == always[name]
    assert list(meta.children) == always["children"]
    assert meta.run_id == mirror.path.name != run.id
    assert meta.workdir != run.meta.workdir if run.meta else False
    assert not (mirror.path / "fanout.json").exists()
    assert tree_hash(SOURCE) == before


def _pending(state: Any) -> dict[str, Any] | None:
    if state.pending is None:
        return None
    batch = state.pending.batch
    calls = [
        {"id": c.id, "name": c.name, "state": "interrupted" if r is None else "completed", "result": r}
        for c, r in state.pending.calls()
    ]
    return {"stage_index": batch.stage_index, "iteration": batch.iteration, "response": batch.response, "calls": calls}


@settings(max_examples=60)
@given(st.sampled_from(CUTTABLE), st.data(), st.sampled_from(["none", "full"]))
def test_any_cut_folds_to_what_the_source_was(run: Run, data: st.DataObject, history: Any) -> None:
    """Cut after any record: the mirror folds to the source's own fold of those records, in both kinds of history."""
    number = data.draw(st.integers(1, len(run.story.reading())))
    wanted = fold(run.story.reading(), number)
    assert wanted is not None
    with tempfile.TemporaryDirectory() as folder:
        mirror = create_mirror(run, f"record:{number}", folder, history)
        state = mirror.run.at()
        meta = wanted.skim_meta()
        assert meta is not None
        assert window_sha256(state.window) == window_sha256(wanted.window.window())
        assert (state.iteration, state.stage_index) == (meta.iteration, meta.stage_index)
        assert (state.pending and state.pending.results) == (wanted.pending and wanted.pending.results)
        assert state.status == "paused"


@pytest.mark.parametrize("run", CUTTABLE, ids=lambda run: run.id)
def test_points_leave_no_batch_and_no_interrupted_call(run: Run) -> None:
    """A plain point, an iteration and a call are cut without a batch: nothing that the source finished is replayed."""
    names = [str(n) for n in range(len(run.points))]
    names += [f"iteration:{point.skim_meta().iteration}" for point in run.points]
    ids = [call.call_id for call in run.effects if not call.behind_tear]
    names += [f"call:{call}" for call in ids if ids.count(call) == 1]
    for name in dict.fromkeys(names):
        made = cut(run, name)
        assert made.batch is None and not made.open_calls


def test_a_batch_is_kept_completed_or_dropped(tmp_path: Path) -> None:
    """The three ways of a cut in mid-batch: what was known then, what was recorded later, or the turn done again."""
    run, agents = open_run(SOURCE), agents_folder(tmp_path, "ledger-clerk")
    made = {
        how: create_mirror(run, "record:4", tmp_path / how, agents=agents, batch=how)  # type: ignore[arg-type]
        for how in ("keep", "complete", "drop")
    }
    pending = {how: mirror.run.at().pending for how, mirror in made.items()}
    assert pending["keep"] is not None and pending["keep"].results == (None, None)
    assert pending["complete"] is not None and pending["complete"].results == ("paid 10", "wrote 1")
    assert pending["drop"] is None
    assert "although the source recorded its result later" in made["keep"].said[0]
    assert made["keep"].open_calls == ("b1", "b2") and made["complete"].open_calls == ()


def test_the_window_a_call_was_asked_with(tmp_path: Path) -> None:
    """Before a call the mirror has the window that its request was sent with: the turn before has landed."""
    run = next(r for r in CUTTABLE if r.source == "." or "02a" in str(r.folder))
    call = run.effects[1]
    made = cut(run, f"call:{call.call_id}")
    kinds = [entry.kind for region in made.window.regions for entry in region.entries]
    asked = {kind.tool_call_id for kind in kinds if isinstance(kind, ToolResult)}
    assert run.effects[0].call_id in asked and call.call_id not in asked


def test_history_comes_along_only_when_asked(tmp_path: Path) -> None:
    """With history the mirror has the source's points and one more; without, one point."""
    run = CUTTABLE[0]
    last = len(run.points) - 1
    assert len(create_mirror(run, last, tmp_path, "none").run.points) == 1
    assert len(create_mirror(run, last, tmp_path, "full").run.points) == last + 2
