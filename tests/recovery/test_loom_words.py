"""What a start would do with one Run, in words; and its row in a listing."""

from typing import Any

import pytest
from looms.release_notes import RUNTIME, A, B, ask, history_a, history_b, history_m, key, named

from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.recovery.loom_words import loom_restart_sentences
from recovery_kit.runs.loom_run import open_loom_runs
from recovery_kit.runs.run_rows import run_row


def said(files: dict[str, bytes], run_id: str) -> str:
    run = next(run for run in open_loom_runs(files).values() if run.id == run_id)
    return "\n".join(loom_restart_sentences(run, plan_project(files)))


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (3, "go on with draft/collect in a new Call"),
        (5, "take the saved route to draft/write"),
        (6, "RUN_INTERRUPTED (uncertain execution)"),
        (12, ask(1)),
        (13, "hand the saved answer to recover, once"),
        (16, "to the end"),
        (17, "history"),
    ],
)
def test_each_disposition(cut: int, words: str) -> None:
    """A sentence for each row of the decision table."""
    assert words in said(named(history_a(cut)), A)


def test_blocked() -> None:
    """The Run at fault is told apart from those that it holds back."""
    files = named(history_a(12), history_b())
    del files[f"{RUNTIME}/{key(A)}/00000005.json"]
    assert "because of this Run: checkpoint 5 is missing" in said(files, A)
    assert said(files, B).startswith("not happen at all: 1 finding elsewhere")


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (history_a(12), ("waiting", False, "user_ask_confirmation", True, 0)),
        (history_a(6), ("running", False, None, False, 1)),
        (history_a(), ("completed", True, None, False, 0)),
        (history_m(), ("paused", False, "user_ask_confirmation", True, 0)),
    ],
)
def test_listing(history: Any, expected: Any) -> None:
    """A row says how it stands, what it waits on, who is needed, and what is unknown."""
    (run,) = open_loom_runs(named(history)).values()
    row = run_row(run)
    assert (row.status, row.terminal, row.waits, row.needs_person, row.unknown) == expected
    assert row.agent == "release_notes" and row.cost is None
