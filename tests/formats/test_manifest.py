"""Reading a manifest: the engine's reading rules, and what the kit says it cannot do."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery_kit.errors import ManifestUnreadable
from recovery_kit.formats.manifest import parse_manifest, scripts_named
from recovery_kit.records.blueprint import RoutingOverride, Seed
from recovery_kit.records.meta import ModelRef

EXAMPLES = Path(__file__).parent.parent / "data" / "requests"


def example(name: str) -> str:
    """The manifest of a stored example."""
    return json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))["manifest"]


def test_declared_order_is_kept() -> None:
    """Stages and regions stand as the manifest declares them, for their places mean something."""
    blueprint = parse_manifest(example("every-kind-of-region"))
    assert blueprint.stage_names == ("gather", "review", "report")
    assert [region.name for region in blueprint.regions][:3] == ["task", "balances", "findings"]
    assert blueprint.stage_index("report") == 2


def test_the_digest_is_of_the_bytes() -> None:
    """The SHA-256 of a manifest is what a run's metadata records of it."""
    text = example("begin")
    assert parse_manifest(text.encode()).sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_a_member_of_the_wrong_type_is_absent() -> None:
    """A text where a number belongs passes silently and leaves the default."""
    text = '[agent]\nname = 4\n[stages.a]\nmax_iterations = "9"\nmode = 1\n[context.regions.r]\nmax_tokens = "7"\n'
    blueprint = parse_manifest(text)
    assert blueprint.name == "unnamed"
    assert blueprint.stages[0].max_iterations is None and blueprint.stages[0].mode == "autonomous"
    assert blueprint.regions[0].max_tokens == 5000


def test_a_negative_count_names_its_key() -> None:
    """A count below zero is the one wrong value that raises."""
    with pytest.raises(ManifestUnreadable, match="stages.a.max_iterations"):
        parse_manifest("[agent]\n[stages.a]\nmax_iterations = -1\n")


@pytest.mark.parametrize("source", [b"\xff\xfe", b"agent = ", b"", b"[stages.a]\n", b"agent = 4\n"])
def test_what_is_no_manifest_raises_one_kind_of_error(source: bytes) -> None:
    """Bytes that are no text, text that is no TOML and TOML without an agent are refused alike."""
    with pytest.raises(ManifestUnreadable):
        parse_manifest(source)


@given(st.integers(min_value=0, max_value=2000))
def test_a_manifest_cut_anywhere_reads_or_raises(cut: int) -> None:
    """A copy that was cut off is either read or refused with the one error, never anything else."""
    source = example("every-kind-of-region").encode()[:cut]
    try:
        assert parse_manifest(source).stages
    except ManifestUnreadable as error:
        assert error.sentence


def test_defaults_without_regions_and_stages() -> None:
    """An agent table alone is a manifest: one stage and two regions."""
    blueprint = parse_manifest("[agent]\n")
    assert blueprint.stage_names == ("main",)
    assert [(r.name, r.kind, r.max_tokens) for r in blueprint.regions] == [
        ("system", "pinned", 8000), ("conversation", "sliding_window", 10000),
    ]  # fmt: skip


def test_old_spellings_are_read() -> None:
    """Words of earlier versions mean what they meant."""
    blueprint = parse_manifest(
        """
        [agent]
        [context.regions]
        a = { kind = "persistent" }
        b = { kind = "hash_map" }
        [stages.s]
        mode = "interactive_points"
        tool_routing = { persist = false }
        [[stages.s.interaction_points]]
        choices = ["yes"]
        followups = { yes = "go" }
        [stages.s.transitions.t]
        transform = "summarize"
        [stages.t.model]
        provider = "p"
        model = "one"
        fallbacks = [{ provider = "q", model = "two" }]
        """
    )
    stage = blueprint.stages[0]
    assert [region.kind for region in blueprint.regions] == ["pinned", "hashmap"]
    assert stage.tool_routing is not None and not stage.tool_routing.keep_results
    assert stage.interaction_points[0].options == ("yes",)
    assert stage.interaction_points[0].directives == {"yes": "go"}
    assert stage.transitions is not None and stage.transitions[0].transform == "compact"
    assert blueprint.stages[1].model.candidates == (ModelRef("p", "one"), ModelRef("q", "two"))
    assert blueprint.unsupported == ()


