"""`mirror_panel`: branch a run, edit the branch, say what is known of open calls, let it go on, compare."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

import ipywidgets as w

from recovery_kit.display import count_text
from recovery_kit.history.windows import text_of
from recovery_kit.mirrors.comparing import compare
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.mirrors.lineage import Lineage, lineage
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.mirrors.resume import Budget, Resumed
from recovery_kit.pictures import Pen, Safe, el, join
from recovery_kit.pictures.branches import comparison_html, edits_html
from recovery_kit.runs.collection import AnyRun, Runs, agent_run
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.run import Run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import Provider, RefusingProvider
from recovery_kit.world.recorded import RecordedProvider
from recovery_kit.world.tools import Tools

from .asking import Asking
from .family import FamilyTree
from .forms import Form, button, close_whole, editable, titled
from .going_on import GoingOn
from .pane import CodeLines, Pane
from .trees import line
from .view import sentence_of

Providers = Mapping[str, Callable[[Run], Provider]]
"""By name: what makes the provider of a mirror from the run it was cut from."""
ToolSets = Mapping[str, Callable[[Run], Tools | None]]
"""The same for tools; None is the recorded results, and a refusal for calls that have none."""

PROVIDERS: Providers = {"recorded": RecordedProvider, "refusing": lambda _: RefusingProvider()}
TOOLS: ToolSets = {"recorded, else refused": lambda _: None}
_AS_CODE = {"recorded": "rk.RecordedProvider(run)", "refusing": "rk.RefusingProvider()"}
_NOT_HERE = "Not to be edited here: it holds a secret, or characters that a text field changes. From Python it can be."
_SAID = (
    ("nobody said yet", ""),
    ("it happened, with this result", "happened"),
    ("it did not happen", "did-not"),
    ("leave it to the restart", "skip"),
)


class MirrorPanel(Form):
    """A run and its mirrors. `mirror` is the one that is chosen, None while it is the run itself."""

    def __init__(
        self, run: Run, into: str | Path, providers: Providers, tools: ToolSets, code: CodeLines | None, author: str
    ) -> None:
        self.run, self.into, self.masker, self.author = run, Path(into), run.masker, author
        self.providers, self.tools = providers, tools
        self.mirror: Mirror | None = None
        self._going: dict[str, GoingOn] = {}
        self._last: GoingOn | None = None
        self._lock = RLock()
        self._asking: Asking | None = None
        self._told: list[Callable[[Run], object]] = []
        self.code = code if code is not None else CodeLines()
        self.said = Pane("What was done")
        self.family = FamilyTree(self._lineage())
        self.compared = Pane("Comparison")
        self._make_controls()
        self.family.on_pick(self._pick)
        own_code = [] if code is not None else [self.code]
        super().__init__([self.said, self.family, self._branching, self._working, self.compared, *own_code])
        self._show()

    # The controls.

    def _make_controls(self) -> None:
        wide, named = w.Layout(width="98%"), {"description_width": "initial"}
        self.at = w.Text("end", description="at", tooltip="end, a point, record:N, iteration:N or call:ID")
        self.batch = w.Dropdown(
            options=[("as the moment suggests", ""), *((word, word) for word in ("keep", "complete", "drop"))],
            description="a batch that was out",
            style=named,
        )
        self.region = w.Dropdown(options=[], description="region")
        self.entry = w.Dropdown(options=[], description="entry")
        self.text = w.Textarea(rows=4, description="text", layout=wide)
        self.note = w.Label("")
        self.reason = w.Text(description="reason", layout=wide)
        self.edits = Pane("Edits so far")
        self.effects = w.VBox([])
        self.provider = w.Dropdown(options=list(self.providers), description="model")
        self.tool_set = w.Dropdown(options=list(self.tools), description="tools")
        self.turns = w.BoundedIntText(5, min=1, max=10_000, description="at most turns", style=named)
        self.tokens = w.BoundedIntText(0, min=0, max=10**9, description="tokens (0: any)", style=named)
        self.prompt_place = w.VBox([])
        self.region.observe(lambda _: self._show_entries(), "value")
        self.entry.observe(lambda _: self._show_text(), "value")
        press = self._button
        self._branching = titled(
            "Branch",
            w.Box(
                [self.at, self.batch, press("Branch here", self.branch, "success")],
                layout=w.Layout(flex_flow="row wrap"),
            ),
        )
        edit = titled(
            "Edit", w.Box([self.region, self.entry], layout=w.Layout(flex_flow="row wrap")),
            self.text, self.note, self.reason,
            w.HBox([press("Change this entry", self.edit, "success"), press("Undo the last edit", self.undo)]),
            self.edits,
        )  # fmt: skip
        go = w.Box([self.provider, self.tool_set, self.turns, self.tokens], layout=w.Layout(flex_flow="row wrap"))
        buttons = w.Box(
            [press("Resume", self.resume, "success"), press("Stop", self.stop, "warning"),
             press("Read on", self.refresh), press("Compare with the run", self.compare)],
            layout=w.Layout(flex_flow="row wrap"),
        )  # fmt: skip
        self._working = w.VBox(
            [edit, titled("Effects that nobody knows", self.effects), titled("Go on", go, buttons), self.prompt_place]
        )

    def _button(self, text: str, act: Callable[[], object], style: str = "") -> w.Button:
        def alone() -> None:
            with self._lock:
                act()

        return button(text, alone, self._refuse, style=style)

    def _refuse(self, sentence: str) -> None:
        self.said.say(f"× {sentence}" if sentence else "", "bad")

    def _say(self, text: str, *more: str) -> None:
        masker = self._masker()
        parts = [el("p", "● ", Pen(masker).line(text, 300), class_="rk-good")]
        self.said.show(join([*parts, *(el("p", Pen(masker).line(one, 300), class_="rk-attention") for one in more)]))

    def _masker(self) -> Any:
        return self.mirror.masker if self.mirror is not None else self.masker

    def _lineage(self) -> Lineage:
        """The tree that the run is in, with the mirrors in the folder for mirrors."""
        there: dict[str, AnyRun] = {"": self.run}
        if self.into.is_dir():
            there |= {run.source: run for run in open_runs(self.into).agent_runs if run.id != self.run.id}
        tree = lineage(Runs(lambda: there, self.run.id))
        mine = [root for root in tree.roots if any(kin.run_id == self.run.id for _, kin in root.walk())]
        return Lineage(tuple(mine))

    # What is chosen.

    def on_pick(self, tell: Callable[[Run], object]) -> Callable[[Run], object]:
        """Call `tell(run)` when the run or a mirror is chosen in the tree."""
        self._told.append(tell)
        return tell

    def _pick(self, run_id: str) -> None:
        before = self.mirror
        self.mirror = None if run_id == self.run.id else self._open(run_id)
        if self.mirror is not None and (before is None or before.id != run_id):
            self._code(f"mirror = rk.Mirror({str(self.mirror.path)!r})")
        self._show()
        for tell in self._told:
            tell(self.mirror.run if self.mirror is not None else self.run)

    def _open(self, run_id: str) -> Mirror:
        going = self._going.get(run_id)
        return going.mirror if going else Mirror(self.into / run_id)

    def _show(self) -> None:
        """Everything below the tree, for the mirror that is chosen."""
        there = self.mirror is not None
        self._working.layout.display = "" if there else "none"
        self.compared.show(Safe(""))
        if self.mirror is None:
            return
        window = self.mirror.at().window
        self._entries = {region.name: region.entries for region in window.regions if region.entries}
        names = list(self._entries)
        kept = self.region.value
        self.region.options = [(line(name, self._masker(), 60), name_at) for name_at, name in enumerate(names)]
        self.region.value = kept if kept is not None and kept < len(names) else (0 if names else None)
        self._show_entries()
        self._show_effects()
        self._show_edits()

    def _region(self) -> str | None:
        names = list(self._entries)
        return names[self.region.value] if self.region.value is not None and self.region.value < len(names) else None

    def _show_entries(self) -> None:
        name = self._region()
        entries = self._entries[name] if name is not None else ()
        first = max(len(entries) - 200, 0)
        self.entry.options = [
            (f"{n}: {line(text_of(entry.content), self._masker(), 60)}", n)
            for n, entry in enumerate(entries[first:], first)
        ]
        if entries:
            self.entry.value = first
        self._show_text()

    def _show_text(self) -> None:
        name = self._region()
        if name is None or self.entry.value is None:
            self.text.value, self.text.disabled = "", True
            return
        raw = text_of(self._entries[name][self.entry.value].content)
        text = editable(raw, self._masker())
        self.text.disabled = text is None
        self.text.value = text if text is not None else line(raw, self._masker(), 400)
        self.note.value = "" if text is not None else _NOT_HERE
        self.note.layout.display = "none" if text is not None else ""

    def _show_effects(self) -> None:
        assert self.mirror is not None
        close = self.effects.children
        pending = self.mirror.at().pending
        rows = (
            [self._effect(call.id, call.name) for call, result in pending.calls() if result is None] if pending else []
        )
        self.effects.children = rows or [w.Label("None: nothing is pending without a result.")]
        for row in close:
            close_whole(row)

    def _effect(self, call_id: str, name: str) -> w.Widget:
        masker = self._masker()
        said = w.Dropdown(options=_SAID, description=line(name, masker, 20), tooltip=line(call_id, masker, 60))
        text = w.Text(placeholder="the result, if it happened")
        row = w.HBox([w.Label(line(call_id, masker, 40)), said, text])
        row.answer = lambda: (call_id, f"happened:{text.value}" if said.value == "happened" else said.value)
        return row

    def answers(self) -> dict[str, str]:
        """What was said of open calls, by call id, as `resume_mirror` takes it."""
        said = (row.answer() for row in self.effects.children if hasattr(row, "answer"))
        return {call: word for call, word in said if word}

    def _show_edits(self) -> None:
        assert self.mirror is not None
        self.edits.show(edits_html(self.mirror.edits, self._masker()))

    # What is done.

    def branch(self) -> None:
        """Branch what is chosen at the moment in the field."""
        at: str | int = int(self.at.value) if self.at.value.lstrip("-").isdigit() else self.at.value.strip() or "end"
        source, name = (self.run, "run") if self.mirror is None else (self.mirror, "mirror")
        made = create_mirror(source, at=at, into=self.into, batch=self.batch.value or None)
        batch = f", batch={self.batch.value!r}" if self.batch.value else ""
        self._code(f"mirror = rk.create_mirror({name}, at={at!r}, into={str(self.into)!r}{batch})")
        self.mirror = made
        self.family.show(self._lineage(), made.id)
        self._show()
        self._say(f"{made.id} was made, paused", *made.said, *(made.after.sentences() if made.after else ()))

    def edit(self) -> None:
        """Change the chosen entry to the text in the field."""
        mirror, region, entry = self._chosen(), self._region(), self.entry.value
        if self.text.disabled or region is None or entry is None:
            raise ValueError("this entry cannot be edited here: from Python, mirror.edit(region=…, entry=…, text=…)")
        done = mirror.edit(
            region=region, entry=entry, text=self.text.value, author=self.author, reason=self.reason.value
        )
        self._code(
            f"mirror.edit(region={region!r}, entry={entry}, text={self.text.value!r}, reason={self.reason.value!r})"
        )
        self._show()
        self.entry.value = min(entry, len(self._entries.get(region, ())) - 1)
        self._say(f"edit {done.number} is recorded and can be undone")

    def undo(self) -> None:
        """Take the last edit back."""
        self._chosen().undo(author=self.author)
        self._code("mirror.undo()")
        self._show()
        self._say("the last edit is undone")

    def _chosen(self) -> Mirror:
        if self.mirror is None:
            raise ValueError("choose a mirror in the tree, or branch first")
        return self.mirror

    def resume(self) -> None:
        """Let the mirror go on beside the cells, with the chosen model, tools and budget."""
        mirror = self._chosen()
        chosen = (self.provider.value, self.tool_set.value)
        going = self._going.get(mirror.id)
        if going is not None and going.chosen != chosen and not going.busy:
            self._going.pop(mirror.id).close()
            going = None
        if going is None:
            world = AgentWorld(self.providers[chosen[0]](self.run), self.tools[chosen[1]](self.run))
            going = self._going[mirror.id] = GoingOn(mirror, world, self.run, chosen)
        answers = {} if mirror.id in going.world.agents else self.answers()
        budget = Budget(tokens=self.tokens.value or None, turns=self.turns.value)
        self._last = going
        if not going.busy:
            self._say("it goes on; Stop holds it after the step that it is in")
        going.start(answers, budget, lambda how: self._ended(going, how), self.author)
        more = f", tokens={budget.tokens}" if budget.tokens else ""
        model = _AS_CODE.get(self.provider.value, f"providers[{self.provider.value!r}](run)")
        tools = "" if self.tool_set.value in TOOLS else f", tools[{self.tool_set.value!r}](run)"
        told = f", answers={answers!r}" if answers else ""
        self._code(
            "from recovery_kit.mirrors.resume import Budget",
            f"world = rk.AgentWorld({model}{tools})",
            f"rk.resume_mirror(mirror, world{told}, source=run, budget=Budget(turns={budget.turns}{more}))",
        )

    def stop(self) -> None:
        """Hold the mirror after the step that it is in."""
        going = self._going.get(self._chosen().id)
        if going is None or not going.busy:
            raise ValueError("nothing goes on here")
        going.stop()
        self._code(f"world.pause({going.mirror.id!r})")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the mirror that was resumed last rests; whether it does. For scripts: a cell has no need to."""
        return self._last is None or self._last.wait(seconds)

    def _ended(self, going: GoingOn, how: Resumed | Exception) -> None:
        """Told on the mirror's own thread, or on another if the kernel has several for clicks: one at a time."""
        with self._lock:
            self._tell_end(going, how)

    def _tell_end(self, going: GoingOn, how: Resumed | Exception) -> None:
        if isinstance(how, Exception):
            self._going.pop(going.mirror.id, None)
            going.world.close()
            self._refuse(sentence_of(how, self._masker()))
            return
        spent = f"{count_text(how.turns, 'turn')}, {count_text(how.tokens, 'token')}"
        self._say(f"{how.ended}: {spent}; the run is {how.status}", *filter(None, [how.why]))
        self.family.show(self._lineage())
        self._show()
        self._show_prompt(going)

    def _show_prompt(self, going: GoingOn) -> None:
        """The question that the mirror waits for, if it waits for one."""
        old, self._asking = self._asking, None
        prompts = [prompt for prompt in going.world.prompts if prompt.run_id == going.mirror.id]
        if prompts:
            self._asking = Asking(prompts[0], going.world, self._masker())
            self._asking.on_answer(lambda given: self._code(f"world.answer({prompts[0].id!r}, **{given!r})"))
        self.prompt_place.children = [self._asking] if self._asking else []
        if old is not None:
            old.close()

    def refresh(self) -> None:
        """Read the mirror's files again, and look for mirrors that came."""
        if self.mirror is not None:
            self.mirror.refresh()
        self.family.show(self._lineage())
        self._show()
        for tell in self._told:
            tell(self.mirror.run if self.mirror is not None else self.run)

    def compare(self) -> None:
        """The run and the mirror side by side: where they part."""
        mirror = self._chosen()
        self._code("rk.compare(run, mirror)")
        self.compared.show(comparison_html(compare(self.run, mirror)))

    def _code(self, *calls: str) -> None:
        self.code.add(*(line(call, self._masker(), 2000) for call in calls))

    def picture(self) -> Safe:
        chosen = self.mirror.run if self.mirror is not None else self.run
        edits = edits_html(self.mirror.edits, self._masker()) if self.mirror is not None else None
        return el("div", self.family.picture(), el("p", "chosen: ", Pen(self._masker()).line(chosen.id, 120)), edits)

    def words(self) -> str:
        return self.family.words()

    def close(self) -> None:
        """End the panel; a mirror that goes on is held, and let go of."""
        for going in self._going.values():
            going.close()
        self._going.clear()
        super().close()


def mirror_panel(
    run: AnyRun,
    into: str | Path = "mirrors",
    *,
    providers: Providers = PROVIDERS,
    tools: ToolSets = TOOLS,
    author: str = "",
) -> MirrorPanel:
    """A run and its mirrors in the folder `into`: branch at a moment, edit entries with the patch in sight, say of each
    open call whether it happened, go on under a budget, stop, compare with the run.

    What is done runs beside the cells. `providers` and `tools` are choices by name, each made from the run when it is
    resumed: by default nothing but recorded answers and results. Each action shows the call that does the same.
    """
    source = agent_run(run, "recovery_kit.looms branches those")
    return MirrorPanel(source, into, providers, tools, None, author)
