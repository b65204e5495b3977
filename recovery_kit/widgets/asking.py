"""`answer`: an open question of a run as a form. Its cell ends at once; the answer comes when it comes."""

import asyncio
from collections.abc import Callable, Generator, Mapping
from threading import Lock
from typing import Any

import ipywidgets as w

from recovery_kit.display import Masker, secrets_of_url, time_text
from recovery_kit.pictures import Pen, Safe, el
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.asked import Prompt

from .forms import Form, button, editable
from .pane import Pane
from .trees import line, whole

Given = dict[str, Any]
"""Arguments of `AgentWorld.answer`: `approve`, `deny`, `text`, `choice`, `feedback`."""
Policy = Mapping[str, Any] | Callable[[Prompt], Mapping[str, Any]]
"""An answer, or what gives one for a question: for reports and tests, where nobody is asked."""

SCOPES = (("this once", "once"), ("for this stage", "stage"), ("for this session", "session"))


class Asking(Form):
    """A question. `given` is its answer, None until there is one; `on_answer` is told of it; it can be awaited."""

    def __init__(self, prompt: Prompt, world: AgentWorld | None, masker: Masker | None) -> None:
        self.prompt, self.world = prompt, world
        self.masker = masker if masker is not None else _masker_of(prompt, world)
        self.given: Given | None = None
        self._told: list[Callable[[Given], object]] = []
        self._lock = Lock()  # a click may come on another thread, by version of the kernel
        self.said = Pane("What became of the question")
        self._controls = w.VBox((_choice if prompt.options else _CONTROLS.get(prompt.kind, _free_text))(self))
        super().__init__([Pane("Question", self._question()), self._controls, self.said])

    def on_answer(self, tell: Callable[[Given], object]) -> Callable[[Given], object]:
        """Call `tell(given)` once it is answered; also as a decorator."""
        self._told.append(tell)
        return tell

    def give(self, **given: Any) -> None:
        """Answer it, as the form does. Raises ValueError for what does not fit or a second answer, and what
        `AgentWorld.answer` raises; the question then stands as before."""
        with self._lock:
            if self.given is not None:
                raise ValueError("this question is answered already")
            self.prompt.given(**given)
            if self.world is not None:
                self.world.answer(self.prompt, **given)
            self.given = given
        self._controls.layout.display = "none"
        self.said.say(f"● answered: {self._told_as(given)}", "good")
        for tell in self._told:
            tell(given)

    def _told_as(self, given: Given) -> str:
        said = [
            f"{name} {value if isinstance(value, bool | int) else line(str(value), self.masker, 80)}"
            for name, value in given.items()
        ]
        return ", ".join(said)

    def refuse(self, sentence: str) -> None:
        """Say why nothing was done."""
        if self.given is None:
            self.said.say(f"× {sentence}" if sentence else "", "bad")

    def __await__(self) -> Generator[Any, None, Given]:
        """Wait for the answer in a cell. Needs ipykernel 7 or newer: before, a running cell hears no click."""
        return self._wait().__await__()

    async def _wait(self) -> Given:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Given] = loop.create_future()

        def tell(given: Given) -> None:
            loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(given))

        with self._lock:
            if self.given is not None:
                return self.given
            self._told.append(tell)
        return await done

    def _question(self) -> Safe:
        prompt, pen = self.prompt, Pen(self.masker)
        where = f"{prompt.kind.replace('_', ' ')}, {prompt.stage}, asked {time_text(prompt.asked_at)}"
        asked = f"{prompt.text}" if prompt.text else "a question without a text"
        return el(
            "div",
            el("p", el("strong", pen.line(asked, 600))),
            el("p", pen.line(where, 160), class_="rk-muted"),
            el("p", "tool ", el("code", pen.line(prompt.tool, 80))) if prompt.tool else None,
            pen.whole(prompt.arguments, 4000) if prompt.arguments and prompt.tool else None,
            pen.whole(prompt.body, 8000) if prompt.body and prompt.kind != "edit_text" else None,
        )

    def picture(self) -> Safe:
        answered = f"answered: {self._told_as(self.given)}" if self.given is not None else "open"
        return el("div", self._question(), el("p", answered), class_="rk-card")

    def words(self) -> str:
        state = "answered" if self.given is not None else "open"
        return f"{state} question: {line(self.prompt.text, self.masker, 200)}"

    def button(self, text: str, given: Callable[[], Given], style: str = "") -> w.Button:
        """A button that answers."""
        return button(text, lambda: self.give(**given()), self.refuse, style=style)


