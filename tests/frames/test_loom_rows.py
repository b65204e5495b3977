"""The tables, filled from IntLoom Runs: the same columns and dtypes, with gaps where a workflow has no such thing."""

import pytest
from looms.release_notes import A, B, C, call, history_a, history_b, history_c, named

from recovery_kit.frames import TABLES
from recovery_kit.frames.columns import Table, build
from recovery_kit.frames.loom_rows import as_loom
from recovery_kit.runs.loom_run import open_loom_runs


def loom_runs() -> list:
    return sorted(open_loom_runs(named(history_a(), history_b(), history_c())).values(), key=lambda run: run.id)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_and_dtypes_are_the_same(table: Table) -> None:
    """Whatever the system, a table has its columns and dtypes."""
    empty, filled = build(table, []), build(as_loom(table), loom_runs())
    assert list(filled.columns) == list(empty.columns) and list(filled.dtypes) == list(empty.dtypes)


def frame(name: str):
    return build(as_loom(next(table for table in TABLES if table.name == name)), loom_runs(), text=True)


def test_runs() -> None:
    """A row a Run, with the status in both words."""
    rows = frame("runs").set_index("run_id")
    assert list(rows.loc[[A, B, C], "status_shared"]) == ["completed", "waiting", "waiting"]
    assert list(rows["runtime"].unique()) == ["intloom"] and list(rows.loc[[A, B, C], "n_unknown"]) == [0, 0, 1]
    assert rows.loc[A, "agent"] == "release_notes" and rows.loc[A, "task"] == "Write notes for 2.4"
    assert rows.loc[A, "n_lives"] == 2


def test_calls() -> None:
    """Unknown effects are found by the same question as everywhere."""
    unknown = frame("calls").query("certainty == 'unknown'")
    assert list(unknown["call_id"]) == [call(2)] and list(unknown["name"]) == ["agent"]


def test_prompts_and_artifacts() -> None:
    """Questions with their answers, and what commits wrote."""
    prompts = frame("prompts").set_index("run_id")
    assert prompts.loc[A, "approved"] and prompts.loc[A, "settlement"] == "answered"
    assert "Publish" in prompts.loc[A, "prompt"] and prompts.loc[B, "settlement"] == "open"
    assert list(frame("artifacts")["name"]) == ["ART-notes", "REC-publish-2.4"]
