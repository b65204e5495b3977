"""How an object shows itself in a notebook: it asks, and whoever draws has been named at the front door.

Rooms below the drawing one do not know it; `drawn_by` is how the two meet.
"""

from collections.abc import Callable
from typing import Any

from .masking import Masker

Drawer = Callable[[Any, Masker | None], dict[str, str]]
"""An object and the masker of its run to what it looks like, by MIME type."""

_drawer: list[Drawer] = []


def drawn_by(drawer: Drawer) -> None:
    """Name who draws: from now on every `Drawn` object asks there."""
    _drawer[:] = [drawer]


class Drawn:
    """Something with a card: text in a terminal, HTML in a notebook, the same words."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Text and HTML, masked and escaped; plain text alone where nobody draws."""
        masker = getattr(self, "masker", None)
        return _drawer[0](self, masker) if _drawer else {"text/plain": repr(self)}