def _masker_of(prompt: Prompt, world: AgentWorld | None) -> Masker | None:
    if world is None or prompt.run_id not in world.agents:
        return None
    meta = world[prompt.run_id].meta
    return Masker(filter(None, [meta.callback_secret, *secrets_of_url(meta.callback_url or "")]))


def _area(text: str = "", rows: int = 5) -> w.Textarea:
    return w.Textarea(value=text, rows=rows, layout=w.Layout(width="98%"))


def _approval(form: Asking) -> list[w.Widget]:
    scope = w.ToggleButtons(options=SCOPES, description="holds", tooltips=[word for word, _ in SCOPES])
    why = w.Text(placeholder="said to the model with a denial", description="feedback", layout=w.Layout(width="98%"))
    approve = form.button("Approve", lambda: {"approve": scope.value}, "success")
    deny = form.button("Deny", lambda: {"deny": True, **({"feedback": why.value} if why.value else {})}, "danger")
    return [scope, w.HBox([approve, deny]), why]


def _choice(form: Asking) -> list[w.Widget]:
    """An interaction point's words (approve, revise, edit, abort) or the options of a question: a button each."""
    names = [line(option, form.masker, 80) for option in form.prompt.options]
    buttons = [form.button(name, lambda n=n: {"choice": n}) for n, name in enumerate(names)]  # type: ignore[misc]
    own = _area(rows=3)
    other = form.button("Answer in my own words", lambda: {"text": own.value})
    return [w.Box(buttons, layout=w.Layout(flex_flow="row wrap")), own, other]


def _confirm(form: Asking) -> list[w.Widget]:
    return [
        w.HBox(
            [
                form.button("Yes", lambda: {"approve": True}, "success"),
                form.button("No", lambda: {"deny": True}, "danger"),
            ]
        )
    ]


def _edit(form: Asking) -> list[w.Widget]:
    text = editable(form.prompt.body, form.masker)
    if text is None:
        shown = _area(whole(form.prompt.body, form.masker, 20000), 10)
        shown.disabled = True
        form.said.say(
            "This text holds secrets or characters that a text field changes: answer with .give(text=…)", "attention"
        )
        return [shown]
    area = _area(text, 10)
    return [area, form.button("Hand in this text", lambda: {"text": area.value}, "success")]


def _free_text(form: Asking) -> list[w.Widget]:
    area = _area()
    return [area, form.button("Answer", lambda: {"text": area.value}, "success")]


_CONTROLS: dict[str, Callable[[Asking], list[w.Widget]]] = {
    "tool_approval": _approval,
    "multiple_choice": _choice,
    "confirm": _confirm,
    "edit_text": _edit,
    "free_text": _free_text,
}


def answer(
    prompt: Prompt, world: AgentWorld | None = None, *, policy: Policy | None = None, masker: Masker | None = None
) -> Asking:
    """An open question (one of `world.prompts`) as a form. The cell ends at once and the kernel stays free.

    With `world` the answer is given to it, durable before the form says so; the world goes on at its next `tick`.
    `.given` is the answer, `.on_answer(tell)` calls back, `.give(…)` answers from Python, and `await` waits for it
    (ipykernel 7 and newer). Where nobody looks, `policy` answers at once: an answer such as `{"approve": True}`, or a
    function of the question that gives one. Raises ValueError for one that does not fit.
    """
    form = Asking(prompt, world, masker)
    if policy is not None:
        form.give(**(policy(prompt) if callable(policy) else policy))
    return form
