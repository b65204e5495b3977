"""An executed notebook as one HTML file, and as text without the secrets of its runs.

Belongs here: nbconvert with our own template (`html/`): no script, nothing loaded, a policy that forbids both.
"""

import json
from pathlib import Path
from typing import Any

from recovery_kit.display import Masker
from recovery_kit.pictures import PAGE, bare

FOOTER = "Made by recovery_kit from the files of the runs alone. This page needs no network and holds no script."


def as_html(notebook: str, title: str) -> str:
    """The page of an executed notebook, given as its JSON. The same notebook gives the same page."""
    import nbformat
    from nbconvert import HTMLExporter

    exporter: Any = HTMLExporter(  # type: ignore[no-untyped-call]
        template_name="html",
        extra_template_basedirs=[str(Path(__file__).parent)],
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
        embed_images=True,
    )
    executed = nbformat.reads(notebook, as_version=4)  # type: ignore[no-untyped-call]
    for output in (output for cell in executed.cells for output in cell.get("outputs", ())):
        if "text/html" in output.get("data", {}):
            output.data["text/html"] = bare(output.data["text/html"])
    page, _ = exporter.from_notebook_node(
        executed,
        resources={"rk_title": title, "rk_style": PAGE, "rk_footer": FOOTER, "metadata": {"name": title}},
    )
    return str(page)


_NO_RUN_TEXT = frozenset({"text/html"})
"""Outputs of our own pictures are masked where they are made; a mask over markup could cut a tag."""


def without_secrets(notebook: str, masker: Masker) -> str:
    """The notebook with every other text masked: a traceback may quote what it stumbled over."""
    return json.dumps(_masked(json.loads(notebook), masker), indent=1, ensure_ascii=False) + "\n"


def _masked(value: Any, masker: Masker) -> Any:
    if isinstance(value, str):
        return masker(value)
    if isinstance(value, list):
        return [_masked(item, masker) for item in value]
    if isinstance(value, dict):
        return {name: item if name in _NO_RUN_TEXT else _masked(item, masker) for name, item in value.items()}
    return value
