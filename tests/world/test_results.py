"""A turn and its results into a window: routing, caps, pointers, fallbacks."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import Raw

from recovery_kit.records.blueprint import RegionSpec, RoutingOverride, ToolRouting
from recovery_kit.records.engines import engine
from recovery_kit.records.window import BlobRef, Content, Entry, Part, Region, ToolResult, TurnCall, Window
from recovery_kit.world.regions import region_of
from recovery_kit.world.results import Applied, Placing, apply_batch, capped, turn_entry

NEWEST, OLD = engine("0.6.4"), engine("0.4.0")

BLOB = Part("image/png", BlobRef("a" * 64, "image/png", 9, stand_in="[image/png, 9 B] a.png"), "a.png")

PLAIN = Placing()


def window(papers: int = 100, conversation: int = 1000, kind: str = "temporary") -> Window:
    regions = (Region("papers", kind, 0, papers), Region("conversation", "sliding_window", 0, conversation))
    return Window("s", 0, 2000, regions)


def calls(*names: str) -> list[TurnCall]:
    return [TurnCall(f"c{n}", name, Raw(b"{}")) for n, name in enumerate(names)]


def applied(
    results: list[Content], placing: Placing = PLAIN, rules: Any = NEWEST, before: Window | None = None,
    tools: tuple[str, ...] = (),
) -> Applied:  # fmt: skip
    made = calls(*(tools or ("shell",) * len(results)))
    pairs = [(call.id, content) for call, content in zip(made, results, strict=True)]
    return apply_batch(before or window(), turn_entry("go", made, placing), pairs, placing, rules)


def entries(done: Applied, region: str = "conversation") -> tuple[Entry, ...]:
    found = region_of(done.window, region)
    return found.entries if found else ()


ROUTED = Placing(routing=ToolRouting("papers"))


def test_without_routing_everything_is_in_the_conversation() -> None:
    """The turn, then a result a call in call order; failures are not flagged."""
    done = applied(["one", "[error] two"])
    assert [entry.content for entry in entries(done)] == ["go", "one", "[error] two"]
    assert entries(done)[2].kind == ToolResult("c1", "shell", False)
    assert [(step.cause, step.call_id) for step in done.steps] == [
        ("model_reply", None), ("tool_result", "c0"), ("tool_result", "c1")
    ]  # fmt: skip
    assert done.window.total_tokens == sum(entry.tokens for entry in entries(done))


def test_a_routed_result_leaves_a_pointer_in_the_engines_words() -> None:
    """The text goes where the stage routes it; the pointer names size, region and the first 160 characters."""
    done = applied(["v" * 200], ROUTED)
    assert [entry.content for entry in entries(done, "papers")] == ["v" * 200]
    assert entries(done)[1].content == (
        "[output (50 tokens) is in your context under the 'papers' heading - it is already in this prompt, so no tool "
        f"call is needed to see it. Preview: {'v' * 160}…]"
    )
    assert [step.region for step in done.steps] == ["conversation", "papers", "conversation"]
    assert done.landings[0].fate == "whole"


def test_what_could_not_be_stored_is_said_in_the_engines_words() -> None:
    """A region that is not there: the pointer is all that survives."""
    done = applied(["posted"], Placing(routing=ToolRouting("nowhere")))
    assert entries(done)[1].content == (
        "[output could NOT be stored - context region 'nowhere' is full and refused it, so only this preview survives. "
        "Release what you are finished with (context_delete) and fetch it again if you still need it. Preview: posted]"
    )
    assert (done.landings[0].fate, done.landings[0].dropped) == ("refused", 6)


def test_old_engines_write_the_pointer_first_and_claim_success() -> None:
    """Up to 0.4.0 it says that all is there, whatever becomes of it."""
    done = applied(["posted"], Placing(routing=ToolRouting("nowhere")), OLD)
    assert str(entries(done)[1].content).startswith("[output (2 tokens) is in your context under the 'nowhere' heading")
    routed = applied(["posted"], ROUTED, OLD)
    assert [step.region for step in routed.steps] == ["conversation", "conversation", "papers"]


def test_a_hidden_region_is_said_to_be_hidden() -> None:
    """Stored whole, but this stage does not show it."""
    done = applied(["posted"], replace(ROUTED, hidden=frozenset({"papers"})))
    assert str(entries(done)[1].content).startswith("[output (2 tokens) went to context region 'papers'")
    assert len(entries(done, "papers")) == 1


def test_the_beginning_of_a_text_that_does_not_fit_is_kept() -> None:
    """With more than 100 tokens free: (free - 10) x 4 characters and what was left out, in bytes."""
    done = applied(["x" * 2000], ROUTED, before=window(papers=200))
    (kept,) = entries(done, "papers")
    assert kept.content == "x" * 760 + "... [truncated, 1240 chars omitted]"
    assert done.landings[0].fate == "prefix" and done.landings[0].dropped == 1240
    assert str(entries(done)[1].content).startswith("[output is in your context under the 'papers' heading up to")


def test_with_little_room_a_placeholder_stands_in_its_place() -> None:
    """Up to 100 tokens free: a bracketed note; where that does not fit either, five tokens; else nothing at all."""
    note = applied(["x" * 2000], ROUTED, before=window(papers=50))
    assert str(entries(note, "papers")[0].content).startswith("[tool result truncated")
    least = applied(["x" * 2000], ROUTED, before=window(papers=6))
    assert [(e.content, e.tokens) for e in entries(least, "papers")] == [("[result omitted]", 5)]
    nothing = applied(["x" * 2000], ROUTED, before=window(papers=4))
    assert entries(nothing, "papers") == ()
    assert {done.landings[0].fate for done in (note, least, nothing)} == {"refused"}


def test_an_old_engine_falls_through_where_a_new_one_makes_room() -> None:
    """A full temporary region: the newer lets the oldest go, the older shrinks the result."""
    held = Entry("h" * 240, 60)
    region = Region("papers", "temporary", 60, 100, (held,))
    before = Window("s", 60, 2000, (region, window().regions[1]))
    new, old = applied(["x" * 240], ROUTED, NEWEST, before), applied(["x" * 240], ROUTED, OLD, before)
    assert [e.content for e in entries(new, "papers")] == ["x" * 240]
    assert entries(old, "papers")[0] == held
    assert str(entries(old, "papers")[1].content).startswith("[tool result truncated")


@pytest.mark.parametrize(
    ("text", "cap", "made"),
    [
        ("x" * 20, 5, "x" * 20),
        ("x" * 21, 5, "x" * 20 + "\n[...truncated]"),
        ("é" * 12, 5, "é" * 12 + "\n[...truncated]"),
        ("x" * 99, None, "x" * 99),
    ],
)
def test_a_cap_counts_bytes_and_cuts_characters(text: str, cap: int | None, made: str) -> None:
    """Wide characters may lose nothing and still get the mark."""
    assert capped(text, cap) == made


def test_a_cap_cuts_the_text_and_keeps_stored_parts() -> None:
    """Text part first, then the parts; a list without any becomes a bare text."""
    cut = capped((Part("text/plain", "x" * 30), BLOB), 5)
    assert cut == (Part("text/plain", "x" * 20 + "\n[...truncated]"), BLOB)
    assert capped((Part("text/plain", "a"), Part("text/plain", "b")), None) == "a\nb"


def test_parts_are_charged_one_by_one_and_lost_in_a_fallback() -> None:
    """Text and stand-in each rounded up; what has to shrink keeps the rendering only."""
    content: Content = (Part("text/plain", "abcde"), BLOB)
    done = applied([content])
    assert entries(done)[1].tokens == 2 + 6
    shrunk = applied([(Part("text/plain", "x" * 2000), BLOB)], ROUTED, before=window(papers=200))
    assert isinstance(entries(shrunk, "papers")[0].content, str)


def test_overrides_caps_and_scratch() -> None:
    """A tool's own region and cap, by its canonical name; scratch, where it is, takes results that are not kept."""
    routing = ToolRouting(
        "papers",
        {"shell": RoutingOverride("conversation", 1)},
        max_result_tokens=3,
        max_result_tokens_per_tool={"b": 2},
    )
    placing = Placing(routing=routing)
    assert placing.region_for("bash", window()) == "conversation"
    assert placing.region_for("read_file", window()) == "papers"
    assert [placing.cap_for(tool) for tool in ("bash", "b", "c")] == [1, 2, 3]
    scratch = Window("s", 0, 9, (Region("scratch", "temporary", 0, 9),))
    away = Placing(routing=replace(routing, keep_results=False))
    assert away.region_for("bash", scratch) == "scratch"
    assert away.region_for("bash", window()) == "conversation"


