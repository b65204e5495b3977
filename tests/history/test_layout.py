"""Which regions a window has, in which order, and which are hidden."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.history.layout import (
    ALWAYS_VISIBLE,
    built_window,
    hidden_regions,
    layout_after,
    layout_order,
    stage_prompt,
    stages_entered,
)
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import engine
from recovery_kit.records.window import Window

EXAMPLES = Path(__file__).parent.parent / "data" / "requests"
OLD = engine("0.4.0")


def example(name: str) -> tuple[Blueprint, Window]:
    """Manifest and window of a stored example."""
    data = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    return parse_manifest(data["manifest"]), msgspec.json.decode(json.dumps(data["window"]), type=Window)


def names(window: Window) -> list[str]:
    return [region.name for region in window.regions]


@pytest.mark.parametrize("name", ["batch-after-restart", "every-kind-of-region", "parts", "open-fan-out", "begin"])
def test_a_built_window_has_the_shape_the_engine_gave_it(name: str) -> None:
    """Names, kinds and ceilings of all regions, and the window's own ceiling, are those of the engine."""
    blueprint, window = example(name)
    built = built_window(blueprint)
    shape = [(region.name, region.kind, region.max_tokens) for region in built.regions]
    assert shape == [(region.name, region.kind, region.max_tokens) for region in window.regions]
    assert built.max_tokens == window.max_tokens


def test_an_older_engine_spells_kinds_its_own_way() -> None:
    """0.4.0 writes `sliding` where 0.6.4 writes `sliding_window`."""
    blueprint, window = example("older-engine-after-restart")
    assert [r.kind for r in built_window(blueprint, rules=OLD).regions] == [r.kind for r in window.regions]


def test_the_first_stage_has_its_prompt() -> None:
    """A build puts the first stage's prompt into the last region, whatever stage the run is in."""
    blueprint, _ = example("own-layout-live")
    built = built_window(blueprint)
    last = built.regions[-1]
    assert last.name == "stage_instructions"
    assert [entry.content for entry in last.entries] == ["[Stage instructions: Collect the vouchers.]"]
    assert built.total_tokens == last.current_tokens == last.entries[0].tokens


def test_prompts_of_special_stages() -> None:
    """A fan-out stage adds its split prompt, a stage that owes a described answer adds the demand."""
    fan, _ = example("open-fan-out")
    assert stage_prompt(fan, fan.stages[0]) == (
        "[Stage instructions: Hand out one worker per region.\n\nOne item per region that has to be closed.]"
    )
    report, window = example("every-kind-of-region")
    demand = stage_prompt(report, report.stages[2])
    assert demand is not None and "Return it in this format: markdown." in demand
    assert -(-len(demand) // 4) == window.regions[-1].max_tokens
    bare = parse_manifest("[agent]\n[stages.a]\n")
    assert stage_prompt(bare, bare.stages[0]) is None
    assert "stage_instructions" not in names(built_window(bare))


def test_order_after_a_stage_with_its_own_layout() -> None:
    """The stage's regions come first, in its order, the instructions stay last; a reload knows only the first stage."""
    blueprint, window = example("own-layout-live")
    live = ["task", "vouchers", "working_papers", "verdicts", "conversation", "inbox", "tool_results", "final_output",
            "stage_instructions"]  # fmt: skip
    assert layout_order(blueprint, names(window), ["assess"]) == live
    assert layout_order(blueprint, names(window))[:4] == ["task", "vouchers", "inbox", "conversation"]


def test_hiding() -> None:
    """What a layout omits and what `hide` names is hidden until the next stage; 0.4.0 lets hiding go on."""
    blueprint, _ = example("own-layout-live")
    assert hidden_regions(blueprint, ["assess"]) == {"inbox"}
    assert hidden_regions(blueprint, ["assess", "collect"]) == frozenset()
    assert hidden_regions(blueprint, ["assess", "collect"], OLD) == {"inbox"}
    other, _ = example("hidden-region")
    assert hidden_regions(other, ["review"]) == {"scratchpad"}
    assert hidden_regions(other, ["review"], OLD) == frozenset()


def test_a_window_in_order_keeps_its_regions() -> None:
    """Sorting moves regions and changes none; a region of no layout goes last."""
    blueprint, window = example("own-layout-live")
    ordered = layout_after(blueprint, ["assess"]).in_order(window)
    assert sorted(names(ordered)) == sorted(names(window))
    assert layout_order(blueprint, ["stranger", "task"]) == ["task", "stranger"]


def test_stages_entered_by_a_process() -> None:
    """After a restart the first stage a point names was not entered; before, every change is an entry."""
    blueprint, _ = example("hidden-region")
    seen = ["gather", "", "review", "review", "gather"]
    assert stages_entered(blueprint, seen) == ("review", "gather")
    assert stages_entered(blueprint, seen[2:], restarted=True) == ("gather",)


@given(st.lists(st.sampled_from(["gather", "review", "report", "nowhere"]), max_size=5))
def test_what_holds_after_any_stages(entered: list[str]) -> None:
    """However the stages follow, no always visible region is hidden, none appears twice, instructions are last."""
    blueprint, _ = example("hidden-region")
    layout = layout_after(blueprint, entered)
    assert not layout.hidden & ALWAYS_VISIBLE
    assert len(set(layout.order)) == len(layout.order)
    assert layout.order[-1] == "stage_instructions"
