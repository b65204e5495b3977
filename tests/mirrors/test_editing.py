"""Edits: recorded, counted as the engine counts, undone to the byte, replayed elsewhere or refused with the place."""

import json
import tempfile
from pathlib import Path

import pytest
from branching import tree_hash
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import sample

from recovery_kit.errors import CannotMirror
from recovery_kit.history.windows import tokens_of
from recovery_kit.mirrors.create import create_mirror, create_mirrors
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.runs.opening import open_run

RUN = open_run(sample("02a-killed-mid-batch"))
STAGES = open_run(sample("13a-stages-and-loops"))


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    """A mirror of a killed run, its batch out."""
    return create_mirror(RUN, "end", tmp_path / "m")


def test_an_entry_is_changed_and_counted_anew(mirror: Mirror) -> None:
    """A new text has the engine's tokens, in its entry, its region and the window."""
    text = "Close the ledger, \u00fc and skip the archive step."
    mirror.edit(region="task", entry=0, text=text, author="A", reason="what if")
    window = mirror.run.at().window
    region = next(r for r in window.regions if r.name == "task")
    assert region.entries[0].content == text
    assert region.entries[0].tokens == tokens_of(text) == region.current_tokens
    assert window.total_tokens == sum(r.current_tokens for r in window.regions)
    (edit,) = mirror.edits
    assert (edit.author, edit.reason, edit.undone) == ("A", "what if", False) and edit.at > 0
    assert edit.patch[-1] == {"op": "replace", "path": "/window/task/0/content", "value": text}


def test_inserting_and_removing(mirror: Mirror) -> None:
    """An entry comes and goes; a turn goes with its results."""
    before = len(_region(mirror, "conversation"))
    mirror.edit(region="conversation", insert=True, text="Think twice.", kind="UserMessage")
    assert _region(mirror, "conversation")[-1].content == "Think twice."
    mirror.edit(region="conversation", entry=0, remove=True)
    assert len(_region(mirror, "conversation")) == before + 1 - 2


def test_task_model_tools_and_position(tmp_path: Path) -> None:
    """Everything else that can be edited, all of it in the files that an engine reads."""
    mirror = create_mirror(STAGES, 0, tmp_path)
    stages = STAGES.story.blueprint.stages  # type: ignore[union-attr]
    mirror.edit(task="Another task.", model="scripted/other", tools=["read_file"])
    mirror.edit(stage=stages[1].name, iteration=7)
    meta, state = mirror.run.files.meta, mirror.run.at()
    assert meta is not None
    assert (meta.task, meta.model, meta.model_override) == ("Another task.", "scripted/other", "scripted/other")
    assert (state.stage, state.stage_index, state.iteration) == (stages[1].name, 1, 7)
    assert mirror.run.story.blueprint.stages[0].available_tools == ("read_file",)  # type: ignore[union-attr]
    assert mirror.run.story.blueprint_facts().digest_matches is True
    assert _region(mirror, "task")[0].content == "Another task."
    with pytest.raises(CannotMirror, match="no such stage"):
        mirror.edit(stage="elsewhere")


def test_results_of_open_and_landed_calls(mirror: Mirror) -> None:
    """A pending call gets a result, and one that has landed another one."""
    assert mirror.open_calls == ("b2", "b3", "b4")
    mirror.edit(call="b3", result="posted")
    assert mirror.open_calls == ("b2", "b4")
    mirror.edit(call="b1", result="posted twice")
    pending = mirror.run.at().pending
    assert pending is not None and pending.results[0] == "posted twice"
    mirror.edit(call="r1", result="an empty ledger")
    assert _region(mirror, "conversation")[-1].content == "an empty ledger"


def test_undoing_all_gives_the_bytes_back(mirror: Mirror) -> None:
    """Whatever was edited, undone it is the mirror that was made; the file of edits keeps what happened."""
    before = tree_hash(mirror.path)
    mirror.edit(task="Another.", tools=["shell"])
    mirror.edit(region="task", insert=True, text="and more")
    mirror.edit(call="b2", result="done")
    mirror.undo(3)
    assert [edit.undone for edit in mirror.edits] == [False, True, False]
    assert [e.content for e in _region(mirror, "task")] == ["Another."]
    mirror.undo_all(reason="no")
    assert tree_hash(mirror.path) == before
    rows = [json.loads(line) for line in mirror.edits_file.read_text().splitlines()]
    assert len(rows) == 6 and rows[-1]["undo"] == [2, 4]
    assert all(edit.undone for edit in mirror.edits)


def test_undo_that_others_stand_on(mirror: Mirror) -> None:
    """An edit that a later one was made on is not taken from under it."""
    mirror.edit(region="task", entry=0, text="one")
    mirror.edit(region="task", entry=0, text="two")
    now = tree_hash(mirror.path)
    with pytest.raises(CannotMirror, match="/window/task/0/content"):
        mirror.undo(2)
    assert tree_hash(mirror.path) == now
    mirror.undo()
    assert _region(mirror, "task")[0].content == "one"


