"""Pictures as trees for the browser: what our own markup says, without the browser ever parsing markup.

Belongs here: turning `Safe` into nested lists, and making text visible for a place that sets it as text. The browser
builds elements from the lists; tags and attributes are those that `pictures` may write.
"""

from html import unescape
from html.parser import HTMLParser
from typing import Any

from recovery_kit.display import Masker, html, middle, preview, shown
from recovery_kit.pictures import Safe

Tree = list[Any] | str
"""A text, or a tag, its attributes and its children."""
_EMPTY = frozenset({"br"})
_SPELLED = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio", "patternunits": "patternUnits",
            "patterntransform": "patternTransform"}  # fmt: skip
"""The parser writes names small; SVG tells them apart."""


class _Grower(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top: list[Any] = ["div", {}]
        self.open = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node: list[Any] = [tag, {_SPELLED.get(name, name): value or "" for name, value in attrs}]
        self.open[-1].append(node)
        if tag not in _EMPTY:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if len(self.open) > 1:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].append(data)


def tree(picture: Safe) -> Tree:
    """A picture as nested lists under one `div`. Takes markup of ours only: a plain text is one text."""
    if not isinstance(picture, Safe):
        return ["div", {}, visible(picture)]
    grower = _Grower()
    grower.feed(picture)
    grower.close()
    return grower.top


def visible(text: str) -> str:
    """Text for a place that sets it as text: what acts unseen is shown (`␛`, `\\u202e`); LF and TAB stay."""
    return unescape(html(text))


def line(text: str | None, masker: Masker | None = None, limit: int = 120, nothing: str = "–") -> str:
    """One line of a run's text for the browser: masked, shortened, visible."""
    return nothing if text is None else shown(text, masker, limit, visible, preview)


def whole(text: str, masker: Masker | None = None, limit: int = 4000) -> str:
    """Lines of a run's text for the browser: masked, both ends of a long one, visible."""
    return shown(text, masker, limit, visible, middle)
