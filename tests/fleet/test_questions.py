"""What people ask of many runs: sums that add up, and groups that are right."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places_of_tests import journal
from samples import SAMPLES

import recovery_kit as rk
from recovery_kit.fleet.questions import BY, failures_df, standing_df, stats_df
from recovery_kit.fleet.scan import scan
from recovery_kit.fleet.summary import ALIKE, normalised
from recovery_kit.history.clock import BUCKETS

LOOK = scan(SAMPLES, "serial")
BILLS = rk.inferences_df(rk.open_runs(SAMPLES).agent_runs)


@pytest.mark.parametrize("by", BY)
def test_sums_are_those_of_the_bills(by: str) -> None:
    """Whatever the groups, tokens and bills add up to the table of bills before any tear."""
    told, bills = stats_df(LOOK, by), BILLS[~BILLS["behind_tear"]]
    assert told["calls"].sum() == len(bills)
    assert told["prompt_tokens"].sum() == bills["prompt_tokens"].sum()
    assert told["unpriced_calls"].sum() == bills["cost_usd"].isna().sum()
    assert told["cost_usd"].isna().tolist() == (told["unpriced_calls"] > 0).tolist()


@pytest.mark.parametrize("by", ["agent", "outcome"])
def test_whole_runs_count_once(by: str) -> None:
    """Runs, unknown effects and seconds add up to those of the runs."""
    told, runs = stats_df(LOOK, by), LOOK.runs_df
    assert told["runs"].sum() == len(runs) and told["n_unknown"].sum() == runs["n_unknown"].sum()
    seconds = sum(told[f"seconds_{bucket}"].sum() for bucket in BUCKETS)
    assert seconds == runs["wall_seconds"].sum()


def test_no_runs_make_the_same_columns() -> None:
    """A question to nobody has an answer of the same shape."""
    for ask in (stats_df, failures_df, standing_df):
        assert list(ask([]).dtypes) == list(ask(LOOK).dtypes) and len(ask([])) == 0
    with pytest.raises(ValueError, match="agent"):
        stats_df(LOOK, "colour")


def test_what_waits_on_a_person_comes_first() -> None:
    """Then the others, those that stand longest first; runs that are over are not in it."""
    told = standing_df(LOOK)
    assert list(told["needs_person"].fillna(False)) == sorted(told["needs_person"].fillna(False), reverse=True)
    assert list(told["waits_on_word"][:1]) == ["interaction_point"]
    assert set(told["status_word"]) <= {"running", "waiting_input", "paused"}


def _fails(folder: Path, error: str) -> None:
    meta = folder / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_bytes()) | {"status": "error", "error": error}))


def test_runs_that_fail_alike(runs_folder: Path) -> None:
    """Grouped by stage, last tool and the error without what differs."""
    for at, tries in enumerate((3, 17)):
        run = runs_folder / f"failed-{at}"
        shutil.copytree(journal(runs_folder).parent, run)
        _fails(run, f"no answer from https://host-{at}.example/x after {tries} tries")
    told = failures_df(scan(runs_folder, "serial"))
    assert told["error"].tolist() == ["no answer from URL after N tries"] and told["runs"].tolist() == [2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file '/tmp/a1' not found", "file '/home/x y/b' not found"),
        (
            "run ledger-close-1796050230-4d968334fc28 timed out after 30s",
            "run ledger-close-1796050248-86536bb22a39 timed out after 45s",
        ),
        ("exit status 1 in /srv/a/b.sh:12", "exit status 2 in /srv/c.sh:7"),
    ],
)  # fmt: skip
def test_alike_is_alike(one: str, other: str) -> None:
    """Numbers, ids, paths and quoted words do not part two errors."""
    assert normalised(one) == normalised(other) != ""


@given(st.text(max_size=400))
def test_any_error_has_a_short_form(text: str) -> None:
    """Short, storable, and the same when made twice."""
    made = normalised(text)
    assert len(made) <= ALIKE and made == normalised(text)
    made.encode()