def test_an_empty_transitions_table_is_not_no_table() -> None:
    """Without the table the run goes on to the next stage, with an empty one it ends."""
    text = "[agent]\n[stages.a]\n[stages.b.transitions]\n"
    assert [stage.transitions for stage in parse_manifest(text).stages] == [None, ()]


def test_an_output_stage_may_end_the_run() -> None:
    """Mode `output` owes an answer and may complete, unless it says otherwise."""
    text = '[agent]\n[stages.a]\nmode = "output"\n[stages.b]\nmode = "output"\nallow_complete = false\n'
    first, second = parse_manifest(text).stages
    assert first.require_output and first.allow_complete
    assert second.require_output and not second.allow_complete


def test_where_results_go() -> None:
    """An override names a region, a cap, or both."""
    routing = parse_manifest(example("every-kind-of-region")).stages[0].tool_routing
    assert routing is not None
    assert routing.overrides["shell"] == RoutingOverride("scratchpad", 120)
    assert [routing.region_for(tool) for tool in ("read_file", "list_dir")] == ["sources", "conversation"]
    assert [routing.cap_for(tool) for tool in ("shell", "read_file")] == [120, 600]


def test_shares_of_the_window() -> None:
    """A budget is rounded, capped, and floored in this order."""
    text = '[agent]\n[context.regions.r]\nbudget = "0.5%"\nmin_tokens = 900\nmax_tokens = 800\n'
    region = parse_manifest(text).regions[0]
    assert region.budget == 0.005
    assert region.ceiling(200_000) == 900
    with pytest.raises(ManifestUnreadable, match="context.regions.r.budget"):
        parse_manifest(text.replace("0.5%", "a lot"))


def test_the_region_called_task_is_seeded_with_the_task() -> None:
    """Only a region of that name needs no `seed` for it."""
    regions = parse_manifest('[agent]\n[context.regions]\ntask = {}\nin = { seed = "task_input" }\nx = {}\n').regions
    assert [region.seed for region in regions] == [Seed("caller", "task"), Seed("caller", "task"), None]


def test_keys_that_change_the_run_are_named() -> None:
    """What the kit's runtime does not do is listed by key, and nothing else is."""
    blueprint = parse_manifest(
        """
        [agent]
        [repetition_detection]
        [context.file_tracking]
        region = "files"
        [context.regions]
        shelves = { kind = "custom", script = "shelves/sort.rhai" }
        notes = { budget = "5%", seed = { literal = "x" } }
        [stages.a]
        available_tools = ["@mcp", "@builtin"]
        sandbox = { kind = "none" }
        colour = "red"
        [stages.a.hooks]
        before_inference = "hooks/look.rhai"
        [stages.a.output]
        validator = "check.rhai"
        [stages.a.transitions.b]
        condition = "sometimes"
        [stages.b]
        """
    )
    assert set(blueprint.unsupported) == {
        'context.regions.shelves.kind = "custom"', "context.file_tracking", "context.regions.notes.budget",
        "context.regions.notes.seed", "stages.a.available_tools @mcp", "stages.a.sandbox", "stages.a.colour",
        "stages.a.hooks", "stages.a.output.validator", "stages.a.transitions.b.condition", "repetition_detection",
    }  # fmt: skip
    assert scripts_named(blueprint) == ("shelves/sort.rhai", "hooks/look.rhai", "check.rhai")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_manifests_of_real_runs_are_understood(path: Path) -> None:
    """Nothing in the manifests of the recorded runs is beyond the kit."""
    manifest = json.loads(path.read_text(encoding="utf-8")).get("manifest")
    if manifest is not None:
        blueprint = parse_manifest(manifest)
        assert blueprint.unsupported == () and scripts_named(blueprint) == ()
