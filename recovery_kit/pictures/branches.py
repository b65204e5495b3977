"""Pictures of branches: edits with their patches, and two branches side by side from where they part."""

import json
from collections.abc import Sequence
from typing import Any

from recovery_kit.display import Masker, count_text, time_text
from recovery_kit.mirrors.branches import Step
from recovery_kit.mirrors.comparing import Comparison, Pair
from recovery_kit.mirrors.editing import Edit
from recovery_kit.mirrors.lineage import Lineage

from .markup import Pen, Safe, el, join
from .tables import Column, fold, table_html

MOST_ROWS = 200
_HOW = {"same": "= the same", "similar": "≈ alike", "only_a": "← only left", "only_b": "→ only right"}


def edits_html(edits: Sequence[Edit], masker: Masker | None = None) -> Safe:
    """Edits, newest last, each with the patch it made (RFC 6902)."""
    if not edits:
        return el("p", "No edit so far.", class_="rk-muted")
    pen = Pen(masker)
    return join([_edit(pen, edit, edit is edits[-1]) for edit in edits])


def _edit(pen: Pen, edit: Edit, is_open: bool) -> Safe:
    who = f"edit {edit.number}, {time_text(edit.at)}{', ' + edit.author if edit.author else ''}"
    state = " (undone)" if edit.undone else ""
    patch = json.dumps(list(edit.patch), ensure_ascii=False, indent=1) if edit.patch else "nothing changed: a note"
    head = [el("strong", pen.line(who + state, 120)), " ", pen.line(edit.reason, 200, "")]
    return fold(head, pen.whole(patch, 3000), is_open=is_open)


def comparison_html(found: Comparison) -> Safe:
    """Where branches part, in sentences and as rows side by side."""
    pen = Pen(found.masker)
    said = el("ul", [el("li", pen.line(sentence, 400)) for sentence in found.sentences()])
    return join([said, *(_rows(pen, pair) for pair in found.pairs)])


def lineage_html(tree: Lineage, masker: Masker | None = None) -> Safe:
    """The tree of runs and mirrors, a line each, indented below what it was cut from."""
    pen = Pen(masker)
    lines = [("  " * depth, kin) for root in tree.roots for depth, kin in root.walk()]
    return el("ul", [el("li", indent, pen.line(kin.text(), 300)) for indent, kin in lines])


def _rows(pen: Pen, pair: Pair) -> Safe:
    columns = [
        Column("step", lambda row: _HOW.get(row.how, str(row.how).replace("_", " ")), "w"),
        Column(pen.plain(pair.a.label, 60), lambda row: _step(pen, row.a), "x"),
        Column(pen.plain(pair.b.label, 60), lambda row: _step(pen, row.b), "x"),
    ]
    return table_html(f"{count_text(len(pair.rows), 'step')} after the cut", columns, pair.rows, MOST_ROWS)


def _step(pen: Pen, step: Step | None) -> Any:
    if step is None:
        return "–"
    if step.kind == "text":
        return join(["says ", pen.line(step.text, 160)])
    result = join([" → ", pen.line(step.result, 80)]) if step.result is not None else f" ({step.certainty})"
    return join([el("code", pen.line(step.name, 40)), " ", pen.line(step.text, 120), result])
