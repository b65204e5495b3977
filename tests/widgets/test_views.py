"""What views send to a browser: small, complete, masked, and a sentence for whatever goes wrong."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from samples import CASES, SAMPLES, run_folders, sample

import recovery_kit as rk
from recovery_kit.errors import OtherRuntime
from recovery_kit.formats.writing import plain
from recovery_kit.widgets import browse, certainty, timeline
from recovery_kit.widgets.trees import tree, visible

HOSTILE = [
    sample("16a-hostile-text"),
    CASES / "H09-markup-in-names/input/runs",
    CASES / "H03-text-that-breaks/input/runs",
]
SECRETS = CASES / "H08-signing-key-in-the-journal/input/runs"
HIDDEN = ("whsec_DEMO_0000_not_a_real_key_7f3a", "whsec_DEMO_0000_not_a_re", "DEMO-QUERY-TOKEN")
FRONT = Path(rk.__file__).parent / "widgets" / "front"
ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff]")


def said(view: Any) -> Iterator[str]:
    """Everything that the browser gets from a view when somebody clicks all of it."""
    yield json.dumps({name: value for name, value in view.get_state().items() if isinstance(value, str | list | dict)
                      and name not in ("_esm", "_css")}, ensure_ascii=False)  # fmt: skip
    for question in asked(view):
        answer = view.answered(question)
        assert "refusal" not in answer, (question, answer)
        yield json.dumps(answer, ensure_ascii=False)
    yield from (text for kind, text in view._repr_mimebundle_().items() if kind.startswith("text/"))


def asked(view: Any) -> Iterator[dict[str, Any]]:
    name = type(view).__name__
    if name == "RunTable":
        yield {"ask": "page", "count": 100}
        yield {"ask": "deep", "numbers": list(range(20))}
    if name == "Effects":
        yield {"ask": "batches"}
        yield from ({"ask": "evidence", "call": n} for n in range(len(view.run.effects)))
    if name == "Scrubber":
        for step in range(len(view.run.points)):
            yield {"ask": "sent", "step": step, "api": "anthropic"}
            yield {"ask": "moment", "step": step, "before": None}
            for region in view.answered({"ask": "moment", "step": step, "before": None})["regions"]:
                yield {"ask": "more", "step": step, "region": region["id"], "until": region["count"]}
                if region["count"]:
                    yield {"ask": "entry", "step": step, "region": region["id"], "entry": region["count"] - 1}


def views(place: Path) -> Iterator[Any]:
    runs = rk.open_runs(place)
    yield browse(runs)
    for run in runs.agent_runs:
        yield timeline(run)
        yield certainty(run)


@pytest.mark.parametrize("place", HOSTILE, ids=["hostile", "markup", "breaking"])
def test_what_acts_unseen_is_shown(place: Path) -> None:
    """No control character, mark of direction or half emoji goes to a browser, and UTF-8 can be written of all."""
    for view in views(place):
        for text in said(view):
            text.encode()
            assert not ACTING.search(text.replace("\\n", ""))


def test_a_secret_goes_to_no_browser() -> None:
    """Neither the signing key nor the token of the callback's address is in any state, answer or twin."""
    for view in views(SECRETS):
        for text in said(view):
            assert not [secret for secret in HIDDEN if secret in text]


def test_a_step_is_small() -> None:
    """One step along a run, and a jump to any point of it, is answered with at most 5 KB."""
    for folder in run_folders():
        view = timeline(rk.open_run(folder))
        for step in range(len(view.run.points)):
            for question in ({"before": step - 1}, {"before": None}):
                answer = view.answered({"ask": "moment", "step": step, "view": "v", "number": 1} | question)
                assert len(json.dumps(answer).encode()) <= 5000
            assert len(json.dumps(view.answered({"ask": "sent", "step": step, "api": "openai"})).encode()) <= 5000


def test_only_what_changed_is_sent() -> None:
    """Steps one after the other, put together as the browser does it, are the same as each point asked on its own."""
    view = timeline(rk.open_run(sample("13a-stages-and-loops")))
    held: dict[str, Any] = {}
    order: list[str] = []
    before, sent, whole = None, 0, 0
    for step in [*range(len(view.run.points)), 0, 3]:
        change = view.answered({"ask": "moment", "step": step, "before": before})
        alone = view.answered({"ask": "moment", "step": step, "before": None})
        held |= {region["id"]: region for region in change["regions"]}
        order = change.get("order", order)
        assert order == alone["order"]
        assert {name: held[name]["count"] for name in order} == {r["id"]: r["count"] for r in alone["regions"]}
        assert {name: held[name]["tokens"] for name in order} == {r["id"]: r["tokens"] for r in alone["regions"]}
        sent, whole, before = sent + len(change["regions"]), whole + len(alone["regions"]), step
    assert sent < whole


def test_new_entries_are_those_the_point_before_did_not_have() -> None:
    """Where a region only grew, its new entries are its last ones; where nothing grew, none is new."""
    for folder in run_folders():
        run = rk.open_run(folder)
        view = timeline(run)
        for step in range(1, len(run.points)):
            now, before = ({r.name: r.entries for r in run.at(at).window.regions} for at in (step, step - 1))
            answer = view.answered({"ask": "moment", "step": step, "before": None})
            names = dict(zip(answer["order"], now, strict=True))
            new = {names[region]: numbers for region, numbers in answer["new"].items() if numbers}
            for name, entries in now.items():
                old = before.get(name, ())
                if as_text(entries[: len(old)]) == as_text(old):
                    assert new.get(name, []) == list(range(len(old), len(entries)))


def as_text(entries: Any) -> list[bytes]:
    return [msgspec.json.encode(plain(entry)) for entry in entries]


