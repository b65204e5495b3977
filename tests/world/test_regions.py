"""What regions take, what they let go, what they refuse; keys and items."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import RegionSpec
from recovery_kit.records.engines import engine
from recovery_kit.records.window import AssistantTurn, Entry, Region, ToolResult, TurnCall, Window
from recovery_kit.world.blocks import checklist_text
from recovery_kit.world.keyed import add_item, mark_item, release_index, release_key, upsert
from recovery_kit.world.regions import add, clear, groups, oldest_off, region_of, rewrite

NEWEST, OLD = engine("0.6.4"), engine("0.4.0")


def said(tokens: int, name: str = "") -> Entry:
    """A text of so many tokens."""
    return Entry((name or "x").ljust(tokens * 4, "."), tokens)


def turn(*ids: str) -> Entry:
    return Entry("t", 1, AssistantTurn(tuple(TurnCall(id, "shell", Raw(b"{}")) for id in ids)))


def result(id: str, tokens: int = 1) -> Entry:
    return Entry("r" * 4 * tokens, tokens, ToolResult(id, "shell", False))


def window(kind: str, *entries: Entry, max_tokens: int = 20) -> Window:
    total = sum(entry.tokens for entry in entries)
    return Window("s", total, 1000, (Region("r", kind, total, max_tokens, entries),))


def held(after: Window) -> list[Any]:
    region = region_of(after, "r")
    assert region is not None
    assert region.current_tokens == sum(entry.tokens for entry in region.entries)
    return list(region.entries)


@pytest.mark.parametrize("kind", ["temporary", "clearable", "sliding_window", "sliding", "compacting"])
def test_evictable_regions_let_the_oldest_go(kind: str) -> None:
    """Twelve and eleven of twenty leave eleven, and the total is brought up to date."""
    done = add(window(kind, said(12), said(5, "b")), "r", said(11, "c"), None, NEWEST)
    assert done.accepted and done.let_go == (said(12),)
    assert held(done.window) == [said(5, "b"), said(11, "c")]
    assert done.window.total_tokens == 16


@pytest.mark.parametrize("kind", ["pinned", "checklist", "compact_history", "custom"])
def test_other_regions_refuse_with_the_figures(kind: str) -> None:
    """What is full stays as it was."""
    before = window(kind, said(12))
    done = add(before, "r", said(11), None, NEWEST)
    assert done.window is before and done.refusal is not None
    assert (done.refusal.why, done.refusal.held, done.refusal.wanted, done.refusal.ceiling) == ("full", 12, 11, 20)
    assert "12 + 11 > 20" in str(done.refusal)


def test_an_entry_that_fits_no_way_lets_nothing_go() -> None:
    """Larger than the region: refused, and nothing is removed in vain."""
    before = window("temporary", said(12))
    done = add(before, "r", said(21), None, NEWEST)
    assert not done.accepted and done.window is before and done.let_go == ()


def test_old_engines_refuse_at_once() -> None:
    """Up to 0.4.0 a full region refuses, whatever its kind."""
    assert not add(window("temporary", said(12)), "r", said(11), None, OLD).accepted
    assert add(window("temporary", said(12)), "r", said(8), None, OLD).accepted


def test_a_region_may_be_declared_to_refuse() -> None:
    """`admission = "reject"`: by its budget and by its items; engines before 0.3.10 do not know the word."""
    spec = RegionSpec("r", "sliding_window", max_items=2, admission="reject")
    over = add(window("sliding_window", said(12)), "r", said(11), spec, NEWEST)
    many = add(window("sliding_window", said(1), said(1)), "r", said(1), spec, NEWEST)
    unknown = add(window("sliding_window", said(1), said(1)), "r", said(1), spec, engine("0.3.9"))
    assert over.refusal is not None and over.refusal.why == "rejected"
    assert many.refusal is not None and many.refusal.why == "at_item_limit"
    assert unknown.accepted and len(held(unknown.window)) == 2


def test_a_missing_region_and_a_hashmap_without_a_key_refuse() -> None:
    """Both are answers, not errors."""
    missing = add(window("pinned"), "elsewhere", said(1), None, NEWEST)
    keyless = add(window("hashmap"), "r", said(1), None, NEWEST)
    assert missing.refusal is not None and missing.refusal.why == "missing"
    assert keyless.refusal is not None and keyless.refusal.why == "no_key"


def test_a_turn_leaves_with_its_results() -> None:
    """A group is a turn and the results right behind it; every other entry stands alone."""
    entries = (said(1), turn("a", "b"), result("a"), result("b"), said(1), result("z"))
    assert [len(group) for group in groups(entries)] == [1, 3, 1, 1]
    spec = RegionSpec("r", "sliding_window", max_items=5)
    done = add(window("sliding_window", *entries[1:], max_tokens=100), "r", said(2), spec, NEWEST)
    assert held(done.window) == [said(1), result("z"), said(2)]
    assert done.let_go == entries[1:4]


@pytest.mark.parametrize(
    ("strategy", "count", "left", "marked"),
    [
        ("per_item", 4, 4, False),
        ("per_item", 5, 4, False),
        ("bulk", 6, 6, False),
        ("bulk", 7, 4, False),
        ("compact", 7, 7, False),
        ("compact", 8, 8, True),
        ("compact", 10, 10, True),
        ("compact", 11, 4, False),
    ],
)
def test_each_strategy_holds_its_limit(strategy: str, count: int, left: int, marked: bool) -> None:
    """Four items: one by one; in bulk past two more; marked past three more and cut past six more."""
    spec = RegionSpec("r", "sliding_window", max_items=4, strategy=strategy, overflow=2, compact_count=3)
    before = window("sliding_window", *[said(1)] * (count - 1), max_tokens=100)
    done = add(before, "r", said(1, "new"), spec, NEWEST)
    assert (len(held(done.window)), done.marked) == (left, marked)
    assert held(done.window)[-1] == said(1, "new")


def test_a_rewrite_clears_first() -> None:
    """A text too large for the region leaves it empty."""
    done = rewrite(window("temporary", said(3), said(4)), "r", said(21), None, NEWEST)
    assert not done.accepted and held(done.window) == [] and len(done.let_go) == 2
    fits = rewrite(window("pinned", said(18)), "r", said(20), None, NEWEST)
    assert fits.accepted and held(fits.window) == [said(20)] and fits.window.total_tokens == 20


def test_clear_and_oldest_off() -> None:
    """Whole regions, or at least so many of the oldest entries, groups being kept whole."""
    before = window("sliding_window", turn("a"), result("a"), said(1))
    assert held(clear(before, ("r",))) == []
    assert held(oldest_off(before, "r", 1).window) == [said(1)]
    assert held(oldest_off(before, "r", 9).window) == []


@given(st.lists(st.integers(1, 8), max_size=20), st.sampled_from(["temporary", "sliding_window", "pinned", "hashmap"]))
def test_no_write_overfills_a_region(sizes: list[int], kind: str) -> None:
    """Whatever is added in whatever order: never above the ceiling, and sums are right."""
    after = window(kind)
    for number, size in enumerate(sizes):
        entry = Entry("x" * size * 4, size, key=str(number))
        done = upsert(after, "r", entry) if kind == "hashmap" else add(after, "r", entry, None, NEWEST)
        after = done.window
        assert sum(entry.tokens for entry in held(after)) <= 20


def keyed(key: str, tokens: int) -> Entry:
    return Entry("k" * tokens * 4, tokens, key=key)


def test_an_existing_key_is_replaced_in_its_place_without_a_budget() -> None:
    """Position kept, no test: the region may end above its ceiling, and the window's total is left behind."""
    before = window("hashmap", keyed("a", 5), keyed("b", 5))
    done = upsert(before, "r", keyed("a", 18))
    assert [entry.key for entry in held(done.window)] == ["a", "b"]
    assert done.window.regions[0].current_tokens == 23
    assert done.window.total_tokens == 10


