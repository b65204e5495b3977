"""The lives of a run: which process owned it when, and what each restart put into the record.

A restart is known by what it does (a `resume` change, stand-ins), not only by its name: its records stand before the
`OwnershipChanged` that closes it, and a life that dies within its restart leaves no name (0.5-to-0.6 N9, N14).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recovery_kit.records.window import Entry, ToolResult

from .events import Event
from .windows import NO_WINDOW, WindowView, applied, text_of, whole

INTERRUPTED = "[error] interrupted"
"""How every engine begins the text that it puts in the place of a lost result (leviath-run-directory 5.7)."""


@dataclass(frozen=True, slots=True)
class Life:
    """A life of the process that owned the run."""

    index: int
    world_id: str | None
    """None if it died before it wrote its name."""
    began_at: int
    """Unix seconds: creation, or the first record of the restart."""
    offset: int | None
    """Of the `Header` or `OwnershipChanged` that names it."""
    first: int
    """Place of its first event."""
    last: int
    """Place of its last event."""
    ended_at: int
    """Time of its last record; that it lived no longer is not said."""
    stand_ins: tuple[str, ...]
    """Execution ids, or call ids where there are none, whose results it made up."""
    stand_in_offsets: tuple[int, ...]
    """Of the record that holds each."""
    behind_tear: bool


@dataclass(slots=True)
class _Draft:
    world_id: str | None
    began_at: int
    offset: int | None
    first: int
    last: int
    ended_at: int
    stand_ins: list[tuple[str, int]]
    behind_tear: bool
    restarting: bool = False
    """Between a restart's first record and the one that names it."""


_TELLING = frozenset({"Header", "OwnershipChanged", "ContextTransaction", "ToolCallDone", "Progress"})
"""Kinds that begin or name a life, or make results up; of any other only its time counts."""


def lives(events: Sequence[Event]) -> tuple[Life, ...]:
    """The lives in order. The first begins with the file's first record."""
    drafts: list[_Draft] = []
    for event in events:
        if drafts and event.kind not in _TELLING:
            life = drafts[-1]
            life.last, life.ended_at = event.place, max(life.ended_at, event.at)
            continue
        if not drafts:
            drafts.append(_draft(event))
        elif _begins(event, drafts[-1]):
            drafts.append(_draft(event, restarting=True))
        _take(drafts, event)
    return tuple(
        Life(
            n, d.world_id, d.began_at, d.offset, d.first, d.last, d.ended_at,
            tuple(i for i, _ in d.stand_ins), tuple(o for _, o in d.stand_ins), d.behind_tear,
        )
        for n, d in enumerate(drafts)
    )  # fmt: skip


def _draft(event: Event, restarting: bool = False) -> _Draft:
    return _Draft(None, event.at, None, event.place, event.place, event.at, [], event.behind_tear, restarting)


def is_stand_in(event: Event) -> bool:
    """Whether a completion is a restart's word, not a tool's."""
    return event.kind == "ToolCallDone" and event.record.outcome == "indeterminate"


def _begins(event: Event, life: _Draft) -> bool:
    """Whether a new life begins with this record."""
    if event.kind == "OwnershipChanged":
        return not life.restarting and event.record.world_id != life.world_id
    if event.kind == "ContextTransaction":
        return bool(event.record.cause == "resume")
    return is_stand_in(event) and not life.restarting


def _take(drafts: list[_Draft], event: Event) -> None:
    life = drafts[-1]
    if event.kind == "Header":
        life.world_id, life.offset = event.record.identity.world_id, event.offset
    elif event.kind == "OwnershipChanged":
        if life.restarting and len(drafts) > 1 and drafts[-2].world_id == event.record.world_id:
            life = _rejoined(drafts)
        else:
            life.world_id, life.offset, life.restarting = event.record.world_id, event.offset, False
    elif is_stand_in(event):
        life.stand_ins.append((event.record.execution_id or event.record.call_id, event.offset))
    elif event.kind == "Progress" and life.restarting and len(drafts) > 1:
        life = _rejoined(drafts)
    life.last, life.ended_at = event.place, max(life.ended_at, event.at)


def _rejoined(drafts: list[_Draft]) -> _Draft:
    """The life that a reload belongs to after all: a run paged in again by the process that already owns it, which goes
    on with Progress or names the same world once more (5.10), is no new life."""
    reload = drafts.pop()
    drafts[-1].stand_ins += reload.stand_ins
    return drafts[-1]


def life_at(all_lives: Sequence[Life], place: int) -> Life:
    """The life that an event belongs to."""
    for life in reversed(all_lives):
        if life.first <= place:
            return life
    return all_lives[0]


@dataclass(frozen=True, slots=True)
class SilentStandIn:
    """A stand-in of an engine that writes no record of it: known by the first window that shows its text."""

    call_id: str
    offset: int
    """Of that window's record."""
    place: int


def silent_stand_ins(events: Sequence[Event], wanted: Callable[[str], bool]) -> tuple[SilentStandIn, ...]:
    """Where the interrupted-text of a call first stands in a window, for calls that `wanted` accepts."""
    found: list[SilentStandIn] = []
    window, seen = NO_WINDOW, set[str]()
    for event in events:
        before = window
        window = _after(window, event)
        if window is before:
            continue
        known = set(map(id, before.regions))
        for region in window.regions:
            if id(region) in known:
                continue
            for entry in region.entries():
                call_id = _interrupted(entry)
                if call_id and call_id not in seen and wanted(call_id):
                    seen.add(call_id)
                    found.append(SilentStandIn(call_id, event.offset, event.place))
    return tuple(found)


def _after(window: WindowView, event: Event) -> WindowView:
    match event.kind:
        case "ContextCheckpoint":
            return whole(event.record.snapshot)
        case "Checkpoint":
            return whole(event.record.context)
        case "Progress" | "ContextDiff":
            return applied(window, event.record.delta)
    return window


def _interrupted(entry: Entry) -> str | None:
    if isinstance(entry.kind, ToolResult) and text_of(entry.content).startswith(INTERRUPTED):
        return entry.kind.tool_call_id
    return None
