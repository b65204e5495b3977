"""The slow judge: reads one JSON value the way the engine's own reader does, member by member.

It is asked about what the quick judge could not vouch for, so it decides, and gives the value. The rules are those of
the reader's library (leviath-run-directory 3.2, 11; 0.5-to-0.6 N3.1): a member nobody knows is stepped over unread, a
known one given twice is fatal, null stands only for options, a struct may come as an array of its members, and some
places are kept whole before they are read, so that everything inside has to be right.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args, get_origin

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.json import Encoder

from ..records.engines import Engine, version
from ..records.journal import KINDS
from ..records.meta import Artifact
from ..records.scalars import I64_MAX, U32_MAX, U64_MAX
from ..records.window import BlobRef, Content, Part, RegionOp
from .members import Member, bare, bits, is_content, is_struct, is_words, members, options, words
from .tree import Members, Node, Number, Text, Unreadable, check_whole, deeper, parse, plain

Reader = Callable[[Node, int], Any]
"""Takes a node and how many containers it stands in; gives the value or raises Unreadable."""

_RANGE = {64: (0, U64_MAX), 32: (0, U32_MAX), -64: (-I64_MAX - 1, I64_MAX)}
_READ_AS = {"run": "session"}
"""Words taken for another one (N5.5)."""
_MIME_TYPES = {Part, BlobRef, Artifact}
_MIME_TYPE = re.compile(r"[A-Za-z0-9!#$&\-^_.+*]+/[A-Za-z0-9!#$&\-^_.+*]+")
_WHITE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SORTED = Encoder(order="sorted")


def read_record(payload: bytes, engine: Engine) -> tuple[str, Struct]:
    """The kind and the record in a frame's payload. Raises Unreadable."""
    node = parse(payload)
    kind = name_of(node)
    if kind is None:
        raise Unreadable("not_one_member" if isinstance(node, Members) else "wrong_type")
    if kind not in _kinds(engine):
        raise Unreadable("unknown_kind")
    return kind, reader(KINDS[kind].type, engine)(node.pairs[0][1], 1)  # type: ignore[union-attr]


def name_of(node: Node) -> str | None:
    """The name in front of a record's body, if there is exactly one member."""
    return node.pairs[0][0].read() if isinstance(node, Members) and len(node.pairs) == 1 else None


def told_kind(payload: bytes) -> str | None:
    """The name of an unreadable record's kind as far as it can be told: the first member's name, if that is text."""
    match = re.match(rb'[ \t\n\r]*\{[ \t\n\r]*"((?:[^"\\\x00-\x1f]|\\.){1,200})"[ \t\n\r]*:', payload)
    try:
        return Text(match[1]).read() if match else None
    except Unreadable:
        return None


def read_value(payload: bytes, kind: Any, engine: Engine) -> Any:
    """One value of a Struct type, or of a list of one, as in the JSON files. Raises Unreadable."""
    return reader(kind, engine)(parse(payload), 0)


@cache
def _kinds(engine: Engine) -> frozenset[str]:
    return frozenset(name for name, row in KINDS.items() if version(row.since) <= engine.version)


@cache
def reader(kind: Any, engine: Engine) -> Reader:
    """How this engine reads a type."""
    found, nullable = options(kind, engine)
    read = _one(found[0], engine) if len(found) == 1 else _several(found, engine)
    return _optional(read, _nothing(kind)) if nullable else read


def _nothing(kind: Any) -> Any:
    """What stands for null in the class of a record."""
    return UNSET if UnsetType in get_args(bare(kind)) else None


