"""Views that a cell made, closed when the cell runs again: a re-run leaves no open channel behind.

Belongs here: whose cell it is. A view that no cell made (a script, a test) is closed by whoever made it.
"""

import sys
from typing import Any, Protocol


class Closable(Protocol):
    def close(self) -> None: ...


_made: dict[str, tuple[int, list[Closable]]] = {}
"""By cell: the count of the run that made them, and what it made."""
_MOST_CELLS = 500


def made_by_this_cell(view: Closable) -> None:
    """Remember a view; close those that an earlier run of the same cell made."""
    cell = _cell()
    if cell is None:
        return
    name, count = cell
    before = _made.get(name)
    if before is None or before[0] != count:
        for old in before[1] if before else ():
            old.close()
        before = _made[name] = (count, [])
    before[1].append(view)
    while len(_made) > _MOST_CELLS:
        del _made[next(iter(_made))]


def _cell() -> tuple[str, int] | None:
    """The cell that runs now, by the name its front end gave it, else by its text; and the count of this run."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    parent = getattr(shell, "parent_header", None) or {}
    if (parent.get("header") or {}).get("msg_type") != "execute_request":
        return None  # a message of a view, not a cell
    name = (parent.get("metadata") or {}).get("cellId") or (parent.get("content") or {}).get("code", "")
    return str(name), int(shell.execution_count)