def test_joining_counts_the_joined_text_again() -> None:
    """One line feed between, tokens of the whole."""
    done = upsert(window("hashmap", Entry("abc", 1, key="a")), "r", Entry("defg", 1, key="a"), joined=True)
    (entry,) = held(done.window)
    assert (entry.content, entry.tokens) == ("abc\ndefg", tokens_of("abc\ndefg"))


def test_a_new_key_pushes_out_what_was_written_longest_ago() -> None:
    """By the second of the last write, ties by place; first to the number of entries, then to the budget."""
    before = window("hashmap", keyed("a", 2), keyed("b", 2), keyed("c", 2))
    spec = RegionSpec("r", "hashmap", max_entries=3)
    by_place = upsert(before, "r", keyed("d", 2), spec)
    by_time = upsert(before, "r", keyed("d", 2), spec, {"a": 9, "b": 3, "c": 9})
    by_size = upsert(before, "r", keyed("d", 17), spec)
    assert [entry.key for entry in held(by_place.window)] == ["b", "c", "d"]
    assert [entry.key for entry in held(by_time.window)] == ["a", "c", "d"]
    assert [entry.key for entry in held(by_size.window)] == ["c", "d"]


def test_a_new_text_larger_than_the_hashmap_empties_it() -> None:
    """Everything goes, and the write is refused all the same."""
    done = upsert(window("hashmap", keyed("a", 2)), "r", keyed("b", 21))
    assert held(done.window) == [] and done.refusal is not None and done.refusal.why == "full"


def test_entries_are_released_by_key_and_by_place() -> None:
    """What is not there changes nothing."""
    before = window("hashmap", keyed("a", 2), keyed("b", 2))
    assert [entry.key for entry in held(release_key(before, "r", "a").window)] == ["b"]
    assert [entry.key for entry in held(release_index(before, "r", 1).window)] == ["a"]
    assert release_key(before, "r", "z").let_go == ()


def test_items_are_numbered_from_the_highest_there_is() -> None:
    """Marks and notes are metadata: tokens stay, and the text shows what was done."""
    first, one = add_item(window("checklist"), "r", "buy")
    second, two = add_item(first.window, "r", "sell")
    assert (one, two) == (1, 2)
    marked = mark_item(second.window, "r", 1, done=True, note="late")
    assert marked is not None
    assert checklist_text(held(marked)) == "Checklist (1 open, 1 done):\n[ ] 2 sell\n[x] 1 buy\n    note: late"
    again = mark_item(marked, "r", 1, done=False)
    assert again is not None and "note: late" in checklist_text(held(again))
    assert mark_item(marked, "r", 7, done=True) is None
    assert marked.total_tokens == 0


def test_only_a_checklist_takes_items() -> None:
    """Another kind, and a checklist that is full, refuse."""
    other, _ = add_item(window("pinned"), "r", "buy")
    full, _ = add_item(window("checklist", said(20)), "r", "buy")
    assert not other.accepted and not full.accepted
