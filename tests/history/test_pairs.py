"""Calls and their results in a window."""

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from recovery_kit.history.pairs import Place, request_check, tool_pairs
from recovery_kit.records.window import AssistantTurn, Entry, Region, Text, ToolResult, TurnCall, UserMessage, Window

WINDOW = Path(__file__).parent.parent / "data" / "requests" / "orphan-turns.window.json"


def turn(*ids: str, text: str = "") -> Entry:
    return Entry(text, 1, AssistantTurn(tuple(TurnCall(id, "shell", Raw(b"{}")) for id in ids)))


def result(id: str, text: str = "ok") -> Entry:
    return Entry(text, 1, ToolResult(id, "shell", False))


def window(*entries: Entry, kind: str = "sliding_window") -> Window:
    return Window("work", 0, 1000, (Region("conversation", kind, 0, 1000, entries),))


def test_matched_over_the_whole_window_first() -> None:
    """A result that comes later is not missing; one that comes before its call is a pair in the wrong place."""
    pairs = tool_pairs(msgspec.json.decode(WINDOW.read_bytes(), type=Window))
    assert pairs.paired == ("c1", "c5", "c6")
    assert pairs.calls_without_result == ("c2",)
    assert pairs.results_without_call == ("c9",)
    assert pairs.result_before_call == ("c5",)
    assert pairs.error_results == ("c6",)


def test_each_fault_names_its_entry() -> None:
    """Whoever has to look knows where."""
    pairs = tool_pairs(msgspec.json.decode(WINDOW.read_bytes(), type=Window))
    places = {fault.kind: str(fault.place) for fault in pairs.faults}
    assert places == {
        "call_without_result": "conversation/1", "result_without_call": "conversation/3",
        "result_before_call": "conversation/4",
    }  # fmt: skip


def test_what_is_left_out_and_what_is_still_refused() -> None:
    """The engine strips by id; what stands in the wrong place is left for the provider to refuse."""
    check = request_check(msgspec.json.decode(WINDOW.read_bytes(), type=Window))
    assert check.engine_strips == ("c2", "c9")
    assert check.provider_would_still_refuse == ("c5",)
    assert check.ends_on_assistant


def test_a_clean_window() -> None:
    """Two calls answered in any order right behind their turn are fine, and end on the user."""
    check = request_check(window(turn("a", "b"), result("b"), result("a")))
    assert (check.engine_strips, check.provider_would_still_refuse, check.ends_on_assistant) == ((), (), False)


def test_failures_are_told_by_prefix() -> None:
    """The flag on disk is false even for failures; four prefixes say it."""
    texts = ["[error] x", "[denied] x", "[unavailable] x", "[blocked] x", "fine [error]"]
    entries = [turn(*"abcde"), *(result(id, text) for id, text in zip("abcde", texts, strict=True))]
    assert tool_pairs(window(*entries)).error_results == ("a", "b", "c", "d")


def test_one_id_for_two_calls() -> None:
    """The engine sends both; a provider refuses the second call and the second result."""
    check = request_check(window(turn("a", "a"), result("a"), result("a")))
    assert check.engine_strips == ()
    assert [fault.kind for fault in check.faults] == ["call_id_repeated", "result_repeated"]


def test_an_answer_behind_another_turn() -> None:
    """A call that is answered two messages later is refused, and so is that result."""
    check = request_check(window(turn("a"), turn("b"), result("a"), result("b"), turn(text="x"), result("c")))
    assert check.provider_would_still_refuse == ()
    late = request_check(window(turn("a"), Entry("hm", 1, UserMessage()), turn(text="so"), result("a")))
    assert late.provider_would_still_refuse == ("a",)
    assert [fault.place for fault in late.faults] == [Place("conversation", 0), Place("conversation", 3)]


def test_a_turn_that_is_stripped_to_nothing_ends_nothing() -> None:
    """An open call without a word goes away whole, so the window does not end on the assistant."""
    assert not request_check(window(Entry("go", 1, UserMessage()), turn("a"))).ends_on_assistant
    assert request_check(window(Entry("Assistant: done", 1, Text()))).ends_on_assistant


def test_only_what_becomes_messages_counts() -> None:
    """Entries of other regions and of hidden ones are shown as text or not at all."""
    assert tool_pairs(window(turn("a"), kind="temporary")).calls_without_result == ()
    assert tool_pairs(window(turn("a")), hidden=["conversation"]).calls_without_result == ()


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), max_size=12))
def test_every_id_is_in_one_set(entries: list[tuple[bool, str]]) -> None:
    """Whatever the order, an id is paired, lacks its result, or lacks its call, and what lacks one is stripped."""
    made = window(*(turn(id) if call else result(id) for call, id in entries))
    pairs = tool_pairs(made)
    sets = [pairs.paired, pairs.calls_without_result, pairs.results_without_call]
    assert sorted(id for found in sets for id in found) == sorted({id for _, id in entries})
    assert set(request_check(made).engine_strips) == {*pairs.calls_without_result, *pairs.results_without_call}
    assert set(pairs.result_before_call) <= set(pairs.paired)
