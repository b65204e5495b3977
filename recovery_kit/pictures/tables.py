"""Tables and folds in HTML: the shapes that several pictures share.

Belongs here: shapes. What stands in a column is said by the picture that has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from recovery_kit.display import count_text

from .markup import Child, Safe, el, join


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, the cell of a row, and `t` for text, `n` for a number, `w` for words on one
    line."""

    heading: str
    cell: Callable[[Any], Child]
    align: str = "t"


def table_html(
    caption: str, columns: Sequence[Column], rows: Sequence[Any], most: int | None = None, total: Sequence[Child] = ()
) -> Safe:
    """A table with headings that screen readers know; the first column heads its row.

    `most`: rows shown, what is left out is said. `total`: cells of a last row.
    """
    shown = rows if most is None else rows[:most]
    head = el("tr", [el("th", c.heading, scope="col", class_=f"rk-{c.align}") for c in columns])
    body = [el("tr", [_cell(place, column, column.cell(row)) for place, column in enumerate(columns)]) for row in shown]
    foot = (
        el("tfoot", el("tr", [_cell(place, *pair) for place, pair in enumerate(zip(columns, total, strict=True))]))
        if total
        else None
    )
    left = left_out(len(rows) - len(shown), "row")
    table = el("table", el("caption", caption), el("thead", head), el("tbody", body), foot)
    return join([el("div", table, class_="rk-scroll", tabindex=0, role="region", aria_label=caption), left])


def _cell(place: int, column: Column, content: Child) -> Safe:
    if place == 0:
        return el("th", content, scope="row", class_=f"rk-{column.align}")
    return el("td", content, class_=f"rk-{column.align}")


def left_out(n: int, one: str, many: str = "") -> Safe | None:
    """A line that says how much is not shown; None where nothing is missing."""
    words = count_text(n, f"more {one}", f"more {many or one + 's'}")
    return el("p", f"{words} not shown here.", class_="rk-muted") if n > 0 else None


def fold(summary: Child, *inside: Child, is_open: bool = False, inner: bool = True) -> Safe:
    """Something that opens on a click, and without a script."""
    body = el("div", inside, class_="rk-inner") if inner else join(inside)
    return el("details", el("summary", summary), body, open=is_open, class_="rk-fold")


def nothing(sentence: str) -> Safe:
    """What stands where there is nothing to show."""
    return el("p", sentence, class_="rk-muted")
