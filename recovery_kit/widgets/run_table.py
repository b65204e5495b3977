"""`browse`: runs in a table that filters, sorts and selects; ten thousand of them as well as ten."""

from collections.abc import Callable
from typing import Any

import traitlets

from recovery_kit.pictures import Safe, runs_html, runs_text
from recovery_kit.runs.collection import AnyRun, Runs

from .run_rows import COLUMNS, META, RunRows, Wanted, counted
from .view import Question, Reply, View, front, refused_aloud

MOST_ROWS = 120
"""Rows in one answer."""


class RunTable(View):
    """Runs as rows. The browser holds only the rows that are seen; the kernel orders and filters.

    `selected` is the run of the row that was chosen last, or None. `on_select` is told each time.
    """

    _esm, _css = front("run_table")
    columns: Any = traitlets.List().tag(sync=True)
    total = traitlets.Int(0).tag(sync=True)
    picked = traitlets.Int(-1).tag(sync=True)
    """Number of the row that is selected; -1 for none."""
    come = traitlets.Int(0).tag(sync=True)
    """Rises when runs came or were read anew."""

    def __init__(self, runs: Runs, **members: Any) -> None:
        self.runs = runs
        self._rows = RunRows(runs)
        self._told: list[Callable[[AnyRun], object]] = []
        columns = [{"key": c.key, "heading": c.heading, "width": c.width} for c in COLUMNS]
        super().__init__(columns=columns, total=len(runs), **members)
        self.observe(self._picked, "picked")

    @property
    def selected(self) -> AnyRun | None:
        """The run of the selected row."""
        return self._rows.runs[self.picked] if 0 <= self.picked < len(self._rows.runs) else None

    def select(self, key: str) -> None:
        """Select a run by its id, path or unique prefix, as if its row had been chosen. Raises UnknownMoment."""
        self.picked = self._rows.runs.index(self.runs[key])

    def on_select(self, tell: Callable[[AnyRun], object]) -> Callable[[AnyRun], object]:
        """Call `tell(run)` at each selection; also as a decorator. What it raises is shown in the table."""
        self._told.append(tell)
        return tell

    def refresh(self) -> tuple[str, ...]:
        """Look again; the keys of runs that came. Rows keep their numbers, and the selection stays."""
        new = self.runs.refresh()
        self._rows.grow(self.runs)
        self.total, self.come = len(self._rows.runs), self.come + 1
        return new

    @refused_aloud
    def _picked(self, _: object) -> None:
        run = self.selected
        if run is not None:
            for tell in self._told:
                tell(run)

    def _page(self, question: Question) -> Reply:
        """Rows `first` and on, under a filter and an order; or how far the reading for it has come."""
        wanted = Wanted(str(question.get("query", ""))[:200], str(question.get("sort", "")), bool(question.get("down")))
        order = self._rows.order(wanted)
        if isinstance(order, tuple):
            return {"read": order[0], "of": order[1]}
        first = max(0, int(question.get("first", 0)))
        numbers = order[first : first + min(int(question.get("count", MOST_ROWS)), MOST_ROWS)]
        place = order.index(self.picked) if self.picked in order else -1
        return {
            "first": first, "fitting": len(order), "said": counted(len(order), len(self._rows.runs)), "place": place,
            "rows": [[n, self._rows.cells(n, META)] for n in numbers],
        }  # fmt: skip

    def _deep(self, question: Question) -> Reply:
        """What needs the journals of some rows, as many as a slice of time allows."""
        return {"rows": list(self._rows.deep([int(n) for n in question.get("numbers", ())][:MOST_ROWS]))}

    def _again(self, _: Question) -> Reply:
        return {"new": len(self.refresh())}

    ANSWERS = {"page": _page, "deep": _deep, "again": _again}

    def picture(self) -> Safe:
        return runs_html(self.runs)

    def words(self) -> str:
        return runs_text(self.runs)


def browse(runs: Runs) -> RunTable:
    """A table of runs to choose from. `.selected` is the chosen run; `.on_select(tell)` calls back.

    Arrows, Page Up and Down, Home and End choose; a word filters, and so do conditions as `recovery-kit ls --where`
    takes them (`unknown>0`). Journals are read only for rows that are seen, and where a filter or an order needs them.
    """
    return RunTable(runs)
