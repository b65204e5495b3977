"""Views under a real mouse and keyboard, in JupyterLab with a real kernel and without a network."""

import json
from collections.abc import Iterator
from typing import Any

import browser
import pytest
from samples import CASES, SAMPLES, sample

pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())

PAYLOAD = (
    '<img src=x onerror="window.fired=(window.fired||0)+1"><svg onload="window.fired=1"><script>window.fired=1</script>'
)
FORENSICS = [
    f"""import recovery_kit as rk
from recovery_kit.widgets import browse, certainty, timeline
runs = rk.open_runs({str(SAMPLES)!r})
table = browse(runs)
table""",
    "run = runs['ledger-close-1796050248-86536bb22a39']\nline = timeline(run)\nline",
    "sure = certainty(run)\nsure",
]


@pytest.fixture(scope="module")
def page() -> Iterator[browser.Page]:
    with browser.page() as opened:
        yield opened


@pytest.fixture(scope="module")
def forensics(page: browser.Page) -> Iterator[browser.Page]:
    assert page.open("forensics.ipynb", FORENSICS) == []
    yield page
    page.shut()


def test_a_row_is_chosen_with_the_mouse_and_with_keys(forensics: browser.Page) -> None:
    """A click selects a run for Python; arrows go on from there; a word filters; what does not fit is said."""
    forensics.click(".rk-runs [data-at='3']")
    forensics.find(".rk-runs [data-at='3'][aria-selected='true']")
    assert forensics.kernel("table.selected.id") == repr("release-notes-1796050239-7b196ba9082f")
    forensics.press("\ue015", "\ue015", "\ue013")  # down, down, up
    forensics.find(".rk-runs [data-at='4'][aria-selected='true']")
    assert "ledger-close-1796050382" in forensics.kernel("table.selected.id")
    forensics.press("\ue010")  # End
    forensics.until(
        "const grid = document.querySelector('.rk-runs .rk-grid');"
        "return grid.getAttribute('aria-activedescendant').endsWith(`-${grid.ariaRowCount - 2}`)"
    )
    forensics.click(".rk-runs input[type=search]")
    forensics.press(*"unknown>0")
    forensics.find(".rk-runs [role=status]", " of ")
    forensics.press("x")
    forensics.find(".rk-runs .rk-refusal", "a condition is")


def test_a_heading_sorts(forensics: browser.Page) -> None:
    """A click on a heading sorts by it, another the other way round, and both are told to a screen reader."""
    forensics.driver.execute_script(
        "const i = document.querySelector('.rk-runs input'); i.value = ''; i.dispatchEvent(new Event('input'))"
    )
    forensics.until("return document.querySelector('.rk-runs [role=status]').textContent.match(/^[0-9]+ runs$/)")
    forensics.click(".rk-runs [role=columnheader] button", "effects")
    forensics.find(".rk-runs [aria-sort='descending']", "effects")
    forensics.find(".rk-runs [data-at='0'] .rk-chip", "unknown")
    forensics.click(".rk-runs [role=columnheader] button", "effects")
    forensics.find(".rk-runs [aria-sort='ascending']", "effects")


def test_the_timeline_is_walked_with_keys(forensics: browser.Page) -> None:
    """Home, arrows and End move the marker and the window, and Python follows."""
    forensics.click(".rk-scrub .rk-plot")
    forensics.press("\ue011")  # Home
    forensics.find(".rk-scrub .rk-bar strong", "point 0 of")
    forensics.press("\ue014", "\ue014")  # right, right
    forensics.find(".rk-scrub .rk-bar strong", "point 2 of")
    forensics.find(".rk-scrub .rk-facts", "restart 1")
    assert forensics.kernel("line.state.point") == "2"
    slider = json.loads(
        forensics.driver.execute_script(
            "const slider = document.querySelector('.rk-scrub [role=slider]');"
            "return JSON.stringify([slider.ariaValueNow, slider.ariaValueText])"
        )
    )
    assert slider[0] == "2"
    assert "restarts" in slider[1]
    forensics.press("\ue010")
    forensics.find(".rk-scrub .rk-entries .rk-new", "Closed.")


def test_an_entry_and_the_request_are_read(forensics: browser.Page) -> None:
    """An entry opens to its text; the other tab shows what the vendor is sent and would refuse."""
    forensics.click(".rk-scrub .rk-new summary", "Closed.")
    forensics.find(".rk-scrub pre", "Closed.")
    forensics.click(".rk-scrub [role=tab]", "What is sent")
    forensics.find(".rk-scrub [role=tabpanel] ol li", "user")
    forensics.driver.execute_script(
        "const select = document.querySelector('.rk-scrub select');"
        "select.selectedIndex = 1; select.dispatchEvent(new Event('change'))"
    )
    forensics.find(".rk-scrub [role=tabpanel] p", "anthropic would refuse")
    forensics.click(".rk-scrub [role=tab]", "Window")


