"""Writes that go to one entry: the keys of a hashmap, the items of a checklist (leviath-runtime T5.2, T5.3).

Keyed writes and checklists do not bring the window's total up to date; the next write of another kind does (T4).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import RegionSpec
from recovery_kit.records.window import Content, Entry, Part, Region, Taint, Window

from .blocks import kind_of, metadata_of
from .regions import Refusal, Written, holding, placed, region_of, retotalled

TAINTS: tuple[Taint, ...] = ("Public", "Internal", "Private")
"""From harmless to not."""

NO_TIMES: Mapping[str | None, int] = {}


def upsert(
    window: Window,
    name: str,
    entry: Entry,
    spec: RegionSpec | None = None,
    written_at: Mapping[str | None, int] = NO_TIMES,
    joined: bool = False,
) -> Written:
    """Write under the entry's key into a hashmap; with `joined` behind what is there, a line feed between.

    An existing key is replaced in its place without any look at the budget. For a new one the entries written longest
    ago leave, first down to `max_entries`, then until it fits; one that is larger than the region empties it and is
    refused all the same. `written_at` is the second of each key's last write; after a restart all are 0, so that the
    earliest place goes first.
    """
    region = region_of(window, name)
    if region is None or entry.key is None:
        return Written(window, Refusal(name, "missing" if region is None else "no_key", wanted=entry.tokens))
    place = next((n for n, old in enumerate(region.entries) if old.key == entry.key), None)
    if place is not None:
        entries = list(region.entries)
        entries[place] = _behind(entries[place], entry) if joined else entry
        return Written(placed(window, holding(region, entries)))
    kept, let_go = _making_room(region, entry, spec, written_at)
    tokens = sum(old.tokens for old in kept)
    fits = tokens + entry.tokens <= region.max_tokens
    after = placed(window, holding(region, (*kept, entry) if fits else kept))
    refusal = None if fits else Refusal(name, "full", tokens, entry.tokens, region.max_tokens)
    return Written(after, refusal, tuple(let_go))


def _making_room(
    region: Region, entry: Entry, spec: RegionSpec | None, written_at: Mapping[str | None, int]
) -> tuple[Sequence[Entry], Sequence[Entry]]:
    most = spec.max_entries if spec else None
    tokens, left = region.current_tokens, len(region.entries)
    gone: list[int] = []
    for place in sorted(range(left), key=lambda n: (written_at.get(region.entries[n].key, 0), n)):
        if tokens + entry.tokens <= region.max_tokens and (most is None or left < most):
            break
        gone.append(place)
        tokens, left = tokens - region.entries[place].tokens, left - 1
    away = set(gone)
    kept = [old for n, old in enumerate(region.entries) if n not in away]
    return kept, [region.entries[n] for n in gone]


def _behind(old: Entry, new: Entry) -> Entry:
    content = _joined(old.content, new.content)
    taint = max(old.taint, new.taint, key=TAINTS.index)
    return replace(old, content=content, tokens=tokens_of(content), taint=taint)


def _joined(old: Content, new: Content) -> Content:
    if isinstance(old, str) and isinstance(new, str):
        return f"{old}\n{new}"
    first, then = ((Part("text/plain", c),) if isinstance(c, str) else c for c in (old, new))
    return (*first, *then)


def release_key(window: Window, name: str, key: str) -> Written:
    """Take out the entries with that key."""
    return _released(window, name, lambda n, entry: entry.key == key)


def release_index(window: Window, name: str, index: int) -> Written:
    """Take out one entry by its place."""
    return _released(window, name, lambda n, entry: n == index)


def _released(window: Window, name: str, leaves: Any) -> Written:
    region = region_of(window, name)
    if region is None:
        return Written(window, Refusal(name, "missing"))
    gone = [leaves(n, entry) for n, entry in enumerate(region.entries)]
    kept = [entry for entry, leaving in zip(region.entries, gone, strict=True) if not leaving]
    let_go = tuple(entry for entry, leaving in zip(region.entries, gone, strict=True) if leaving)
    return Written(retotalled(placed(window, holding(region, kept))), None, let_go)


# Checklists.


def item_number(entry: Entry) -> int | None:
    """The number of a checklist's item; None for any other entry."""
    number = metadata_of(entry).get("checklist_id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def add_item(window: Window, name: str, text: str, taint: Taint = "Internal") -> tuple[Written, int]:
    """A new open item, and its number: one more than the highest there. A full checklist refuses (T5.1)."""
    region = region_of(window, name)
    if region is None or kind_of(region) != "checklist":
        return Written(window, Refusal(name, "missing")), 0
    number = max((item_number(entry) or 0 for entry in region.entries), default=0) + 1
    entry = Entry(text, tokens_of(text), metadata=_mark(number, False, None), taint=taint)
    if region.current_tokens + entry.tokens > region.max_tokens:
        return Written(window, Refusal(name, "full", region.current_tokens, entry.tokens, region.max_tokens)), number
    return Written(placed(window, holding(region, (*region.entries, entry)))), number


def mark_item(
    window: Window, name: str, number: int, done: bool | None = None, note: str | None = None
) -> Window | None:
    """Change an item's mark or note; None where the region has no such item. Marks cost nothing."""
    region = region_of(window, name)
    if region is None or kind_of(region) != "checklist":
        return None
    for place, entry in enumerate(region.entries):
        if item_number(entry) == number:
            data = metadata_of(entry)
            is_done = data.get("checklist_done") is True if done is None else done
            told = data.get("checklist_note") if note is None else note
            changed = replace(entry, metadata=_mark(number, is_done, told if isinstance(told, str) else None))
            entries = (*region.entries[:place], changed, *region.entries[place + 1 :])
            return placed(window, holding(region, entries))
    return None


def _mark(number: int, done: bool, note: str | None) -> Raw:
    members: dict[str, Any] = {"checklist_done": done, "checklist_id": number}
    if note is not None:
        members["checklist_note"] = note
    return Raw(msgspec.json.encode(members))
