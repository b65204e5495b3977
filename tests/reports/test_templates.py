"""The notebooks of the kit: short cells, no outputs, parameters that papermill can read."""

import json
from pathlib import Path

import pytest

from recovery_kit.pictures import PAGE
from recovery_kit.reports import TEMPLATES, template_path

ROOM = Path(__file__).parents[2] / "recovery_kit" / "reports"


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_is_clean(template: str) -> None:
    """It holds no output and no count, says its kernel, and its first cell is tagged for papermill."""
    notebook = json.loads(template_path(template).read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert code[0]["metadata"]["tags"] == ["parameters"]
    assert all("#" in line for line in code[0]["source"]), "each parameter has a comment"
    assert all(len(cell["source"]) <= 8 for cell in code), "a cell calls a picture and nothing else"
    assert notebook["cells"][0] is code[0]


def test_a_path_is_a_template_too(tmp_path: Path) -> None:
    """Somebody's own notebook is taken by its path; a name that is neither gets one clear sentence."""
    own = tmp_path / "own.ipynb"
    own.write_text("{}")
    assert template_path(str(own)) == own
    with pytest.raises(ValueError, match="no template 'weekly'.*run, folder"):
        template_path("weekly")


def test_the_page_forbids_scripts_and_loads_nothing() -> None:
    """The policy is in the page's template, and its style names no place."""
    page = (ROOM / "html" / "index.html.j2").read_text("utf-8")
    assert "default-src 'none'" in page and "form-action 'none'" in page and "base-uri 'none'" in page
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert "url(" not in PAGE and "@import" not in PAGE
    assert "prefers-color-scheme: dark" in PAGE and "@media print" in PAGE