def test_the_marker_is_dragged(forensics: browser.Page) -> None:
    """A drag moves the point here and in the kernel."""
    from selenium.webdriver.common.action_chains import ActionChains

    plot = forensics.find(".rk-scrub .rk-plot")
    ActionChains(forensics.driver, duration=20).move_to_element(plot).click_and_hold().move_by_offset(
        -200, 0
    ).release().perform()
    shown = forensics.text(".rk-scrub .rk-bar strong").split()[1]
    forensics.until("return document.querySelector('.rk-scrub details') !== null")
    assert forensics.kernel("line.step") == shown


def test_evidence_is_shown_on_click_and_by_arrows(forensics: browser.Page) -> None:
    """The evidence of a call is shown when it is clicked, and when an arrow comes to it."""
    forensics.click(".rk-effects .rk-call", "stood in")
    forensics.find(".rk-evidence dd", "a restart gave it up")
    forensics.press("\ue014")
    forensics.find(".rk-evidence dd", "● done")
    assert forensics.kernel("sure.selected.certainty") == "'done'"


def test_a_refusal_of_the_kernel_is_seen(forensics: browser.Page) -> None:
    """What a callback raises stands in the view as text."""
    forensics.kernel(f"@table.on_select\ndef no(run):\n    raise ValueError({PAYLOAD!r})")
    forensics.click(".rk-runs [data-at='1']")
    forensics.find(".rk-runs .rk-refusal", "<img src=x")
    forensics.kernel("table._told.clear()")


def test_a_page_that_is_loaded_anew_shows_the_same(forensics: browser.Page) -> None:
    """A second output of a view that is already there comes up at the same place."""
    forensics.kernel("line.step = 4")
    forensics.find(".rk-scrub .rk-bar strong", "point 4 of")
    forensics.find(".rk-scrub .rk-facts", "byte")


def test_running_a_cell_again_closes_what_it_made(forensics: browser.Page) -> None:
    """Twenty runs of a cell leave as many widgets, threads and files as one."""
    forensics.kernel(
        "import ipywidgets, os, threading, gc\n"
        "def held():\n    gc.collect()\n"
        "    return len(ipywidgets.widgets.widget._instances), threading.active_count(), "
        "len(os.listdir('/proc/self/fd'))"
    )
    before = forensics.kernel("held()")
    for _ in range(20):
        forensics.run_script(
            "jupyterapp.shell.currentWidget.content.activeCellIndex = 2;"
            "await jupyterapp.commands.execute('notebook:run-cell')"
        )
    assert forensics.kernel("held()") == before
    forensics.find(".rk-effects .rk-call", "stood in")


FORMS = [
    f"""import shutil, tempfile, pathlib
import recovery_kit as rk
from recovery_kit.recovery.reload import reload_run
from recovery_kit.widgets import answer, workbench
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import RefusingProvider, Reply, ScriptedProvider
place = pathlib.Path(tempfile.mkdtemp())
source = pathlib.Path({str(sample("05a-parked-at-a-question"))!r})
shutil.copytree(source, place / source.name)
world = AgentWorld(RefusingProvider(), folder=place)
reload_run(world, place, source.name)
form = answer(world.prompts[0], world)
form""",
    f"""providers = {{"script": lambda run: ScriptedProvider([Reply(text="Closed.")])}}
bench = workbench({str(SAMPLES)!r}, place / "mirrors", providers=providers)
bench""",
]


@pytest.fixture(scope="module")
def forms(page: browser.Page) -> Iterator[browser.Page]:
    assert page.open("forms.ipynb", FORMS) == []
    yield page
    page.kernel("bench.close(); world.close(); shutil.rmtree(place)")
    page.shut()


def test_a_question_is_answered_with_the_mouse(forms: browser.Page) -> None:
    """The cell has ended, the kernel is free; a click answers, and the answer is durable."""
    forms.find(".rk-pane", "asked")
    option = forms.kernel("form.prompt.options[0]").strip("'")
    forms.click("button", option)
    forms.find(".rk-pane", "● answered")
    assert forms.kernel("form.given") == "{'choice': 0}"
    assert forms.kernel("len([p for p in world.prompts if p.id == form.prompt.id])") == "0"


