"""Pictures of the views for the documentation, taken in JupyterLab: `python tests/shots.py` (or `make shots`).

Needs what the browser tests need; says so where it is missing. Only sample runs are shown.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "widgets")]

import browser  # noqa: E402
from samples import SAMPLES  # noqa: E402

DOCS = HERE.parent / "docs"
CELLS = [
    f"""import pathlib, shutil, tempfile
import recovery_kit as rk
from recovery_kit.widgets import answer, browse, certainty, timeline, workbench
from recovery_kit.world.asked import Prompt
runs = rk.open_runs({str(SAMPLES)!r})
table = browse(runs)
table""",
    "run = runs['ledger-close-1796050248-86536bb22a39']\nline = timeline(run)\nline",
    "sure = certainty(run)\nsure",
    """answer(Prompt("ledger-close-ask-0", run.id, "tool_approval", "May I post this entry?", "close", 1796050249,
       tool="shell", arguments='{"command": "sh post.sh JE-604 61.00"}'))""",
]
BENCH = [
    f"""import os, pathlib, tempfile
from recovery_kit.widgets import workbench
from recovery_kit.world.providers import Reply, ScriptedProvider
place = pathlib.Path(tempfile.mkdtemp())
os.chdir(place)
os.symlink({str(SAMPLES)!r}, "sample_runs")
providers = {{"script": lambda run: ScriptedProvider([Reply(text="Closed.")] * 9)}}
bench = workbench("sample_runs", "mirrors", providers=providers)
bench"""
]


def views(page: browser.Page) -> None:
    """One picture a view, light, and the timeline also dark."""
    assert page.open("views.ipynb", CELLS) == []
    page.find(".rk-runs [data-at='2'] .rk-chip", "unknown")
    page.click(".rk-runs [data-at='2']")
    page.click(".rk-effects .rk-call", "stood in")
    page.find(".rk-evidence dl")
    page.find(".rk-scrub [role=tabpanel] details")
    page.shot(".rk-runs", DOCS / "browse.png")
    page.shot(".rk-scrub", DOCS / "timeline.png")
    page.shot(".rk-effects", DOCS / "certainty.png")
    page.shot(".jp-Cell:last-child .jp-OutputArea-output .widget-vbox", DOCS / "answer.png")
    page.theme(dark=True)
    page.until("return document.querySelector('.rk-scrub canvas') !== null")
    page.driver.execute_script("window.dispatchEvent(new Event('resize'))")
    page.shot(".rk-scrub", DOCS / "timeline-dark.png")
    page.theme(dark=False)
    page.shut()


def bench(page: browser.Page) -> None:
    """The workbench on the way from an unknown effect to a branch that is compared."""
    page.driver.set_window_size(1560, 1250)
    assert page.open("bench.ipynb", BENCH) == []
    page.find(".rk-runs [data-at='1'] .rk-chip", "3 unknown")
    page.click(".rk-runs [data-at='1']")
    page.click(".lm-TabBar-tab", "Effects")
    page.click(".rk-effects .rk-call", "unknown")
    page.find(".rk-evidence dd", "? unknown")
    whole = ".jp-Cell:last-child .jp-OutputArea-output .widget-vbox"
    page.shot(whole, DOCS / "workbench-effects.png")
    page.click(".lm-TabBar-tab", "Mirrors")
    page.kernel("bench.mirrors.at.value = 'end'")
    page.click("button", "Branch here")
    page.find(".rk-family .rk-on", "paused")
    page.kernel(
        "bench.mirrors.text.value = 'Close the ledger of 26 November, and skip JE-304.'\n"
        "bench.mirrors.reason.value = 'post it by hand'"
    )
    page.click("button", "Change this entry")
    page.find(".rk-pane pre", "/window/task/0/content")
    page.kernel("for row in bench.mirrors.effects.children: row.children[1].value = 'did-not'")
    page.click("button", "Resume")
    page.find(".rk-pane", "the run is")
    page.click("button", "Compare with the run")
    page.find(".rk-pane li", "they part because")
    page.shot(whole, DOCS / "workbench-mirrors.png")
    page.theme(dark=True)
    page.shot(whole, DOCS / "workbench-dark.png")
    page.kernel("import shutil; bench.close(); shutil.rmtree(place)")
    page.shut()


def main() -> int:
    """All pictures."""
    if browser.missing():
        print(browser.missing(), file=sys.stderr)
        return 2
    with browser.page() as page:
        views(page)
        bench(page)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
