"""`workbench`: everything in one place. What is chosen on the left decides what is seen on the right."""

from pathlib import Path
from typing import Any

import ipywidgets as w

from recovery_kit.pictures import Safe, el, join, loom_effects_html, run_html, runs_html, runs_text, verdict_html
from recovery_kit.runs.collection import AnyRun, Runs
from recovery_kit.runs.loom_run import LoomRun, LoomState
from recovery_kit.runs.moment import State
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.run import Run

from .effects import Effects
from .forms import Form
from .mirror_panel import PROVIDERS, TOOLS, MirrorPanel, Providers, ToolSets
from .pane import CodeLines, Pane
from .run_table import RunTable
from .scrubber import Scrubber
from .trees import line

TABS = ("What happened", "Timeline", "Effects", "Mirrors")


class Workbench(Form):
    """Runs, and for the chosen one its verdict, timeline, effects and mirrors. `run` and `state` are what is chosen."""

    def __init__(
        self, runs: Runs, label: str, into: str | Path, providers: Providers, tools: ToolSets, author: str
    ) -> None:
        self.runs, self.into = runs, into
        self._label, self._providers, self._tools, self._author = label, providers, tools, author
        self.run: AnyRun | None = None
        self._name = "run"
        """How the code calls what is chosen."""
        self.table = RunTable(runs)
        self.verdict = Pane("What happened")
        self.code = CodeLines()
        self.code.add("import recovery_kit as rk", f"runs = rk.open_runs({line(label, None, 300)!r})")
        self.timeline: Scrubber | None = None
        self.effects: Effects | None = None
        self.mirrors: MirrorPanel | None = None
        self.verdict.say("Choose a run: click a row, or use the arrows.", "muted")
        self.places = [w.VBox([self.verdict]), w.VBox([]), w.VBox([]), w.VBox([])]
        self.tabs = w.Tab(self.places, titles=TABS, layout=w.Layout(min_width="0", flex="3 1 38em"))
        self.tabs.observe(lambda _: self._fill(), "selected_index")
        left = w.VBox([self.table, self.code], layout=w.Layout(min_width="0", flex="2 1 26em"))
        self.table.on_select(self.choose)
        super().__init__([w.Box([left, self.tabs], layout=w.Layout(flex_flow="row wrap", width="100%"))])

    @property
    def state(self) -> State | LoomState | None:
        """The moment that the timeline stands at; None before a run is chosen."""
        if self.timeline is not None and self.timeline.run is self.run:
            return self.timeline.state
        return self.run.at() if self.run is not None else None

    def choose(self, run: AnyRun) -> None:
        """Show a run everywhere."""
        self.run, self.masker = run, run.masker
        if any(run is each for each in self.table._rows.runs):
            key = self.table._rows.keys[self.table._rows.runs.index(run)]
            self._name = "run"
            self._code(run, f"run = runs[{key!r}]")
            self._drop_mirrors()
        else:
            self._name = "mirror.run"
        self.verdict.show(_verdict(run))
        self._code(run, f"{self._name}.verdict")
        self._fill()

    def _fill(self) -> None:
        """Make the view of the open tab, or hand it the chosen run: what nobody looks at is not read."""
        if self.run is None:
            return
        if isinstance(self.run, LoomRun):
            self.tabs.selected_index = 0  # its boundaries, Calls and questions stand there
            return
        {1: self._fill_timeline, 2: self._fill_effects, 3: self._fill_mirrors}.get(
            self.tabs.selected_index, lambda: None
        )()

    def _fill_timeline(self) -> None:
        assert isinstance(self.run, Run)
        if self.timeline is None:
            self.timeline = Scrubber(self.run)
            self.timeline.on_step(self._stepped)
            self.places[1].children = [self.timeline]
        elif self.timeline.run is not self.run:
            self.timeline.show(self.run)
        self._code(self.run, f"state = {self._name}.at({self.timeline.step if self.timeline.step >= 0 else ''})")

    def _fill_effects(self) -> None:
        assert isinstance(self.run, Run)
        if self.effects is None:
            self.effects = Effects(self.run)
            self.places[2].children = [self.effects]
        elif self.effects.run is not self.run:
            self.effects.show(self.run)
        self._code(self.run, f"rk.calls_df({self._name})")

    def _fill_mirrors(self) -> None:
        assert isinstance(self.run, Run)
        if self.mirrors is None:
            self.mirrors = MirrorPanel(self.run, self.into, self._providers, self._tools, self.code, self._author)
            self.mirrors.on_pick(self.choose)
            self.places[3].children = [self.mirrors]
        if self.timeline is not None and self.timeline.run is self.run and self.timeline.step >= 0:
            self.mirrors.at.value = str(self.timeline.step)

    def _drop_mirrors(self) -> None:
        if self.mirrors is not None:
            self.places[3].children = []
            self.mirrors.close()
            self.mirrors = None

    def _stepped(self, state: State) -> None:
        assert self.run is not None
        self._code(self.run, f"state = {self._name}.at({state.point})")
        if self.mirrors is not None:
            self.mirrors.at.value = str(state.point)

    def _code(self, run: AnyRun, call: str) -> None:
        self.code.add(line(call, run.masker, 400))

    def refresh(self) -> None:
        """Look for runs that came, and read on in what is shown. The reader's place stays."""
        self.table.refresh()
        if self.timeline is not None and self.run is self.timeline.run:
            self.timeline.refresh()
            self.verdict.show(_verdict(self.run))
            if self.effects is not None and self.effects.run is self.run:
                self.effects.refresh()

    def picture(self) -> Safe:
        if self.run is None:
            return runs_html(self.runs)
        chosen: list[Any] = [runs_html(self.runs, 20), _verdict(self.run)]
        if self.effects is not None:
            chosen.append(self.effects.picture())
        if self.mirrors is not None:
            chosen.append(self.mirrors.picture())
        return el("div", join(chosen))

    def words(self) -> str:
        return runs_text(self.runs, 20)


def _verdict(run: AnyRun) -> Safe:
    """What happened; of a workflow its Calls as well, for which it has no other tab."""
    if isinstance(run, LoomRun):
        return join([run_html(run), loom_effects_html(run.effects, run.masker)])
    return verdict_html(run.verdict, run.masker)


def workbench(
    folder: str | Path | Runs,
    into: str | Path = "mirrors",
    *,
    providers: Providers = PROVIDERS,
    tools: ToolSets = TOOLS,
    author: str = "",
) -> Workbench:
    """All views in one layout over a folder of runs: choose on the left, look and act on the right.

    `into`, `providers` and `tools` are those of `mirror_panel`. Each action also shows the library call that does the
    same, to copy. `.run` and `.state` are what is chosen. Raises NotARun where there is nothing to open.
    """
    runs = folder if isinstance(folder, Runs) else open_runs(folder)
    label = folder.label if isinstance(folder, Runs) else str(folder)
    return Workbench(runs, label, into, providers, tools, author)
