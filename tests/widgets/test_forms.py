"""Forms: questions, mirrors and the workbench, used from Python as their buttons use them."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from samples import SAMPLES, sample

import recovery_kit as rk
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.recovery.reload import reload_run
from recovery_kit.widgets import answer, mirror_panel, workbench
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.asked import Prompt
from recovery_kit.world.providers import RefusingProvider, Reply, ScriptedProvider

KILLED = sample("02a-killed-mid-batch")
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff]")
KEY = "sk-ant-api03-" + "Ab3dEf9h" * 8


def within(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from within(child)


def press(form: Any, text: str) -> None:
    """Click the button of that text, as a mouse does."""
    next(w for w in within(form) if isinstance(w, ipywidgets.Button) and w.description == text).click()


def texts(form: Any) -> str:
    """Everything that the browser is given by a form."""
    return "\n".join(
        text for w in within(form) for n, v in w.get_state().items() if n not in ("_esm", "_css") for text in strings(v)
    )


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value if value != "\u200b" else ""  # what ipywidgets itself puts into an empty label
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in strings(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in strings(each))


def question(kind: Any = "free_text", **members: Any) -> Prompt:
    return Prompt("r-ask-0", "r", kind, "Which one?", "close", 1796050230, **members)


@pytest.mark.parametrize(
    "prompt, button, wanted",
    [
        (question("confirm"), "Yes", {"approve": True}),
        (question("confirm"), "No", {"deny": True}),
        (question("tool_approval", tool="shell", arguments="{}"), "Approve", {"approve": "once"}),
        (question("tool_approval", tool="shell", arguments="{}"), "Deny", {"deny": True}),
        (question("multiple_choice", options=("approve", "revise", "edit", "abort")), "revise", {"choice": 1}),
        (question("edit_text", body="As it is."), "Hand in this text", {"text": "As it is."}),
    ],
    ids=["yes", "no", "approve", "deny", "option", "edit"],
)
def test_a_click_answers(prompt: Prompt, button: str, wanted: dict[str, Any]) -> None:
    """Each kind of question has its buttons, and each gives the answer that it says."""
    form, told = answer(prompt), list[Any]()
    form.on_answer(told.append)
    press(form, button)
    assert form.given == wanted
    assert told == [wanted]
    assert "answered" in form.words()
    with pytest.raises(ValueError, match="answered already"):
        form.give(**wanted)


def test_a_question_of_a_run_is_answered_durably(tmp_path: Path) -> None:
    """An interaction point of a reloaded run is answered by its button, and the record is in the journal."""
    source = sample("05a-parked-at-a-question")
    shutil.copytree(source, tmp_path / source.name)
    with AgentWorld(RefusingProvider(), folder=tmp_path) as world:
        reload_run(world, tmp_path, source.name)
        (prompt,) = world.prompts
        form = answer(prompt, world)
        press(form, next(w.description for w in within(form) if isinstance(w, ipywidgets.Button)))
        assert form.given is not None
        assert not [p for p in world.prompts if p.id == prompt.id]
    settled = [p for p in rk.open_run(tmp_path / source.name).prompts if p.request_id == prompt.id]
    assert [p.settlement for p in settled] == ["answered"]


def test_an_answer_that_does_not_fit_is_said() -> None:
    """An empty answer to a question of a world that is gone leaves it open, and the form says why."""
    with AgentWorld(RefusingProvider()) as world:
        form = answer(question(), world)
        press(form, "Answer")
    assert form.given is None
    assert "no question" in form.said.words() + str(form.said.content)


def test_a_policy_answers_where_nobody_looks() -> None:
    """With a policy the form is answered when it is made; a policy may look at the question."""
    assert answer(question("confirm"), policy={"approve": True}).given == {"approve": True}
    given = answer(question("multiple_choice", options=("a", "b")), policy=lambda p: {"choice": p.options[-1]}).given
    assert given == {"choice": "b"}
    with pytest.raises(ValueError, match="options"):
        answer(question("multiple_choice", options=("a",)), policy={"choice": 4})


def test_an_answer_can_be_awaited() -> None:
    """A form in a task gives its answer when the click comes."""

    async def both() -> Any:
        form = answer(question("confirm"))
        asyncio.get_running_loop().call_soon(press, form, "Yes")
        return await form, await form

    assert asyncio.run(both()) == ({"approve": True},) * 2


def test_a_text_with_a_secret_is_not_edited_in_a_browser() -> None:
    """A text that a browser must not see whole, or would not give back as it is, can be handed in from Python only."""
    for body in (f"the key is {KEY}", "line\r\nline", "a\x1bb"):
        form = answer(question("edit_text", body=body))
        assert KEY not in texts(form)
        assert not [w for w in within(form) if isinstance(w, ipywidgets.Textarea) and not w.disabled]
        form.give(text="another")


def test_a_mirror_from_its_panel(tmp_path: Path) -> None:
    """Branch, edit, undo, say what happened, go on, compare: by the buttons, and each as code."""
    run = rk.open_run(KILLED)
    script = {"script": lambda _: ScriptedProvider([Reply(text="Closed.")])}
    panel = mirror_panel(run, tmp_path / "mirrors", providers=script, author="A")
    press(panel, "Branch here")
    mirror = panel.mirror
    assert mirror is not None
    panel.text.value, panel.reason.value = "Close it, and skip JE-304.", "an experiment"
    press(panel, "Change this entry")
    assert [edit.reason for edit in mirror.edits] == ["an experiment"]
    assert "/window/task/0/content" in str(panel.edits.content)
    press(panel, "Undo the last edit")
    assert [edit.undone for edit in mirror.edits] == [True]
    press(panel, "Resume")
    assert panel.wait(20)
    assert "nobody said yet" in str(panel.said.content)
    rows = [row for row in panel.effects.children if hasattr(row, "answer")]
    assert len(rows) == len(mirror.open_calls) == 3
    rows[0].children[1].value, rows[0].children[2].value = "happened", "posted"
    rows[1].children[1].value = rows[2].children[1].value = "did-not"
    press(panel, "Resume")
    assert panel.wait(20)
    assert Mirror(mirror.path).run.meta.iteration > run.meta.iteration
    press(panel, "Compare with the run")
    assert "they part because" in str(panel.compared.content)
    code = "\n".join(panel.code.lines)
    for call in (
        "rk.create_mirror(run, at='end'",
        "mirror.edit(region='task', entry=0",
        "mirror.undo()",
        "rk.resume_mirror(",
        "rk.compare(run, mirror)",
    ):
        assert call in code
    assert panel.family.rows[1][1] == mirror.id
    panel.close()


def test_a_panel_says_what_it_cannot_do(tmp_path: Path) -> None:
    """A moment that is not there, and an act without a mirror, are sentences."""
    panel = mirror_panel(rk.open_run(KILLED), tmp_path / "mirrors")
    panel.at.value = "999"
    press(panel, "Branch here")
    assert "999" in str(panel.said.content)
    press(panel, "Stop")
    assert "choose a mirror" in str(panel.said.content)
    assert not (tmp_path / "mirrors").exists()


def test_the_workbench_flows_from_left_to_right(tmp_path: Path) -> None:
    """The chosen row decides what every tab shows; what nobody opened is not made; actions are shown as code."""
    bench = workbench(SAMPLES, tmp_path / "mirrors")
    assert bench.state is None
    bench.table.select("ledger-close-1796050230")
    assert bench.timeline is None
    for tab in range(4):
        bench.tabs.selected_index = tab
    bench.timeline.step = 1
    assert bench.state.point == 1
    assert bench.mirrors.at.value == "1"
    bench.table.select("invoice-clerk")
    bench.tabs.selected_index = 2
    assert bench.effects.run is bench.run is bench.runs["invoice-clerk-1796050222-fb564cea49bb"]
    bench.tabs.selected_index = 1
    loom = bench.runs.loom_runs[0]
    bench.table.picked = next(n for n, run in enumerate(bench.table._rows.runs) if run is loom)
    assert (bench.run, bench.tabs.selected_index) == (loom, 0)
    assert bench.table.refusal == ""
    code = "\n".join(bench.code.lines)
    for call in (
        "runs = rk.open_runs(",
        "run = runs['ledger-close-1796050230-4d968334fc28']",
        "state = run.at(1)",
        "rk.calls_df(run)",
    ):
        assert call in code
    bundle = bench._repr_mimebundle_()
    assert "ledger-close" in bundle["text/plain"]
    assert "<script" not in bundle["text/html"]
    bench.close()


def test_hostile_text_in_forms(tmp_path: Path) -> None:
    """Hostile runs go through panel and workbench: no control character reaches a control, no secret either."""
    bench = workbench(SAMPLES / "16a-hostile-text", tmp_path / "mirrors")
    for key in bench.runs:
        bench.table.select(key)
        for tab in range(4):
            bench.tabs.selected_index = tab
        press(bench.mirrors, "Branch here")
        seen = texts(bench) + "".join(v for k, v in bench._repr_mimebundle_().items() if k.startswith("text/"))
        seen.encode()
        assert not ACTING.search(seen)
    bench.close()


def test_closing_leaves_nothing_open(tmp_path: Path) -> None:
    """A closed workbench has closed every widget it made."""
    held = ipywidgets.widgets.widget._instances
    before = set(held)
    bench = workbench(SAMPLES, tmp_path / "mirrors")
    bench.table.select("ledger-close-1796050230")
    for tab in range(4):
        bench.tabs.selected_index = tab
    press(bench.mirrors, "Branch here")
    bench.close()
    assert not set(held) - before