def test_taints_are_those_of_the_tools_where_something_tracks_them() -> None:
    """Turns Public, files Internal, other tools Public; untracked, all show Internal."""
    tracked = applied(["a", "b"], Placing(sensitivity={"read_file": "Internal"}), tools=("read_file", "shell"))
    assert [entry.taint for entry in entries(tracked)] == ["Public", "Internal", "Public"]
    assert {entry.taint for entry in entries(applied(["a", "b"]))} == {"Internal"}


def test_a_turn_without_room_is_dropped_and_said() -> None:
    """Its results are tried all the same."""
    done = applied(
        ["one"], before=window(conversation=1), placing=Placing({"conversation": RegionSpec("conversation")})
    )
    assert done.turn_refused is None
    tight = apply_batch(
        window(conversation=1), turn_entry("far too long", calls("shell")), [("c0", "one")], Placing(), OLD
    )
    assert tight.turn_refused is not None and tight.turn_refused.why == "full"


def test_twins_of_one_id_get_the_first_ones_name() -> None:
    """Nothing tells two calls of one id apart."""
    made = [TurnCall("a", "shell", Raw(b"{}")), TurnCall("a", "read_file", Raw(b"{}"))]
    done = apply_batch(window(), turn_entry("", made), [("a", "x"), ("a", "y")], Placing(), NEWEST)
    assert [e.kind.tool_name for e in entries(done) if isinstance(e.kind, ToolResult)] == ["shell", "shell"]