def test_replay_on_another_mirror(mirror: Mirror, tmp_path: Path) -> None:
    """Edits fit another mirror of the run, or say at which place they do not."""
    mirror.edit(region="task", entry=0, text="Skip the archive step.", author="A", reason="cheaper")
    other = create_mirror(RUN, 0, tmp_path / "other")
    (edit,) = other.replay(mirror)
    assert (edit.author, edit.reason) == ("A", "cheaper")
    assert _region(other, "task")[0].content == "Skip the archive step."
    with pytest.raises(CannotMirror, match="/window/task/0/content: it is not what the edit was made on"):
        other.replay(mirror)


@pytest.mark.parametrize(
    "wish",
    [
        {"region": "conversation", "entry": -1, "remove": True},
        {"patch": [{"op": "remove", "path": "/window/conversation/0"}]},
        {"patch": [{"op": "replace", "path": "/window/conversation/1/kind/tool_call_id", "value": "zz"}]},
    ],
)
def test_what_no_provider_would_accept(mirror: Mirror, wish: dict[str, object]) -> None:
    """An edit that parts a call from its result is refused, names the entry, and leaves the mirror as it was."""
    before = tree_hash(mirror.path)
    with pytest.raises(CannotMirror, match="no provider would accept it: entry conversation/[01]"):
        mirror.edit(**wish)  # type: ignore[arg-type]
    assert tree_hash(mirror.path) == before and mirror.edits == ()


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "add", "path": "/window/new", "value": []}],
        [{"op": "remove", "path": "/window/task"}],
        [{"op": "add", "path": "/results/zz", "value": "x"}],
        [{"op": "replace", "path": "/window/task", "value": "no list"}],
        [{"op": "add", "path": "/window/task/0", "value": {"text": "no entry"}}],
        [{"op": "add", "path": "/other", "value": 1}],
        [{"op": "replace", "path": "/position/iteration", "value": 9}],
        [{"op": "replace", "path": "/task", "value": None}],
        [{"op": "replace", "path": "/tools/close", "value": [1]}],
    ],
)
def test_documents_that_are_no_run(mirror: Mirror, patch: list[dict[str, object]]) -> None:
    """What a run cannot hold, or would lose, is refused, and nothing changes."""
    before = tree_hash(mirror.path)
    with pytest.raises(CannotMirror):
        mirror.edit(patch)
    assert tree_hash(mirror.path) == before


@pytest.mark.parametrize("value", ["\ud800", float("nan"), {1, 2}])
def test_what_json_cannot_hold(mirror: Mirror, value: object) -> None:
    """A lone surrogate, a number that is none, a set: refused before anything is written."""
    with pytest.raises(CannotMirror, match="JSON"):
        mirror.edit([{"op": "replace", "path": "/task", "value": value}])
    assert not mirror.edits_file.exists()


def test_a_row_that_was_never_carried_out(mirror: Mirror) -> None:
    """A row whose writer died before the files changed counts for nothing, then and after the next edit."""
    mirror.edit(region="task", entry=0, text="one")
    made = mirror.edits_file.read_bytes()
    journal = (mirror.path / "run.lvr").read_bytes()
    mirror.edit(region="task", entry=0, text="two")
    (mirror.path / "run.lvr").write_bytes(journal)
    again = Mirror(mirror.path)
    assert [e.patch[-1]["value"] for e in again.edits] == ["one"]
    again.edit(region="task", entry=0, text="three")
    assert [e.patch[-1]["value"] for e in again.edits] == ["one", "three"]
    with mirror.edits_file.open("ab") as file:
        file.write(made[:17])
    again.edit(region="task", entry=0, text="four")
    assert [e.patch[-1]["value"] for e in Mirror(mirror.path).edits] == ["one", "three", "four"]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(["change", "insert", "remove"]), st.integers(0, 9), st.text(max_size=9))))
def test_any_edits_undo_to_the_bytes(edits: list[tuple[str, int, str]]) -> None:
    """Any edits of texts, made or refused, undone leave the unedited mirror."""
    with tempfile.TemporaryDirectory() as folder:
        mirror = create_mirror(RUN, 1, folder)
        before = tree_hash(mirror.path)
        for act, entry, text in edits[:4]:
            try:
                mirror.edit(region="task", entry=entry, text=text, insert=act == "insert", remove=act == "remove")
            except CannotMirror:
                continue
        mirror.undo_all()
        assert tree_hash(mirror.path) == before


def test_variants_side_by_side(tmp_path: Path) -> None:
    """Several mirrors of one moment, each with its edits, share nothing."""
    made = create_mirrors(
        RUN, 0, tmp_path, {"a": {"model": "scripted/a"}, "b": [{"task": "B."}, {"model": "scripted/b"}], "plain": []}
    )
    models = {name: m.run.files.meta.model for name, m in made.items() if m.run.files.meta}
    assert models == {"a": "scripted/a", "b": "scripted/b", "plain": None}
    assert len({m.id for m in made.values()}) == 3


def _region(mirror: Mirror, name: str):  # type: ignore[no-untyped-def]
    return next(r.entries for r in mirror.run.at().window.regions if r.name == name)
