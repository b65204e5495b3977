"""Runs of workflows as cards, tables and reports: masked, escaped, in the same words as text and HTML."""

from pathlib import Path

import pytest
from looms.release_notes import A, C, history_a, history_b, history_c, named
from samples import SAMPLES

import recovery_kit as rk
from recovery_kit.pictures import (
    boundaries_html,
    each_html,
    folder_html,
    loom_effects_html,
    loom_prompts_html,
    mimebundle,
)
from recovery_kit.runs.loom_run import open_loom_runs

KEY = "ghp_" + "a1" * 20
HOSTILE = f"<script>x</script> {KEY}"


def hostile_runs():
    """Runs whose intent and question hold markup and a key."""
    files = named(history_a(12), history_b(), history_c())
    dirty = HOSTILE.encode()
    for clean in (b"Write notes for 2.4", b"Publish the 2.4 notes?"):
        files = {name: data.replace(clean, dirty) for name, data in files.items()}
    return open_loom_runs(files)


def test_everything_shows_itself() -> None:
    """A Run, its state, a boundary and its verdict have text and HTML; no markup and no key gets through."""
    for run in hostile_runs().values():
        for thing in (run, run.at(), run.points[0], run.verdict):
            bundle = mimebundle(thing)
            assert bundle["text/plain"] and "<script" not in bundle["text/html"]
            assert KEY not in "".join(bundle.values())
        tables = loom_effects_html(run.effects, run.masker), loom_prompts_html(run.prompts, run.masker)
        for html in (boundaries_html(run), *tables):
            assert KEY not in html and "<script" not in html


def test_what_is_shown() -> None:
    """The card says what is unknown, the verdict lists it, the listing has both systems."""
    runs = {run.id: run for run in hostile_runs().values()}
    assert "1 Call of unknown outcome" in mimebundle(runs[C])["text/plain"]
    assert "A person is needed" in mimebundle(runs[A])["text/html"]
    both = rk.open_runs(SAMPLES)
    listing = mimebundle(both)
    assert "user ask confirmation" in listing["text/plain"] and "fan out workers" in listing["text/plain"]
    assert "publish/confirm" in folder_html(both) and "boundaries" in each_html(both.loom_runs)


@pytest.mark.parametrize("name", ["Run", "project"])
def test_a_report(name: str, tmp_path: Path) -> None:
    """One Run has its own template, a project is a folder of Runs; both are one page without script."""
    pytest.importorskip("papermill")
    runs = rk.open_runs(SAMPLES / "22-workflow-killed-at-every-boundary")
    page = rk.report(runs.loom_runs[0] if name == "Run" else runs, tmp_path / "report.html").read_text("utf-8")
    assert runs.loom_runs[0].id in page and "<script" not in page
    assert ("What a start would do" in page) == (name == "Run")
