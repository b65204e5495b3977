"""Replaying a batch: which results stay, what the rest is told, what is journaled."""

import hashlib
import json

import pytest
from before_and_after import Restart

from recovery_kit.history.fold import Pending
from recovery_kit.records.engines import engine
from recovery_kit.records.journal import BatchCall, ToolBatch
from recovery_kit.records.window import Content
from recovery_kit.restore.batch import arguments_of, restore_pending_batch
from recovery_kit.restore.wording import CHILDREN_HEAD, CHILDREN_TAIL, INTERRUPTED, stand_in

NEWEST = engine("0.6.4")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def pending(*calls: tuple[str, str, Content | None], arguments: str = "{}") -> Pending:
    """A batch of (id, tool, result)."""
    made = tuple(
        BatchCall(id=id, execution_id=f"x-{id}", name=name, arguments=arguments, result=result)
        for id, name, result in calls
    )
    batch = ToolBatch(calls=made, at=5, iteration=3, response="go")
    return Pending(batch, 0, tuple(call.result for call in made), tuple(None for _ in made))


def test_the_wording_is_the_engines_to_the_byte() -> None:
    """Length and hash of the three texts are those the engine writes."""
    assert (len(INTERRUPTED), sha256(INTERRUPTED)) == (
        170, "3ab3c66fdba41fc2e80784a4151e11bacd459b0f18aaca837205a8c2d45dc59d"
    )  # fmt: skip
    assert (len(CHILDREN_HEAD), sha256(CHILDREN_HEAD)) == (
        210, "a9059e9016480a286ff1628bd4b53236b3839e62d1a88084cfe133936153f9aa"
    )  # fmt: skip
    assert (len(CHILDREN_TAIL), sha256(CHILDREN_TAIL)) == (
        52, "30494f51119ee9342f10cb40ce75515ed8d4a61f078d73247213a81df017eb79"
    )  # fmt: skip


@pytest.mark.parametrize("name", ["batch-cut", "children-named", "approval", "later-layout", "old-batch-cut", "parked"])
def test_the_completions_are_those_that_the_engine_journaled(name: str) -> None:
    """A real restart wrote exactly these give-ups, in this order, or none where its version writes none."""
    restart = Restart(name)
    batch = restart.batch()
    made = [[done.call_id, done.execution_id] for done in batch.completions(9)] if batch else []
    assert made == restart.facts["stand_ins_journaled"]


def test_results_that_are_held_stay_and_the_rest_is_verify_first() -> None:
    """One result a call: the journaled one, an earlier restart's word, or the stand-in."""
    batch = restore_pending_batch(
        pending(("a", "shell", "done"), ("b", "shell", None), ("c", "shell", INTERRUPTED)), (), NEWEST
    )
    assert batch is not None
    assert batch.results == (("a", "done"), ("b", INTERRUPTED), ("c", INTERRUPTED))
    assert batch.stood_in == ("b",)
    assert batch.verify_first == ("b", "c")
    (done,) = batch.completions(77)
    assert (done.call_id, done.execution_id, done.outcome, done.iteration, done.at) == (
        "b",
        "x-b",
        "indeterminate",
        3,
        77,
    )


def test_children_are_named_for_tools_that_deal_with_them() -> None:
    """Only for a tool of that list, only if there are children, and never in a real result."""
    children = ("run-a", "run-b")
    batch = restore_pending_batch(
        pending(("a", "spawn_agent", None), ("b", "shell", None), ("c", "check_agent", "it runs")), children, NEWEST
    )
    assert batch is not None
    assert batch.children_named == {"a": children}
    assert dict(batch.results)["a"] == f"{CHILDREN_HEAD}run-a, run-b{CHILDREN_TAIL}"
    assert dict(batch.results)["b"] == INTERRUPTED
    assert stand_in("spawn_agent", ()) == INTERRUPTED


@pytest.mark.parametrize("text", ['{"a": ', "plain", "", "[1,]", '{"a": 1} x'])
def test_arguments_that_are_no_json_become_a_string(text: str) -> None:
    """Cut or free text is kept as one JSON string, which is no error."""
    arguments, is_json = arguments_of(text, NEWEST)
    assert not is_json
    assert json.loads(bytes(arguments)) == text


def test_arguments_that_are_json_are_kept_as_such() -> None:
    """Keys come sorted, as the engine's maps have them, and large numbers stay exact."""
    arguments, is_json = arguments_of('{"b": 18446744073709551615, "a": [true, null]}', NEWEST)
    assert is_json
    assert bytes(arguments) == b'{"a":[true,null],"b":18446744073709551615}'


def test_twins_of_one_id_are_told_apart_by_place() -> None:
    """The fold fills the first of two calls with one id; the second gets the stand-in."""
    batch = restore_pending_batch(pending(("a", "shell", "done"), ("a", "shell", None)), (), NEWEST)
    assert batch is not None
    assert batch.results == (("a", "done"), ("a", INTERRUPTED))


def test_old_engines_replay_nothing_or_write_nothing_down() -> None:
    """No replay before 0.1.2; a replay without completions before 0.6.4."""
    held = pending(("a", "shell", None))
    assert restore_pending_batch(held, (), engine("0.1.1")) is None
    assert restore_pending_batch(None, (), NEWEST) is None
    old = restore_pending_batch(held, (), engine("0.4.0"))
    assert old is not None and old.stood_in == ("a",) and old.completions(1) == ()
