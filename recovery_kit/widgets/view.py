"""What every view is: a face in the browser, a static twin beside it, and answers to the questions of that face.

Belongs here: the base of the anywidget views and how a failing call becomes a sentence. What a view asks is in its own
file.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from importlib.resources import files
from typing import Any, ClassVar

import anywidget
import traitlets

from recovery_kit.display import Masker
from recovery_kit.errors import RecoveryKitError
from recovery_kit.pictures import Safe, twin
from recovery_kit.pictures.styles import CLASSES

from .cells import made_by_this_cell
from .trees import line

Question = Mapping[str, Any]
Reply = dict[str, Any]

WIDGET = "application/vnd.jupyter.widget-view+json"


def front(name: str) -> tuple[str, str]:
    """The script and the styles of a view: what all share, then its own. Nothing is built or loaded."""
    folder = files("recovery_kit.widgets") / "front"
    script = "\n".join((folder / f"{part}.js").read_text("utf-8") for part in ("nodes", name))
    rules = "\n".join(f".rk-view .{of} {{ {declared} }}" for of, declared in CLASSES.items())
    styles = "\n".join((rules, *((folder / f"{part}.css").read_text("utf-8") for part in ("nodes", name))))
    return script, styles


def sentence_of(error: Exception, masker: Masker | None = None) -> str:
    """What went wrong in one line that may be shown: an error of the kit says it itself."""
    said = str(error) if isinstance(error, RecoveryKitError) else f"{type(error).__name__}: {error}"
    return line(said, masker, 400)


def with_twin(data: Any, text: str, picture: Safe) -> dict[str, Any]:
    """A widget's own bundle with words and a picture beside it: what is left where no widget can live."""
    bundle = dict(data[0] if isinstance(data, tuple) else data or {})
    return bundle | {"text/plain": text, "text/html": twin(picture)}


class View(anywidget.AnyWidget):
    """A view with a face in the browser. `close()` ends it; running its cell again does too."""

    ANSWERS: ClassVar[Mapping[str, Callable[[Any, Question], Reply]]] = {}
    """By question of the face: the method that answers it."""

    refusal = traitlets.Unicode("").tag(sync=True)
    """Why the last thing was not done; empty if it was."""
    masker: Masker | None = None
    ended = False

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self.on_msg(self._heard)
        made_by_this_cell(self)

    def picture(self) -> Safe:
        """The static twin: what stands where no widget can live."""
        raise NotImplementedError

    def words(self) -> str:
        """The static twin in words."""
        return repr(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:  # type: ignore[override]
        return with_twin(super()._repr_mimebundle_(), self.words(), self.picture())

    def close(self) -> None:
        """End the view and its channels."""
        layout, self.ended = self.layout, True
        super().close()
        layout.close()

    def _heard(self, _: Any, question: Question, __: Any) -> None:
        """Answer a question of a face; whatever goes wrong is a sentence in it, never silence."""
        if not isinstance(question, Mapping) or "ask" not in question:
            return
        head = {"view": question.get("view"), "number": question.get("number"), "ask": question["ask"]}
        self.send(head | self.answered(question))

    def answered(self, question: Question) -> Reply:
        """What a question is answered with, without its address."""
        answer = self.ANSWERS.get(str(question["ask"]))
        if answer is None:
            return {"refusal": "the kernel does not know this question: run the cell again"}
        try:
            return answer(self, question)
        except Exception as error:
            return {"refusal": sentence_of(error, self.masker)}


def refused_aloud(act: Callable[..., None]) -> Callable[..., None]:
    """For what a view does when a trait changes: an error is shown in the view, where the person who clicked looks."""

    @wraps(act)
    def guarded(self: View, *given: Any) -> None:
        try:
            act(self, *given)
            self.refusal = ""
        except Exception as error:
            self.refusal = sentence_of(error, self.masker)

    return guarded
