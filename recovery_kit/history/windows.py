"""Windows while a journal is folded: regions that share what did not change, and the names that windows go by.

A `RegionView` keeps its entries as the JSON they are; an append links to the region before it. Nothing is decoded
until somebody asks for `records.Window`. Rules: leviath-run-directory 3.4, 4.1; 0.5-to-0.6 N3.2, N7; leviath-requests R3.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from recovery_kit.formats.skim import DeltaSkim, OpSkim, RegionSkim, WindowSkim, read_entries
from recovery_kit.formats.writing import plain
from recovery_kit.records.scalars import ABSENT, json_or_none
from recovery_kit.records.window import AssistantTurn, Content, Entry, EntryKind, Part, Region, Window


class RegionView(msgspec.Struct, frozen=True):
    """A region at some moment, its entries still JSON."""

    name: str
    kind: str
    current_tokens: int
    max_tokens: int
    description: str | None
    json: msgspec.Raw
    """An array of entries: all of them, or those appended to `before`."""
    before: "RegionView | None" = None

    def entries(self) -> tuple[Entry, ...]:
        """All entries, decoded."""
        pieces: list[tuple[Entry, ...]] = []
        view: RegionView | None = self
        while view is not None:
            pieces.append(read_entries(view.json))
            view = view.before
        return tuple(entry for piece in reversed(pieces) for entry in piece)

    def region(self) -> Region:
        return Region(self.name, self.kind, self.current_tokens, self.max_tokens, self.entries(), self.description)


_NO_ENTRIES = msgspec.Raw(b"[]")


def _view(skim: RegionSkim) -> RegionView:
    return RegionView(skim.name, skim.kind, skim.current_tokens, skim.max_tokens, skim.description, skim.entries)


class WindowView(msgspec.Struct, frozen=True):
    """A window at some moment; equal regions of two moments are the same objects."""

    stage_name: str = ""
    total_tokens: int = 0
    max_tokens: int = 0
    regions: tuple[RegionView, ...] = ()

    def window(self) -> Window:
        """The whole window, decoded."""
        regions = tuple(view.region() for view in self.regions)
        return Window(self.stage_name, self.total_tokens, self.max_tokens, regions)


NO_WINDOW = WindowView()


def whole(skim: WindowSkim) -> WindowView:
    """The window of a checkpoint."""
    return WindowView(skim.stage_name, skim.total_tokens, skim.max_tokens, tuple(map(_view, skim.regions)))


def applied(window: WindowView, delta: DeltaSkim) -> WindowView:
    """The window after a delta (4.1). Never an error: what a change does not find, it does not change."""
    regions = window.regions
    if delta.regions:
        changed = list(regions)
        for op in delta.regions:
            _apply(changed, op)
        regions = tuple(changed)
    return WindowView(delta.stage_name, delta.total_tokens, delta.max_tokens, regions)


def _apply(regions: list[RegionView], op: OpSkim) -> None:
    if op.append is not None:
        place = _find(regions, op.append.name)
        if place is not None:
            old, more = regions[place], op.append
            link = old if bytes(more.entries) != b"[]" else old.before
            json = more.entries if link is old else old.json
            regions[place] = replace(old, current_tokens=more.current_tokens, json=json, before=link)
    elif op.set is not None:
        place = _find(regions, op.set.name)
        if place is None:
            regions.append(_view(op.set))
        else:
            regions[place] = _view(op.set)
    elif op.clear is not None:
        place = _find(regions, op.clear.name)
        if place is not None:
            regions[place] = replace(regions[place], current_tokens=0, json=_NO_ENTRIES, before=None)
    elif op.remove is not None:
        name = op.remove.name
        regions[:] = [region for region in regions if region.name != name]


def _find(regions: Sequence[RegionView], name: str) -> int | None:
    """With two regions of one name, all changes but `Remove` meet the first (reader quirks)."""
    for place, region in enumerate(regions):
        if region.name == name:
            return place
    return None


def touched(delta: DeltaSkim) -> Iterator[tuple[str, str]]:
    """(change, region) of each change of a delta."""
    for op in delta.regions:
        for word in ("set", "append", "clear", "remove"):
            part = getattr(op, word)
            if part is not None:
                yield word, part.name


# What a content reads as, and what it costs (N3.2).


def text_of(content: Content) -> str:
    """The text of a content: inline texts and stand-ins, on lines of their own."""
    if isinstance(content, str):
        return content
    text = ""
    for part in content:
        piece = part.body if isinstance(part.body, str) else part.body.stand_in
        if piece and text and not text.endswith("\n"):
            text += "\n"
        text += piece
    return text


def tokens_of(content: Content) -> int:
    """What a region is charged for a content: a quarter of the UTF-8 bytes of each part, rounded up."""
    texts = (content,) if isinstance(content, str) else (_charged(part) for part in content)
    return sum((len(text.encode("utf-8", "surrogatepass")) + 3) // 4 for text in texts)


def _charged(part: Part) -> str:
    return part.body if isinstance(part.body, str) else part.body.stand_in


# Names of windows.


def window_sha256(window: Window) -> str:
    """Digest of a window, the way expected windows are stated: SHA-256 of its JSON with sorted keys."""
    return hashlib.sha256(orjson.dumps(_plain_numbers(window), option=orjson.OPT_SORT_KEYS)).hexdigest()


def _plain_numbers(window: Window) -> Any:
    return orjson.loads(msgspec.json.encode(plain(window)))


_json = msgspec.json.Encoder().encode


def _field(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def sorted_json(text: bytes) -> bytes:
    """Any JSON with the keys of its objects sorted by bytes, numbers left as they are written (N7.1)."""
    try:
        value = orjson.loads(text)
        if orjson.dumps(value) == text:  # nothing in it is spelled another way, so sorting is all there is to do
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass
    return _sorted(msgspec.json.decode(text, type=_Any), text)


_Any = dict[str, msgspec.Raw] | list[msgspec.Raw] | str | int | float | bool | None


def _sorted(value: Any, text: bytes) -> bytes:
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode())
        return b"{" + b",".join(_json(key) + b":" + sorted_json(bytes(raw)) for key, raw in members) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(sorted_json(bytes(raw)) for raw in value) + b"]"
    if isinstance(value, str):
        return _json(value)
    return text.strip()


def _kind_json(kind: EntryKind) -> bytes:
    if not isinstance(kind, AssistantTurn):
        return _json(kind)
    members = plain(kind)
    for call in members["tool_calls"]:
        call["arguments"] = msgspec.Raw(sorted_json(bytes(call["arguments"])))
    return _json(members)


def _metadata_json(metadata: msgspec.Raw) -> bytes:
    text = json_or_none(metadata)
    return b"null" if text is None else sorted_json(text)


def region_digest(entries: Iterable[Entry]) -> str:
    """`rg1-…`: the name of a region's entries (N7.1)."""
    return digest_name(hashlib.sha256(b"".join(map(_digested, entries))))


