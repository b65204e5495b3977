"""Reports from end to end: one page without script that needs no network, and a notebook that is kept when a cell
stops."""

import json
import os
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recovery_kit import reports
from recovery_kit.errors import MissingExtra, ReportFailed
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.reports import report
from recovery_kit.runs.opening import open_run

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "data" / "cases"
needs_papermill = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def _kernel_finds_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is a process of its own; it has to see this tree."""
    pytest.importorskip("papermill")
    pytest.importorskip("nbconvert")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


@needs_papermill
def test_a_report_of_hostile_runs(tmp_path: Path) -> None:
    """Runs with markup for names and with secrets become one page: nothing in it acts, loads or tells a secret."""
    for case in ("H09-markup-in-names", "H08-signing-key-in-the-journal"):
        shutil.copytree(CASES / case / "input" / "runs", tmp_path / "runs", dirs_exist_ok=True)
    (run_path,) = (tmp_path / "runs").glob("*000051")
    secret_run = open_run(next((tmp_path / "runs").glob("*000047")))

    made = report(run_path, tmp_path / "hostile.html", parameters={"max_rows": 50}, keep_notebook=True)
    again = report(secret_run, tmp_path / "secret.html", parameters={"title": "Signed"}, keep_notebook=True)

    hostile = made.read_text("utf-8")
    page = Page(hostile)
    assert "default-src 'none'" in hostile
    assert not {"script", "img", "a", "iframe", "link", "object", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("href", "src")]
    for never in json.loads((CASES / "H09-markup-in-names" / "expect.json").read_text())["html_must_not_contain"]:
        assert never not in hostile
    assert ("lang", "en") in page.attributes and {"main", "h1", "h2", "footer", "title"} <= set(page.tags)

    wanted = json.loads((CASES / "H08-signing-key-in-the-journal" / "expect.json").read_text())
    for file in (again, again.with_suffix(".ipynb")):
        text = file.read_text("utf-8")
        assert not [secret for secret in wanted["must_not_contain"] if secret in text]
    assert "<title>Signed</title>" in again.read_text("utf-8")
    assert "hooks.example.test" in again.read_text("utf-8")


def _notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "execution_count": None, "id": f"c{n}", "metadata": {}, "outputs": [], "source": cell}
        for n, cell in enumerate(cells)
    ]
    made[0]["metadata"] = {"tags": ["parameters"]}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


@needs_papermill
def test_a_report_that_stops_keeps_its_notebook(tmp_path: Path) -> None:
    """The executed notebook stays, is named by the error, and its traceback does not tell a secret of the run."""
    run_path = next((CASES / "H08-signing-key-in-the-journal" / "input" / "runs").iterdir())
    template = tmp_path / "own.ipynb"
    template.write_text(
        _notebook(
            'run_path = ""',
            "from pathlib import Path\nimport json\nmeta = json.loads((Path(run_path) / 'meta.json').read_text())",
            "raise KeyError(meta['callback_secret'])",
        )
    )
    with pytest.raises(ReportFailed) as stop:
        report(run_path, tmp_path / "out.html", template=str(template))
    assert "KeyError" in str(stop.value) and "whsec" not in str(stop.value)
    assert stop.value.__cause__ is None
    kept = Path(stop.value.path or "")
    assert kept.parent == tmp_path and kept.suffix == ".ipynb"
    assert "KeyError" in kept.read_text() and "whsec_DEMO" not in kept.read_text()
    assert not (tmp_path / "out.html").exists()


def test_a_parameter_that_the_template_lacks(tmp_path: Path) -> None:
    """A misspelled parameter is refused before anything runs, and the sentence lists those there are."""
    run_path = next((CASES / "H09-markup-in-names" / "input" / "runs").iterdir())
    with pytest.raises(ValueError, match="no parameter max_row: it has .*max_rows"):
        report(run_path, tmp_path / "out.html", parameters={"max_row": 3})
    with pytest.raises(ValueError, match="a parameter is a text"):
        report(run_path, tmp_path / "out.html", parameters={"title": tmp_path})
    assert not list(tmp_path.iterdir())


def test_without_papermill_the_install_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is an ImportError that says what to install."""
    monkeypatch.setattr(reports.making, "find_spec", lambda name: None)
    run_path = next((CASES / "H09-markup-in-names" / "input" / "runs").iterdir())
    with pytest.raises(MissingExtra, match=r"pip install 'recovery.kit\[report\]'") as no:
        report(run_path, tmp_path / "out.html")
    assert isinstance(no.value, ImportError)


@needs_papermill
def test_a_branch_beside_its_source(tmp_path: Path) -> None:
    """The report of a mirror tells where it parts from its source, what was edited, and where it came from."""
    source = ROOT / "sample_runs" / "02a-as-it-ended.zip"
    mirror = create_mirror(open_run(source), at=4, into=tmp_path / "mirrors")
    mirror.edit(region="task", entry=0, text="Close it, <b>all</b> of it.", author="somebody", reason="a question")
    page = report(
        mirror.path, tmp_path / "b.html", template="branch", parameters={"other_path": str(source)}
    ).read_text()
    assert "they part because one of them was edited" in page
    assert "a question" in page and "cut at 4" in page
    assert "<b>all</b>" not in page and "&lt;b&gt;all&lt;/b&gt;" in page
