"""Regions into system blocks: text, hint, order (leviath-requests R4, R5, R6, R8.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from recovery_kit.history.layout import KIND_WORDS
from recovery_kit.history.pairs import WHITE_SPACE
from recovery_kit.history.windows import text_of, tokens_of
from recovery_kit.records.blueprint import RegionSpec
from recovery_kit.records.window import Entry, Region

CHUNK_TOKENS = 2048
"""A chunk of a growing region is closed when it has reached this size (R5)."""

VOLATILITIES = ("stable", "grows", "rewritten")
HINTS = ("Always", "UntilChanged", "RecentlyChanged", "Never")

STANDING = {"pinned": "Always", "compact_history": "Always", "compacting": "UntilChanged"}
"""The cache hint of kinds that are shown as a plain list of texts; the rest have none, or one by volatility (R4)."""

HEADED = frozenset({"pinned", "compact_history", "checklist"})
"""Kinds with a `##` heading and, if asked for, a description."""


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """A block of the system prompt in the engine's neutral form."""

    region: str
    """Empty for a block of the framework."""
    text: str
    cache_hint: str = "Always"
    volatility: str = "rewritten"

    def as_json(self) -> dict[str, str]:
        return {
            "cache_hint": self.cache_hint, "region": self.region, "text": self.text, "volatility": self.volatility
        }  # fmt: skip


def kind_of(region: Region) -> str:
    """The region's kind in today's word."""
    return KIND_WORDS.get(region.kind, region.kind)


def region_blocks(region: Region, spec: RegionSpec | None) -> list[SystemBlock]:
    """The blocks that a region becomes; none for an empty one and for one that becomes messages.

    A region without a definition counts as `rewritten` and has no description. Of a custom region this is what it falls
    back to without its script (R6).
    """
    kind = kind_of(region)
    volatility = spec.volatility if spec else "rewritten"
    if not region.entries or kind == "sliding_window":
        return []
    if kind == "hashmap":
        return [SystemBlock(region.name, _bracketed(region.name, _keyed(region.entries)), "UntilChanged", volatility)]
    if kind == "checklist":
        items = checklist_text(region.entries)
        return [SystemBlock(region.name, _heading(region, spec) + items, "UntilChanged", volatility)] if items else []
    if kind == "custom":
        body = _joined(_last_of_key(region.entries))
        return [SystemBlock(region.name, _bracketed(region.name, body), "Never", volatility)]
    hint = STANDING.get(kind, "Never" if volatility == "rewritten" else "UntilChanged")
    chunks = _chunks(region.entries) if volatility == "grows" else [region.entries]
    return [
        SystemBlock(region.name, _chunk_head(region, spec, kind, place) + _joined(chunk), hint, volatility)
        for place, chunk in enumerate(chunks)
    ]


def _heading(region: Region, spec: RegionSpec | None) -> str:
    shown = spec.description if spec and spec.describe_in_prompt else None
    return f"## {region.name}\n" + (f"{shown}\n\n" if shown else "")


def _chunk_head(region: Region, spec: RegionSpec | None, kind: str, place: int) -> str:
    if place:
        return f"## {region.name} (continued)\n" if kind in HEADED else f"[{region.name} continued]:\n"
    return _heading(region, spec) if kind in HEADED else f"[{region.name}]:\n"


def _bracketed(name: str, body: str) -> str:
    return f"[{name}]:\n{body}"


def _joined(entries: Iterable[Entry]) -> str:
    return "\n\n".join(text_of(entry.content) for entry in entries)


def _keyed(entries: Iterable[Entry]) -> str:
    heads = ((f"### [{entry.key}]\n" if entry.key is not None else "", entry) for entry in entries)
    return "\n\n".join(head + text_of(entry.content) for head, entry in heads)


def _last_of_key(entries: Sequence[Entry]) -> list[Entry]:
    last = {entry.key: place for place, entry in enumerate(entries) if entry.key is not None}
    return [entry for place, entry in enumerate(entries) if entry.key is None or last[entry.key] == place]


def _chunks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Whole entries, until a chunk has reached its size (R5)."""
    chunk: list[Entry] = []
    size = 0
    for entry in entries:
        chunk.append(entry)
        size += tokens_of(text_of(entry.content))
        if size >= CHUNK_TOKENS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@dataclass(frozen=True, slots=True)
class _Item:
    number: int
    text: str
    done: bool
    note: str | None

    def lines(self) -> str:
        note = "" if self.note is None else f"\n    note: {self.note}"
        return f"[{'x' if self.done else ' '}] {self.number} {self.text}{note}"


def checklist_text(entries: Iterable[Entry]) -> str:
    """Open items, then done ones; empty if no entry is an item, that is has an integer `checklist_id` (R4)."""
    items = [item for entry in entries if (item := _item(entry)) is not None]
    if not items:
        return ""
    done = [item for item in items if item.done]
    ordered = [item for item in items if not item.done] + done
    body = "\n".join(item.lines() for item in ordered)
    return f"Checklist ({len(items) - len(done)} open, {len(done)} done):\n{body}".rstrip(WHITE_SPACE)


def _item(entry: Entry) -> _Item | None:
    data = metadata_of(entry)
    number = data.get("checklist_id")
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    note = data.get("checklist_note")
    done = data.get("checklist_done") is True
    return _Item(number, text_of(entry.content), done, note if isinstance(note, str) else None)


def metadata_of(entry: Entry) -> Mapping[str, object]:
    """An entry's metadata where it is an object, else nothing."""
    raw = bytes(entry.metadata) if entry.metadata is not None else b""
    try:
        value = msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def in_prompt_order(blocks: Iterable[SystemBlock]) -> list[SystemBlock]:
    """By volatility, then hint, then the order they came in (R4)."""
    return sorted(blocks, key=lambda block: (VOLATILITIES.index(block.volatility), HINTS.index(block.cache_hint)))


def with_recent(blocks: Sequence[SystemBlock], times: Sequence[int]) -> list[SystemBlock]:
    """Marks what changed last (R8.1).

    `blocks` are in prompt order; `times` are those of the blocks with hint `UntilChanged`, in region order.
    """
    boundary = times.index(max(times)) if times else 0
    hints = [block.cache_hint for block in blocks]
    runs = sum(hint != "Never" and (n + 1 == len(hints) or hints[n + 1] != hint) for n, hint in enumerate(hints))
    if not boundary or runs >= 3:
        return list(blocks)
    volatile = [n for n, hint in enumerate(hints) if hint == "UntilChanged"]
    recent = set(volatile[boundary:])
    return [replace(block, cache_hint="RecentlyChanged") if n in recent else block for n, block in enumerate(blocks)]