def _one(kind: Any, engine: Engine) -> Reader:
    width = bits(kind)
    if width:
        return _integer(*_RANGE[width])
    kind = bare(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if is_words(kind):
        return _word(words(kind, engine))
    if kind is RegionOp:
        return _operation(engine)
    if is_struct(kind):
        return _tagged([kind], engine) if kind.__struct_config__.tag is not None else _struct(kind, engine)
    if get_origin(kind) is dict:
        return _mapping(reader(get_args(kind)[1], engine))
    if get_origin(kind) in (tuple, list):
        inner = get_args(kind)
        if len(inner) == 1 or inner[1] is Ellipsis:
            return _listing(reader(inner[0], engine))
        return _fixed([reader(each, engine) for each in inner])
    return reader(kind, engine)


def _several(found: list[Any], engine: Engine) -> Reader:
    if is_content(found):
        return _kept_whole(_content(reader(tuple[Part, ...], engine)))
    if all(is_struct(kind) for kind in found):
        return _tagged(found, engine)
    structs = [kind for kind in found if is_struct(kind)]
    if str in found:
        return _kept_whole(_text_or(_struct(structs[0], engine)))
    variants = {row.wire: row for kind in structs for row in members(kind, engine)}
    known = tuple(word for kind in found if is_words(kind) for word in words(kind, engine))
    makers = {members(kind, engine)[0].wire: kind for kind in structs}
    return _variant(known, {wire: (makers[wire], row.name, reader(row.type, engine)) for wire, row in variants.items()})


def _text(node: Node, depth: int) -> str:
    if not isinstance(node, Text):
        raise Unreadable("wrong_type")
    return node.read()


def _bool(node: Node, depth: int) -> bool:
    if node is not True and node is not False:
        raise Unreadable("wrong_type")
    return node


def _float(node: Node, depth: int) -> float:
    if not isinstance(node, Number):
        raise Unreadable("wrong_type")
    return node.as_float()


def _any(node: Node, depth: int) -> Raw:
    """Any JSON, written back the engine's way: keys sorted, numbers as read."""
    return Raw(_SORTED.encode(plain(node, depth)))


def _mime_type(node: Node, depth: int) -> str:
    """Trimmed and lower-cased, without parameters (N3.1)."""
    text = _text(node, depth).strip(_WHITE)
    if not _MIME_TYPE.fullmatch(text):
        raise Unreadable("mime_type")
    return text.lower()


_SIMPLE: dict[Any, Reader] = {str: _text, bool: _bool, float: _float, Raw: _any}


def _integer(low: int, high: int) -> Reader:
    def read(node: Node, depth: int) -> int:
        value = node.as_int() if isinstance(node, Number) else None
        if value is None:
            raise Unreadable("wrong_type")
        if not low <= value <= high:
            raise Unreadable("number_range")
        return value

    return read


def _optional(inner: Reader, nothing: Any) -> Reader:
    return lambda node, depth: nothing if node is None else inner(node, depth)


def _kept_whole(inner: Reader) -> Reader:
    """Places whose value is kept whole before anybody knows what it is."""

    def read(node: Node, depth: int) -> Any:
        check_whole(node, depth)
        return inner(node, depth)

    return read


def _listing(inner: Reader) -> Reader:
    def read(node: Node, depth: int) -> tuple[Any, ...]:
        if not isinstance(node, list):
            raise Unreadable("wrong_type")
        inside = deeper(depth)
        return tuple([inner(item, inside) for item in node])

    return read


def _fixed(inner: list[Reader]) -> Reader:
    def read(node: Node, depth: int) -> tuple[Any, ...]:
        if not isinstance(node, list) or len(node) != len(inner):
            raise Unreadable("wrong_type")
        inside = deeper(depth)
        return tuple([each(item, inside) for each, item in zip(inner, node, strict=True)])

    return read


def _mapping(inner: Reader) -> Reader:
    """A map keyed by text: of equal keys the last counts, but each value is read."""

    def read(node: Node, depth: int) -> dict[str, Any]:
        if not isinstance(node, Members):
            raise Unreadable("wrong_type")
        inside = deeper(depth)
        return {key.read(): inner(value, inside) for key, value in node.pairs}

    return read


def _content(parts: Reader) -> Reader:
    """A text, or parts; one plain unnamed part is the same as its text (N3.1)."""

    def read(node: Node, depth: int) -> Content:
        if isinstance(node, Text):
            return node.read()
        found: tuple[Part, ...] = parts(node, depth)
        return found[0].body if len(found) == 1 and _is_plain(found[0]) else found  # type: ignore[return-value]

    return read


def _is_plain(part: Part) -> bool:
    unmarked = part.name is None and part.deliver is None
    return part.mime_type == "text/plain" and isinstance(part.body, str) and unmarked


def _text_or(struct: Reader) -> Reader:
    return lambda node, depth: node.read() if isinstance(node, Text) else struct(node, depth)


def _word(known: tuple[str, ...]) -> Reader:
    return _variant(known, {})


def _variant(known: tuple[str, ...], holding: Mapping[str, tuple[type[Struct], str, Reader]]) -> Reader:
    """One of some words, bare or as `{word: null}`, or one member that holds the rest."""

    def read(node: Node, depth: int) -> Any:
        if isinstance(node, Text):
            name, value = node.read(), None
            if name in holding:
                raise Unreadable("wrong_type")
        elif isinstance(node, Members) and len(node.pairs) == 1:
            depth = deeper(depth)
            name, value = node.pairs[0][0].read(), node.pairs[0][1]
        else:
            raise Unreadable("wrong_type")
        if name in holding:
            kind, member, inner = holding[name]
            return kind(**{member: inner(value, depth)})
        if name not in known:
            raise Unreadable("unknown_word")
        if value is not None:
            raise Unreadable("wrong_type")
        return _READ_AS.get(name, name)

    return read


def _operation(engine: Engine) -> Reader:
    rows = members(RegionOp, engine)
    holding = {row.wire: (RegionOp, row.name, reader(options(row.type, engine)[0][0], engine)) for row in rows}
    return _variant((), holding)


def _struct(kind: type[Struct], engine: Engine) -> Reader:
    fill = _filler(kind, engine)

    def read(node: Node, depth: int) -> Struct:
        inside = deeper(depth)
        if isinstance(node, Members):
            return fill.from_members(node.pairs, inside)
        if isinstance(node, list):
            return fill.from_items(node, inside)
        raise Unreadable("wrong_type")

    return read


def _tagged(kinds: list[type[Struct]], engine: Engine) -> Reader:
    """Classes told apart by a member inside: an entry's `kind`, `waiting_on`. Kept whole; an array begins with the tag."""
    tag = kinds[0].__struct_config__.tag_field
    fill = {kind.__struct_config__.tag: _filler(kind, engine) for kind in kinds}

    def chosen(node: Node) -> _Filler:
        found = fill.get(_text(node, 0))
        if found is None:
            raise Unreadable("unknown_word")
        return found

    def read(node: Node, depth: int) -> Struct:
        check_whole(node, depth)
        if isinstance(node, Members):
            tags = [value for key, value in node.pairs if key.read() == tag]
            if len(tags) != 1:
                raise Unreadable("duplicate_member" if tags else "missing_member")
            return chosen(tags[0]).from_members(node.pairs, depth + 1)
        if isinstance(node, list) and node:
            return chosen(node[0]).from_items(node[1:], depth + 1)
        raise Unreadable("wrong_type")

    return read


class _Filler:
    """Fills a class from members by name, or from an array by place."""

    def __init__(self, kind: type[Struct], rows: list[tuple[Member, Reader]]) -> None:
        self.kind = kind
        self.rows = rows
        self.by_wire = {row.wire: (row.name, read) for row, read in rows}
        self.required = [row.name for row, _ in rows if row.required]

    def from_members(self, pairs: list[tuple[Text, Node]], depth: int) -> Struct:
        values: dict[str, Any] = {}
        for key, value in pairs:
            known = self.by_wire.get(key.read())
            if known is None:
                continue
            name, read = known
            if name in values:
                raise Unreadable("duplicate_member")
            values[name] = read(value, depth)
        return self._made(values)

    def from_items(self, items: list[Node], depth: int) -> Struct:
        if len(items) > len(self.rows):
            raise Unreadable("wrong_type")
        return self._made({row.name: read(item, depth) for (row, read), item in zip(self.rows, items, strict=False)})

    def _made(self, values: dict[str, Any]) -> Struct:
        for name in self.required:
            if name not in values:
                raise Unreadable("missing_member")
        return self.kind(**values)


@cache
def _filler(kind: type[Struct], engine: Engine) -> _Filler:
    return _Filler(kind, [(row, _member(kind, row, engine)) for row in members(kind, engine)])


def _member(kind: type[Struct], row: Member, engine: Engine) -> Reader:
    if row.name == "mime_type" and kind in _MIME_TYPES:
        return _mime_type
    return reader(row.type, engine)
