"""Forms of plain ipywidgets: groups that carry a static twin, close whole, and say aloud what went wrong.

Belongs here: what forms share. Controls get text that is masked and made visible; what a person may edit is given to
them only if it is exactly the run's own text.
"""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from recovery_kit.display import Masker, mask
from recovery_kit.pictures import Safe

from .cells import made_by_this_cell
from .trees import visible
from .view import View, sentence_of, with_twin


def close_whole(widget: w.Widget) -> None:
    """Close a widget with everything in it."""
    for child in getattr(widget, "children", ()):
        close_whole(child)
    if isinstance(widget, View | Form):
        widget.close()
        return
    for part in ("layout", "style"):
        held = getattr(widget, part, None)
        if isinstance(held, w.Widget):
            held.close()
    widget.close()


class Form(w.VBox):  # type: ignore[misc]
    """A group of controls with a twin."""

    masker: Masker | None = None

    def __init__(self, children: list[w.Widget], **members: Any) -> None:
        super().__init__(children, **members)
        made_by_this_cell(self)

    def picture(self) -> Safe:
        raise NotImplementedError

    def words(self) -> str:
        return repr(self)

    def _repr_mimebundle_(self, **given: Any) -> dict[str, Any]:
        return with_twin(super()._repr_mimebundle_(**given), self.words(), self.picture())

    def close(self) -> None:
        """End the form and everything in it."""
        layout, children = self.layout, self.children
        super().close()
        for child in children:
            close_whole(child)
        layout.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def button(
    text: str, act: Callable[[], object], tell: Callable[[str], object], tooltip: str = "", style: str = ""
) -> w.Button:
    """A button that does something; what it raises is told as a sentence, and it is never silent."""
    made = w.Button(
        description=text,
        tooltip=tooltip or text,
        button_style=style,
        layout=w.Layout(width="auto", align_self="flex-start"),
    )

    def clicked(_: object) -> None:
        made.disabled = True
        try:
            tell("")
            act()
        except Exception as error:
            tell(sentence_of(error))
        finally:
            made.disabled = False

    made.on_click(clicked)
    return made


def editable(text: str, masker: Masker | None) -> str | None:
    """A text as a person may edit it in a browser; None where the browser would not get exactly the run's own text
    (it holds a secret, or characters that a text field changes)."""
    fit = visible(mask(text, masker))
    return text if fit == text and "\r" not in text else None


def titled(text: str, *rows: w.Widget) -> w.VBox:
    """Controls under a heading."""
    head = w.Label(text, style={"font_weight": "bold"})
    return w.VBox([head, *rows])