def digest_name(digest: "hashlib._Hash") -> str:
    """`rg1-…` of what was fed to a digest."""
    return "rg1-" + digest.hexdigest()[:32]


def _digested(entry: Entry) -> bytes:
    return (
        _field(_json(plain(entry.content)))
        + entry.tokens.to_bytes(8, "big")
        + _field(_kind_json(entry.kind))
        + _field(_metadata_json(entry.metadata))
        + _field(_json(entry.key))
        + _field(_json(entry.taint))
        + _field(_json(entry.reasoning))
    )


class _RawEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry whose members are the JSON they are."""

    content: msgspec.Raw
    tokens: int
    kind: msgspec.Raw = msgspec.Raw(b'{"type":"Text"}')
    metadata: msgspec.Raw = ABSENT
    key: msgspec.Raw = msgspec.Raw(b"null")
    taint: msgspec.Raw = msgspec.Raw(b'"Internal"')
    reasoning: msgspec.Raw = msgspec.Raw(b"null")


_raw_entries = msgspec.json.Decoder(list[_RawEntry]).decode
_entry_kind = msgspec.json.Decoder(EntryKind).decode
_content = msgspec.json.Decoder(Content).decode
_KINDS_AS_WRITTEN = frozenset({b'{"type":"Text"}', b'{"type":"UserMessage"}'})


def feed(digest: "hashlib._Hash", entries: msgspec.Raw) -> None:
    """Feed a JSON array of entries to a region's digest: what `region_digest` feeds for them, decoding little.

    A text is fed as it stands where it can only be spelled so; other spellings are decoded and written anew.
    """
    for entry in _raw_entries(entries):
        content = memoryview(entry.content)
        text = _as_written(entry.content) if content[0] == _QUOTE else _json(plain(_content(entry.content)))
        kind = bytes(entry.kind)
        digest.update(len(text).to_bytes(8, "big"))
        digest.update(text)
        digest.update(
            entry.tokens.to_bytes(8, "big")
            + _field(kind if kind in _KINDS_AS_WRITTEN else _kind_json(_entry_kind(kind)))
            + _rest(bytes(entry.metadata), bytes(entry.key), bytes(entry.taint), bytes(entry.reasoning))
        )


@lru_cache(maxsize=256)
def _rest(metadata: bytes, *texts: bytes) -> bytes:
    """The members that most entries have in common."""
    return b"".join(map(_field, (_metadata_json(msgspec.Raw(metadata)), *map(_as_written, texts))))


_QUOTE = ord('"')


def _as_written(text: msgspec.Raw | bytes) -> bytes:
    """A JSON text the writer's way, or null. Only `\\u` and `\\/` may stand for what the writer spells otherwise."""
    raw = bytes(text)
    return _json(_text_or_none(raw)) if b"\\u" in raw or b"\\/" in raw else raw


_text_or_none = msgspec.json.Decoder(str | None).decode


def window_revision(total_tokens: int, max_tokens: int, regions: Iterable[tuple[str, str, int, int, str]]) -> str:
    """`cw1-…`: the name of a window, of (name, kind, current tokens, ceiling, digest) of its regions in layout order."""
    digest = hashlib.sha256(total_tokens.to_bytes(8, "big") + max_tokens.to_bytes(8, "big"))
    for name, kind, current, ceiling, entries in regions:
        digest.update(
            _field(name.encode())
            + _field(kind.encode())
            + current.to_bytes(8, "big")
            + ceiling.to_bytes(8, "big")
            + _field(entries.encode("ascii"))
        )
    return "cw1-" + digest.hexdigest()[:32]


def revision(window: Window) -> str:
    """`cw1-…` of a decoded window whose regions are in layout order."""
    rows = ((r.name, r.kind, r.current_tokens, r.max_tokens, region_digest(r.entries)) for r in window.regions)
    return window_revision(window.total_tokens, window.max_tokens, rows)
