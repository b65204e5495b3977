"""The tree of a run and its mirrors, to choose from."""

from collections.abc import Callable
from typing import Any

import traitlets

from recovery_kit.mirrors.lineage import Lineage
from recovery_kit.pictures import Pen, Safe, el
from recovery_kit.pictures.vocabulary import STATUS

from .trees import line
from .view import View, front, refused_aloud


class FamilyTree(View):
    """Runs and what was cut from them. `on_pick` is told the id of the one that is chosen."""

    _esm, _css = front("family")
    rows: Any = traitlets.List().tag(sync=True)
    """Depth, name, status, where it was cut, whether it is gone."""
    picked = traitlets.Int(0).tag(sync=True)

    def __init__(self, tree: Lineage, **members: Any) -> None:
        self._told: list[Callable[[str], object]] = []
        self._ids: list[str] = []
        super().__init__(**members)
        self.show(tree)
        self.observe(self._picked, "picked")

    def show(self, tree: Lineage, pick: str | None = None) -> None:
        """Another tree; `pick` is the id that is chosen in it, by default the one that was."""
        wanted = pick if pick is not None else self.id
        rows = tree.rows()
        self._ids = [row["run_id"] for row in rows]
        with self.hold_sync():
            self.rows = [self._row(row) for row in rows]
            if wanted in self._ids:
                self.picked = self._ids.index(wanted)

    def _row(self, row: dict[str, Any]) -> list[Any]:
        look = STATUS.get(row["status"] or "")
        status = f"{look.sign} {look.word}" if look else line(row["status"], self.masker, 24, "gone from here")
        cut = f"cut at {line(row['at'], self.masker, 40)}, batch {row['batch']}" if row["at"] else ""
        return [
            row["depth"],
            line(row["run_id"], self.masker, 80),
            status,
            look.tone if look else "muted",
            cut,
            row["gone"],
        ]

    @property
    def id(self) -> str | None:
        """Id of the run that is chosen."""
        return self._ids[self.picked] if 0 <= self.picked < len(self._ids) else None

    def on_pick(self, tell: Callable[[str], object]) -> Callable[[str], object]:
        """Call `tell(id)` when another is chosen."""
        self._told.append(tell)
        return tell

    @refused_aloud
    def _picked(self, _: object) -> None:
        if self.id is not None:
            for tell in self._told:
                tell(self.id)

    def picture(self) -> Safe:
        return el("ul", [self._item(row) for row in self.rows], class_="rk-legend")

    def _item(self, row: list[Any]) -> Safe:
        depth, name, status, _, cut, _ = row
        return el(
            "li",
            "— " * depth,
            el("strong", name),
            " ",
            Pen().line(f"{status} {cut}", 120),
            class_="rk-key",
            style="flex-basis:100%",
        )

    def words(self) -> str:
        return "\n".join(f"{'  ' * row[0]}{row[1]}: {row[2]} {row[4]}".rstrip() for row in self.rows)
