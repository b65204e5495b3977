"""Cards and tables: the same words in a terminal and in a notebook, and nothing told by colour alone."""

from pathlib import Path

import pytest

from recovery_kit import pictures
from recovery_kit.runs.opening import open_run, open_runs

SAMPLES = Path(__file__).parents[2] / "sample_runs"
CASES = Path(__file__).parents[1] / "data" / "cases"


def test_a_run_shows_itself_in_the_same_words() -> None:
    """Each value of the text card stands in the HTML card too, with its sign."""
    run = open_run(SAMPLES / "02a-killed-mid-batch")
    shown = pictures.mimebundle(run)
    assert set(shown) == {"text/plain", "text/html"}
    for words in (run.id, "!! 3 effects unknown", "close, turn 2", "Close the ledger of 26 November."):
        assert words in shown["text/plain"] and words in shown["text/html"]
    assert "style=" in shown["text/html"] and "<style" not in shown["text/html"]


def test_every_object_has_two_faces() -> None:
    """A collection, a run, a moment, a point and a verdict show as text and as HTML."""
    runs = open_runs(SAMPLES / "08a-fan-out-with-workers")
    run = next(iter(runs.values()))
    for thing in (runs, run, run.at(), run.points[0], run.verdict, pictures.run_card(run)):
        shown = pictures.mimebundle(thing, run.masker)
        assert shown["text/plain"] and shown["text/html"].startswith("<")
    with pytest.raises(TypeError):
        pictures.mimebundle(3)


def test_a_collection_is_listed_without_reading_a_journal() -> None:
    """A folder of thousands has to show at once: rows come from metadata, and the rest is counted."""
    runs = open_runs(SAMPLES)
    page = pictures.runs_html(runs, most=2)
    assert f"{len(runs) - 2} more rows not shown here" in page
    assert not any("verdict" in run.__dict__ or "events" in run.story.__dict__ for run in runs.agent_runs)
    assert "not shown here" in pictures.runs_text(runs, most=2)


def test_the_ledger_says_certainty_in_words_with_its_proof() -> None:
    """Unknown calls come first, with what to look for and the byte that proves it."""
    run = open_run(SAMPLES / "02a-killed-mid-batch")
    page = pictures.effects_html(run.story, run.masker)
    first = page.split("All 6 calls")[0]
    assert first.count("? unknown") == 3 and "look for" in first
    assert "byte 7,637" in first
    assert 'scope="col"' in first and 'scope="row"' in first


def test_unknown_money_is_never_free() -> None:
    """Bills without a figure are said to have none."""
    run = open_run(SAMPLES / "18a-retries-and-failover")
    page = pictures.spending_html(run.story.trips, run.story.cost, run.masker)
    assert "no figure" in page and "5 bills without a figure" in page


def test_entries_left_out_are_counted() -> None:
    """A window is shown up to a number of entries, the newest of each region, and says what is missing."""
    run = open_run(SAMPLES / "18a-retries-and-failover")
    page = pictures.window_html(run.at().window, run.masker, most=3)
    assert page.count("<details") < 9 and "more earlier entries not shown here" in page


def test_how_long_it_has_been_silent_is_told_only_with_a_clock() -> None:
    """No statement uses a clock of its own; with `now` the headline tells the silence."""
    run = open_run(SAMPLES / "02a-killed-mid-batch")
    assert "no sign" not in pictures.headline(run.verdict)[0]
    words, tone = pictures.headline(run.verdict, run.verdict.heartbeat_at + 3600 * 9)
    assert "no sign for 9 h" in words and tone == "bad"


def test_a_run_that_cannot_be_read_still_has_pictures() -> None:
    """Damage is an answer on pictures too."""
    for name in ("H01-torn-tail", "H02-newer-build", "H05-files-disagree"):
        for run in open_runs(CASES / name / "input").values():
            assert pictures.mimebundle(run)["text/plain"]
            assert pictures.timeline_html(run.story, run.masker)
            assert pictures.verdict_html(run.verdict, run.masker)
            assert pictures.window_html(run.at().window, run.masker)


def test_a_folder_begins_with_what_needs_a_look() -> None:
    """Runs with unknown effects stand above complete ones."""
    page = pictures.folder_html(open_runs(SAMPLES / "08a-fan-out-with-workers"))
    assert page.index("? unknown 1") < page.index("● complete")
