"""The documentation is true: its examples run, and nothing of the command line is missing from the README."""

import os
import re
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path

import pytest
from samples import ROOT

import recovery_kit as rk
from recovery_kit.cli.registry import COMMANDS
from recovery_kit.records.engines import NEWEST, engine

PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if "```python" in path.read_text("utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python example of a page runs, one after the other, from the top of the repository; one that begins with
    what it needs (a store, a cluster) is only read."""
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
        code = compile(block, page.name, "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if not block.startswith("# needs"):
            exec(code, names)
    assert os.getcwd() == str(ROOT)


def test_corrections_are_explained() -> None:
    """Each rule in which `kit` differs from the newest engine has its row on the page."""
    page = (ROOT / "docs/restarts.md").read_text(encoding="utf-8")
    newest, kit = engine(NEWEST), engine("kit")
    rules = {rule for rule in newest.__slots__ if rule != "name" and getattr(newest, rule) != getattr(kit, rule)}
    assert rules == set(re.findall(r"^\| `([a-z_]+)` \|", page, re.M))


def test_every_command_is_documented() -> None:
    """Each command stands in the README or on a page."""
    text = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert not [name for name in COMMANDS if f"recovery-kit {name}" not in text]


def test_every_front_door_name_is_documented_or_a_table() -> None:
    """Each public name stands in the README, on a page or in a notebook."""
    places = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    text = "".join(path.read_text(encoding="utf-8") for path in places)
    assert not [name for name in rk.__all__ if name not in text]
