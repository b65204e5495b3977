"""docs/fleet.md: its examples run, those that need more than a plain install where that is there."""

import re
from importlib.util import find_spec

import pytest
from samples import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as somebody reads them."""
    monkeypatch.chdir(ROOT)
    space: dict[str, object] = {}
    for block in BLOCKS:
        if not block.startswith("# needs"):
            exec(compile(block, "docs/fleet.md", "exec"), space)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_is_python(block: str) -> None:
    """Those that are not run here, too."""
    compile(block, "docs/fleet.md", "exec")


@pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")
def test_the_recipe_for_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten lines over the same function."""
    monkeypatch.chdir(ROOT)
    space: dict[str, object] = {}
    exec(next(block for block in BLOCKS if block.startswith("# needs Ray")), space)
    assert len(space["frame"]) > 0  # type: ignore[arg-type]
