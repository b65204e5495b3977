"""IntLoom projects, reports, Lab, help: what is not about one Leviath run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CASES, FINISHED, KILLED, Kit

from recovery_kit.cli import lab, main

PROJECT = CASES / "H11-loom-phases" / "input"


def test_check_of_a_project(kit: Kit) -> None:
    """An IntLoom project is one object, with a row for each checkpoint."""
    result = kit("check", "--json", PROJECT)
    (row,) = json.loads(result.stdout)
    assert result.exit_code == 0 and row["runtime"] == "intloom"
    assert set(row["checkpoints"]) == set(json.loads((PROJECT.parent / "expect.json").read_text())["checkpoints"])


def test_check_of_a_project_and_a_run(kit: Kit) -> None:
    """Both kinds go into one list, and into one text."""
    assert len(json.loads(kit("check", "--json", PROJECT, FINISHED).stdout)) == 2
    assert "on a restart: resume at boundary" in kit("check", PROJECT, FINISHED).stdout


def _template(path: Path, last_line: str) -> Path:
    cells = [
        {"cell_type": "code", "id": "p", "metadata": {"tags": ["parameters"]}, "source": "run_path = ''",
         "outputs": [], "execution_count": None},
        {"cell_type": "code", "id": "c", "metadata": {}, "source": last_line, "outputs": [], "execution_count": None},
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_a_report_that_fails_is_kept_and_named(kit: Kit, tmp_path: Path) -> None:
    """Status 1, and the sentence leads to the notebook."""
    template = _template(tmp_path / "broken.ipynb", "1 / 0")
    result = kit("report", KILLED, "-o", tmp_path / "out.html", "--template", template)
    assert result.exit_code == 1 and result.stdout == ""
    kept = list(tmp_path.glob("*out*.ipynb"))
    assert kept and str(kept[0]) in result.stderr


@pytest.mark.parametrize(
    "words", [["--template", "nosuch"], ["-p", "only-a-name"], []], ids=["template", "pair", "where"]
)
def test_a_report_asked_for_wrongly(kit: Kit, tmp_path: Path, words: list[str]) -> None:
    """A wrong template, half a parameter or a folder that is not there is trouble, before anything runs."""
    to = tmp_path / "out.html" if words else tmp_path / "nowhere" / "out.html"
    result = kit("report", KILLED, "-o", to, *words)
    assert result.exit_code == 2 and not to.exists()


def test_lab_without_jupyterlab(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the install that helps."""
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    result = kit("lab")
    assert result.exit_code == 2 and "pip install 'recovery-kit[lab]'" in result.stderr


def test_help_loads_no_library_of_the_house() -> None:
    """Help needs click and the table of commands, nothing that reads a run."""
    code = (
        "from recovery_kit.cli import main\nmain(['--help'], standalone_mode=False)\nimport sys\n"
        "heavy = ('msgspec', 'orjson', 'pandas', 'nbconvert', 'recovery_kit.runs')\n"
        "print('LOADED', [name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "LOADED []" in done.stdout


def test_the_entry_gives_its_status() -> None:
    """Called from Python it answers with the status instead of ending the process."""
    assert main(["check", str(FINISHED)], standalone_mode=False) == 0
    assert main(["frobnicate"], standalone_mode=False) == 2
