"""Deltas between windows, and the records that name their changes."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from recovery_kit.formats.journal import Journal
from recovery_kit.formats.writing import journal_of, json_of
from recovery_kit.history.fold import walk_points
from recovery_kit.history.windows import region_digest, revision
from recovery_kit.records.journal import ContextCheckpoint, Header, Identity, Progress
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import (
    EMPTY_WINDOW,
    AssistantTurn,
    Delta,
    Entry,
    Part,
    Region,
    Text,
    ToolResult,
    TurnCall,
    UserMessage,
    Window,
)
from recovery_kit.world.deltas import Names, delta_between, transaction

META = RunMeta(
    run_id="r", agent_name="a", agent_path="a", task="t", status="running", current_stage="s", stage_index=0,
    num_stages=1, iteration=0, prompt_tokens=0, completion_tokens=0, workdir="w", started_at=1, updated_at=1,
)  # fmt: skip

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
numbers = st.integers(0, 2**64 - 1)
turn_calls = st.builds(TurnCall, texts, texts, st.just(Raw(b'{"a":1}')))
kinds = st.one_of(
    st.just(Text()),
    st.just(UserMessage()),
    st.builds(ToolResult, texts, texts, st.booleans()),
    st.builds(AssistantTurn, st.lists(turn_calls, max_size=2).map(tuple)),
)
contents = st.one_of(texts, st.lists(st.builds(Part, st.just("text/markdown"), texts), max_size=2).map(tuple))
entries = st.builds(
    Entry, content=contents, tokens=numbers, kind=kinds, key=st.none() | texts,
    taint=st.sampled_from(["Public", "Internal", "Private"]), reasoning=st.none() | texts,
)  # fmt: skip
NAMES = ("task", "conversation", "notes", "sources")


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """A window with regions of different names in any order."""
    names = draw(st.permutations(NAMES).flatmap(lambda order: st.integers(0, 4).map(lambda n: order[:n])))
    regions = [
        Region(
            name, draw(st.sampled_from(["pinned", "sliding_window"])), draw(numbers), draw(st.sampled_from([100, 200])),
            tuple(draw(st.lists(entries, max_size=3))), draw(st.none() | texts),
        )
        for name in names
    ]  # fmt: skip
    return Window(draw(texts), draw(numbers), draw(numbers), tuple(regions))


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Window, Window]:
    """Two windows as a run has them: regions grow, roll off, are emptied, come and go."""
    old = draw(windows())
    regions = []
    for region in old.regions:
        entries_now = draw(
            st.sampled_from([region.entries, region.entries[1:], (), region.entries + region.entries[:1]])
        )
        tokens = draw(st.sampled_from([0, region.current_tokens]))
        regions.append(replace(region, entries=entries_now, current_tokens=tokens))
    return old, replace(old, regions=tuple(regions[draw(st.integers(0, 1)) :]))


def read_back(old: Window, delta: Delta) -> Window:
    """What a reader makes of a journal with a window and a delta."""
    records = [Header(Identity("r", "m", "w", 1), META), ContextCheckpoint(old, 1), Progress(META, delta, 2)]
    *_, last = walk_points(Journal(journal_of(records)).read())
    return last.window.window()


def by_name(window: Window) -> tuple[object, Mapping[str, bytes]]:
    """A window without the order of its regions."""
    return replace(window, regions=()), {region.name: json_of(region) for region in window.regions}


@given(st.one_of(neighbours(), st.tuples(windows(), windows())))
def test_a_delta_makes_the_old_window_into_the_new(pair: tuple[Window, Window]) -> None:
    """For any two windows, what a reader makes of the old one and the delta is the new one, region by region."""
    old, new = pair
    delta = delta_between(old, new)
    assert delta is not None
    assert by_name(read_back(old, delta)) == by_name(new)


@given(windows(), windows())
def test_known_regions_keep_their_place(old: Window, new: Window) -> None:
    """A reader's order is that of the old window, and what came since behind it in the new one's order."""
    delta = delta_between(old, new)
    assert delta is not None
    before, now = [r.name for r in old.regions], [r.name for r in new.regions]
    expected = [name for name in before if name in now] + [name for name in now if name not in before]
    assert [region.name for region in read_back(old, delta).regions] == expected


@given(windows())
def test_nothing_changed_is_nothing_written(window: Window) -> None:
    """The delta between a window and itself has no change of a region."""
    delta = delta_between(window, window)
    assert delta is not None and delta.regions == ()


def region(*contents: str, name: str = "r", tokens: int | None = None, **members: object) -> Region:
    made = tuple(Entry(content, 1) for content in contents)
    return Region(name, "pinned", len(made) if tokens is None else tokens, 100, made, **members)  # type: ignore[arg-type]


def change(old: Region | None, new: Region | None) -> bytes:
    """The changes between two windows of one region, as JSON."""

    def window(one: Region | None) -> Window:
        return Window("s", 0, 0, () if one is None else (one,))

    delta = delta_between(window(old), window(new))
    assert delta is not None
    return json_of(delta.regions)


def test_each_rule_of_the_writer() -> None:
    """One pair of windows for each line of the rules (3.4)."""
    assert change(None, region("a")).startswith(b'[{"Set":{"name":"r"')
    assert change(region("a"), region("a")) == b"[]"
    assert change(region("a"), region()) == b'[{"Clear":{"name":"r"}}]'
    assert change(region("a"), region("a", "b")).startswith(b'[{"Append":{"name":"r","entries":[{"content":"b"')
    assert change(region("a"), region("a", tokens=7)) == b'[{"Append":{"name":"r","entries":[],"current_tokens":7}}]'
    assert change(region("a", "b"), region("b")).startswith(b'[{"Set":')
    assert change(region("a"), None) == b'[{"Remove":{"name":"r"}}]'


def test_what_the_short_forms_would_lose_is_set() -> None:
    """Emptied together with another ceiling, left-over tokens or a new description: the whole region is written."""
    assert change(region("a"), replace(region(), max_tokens=5)).startswith(b'[{"Set":')
    assert change(region("a"), region(tokens=3)).startswith(b'[{"Set":')
    assert change(region("a"), region("a", description="d")).startswith(b'[{"Set":')


def test_two_regions_of_one_name_need_a_whole_window() -> None:
    """No delta can say two regions of one name; a reader that has two can be brought back to one."""
    twice, once = Window("s", 0, 0, (region("a"), region("b"))), Window("s", 0, 0, (region("b"),))
    assert delta_between(once, twice) is None
    delta = delta_between(twice, once)
    assert delta is not None and by_name(read_back(twice, delta)) == by_name(once)


def test_a_transaction_names_both_windows() -> None:
    """The record of a change has both revisions and the regions that differ, with what came and what left."""
    before = Window("s", 3, 50, (region("a", "b"), region("x", name="still")))
    after = Window("s", 3, 50, (region("b", "c"), before.regions[1]))
    made = transaction(before, after, "model_reply", 9)
    assert made is not None
    assert (made.revision_before, made.revision_after) == (revision(before), revision(after))
    (commit,) = made.regions
    assert commit.digest_before == region_digest(before.regions[0].entries)
    assert (commit.region, commit.entries_added, commit.entries_left, made.at) == ("r", 1, 1, 9)


def test_no_change_is_no_transaction() -> None:
    """A window that keeps its name, description apart, makes no record."""
    before = Window("s", 1, 9, (region("a"),))
    after = replace(before, stage_name="t", regions=(region("a", description="d"),))
    assert transaction(before, after, "hook", 1) is None


def test_regions_that_come_and_go_are_in_a_transaction() -> None:
    """A region that is new or gone counts from or to nothing."""
    before, after = Window("s", 1, 9, (region("a", name="gone"),)), Window("s", 1, 9, (region("b"),))
    made = transaction(before, after, "transform", 1)
    assert made is not None
    assert [(c.region, c.entries_before, c.entries_after) for c in made.regions] == [("r", 0, 1), ("gone", 1, 0)]


@given(windows(), windows())
def test_names_are_kept_and_right(one: Window, two: Window) -> None:
    """Names computed along a run are those computed from nothing."""
    names = Names()
    walk = (one, two, one, EMPTY_WINDOW)
    assert [names.window(window) for window in walk] == [revision(window) for window in walk]
