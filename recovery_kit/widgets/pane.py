"""Small views that others are put together from: a picture that can be exchanged, and calls to copy."""

from typing import Any

import traitlets

from recovery_kit.pictures import Safe, el

from .trees import tree
from .view import View, front


class Pane(View):
    """A picture of `pictures`, built by the browser from lists. `show` exchanges it."""

    _esm, _css = front("pane")
    content: Any = traitlets.List().tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    """What it is, for a screen reader."""

    def __init__(self, label: str, picture: Safe | None = None, **members: Any) -> None:
        self._picture = picture if picture is not None else Safe("")
        super().__init__(label=label, content=tree(self._picture), **members)

    def show(self, picture: Safe) -> None:
        """Another picture in the same place."""
        self._picture = picture
        self.content = tree(picture)

    def say(self, text: str, tone: str = "plain") -> None:
        """A sentence in the same place; `text` is masked already."""
        self.show(el("p", text, class_=f"rk-{tone}"))

    def picture(self) -> Safe:
        return self._picture


class CodeLines(View):
    """The library calls that do what was clicked, newest last, with a button that copies them."""

    _esm, _css = front("code_lines")
    lines = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def add(self, *lines: str) -> None:
        """Append calls; one that only repeats the last is left out, as is the line before it that set the same name."""
        kept = list(self.lines)
        for line in lines:
            name = line.partition(" = ")[0] if " = " in line else None
            if kept and name and kept[-1].startswith(f"{name} = "):
                kept.pop()
            if not kept or kept[-1] != line:
                kept.append(line)
        self.lines = kept[-200:]

    def picture(self) -> Safe:
        return el("pre", "\n".join(self.lines), class_="rk-pre")

    def words(self) -> str:
        return "\n".join(self.lines)