def test_a_morning_at_the_workbench(forms: browser.Page) -> None:
    """Find the unknown effect, branch, edit, say that it did not happen, go on, compare; each is shown as code."""
    forms.click(".rk-runs [role=columnheader] button", "effects")
    forms.find(".rk-runs [data-at='0'] .rk-chip", "unknown")
    forms.click(".rk-runs [data-at] .rk-cell", "ledger-close-1796050230")
    forms.find(".rk-pane", "b2")
    forms.click(".lm-TabBar-tab", "Timeline")
    forms.find(".rk-scrub .rk-bar strong", "point")
    forms.click(".lm-TabBar-tab", "Effects")
    forms.click(".rk-effects .rk-call", "unknown")
    forms.find(".rk-evidence dd", "? unknown")
    forms.click(".lm-TabBar-tab", "Mirrors")
    forms.kernel("bench.mirrors.at.value = 'end'")
    forms.click("button", "Branch here")
    forms.find(".rk-family .rk-on", "paused")
    forms.kernel("bench.mirrors.text.value = 'Close it, skip JE-304.'")
    forms.click("button", "Change this entry")
    forms.find(".rk-pane pre", "/window/task/0/content")
    forms.kernel("for row in bench.mirrors.effects.children: row.children[1].value = 'did-not'")
    forms.click("button", "Resume")
    forms.find(".rk-pane", "the run is")
    forms.until("return ![...document.querySelectorAll('.rk-pane')].some((n) => n.textContent.includes('it goes on'))")
    forms.click("button", "Compare with the run")
    forms.find(".rk-pane li", "they part because")
    forms.find(".rk-code pre", "rk.compare(run, mirror)")


def hostile_cells() -> list[str]:
    places = [
        str(sample("16a-hostile-text")),
        str(CASES / "H09-markup-in-names/input/runs"),
        str(CASES / "H03-text-that-breaks/input/runs"),
    ]
    return [
        "import recovery_kit as rk\nfrom IPython.display import display\n"
        "from recovery_kit.widgets import browse, certainty, timeline",
        *(f"runs = rk.open_runs({place!r})\ndisplay(browse(runs))\n"
          "for run in runs.values():\n    display(timeline(run), certainty(run))" for place in places),
    ]  # fmt: skip


def test_text_of_a_run_stays_text(page: browser.Page) -> None:
    """Everything of hostile runs is opened: nothing of it runs, nothing of it becomes an element."""
    assert page.open("hostile.ipynb", hostile_cells()) == []
    page.find(".rk-effects .rk-batch")
    page.run_script(
        """const root = jupyterapp.shell.currentWidget.node, rest = (ms) => new Promise((r) => setTimeout(r, ms));
           const all = (css) => [...root.querySelectorAll(css)];
           const until = async (test) => { for (let n = 0; n < 200 && !test(); n += 1) await rest(50); };
           for (const plot of all('.rk-plot')) plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'End'}));
           for (const v of all('.rk-effects')) [...v.querySelectorAll('.rk-call')].slice(0, 5).map((c) => c.click());
           for (const view of all('.rk-runs')) view.querySelector('[data-at]')?.click();
           const scrubs = all('.rk-scrub').filter((v) => v.querySelector('[role=slider][aria-valuenow]'));
           const ledgers = all('.rk-effects').filter((view) => view.querySelector('.rk-call'));
           await until(() => scrubs.every((view) => view.querySelector('[role=tabpanel] details')));
           for (const fold of all('.rk-view details')) fold.open = true;
           await until(() => scrubs.every((v) => v.querySelector('pre')));
           await until(() => ledgers.every((v) => v.querySelector('dl')));
           const before = all('.rk-scrub pre').length;
           for (const view of scrubs) view.querySelectorAll('[role=tab]')[1].click();
           await until(() => scrubs.every((view) => view.querySelector('h4')));
           for (const fold of all('.rk-view details')) fold.open = true;
           await until(() => all('.rk-scrub pre').length > before);
           if (all('.rk-scrub pre').length <= before) throw new Error('no message was opened');"""
    )
    assert (
        page.driver.execute_script(
            "return document.querySelectorAll('.rk-view img, .rk-view script, .rk-view iframe, .rk-view a').length"
        )
        == 0
    )
    assert page.driver.execute_script("return window.fired ?? 0") == 0
    assert (
        page.driver.execute_script(
            "const said = jupyterapp.shell.currentWidget.node.querySelectorAll('.rk-view .rk-refusal');"
            "return [...said].map((node) => node.textContent).join('')"
        )
        == ""
    )
    page.shut()


def test_nothing_was_asked_of_a_network(page: browser.Page) -> None:
    """Nobody tried to reach a name, and no script of ours failed."""
    names: list[Any] = page.driver.execute_script(
        "const ours = /^(http:..(127.0.0.1|localhost)|data:|blob:)/;"
        "return performance.getEntriesByType('resource').map((e) => e.name).filter((name) => !ours.test(name))"
    )
    assert names == []
    assert page.complaints() == []