def test_a_failing_call_is_a_sentence() -> None:
    """A question that cannot be answered, or a callback that raises, is told in the view."""
    view = timeline(rk.open_run(sample("01-finished")))
    assert "there is no point 999" in view.answered({"ask": "moment", "step": 999})["refusal"]
    assert "run the cell again" in view.answered({"ask": "nonsense"})["refusal"]
    table = browse(rk.open_runs(SAMPLES))
    assert "condition" in table.answered({"ask": "page", "query": "unknown>>1"})["refusal"]

    @table.on_select
    def fails(run: Any) -> None:
        raise RuntimeError("<b>nothing to see</b>\x1b[31m")

    table.picked = 0
    assert table.refusal == "RuntimeError: <b>nothing to see</b>␛[31m"
    table._told.clear()
    table.picked = 1
    assert table.refusal == ""


def test_selecting_gives_the_run() -> None:
    """A selection by row or by key is the run, and each is told."""
    runs = rk.open_runs(SAMPLES)
    table, told = browse(runs), list[str]()
    table.on_select(lambda run: told.append(run.id))
    assert table.selected is None
    table.select("ledger-close-1796050230")
    assert table.selected is runs["ledger-close-1796050230-4d968334fc28"]
    assert told == ["ledger-close-1796050230-4d968334fc28"]


def test_a_table_orders_and_filters() -> None:
    """Rows come in the order that was asked for, what is not known last; words and conditions filter."""
    table = browse(rk.open_runs(SAMPLES))

    def page(**wanted: Any) -> dict[str, Any]:
        answer = table.answered({"ask": "page", "count": 100} | wanted)
        while "of" in answer:
            answer = table.answered({"ask": "page", "count": 100} | wanted)
        return answer

    every = page()
    assert every["fitting"] == len(table.runs)
    few = page(query="unknown>0")
    numbers = [number for number, _ in few["rows"]]
    assert 0 < few["fitting"] < every["fitting"]
    assert all(any(call.is_unknown for call in table._rows.runs[n].effects) for n in numbers)
    paused = [run for run in table.runs.agent_runs if run.meta and run.meta.status == "paused"]
    assert page(query="paused")["fitting"] >= len(paused) > 0
    by_name = [cells[0] for _, cells in page(sort="run", down=True)["rows"]]
    assert by_name == sorted(by_name, key=str.casefold, reverse=True)
    moved = [cells[4] for _, cells in page(sort="moved")["rows"]]
    assert moved == sorted(moved)


def test_a_workflow_is_a_row_and_no_timeline() -> None:
    """A Run of a workflow stands in the table without a hole; views that it has not say so."""
    runs = rk.open_runs(SAMPLES)
    table, loom = browse(runs), runs.loom_runs[0]
    place = next(n for n, run in enumerate(table._rows.runs) if run is loom)
    ((_, cells),) = table.answered({"ask": "deep", "numbers": [place]})["rows"]
    assert not [cell for cell in cells if cell is None or "not read" in str(cell)]
    for view in (timeline, certainty):
        with pytest.raises(OtherRuntime):
            view(loom)


def test_a_refresh_keeps_the_place(tmp_path: Path) -> None:
    """A run that grows is read on; the chosen point stays chosen."""
    source = sample("02e-killed-twice-and-finished")
    journal = (source / "run.lvr").read_bytes()
    for name in ("meta.json", "context.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    whole = rk.open_run(source)
    (tmp_path / "run.lvr").write_bytes(journal[: whole.points[6].offset])
    view = timeline(rk.open_run(tmp_path))
    assert len(view.run.points) == 6
    view.step = 2
    (tmp_path / "run.lvr").write_bytes(journal)
    assert view.refresh().points == len(whole.points) - 6
    assert (view.step, view.shape["points"], view.generation) == (2, len(whole.points), 1)
    assert view.state.point == 2


def test_every_run_has_its_views() -> None:
    """Also runs without points, without calls or with damage have views with twins."""
    for folder in run_folders():
        run = rk.open_run(folder)
        for view in (timeline(run), certainty(run)):
            bundle = view._repr_mimebundle_()
            assert bundle["text/html"].startswith("<div")
            assert "<script" not in bundle["text/html"]
            assert bundle["text/plain"]


def test_the_front_end_parses_no_markup() -> None:
    """Scripts of ours set text and build elements; none parses markup, asks the network or is built from text."""
    for path in FRONT.glob("*.js"):
        script = path.read_text("utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                     "fetch(", "XMLHttpRequest", "import(", "http://", "https://", "DOMParser", ".srcdoc"):  # fmt: skip
            assert word not in script.replace("http://www.w3.org/2000/svg", ""), (path.name, word)


def test_colours_come_from_the_theme() -> None:
    """No style sheet of ours names a colour of its own but as a fallback."""
    for path in FRONT.glob("*.css"):
        bare = re.sub(r"var\([^()]*\)", "", path.read_text("utf-8"))
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", bare), path.name


def test_a_picture_as_a_tree_is_the_same_picture() -> None:
    """The nested lists that a browser builds from hold the tags and texts of the markup, unescaped once."""
    run = rk.open_run(sample("16a-hostile-text"))
    picture = certainty(run).picture()
    texts: list[str] = []
    tags: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, str):
            texts.append(node)
        else:
            tags.append(node[0])
            for child in node[2:]:
                walk(child)

    walk(tree(picture))
    assert tags[1:] == re.findall(r"<([a-zA-Z]+\d?)", picture)
    assert "&lt;" not in "".join(texts).replace("&amp;", "")
    assert visible("<b>&amp;\x1b</b>") == "<b>&amp;␛</b>"
