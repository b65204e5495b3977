"""`timeline`: a run over its points, and the window, the request and the marks at the one that is chosen."""

from array import array
from collections.abc import Callable
from typing import Any

import traitlets

from recovery_kit.pictures import Safe, context_html, join, run_text, timeline_html
from recovery_kit.runs.collection import AnyRun, agent_run
from recovery_kit.runs.moment import State
from recovery_kit.runs.run import Grown, Run

from .moments import Moments
from .sent import piece, sent
from .view import Question, Reply, View, front, refused_aloud


class Scrubber(View):
    """A run over its points. `step` is the chosen point, `state` its state; `on_step` is told of each."""

    _esm, _css = front("scrubber")
    shape = traitlets.Dict().tag(sync=True)
    """Points, regions, stages and marks: numbers, told once."""
    tokens = traitlets.Bytes(b"").tag(sync=True)
    """Tokens by region and point, 32-bit little-endian."""
    step = traitlets.Int(-1).tag(sync=True)
    generation = traitlets.Int(0).tag(sync=True)
    """Rises when the run was read anew."""

    def __init__(self, run: Run, **members: Any) -> None:
        self.run, self.masker = run, run.masker
        self._told: list[Callable[[State], object]] = []
        self._moments = Moments(run)
        super().__init__(**(self._faces() | {"step": len(run.points) - 1} | members))
        self.observe(self._stepped, "step")

    def _faces(self) -> dict[str, Any]:
        tokens = array("I", (n for row in self._moments.tokens() for n in row))
        return {"shape": self._moments.shape(), "tokens": tokens.tobytes()}

    @property
    def state(self) -> State:
        """The run's state at the chosen point; its end where it has no points."""
        return self.run.at(self.step) if 0 <= self.step < len(self.run.points) else self.run.at()

    def on_step(self, tell: Callable[[State], object]) -> Callable[[State], object]:
        """Call `tell(state)` when another point is chosen; also as a decorator."""
        self._told.append(tell)
        return tell

    def show(self, run: Run, step: int | None = None) -> None:
        """Another run in the same place; `step` counts from its end if negative, by default it is the last."""
        self.run, self.masker = run, run.masker
        last = len(run.points) - 1
        self._renew(last if step is None else step if step >= 0 else last + 1 + step)

    def refresh(self) -> Grown:
        """Read what was appended since. The reader stays at the chosen point; at the last one, too: it is kept."""
        grown = self.run.refresh()
        if grown.points or grown.records or grown.replaced:
            self._renew(min(self.step, len(self.run.points) - 1))
        return grown

    def _renew(self, step: int) -> None:
        self._moments = Moments(self.run)
        with self.hold_sync():
            for name, value in self._faces().items():
                setattr(self, name, value)
            self.step = max(min(step, len(self.run.points) - 1), -1 if not self.run.points else 0)
            self.generation += 1

    @refused_aloud
    def _stepped(self, _: object) -> None:
        if self._told and 0 <= self.step < len(self.run.points):
            for tell in self._told:
                tell(self.state)

    def _place(self, question: Question, name: str = "step") -> int:
        place = int(question[name])
        if not 0 <= place < len(self._moments.points):
            raise IndexError(f"there is no point {place}")
        return place

    def _moment(self, question: Question) -> Reply:
        before = question.get("before")
        known = before if isinstance(before, int) and 0 <= before < len(self._moments.points) else None
        return self._moments.moment(self._place(question), known)

    def _more(self, question: Question) -> Reply:
        return self._moments.more(self._place(question), str(question["region"]), int(question["until"]))

    def _entry(self, question: Question) -> Reply:
        return self._moments.entry(self._place(question), str(question["region"]), int(question["entry"]))

    def _sent(self, question: Question) -> Reply:
        place = self._place(question)
        return {"step": place} | sent(self.run.at(place), question.get("api"), bool(question.get("after_restart")))

    def _piece(self, question: Question) -> Reply:
        state, restarted = self.run.at(self._place(question)), bool(question.get("after_restart"))
        return piece(state, question.get("api"), restarted, str(question["part"]), int(question["entry"]))

    def _again(self, _: Question) -> Reply:
        grown = self.refresh()
        return {"points": grown.points, "records": grown.records, "replaced": grown.replaced}

    ANSWERS = {"moment": _moment, "more": _more, "entry": _entry, "sent": _sent, "piece": _piece, "again": _again}

    def picture(self) -> Safe:
        run = self.run
        return join([timeline_html(run.story, run.masker), context_html(run.points, run.masker, run.story.lives)])

    def words(self) -> str:
        return run_text(self.run)


def timeline(run: AnyRun) -> Scrubber:
    """A scrubber over the points of a run: context by region, stages, batches, questions, pauses, restarts and cost.

    Arrows go one point, Page Up and Down a page, Home and End to the ends, + and - zoom, 0 shows all. `.step` and
    `.state` follow. Beside it stands the window of that point with new entries marked, and what the provider would be
    sent. `.refresh()` reads on and keeps the place. Raises OtherRuntime for a Run of a workflow.
    """
    return Scrubber(agent_run(run, "its verdict and its card tell its boundaries"))
