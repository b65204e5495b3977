"""The page about views is true: its examples run, and its pictures are there."""

import re
from pathlib import Path

import pytest
from samples import ROOT, SAMPLES

PAGE = ROOT / "docs" / "widgets.md"


def test_its_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the page runs, in order, beside the sample runs."""
    (tmp_path / "sample_runs").symlink_to(SAMPLES)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)):
        exec(compile(code, f"example {number}", "exec"), names)


def test_its_pictures_are_there() -> None:
    """Every picture that the page shows is in the folder, with words for those who do not see it."""
    pictures = re.findall(r"!\[(.*?)\]\((.*?)\)", PAGE.read_text("utf-8"))
    assert pictures
    for words, name in pictures:
        assert words
        assert (PAGE.parent / name).is_file()
