"""JSON as a strict parser sees it before anybody gives it a meaning: members in order, numbers and strings unread.

Python's parsers settle questions that the engine's parser leaves to whoever reads the value: which of two equal members
counts, whether a string is text at all, how deep is too deep. Here nothing of that is settled, so that `exact` can do
it the engine's way, and only where the engine looks.
"""

import re
from math import isinf

import orjson

DEPTH = 127
"""Nested levels that pass, the record's own counted; one more does not."""

_BLANK = b" \t\n\r"
_TOKEN = re.compile(
    rb"""[ \t\n\r]*+(?:
        ([{}\[\]:,])
      | "([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+)"
      | (-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
      | (true|false|null)
    )""",
    re.VERBOSE,
)
_MARK, _TEXT, _NUMBER, _WORD = 1, 2, 3, 4
_WORDS = {b"true": True, b"false": False, b"null": None}


class Unreadable(Exception):
    """The engine does not read this. Stays inside this room: surfaces get the reason as a value."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Text:
    """The bytes between two quotes."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def read(self) -> str:
        """As text. Raises Unreadable for bytes that are not UTF-8 and for half a surrogate pair."""
        try:
            if b"\\" not in self.raw:
                return self.raw.decode()
            text: str = orjson.loads(b'"' + self.raw + b'"')
        except ValueError:
            raise Unreadable("surrogate" if is_utf8(self.raw) else "not_utf8") from None
        return text


class Number:
    """The bytes of a number."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def as_float(self) -> float:
        """Raises Unreadable for what no float holds."""
        value = float(self.raw)
        if isinf(value):
            raise Unreadable("number_range")
        return value

    def as_int(self) -> int | None:
        """None for what is not written as a whole number; `-0` is a float here, as it is there."""
        if not self.raw.lstrip(b"-").isdigit() or self.raw == b"-0":
            return None
        return int(self.raw) if len(self.raw) <= 20 else 1 << 65


class Members:
    """An object: its members in the order of the file, repeated ones too."""

    __slots__ = ("pairs",)

    def __init__(self) -> None:
        self.pairs: list[tuple[Text, Node]] = []


Node = Members | list["Node"] | Text | Number | bool | None


def parse(data: bytes) -> "Node":
    """The one JSON value in the bytes, nested as deep as they please. Raises Unreadable."""
    node, end = _Parser(data).value()
    if data[end:].strip(_BLANK):
        raise Unreadable("trailing")
    return node


class _Parser:
    """One pass over the tokens with a stack of open containers, so that depth costs memory and not recursion."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pos = 0

    def value(self) -> tuple["Node", int]:
        open_: list[tuple[Members | list[Node], Text | None]] = []
        top: Members | list[Node] | None = None
        key: Text | None = None
        fresh = False  # right behind an opening bracket, where a closing one may follow
        while True:
            kind, token = self._next()
            done: Node
            if kind == _MARK and token in b"{[":
                if top is not None:
                    open_.append((top, key))
                top, fresh = (Members() if token == b"{" else []), True
                if token == b"{":
                    key = self._key(or_end=True)
                    if key is not None:
                        fresh = False
                        continue
                else:
                    continue
                done, (top, key) = top, open_.pop() if open_ else (None, None)
            elif kind == _MARK:
                if token != b"]" or not fresh or not isinstance(top, list):
                    raise Unreadable("not_json")
                done, (top, key) = top, open_.pop() if open_ else (None, None)
            else:
                done = _scalar(kind, token)
            fresh = False
            while True:  # hand the finished value to its container, which it may finish in turn
                if top is None:
                    return done, self.pos
                if isinstance(top, list):
                    top.append(done)
                    more = self._comma(b"]")
                else:
                    assert key is not None
                    top.pairs.append((key, done))
                    more = self._comma(b"}")
                    if more:
                        key = self._key()
                if more:
                    break
                done, (top, key) = top, open_.pop() if open_ else (None, None)

    def _next(self) -> tuple[int, bytes]:
        match = _TOKEN.match(self.data, self.pos)
        if match is None:
            raise Unreadable("not_json")
        self.pos = match.end()
        kind = match.lastindex
        assert kind is not None
        return kind, match[kind]

    def _key(self, or_end: bool = False) -> Text | None:
        kind, token = self._next()
        if kind == _MARK and token == b"}" and or_end:
            return None
        if kind != _TEXT or self._next() != (_MARK, b":"):
            raise Unreadable("not_json")
        return Text(token)

    def _comma(self, closing: bytes) -> bool:
        kind, token = self._next()
        if kind != _MARK or token not in (b",", closing):
            raise Unreadable("not_json")
        return token == b","


def _scalar(kind: int, token: bytes) -> "Node":
    if kind == _TEXT:
        return Text(token)
    if kind == _NUMBER:
        return Number(token)
    return _WORDS[token]


def is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def deeper(depth: int) -> int:
    """The depth inside a container that stands at `depth`. Raises Unreadable where that is too deep."""
    if depth >= DEPTH:
        raise Unreadable("too_deep")
    return depth + 1


def check_whole(node: "Node", depth: int) -> None:
    """What it takes to keep a value for later: all of its text is text, its numbers are numbers, it is not too deep."""
    todo = [(node, depth)]
    while todo:
        node, depth = todo.pop()
        if isinstance(node, Text):
            node.read()
        elif isinstance(node, Number):
            node.as_float()
        elif isinstance(node, list):
            inside = deeper(depth)
            todo.extend([(item, inside) for item in node])
        elif isinstance(node, Members):
            inside = deeper(depth)
            for key, value in node.pairs:
                key.read()
                todo.append((value, inside))


def plain(node: "Node", depth: int) -> object:
    """Any JSON value as Python has it: of repeated members the last, integers beyond 64 bits as floats."""
    if isinstance(node, Text):
        return node.read()
    if isinstance(node, Number):
        number = node.as_int()
        return number if number is not None and -(2**63) <= number < 2**64 else node.as_float()
    if isinstance(node, list):
        inside = deeper(depth)
        items = []
        for item in node:
            items.append(plain(item, inside))
        return items
    if isinstance(node, Members):
        inside = deeper(depth)
        members = {}
        for key, value in node.pairs:
            members[key.read()] = plain(value, inside)
        return members
    return node
