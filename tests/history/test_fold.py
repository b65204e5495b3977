"""One step, and what is made of it: the state, the points, any moment."""

from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ROOT, SAMPLES, journals

import recovery_kit as rk
from recovery_kit.formats.journal import Journal
from recovery_kit.formats.writing import journal_of
from recovery_kit.history.fold import Fold, fold, settled, step, walk_points
from recovery_kit.history.windows import window_sha256
from recovery_kit.records.engines import engine
from recovery_kit.records.window import Append, Delta, Entry, Region, RegionName, RegionOp, Window

ENGINE_SAID = orjson.loads((ROOT / "tests/data/engine_points.json").read_bytes())


@pytest.mark.parametrize("run", sorted(ENGINE_SAID))
def test_points_are_the_engines_own(run: str) -> None:
    """Every point that the engine itself printed is the point the kit gives: window, time, status, position, totals."""
    points = rk.open_run(SAMPLES / run).points
    for wanted, point in zip(ENGINE_SAID[run], points, strict=False):
        m = point.read_meta()
        assert wanted == [
            window_sha256(point.window.window()), point.at, m.status, m.current_stage, m.stage_index, m.iteration,
            m.prompt_tokens, m.completion_tokens, m.tool_calls,
        ]  # fmt: skip


@pytest.mark.parametrize("path", journals(), ids=lambda path: path.parent.parent.name + path.parent.name[-4:])
def test_the_short_way_gives_what_the_long_way_gives(path) -> None:
    """Leaving out what a later record replaces changes nothing: the fold equals stepping over every record."""
    for name in ("0.6.4", "0.4.0"):
        reading = Journal(path.read_bytes()).read(engine(name))
        for upto in {1, 2, len(reading) // 2, len(reading)}:
            state = Fold(reading.rules)
            for frame, kind in list(reading)[:upto]:
                state = step(state, kind, reading.skim(frame, kind), reading.offset(frame))
            short = fold(reading, upto)
            assert short is not None
            assert _told(short) == _told(settled(state))


def _told(state: Fold) -> tuple:
    return (
        state.window.window(), state.read_meta(), state.pending, state.tool_calls, state.usages, state.inferences,
        state.messages, state.owner_world, state.at,
    )  # fmt: skip


@given(st.data())
def test_cut_anywhere_folds(data: st.DataObject) -> None:
    """Any prefix of any journal folds or says that nothing does, and its points are a prefix of the whole's."""
    whole = data.draw(st.sampled_from(_SHORT))
    cut = data.draw(st.integers(0, len(whole)))
    reading = Journal(whole[:cut]).read()
    points = list(walk_points(reading))
    assert (fold(reading) is None) == (not reading.kinds)
    assert [p.offset for p in points] == [p.offset for p in walk_points(Journal(whole).read())][: len(points)]


_SHORT = [path.read_bytes() for path in journals() if path.stat().st_size < 40_000]

_NAMES = st.sampled_from(["task", "conversation", "notes"])
_ENTRIES = st.lists(st.builds(Entry, content=st.text(max_size=5), tokens=st.integers(0, 9)), max_size=3).map(tuple)
_SET = st.builds(
    Region,
    name=_NAMES,
    kind=st.just("pinned"),
    current_tokens=st.integers(0, 99),
    max_tokens=st.just(99),
    entries=_ENTRIES,
)
_OPS = st.one_of(
    st.builds(RegionOp, set=_SET),
    st.builds(RegionOp, append=st.builds(Append, name=_NAMES, entries=_ENTRIES, current_tokens=st.integers(0, 99))),
    st.builds(RegionOp, clear=st.builds(RegionName, name=_NAMES)),
    st.builds(RegionOp, remove=st.builds(RegionName, name=_NAMES)),
)


def _model(regions: Sequence[Region], op: RegionOp) -> list[Region]:
    """The rules of a delta, written the plain way."""
    found = list(regions)
    if op.remove:
        return [r for r in found if r.name != op.remove.name]
    change = op.set or op.append or op.clear
    assert change is not None
    place = next((n for n, r in enumerate(found) if r.name == change.name), None)
    if op.set:
        return [*found, op.set] if place is None else [*found[:place], op.set, *found[place + 1 :]]
    if place is not None:
        old = found[place]
        entries, tokens = (old.entries + op.append.entries, op.append.current_tokens) if op.append else ((), 0)
        found[place] = Region(old.name, old.kind, tokens, old.max_tokens, entries, old.description)
    return found


@given(st.lists(st.lists(_OPS, max_size=4), max_size=6))
def test_deltas_follow_the_rules(turns: list[list[RegionOp]]) -> None:
    """Set, append, clear and remove do what the plain reading of the rules does, and never fail."""
    from recovery_kit.records.journal import ContextCheckpoint, ContextDiff, Header, Identity

    regions: list[Region] = []
    header = Journal((SAMPLES / "01-finished").glob("*/run.lvr").__next__().read_bytes())
    first = header.read().record(0)
    assert isinstance(first, Header)
    records = [Header(Identity("r", "m", "w", 0), first.meta), ContextCheckpoint(Window("s", 0, 0, ()), 0)]
    for ops in turns:
        records.append(ContextDiff(Delta("s", 1, 2, tuple(ops)), 1))
        for op in ops:
            regions = _model(regions, op)
    state = fold(Journal(journal_of(records)).read())
    assert state is not None
    assert state.window.window().regions == tuple(regions)
