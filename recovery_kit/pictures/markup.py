"""Markup that cannot come from a run: the `Safe` string, and the one function that builds elements.

Belongs here: building. Every tag and attribute the kit draws with is in the two lists below; there is no way to write a
script, a handler, a link or anything that loads. What is drawn is said elsewhere; what text of a run goes through is
`Pen`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from recovery_kit.display import Masker, count_text, html, middle, preview, shown

from .styles import twin

TAGS = frozenset(
    "b br caption code details div figcaption figure footer h1 h2 h3 header li ol p pre section small span strong "
    " summary table tbody td tfoot th thead tr ul "
    "svg g rect line path circle text title defs pattern".split()
)
ATTRIBUTES = frozenset(
    "class style id role scope colspan open lang tabindex aria-label aria-hidden aria-labelledby "
    "x y x1 x2 y1 y2 cx cy r d width height viewBox preserveAspectRatio fill stroke stroke-width stroke-dasharray "
    "fill-opacity text-anchor font-size font-weight patternUnits patternTransform overflow".split()
)
_EMPTY = frozenset({"br"})
_UNSAFE_VALUE = re.compile(r"(?i)javascript:|expression\(|https?:|//|@import")


class Safe(str):
    """Markup that only escaping and our own elements produced. Adding a plain text to it gives a plain text again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<markup: {count_text(len(self), 'character')}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """In a notebook it shows itself, its styles inline."""
        return {"text/plain": repr(self), "text/html": twin(self)}


Child = str | int | float | None | Iterable["Child"]


def el(tag: str, *children: Child, **attributes: str | int | float | bool | None) -> Safe:
    """An element. A child that is no `Safe` is text and gets escaped; None is nothing; a list is its items.

    Attribute names are spelled `class_`, `aria_label`, `viewBox`; None and False leave one out. Raises ValueError for a
    tag or an attribute that is not in the lists: a mistake of ours, never of a run.
    """
    if tag not in TAGS:
        raise ValueError(f"no element of ours: {tag}")
    head = tag + "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _EMPTY:
        return Safe(f"<{head}>")
    return Safe(f"<{head}>{join(children)}</{tag}>")


def join(children: Iterable[Child], between: str = "") -> Safe:
    """Children one after the other, each escaped unless it is `Safe`."""
    return Safe(html(between).join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Safe):
        return child
    if isinstance(child, str):
        return html(child)
    return number(child) if isinstance(child, int | float) else join(child)


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    if spelled not in ATTRIBUTES:
        raise ValueError(f"no attribute of ours: {spelled}")
    text = "" if value is True else value if isinstance(value, str) else number(value)
    if spelled not in _TEXT_ATTRIBUTES and _UNSAFE_VALUE.search(text):
        raise ValueError(f"a value that {spelled} may not have")
    return f' {spelled}="{text if isinstance(text, Safe) else html(text)}"'


_TEXT_ATTRIBUTES = frozenset({"aria-label"})
"""Attributes that hold text for a person; the others are words and numbers of ours."""


def number(value: int | float) -> str:
    """A coordinate in few characters."""
    return str(value) if isinstance(value, int) else f"{value:.2f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """A share of the width, as a coordinate."""
    return number(share * 100) + "%"


@dataclass(frozen=True, slots=True)
class Pen:
    """Writes text of one run: masked, then shortened, then escaped."""

    masker: Masker | None = None

    def line(self, text: str | None, limit: int = 160, nothing: str = "–") -> Safe:
        """One line."""
        return Safe(shown(text, self.masker, limit, html)) if text is not None else Safe(html(nothing))

    def plain(self, text: str, limit: int = 160) -> str:
        """One line, masked and shortened, for a place that escapes by itself."""
        return shown(text, self.masker, limit, str)

    def whole(self, text: str, limit: int) -> Safe:
        """Lines as they are; both ends of a text longer than `limit` characters, and how much of it is left out."""
        return self._cut(text, limit, middle)

    def beginning(self, text: str, limit: int) -> Safe:
        return self._cut(text, limit, preview)

    def _cut(self, text: str, limit: int, shorten: Callable[[str, int], str]) -> Safe:
        kept = Safe(shown(text, self.masker, limit, html, shorten))
        if len(text) <= limit:
            return el("pre", kept, class_="rk-pre")
        note = f"{count_text(len(text) - limit)} of {count_text(len(text), 'character')} left out"
        return join([el("pre", kept, class_="rk-pre"), el("small", note, class_="rk-muted")])
