"""Does an engine version's reader read these bytes, and as what: the question behind every *verified* reading.

Two judges. The quick one decodes into a class that gives back the same bytes if nothing about them is odd: no unknown
or repeated member, no number or space written another way. What comes back the same is readable for certain, which is
the case for whatever an engine wrote. Anything else is left to the slow judge (`exact`), which decides.
"""

import re
from functools import cache, partial
from typing import Any

from msgspec import MsgspecError, Struct, defstruct
from msgspec.json import Decoder, Encoder
from msgspec.json import format as spaced

from ..records.engines import ENGINES, NEWEST, Engine, version
from ..records.journal import KINDS
from . import exact
from .framing import KIND_NAMES, Framing
from .members import members
from .strict import Tier, member_look, shallow, shapes
from .tree import Unreadable, is_utf8

_NEWEST = ENGINES[NEWEST]
_encode = Encoder().encode
_anything = Decoder().decode
_FAILED = (MsgspecError, ValueError, OverflowError, RecursionError)
_LONG = 1024
_LONG_WINDOW = 8192
"""Bytes from which on it pays to leave texts as they are; records that hold a window have many short ones."""
_PEEK = 13
"""Where the kinds' names differ, at the latest."""
_PLAIN_PART = b'[{"mime_type":"text/plain","body":"'
_LONE_PLAIN_PART = re.compile(rb'\[\{"mime_type":"text/plain","body":"[^"\\]*+(?:\\.[^"\\]*+)*+"\}\]')


class Judged(Struct, gc=False):
    """The answer: readable or why not, and the value, which is decoded when it is asked for."""

    kind: str | None
    """The kind's name as far as it can be told; None for what has no kind."""
    why: str | None = None
    """A short word for why it is unreadable, else None."""
    _value: Any = None
    _quick: Any = None
    _data: bytes = b""

    @property
    def odd(self) -> bool:
        """Readable, but in a spelling that only the slow judge reads."""
        return self.why is None and self._quick is None

    def __repr__(self) -> str:
        return f"Judged(kind={self.kind!r}, why={self.why!r})"

    @property
    def readable(self) -> bool:
        return self.why is None

    @property
    def record(self) -> Any:
        """The record (of `judge_value`: the value) as the engine has it after reading, or None."""
        if self._value is None and self._quick is not None:
            self._value = self._quick.record(self._data)
        return self._value


def judge(payload: bytes | memoryview, engine: Engine) -> Judged:
    """Whether the engine reads a frame's payload, and as which record (leviath-run-directory 3.2). Never raises."""
    data = payload if type(payload) is bytes else bytes(payload)
    quick = _vouched(data, engine.name)
    if quick is not None:
        return Judged(quick.name, quick.refusal, None, quick.maker, data)
    try:
        kind, record = exact.read_record(data, engine)
    except Unreadable as no:
        return Judged(exact.told_kind(data), no.why)
    return Judged(kind, None, record)


def readable(payload: bytes | memoryview, engine: Engine) -> bool:
    """`judge(...).readable`, without making anything for the value."""
    data = payload if type(payload) is bytes else bytes(payload)
    quick = _vouched(data, engine.name)
    if quick is not None:
        return quick.refusal is None
    try:
        exact.read_record(data, engine)
    except Unreadable:
        return False
    return True


def judge_value(payload: bytes | memoryview, kind: Any, engine: Engine) -> Judged:
    """The same for a JSON file: `kind` is a Struct type or a `tuple[...]` of one. Never raises."""
    data = payload if type(payload) is bytes else bytes(payload)
    compact = _compact(data)
    if compact is not None:
        quick = _quick_value(kind, engine.name)
        if quick.vouches(compact):
            return Judged(None, None, None, quick, compact)
    try:
        return Judged(None, None, exact.read_value(data, kind, engine))
    except Unreadable as no:
        return Judged(None, no.why)


class _Quick:
    """The quick judge of one type, for one engine.

    What the newest engine reads, an older one reads too unless its own types say no: to it newer members are unknown
    ones, and about those nothing can be odd here.
    """

    def __init__(
        self, kind: Any, engine: Engine, name: str = "", known: bool = True, long_from: int = _LONG_WINDOW
    ) -> None:
        self.name = name
        self.refusal = None if known else "unknown_kind"
        self.maker = self if known else None
        self._long_from = long_from
        self.short = _Tier(kind, name, _NEWEST, "short")
        self.long = _Tier(kind, name, _NEWEST, "long")
        self._any = _Tier(kind, name, _NEWEST, "any")
        older = known and engine.version < _NEWEST.version
        self._older = _Tier(kind, name, engine, "any").decode if older else None
        self.is_newest = not older
        self.short_below = 0 if older else long_from
        """Bytes below which being sound as `short` is the whole answer."""
        self._record = Decoder(kind).decode
        self._exact = partial(_exact_record, engine) if name else partial(_exact_value, engine, kind)

    def vouches(self, data: bytes) -> bool:
        """True: the engine reads it (or, of an unknown kind, a newer one would). False: no answer."""
        if len(data) >= self._long_from:
            sound = self.long.sound(data) and (data.isascii() or is_utf8(data))
        else:
            sound = self.short.sound(data)
        return (sound or self._vouches_for_more(data)) and (self._older is None or self._older_reads(data))

    def _vouches_for_more(self, data: bytes) -> bool:
        if self._any.sound(data):
            return not (_PLAIN_PART in data and _LONE_PLAIN_PART.search(data))
        return self._vouches_past_unknown(data)

    def _vouches_past_unknown(self, data: bytes) -> bool:
        """Sound but for unknown members or the order: nothing odd in the whole, and what is known is right."""
        try:
            whole = _anything(data)
            return _encode(whole) == data and shallow(whole) and b"text/plain" not in data and self._any.takes(data)
        except _FAILED:
            return False

    def _older_reads(self, data: bytes) -> bool:
        assert self._older is not None
        try:
            self._older(data)
        except _FAILED:
            return False
        return True

    def record(self, data: bytes) -> Any:
        """The ordinary value of what it vouched for; an older engine steps over what it does not know."""
        narrow = data if self._older is None else _encode(self._older(data))
        try:
            return self._record(narrow[len(self.name) + 4 : -1] if self.name else narrow)
        except _FAILED:  # the reader takes more than the class of the record promises
            return self._exact(data)


def _exact_record(engine: Engine, data: bytes) -> Struct:
    return exact.read_record(data, engine)[1]


def _exact_value(engine: Engine, kind: Any, data: bytes) -> Any:
    return exact.read_value(data, kind, engine)


class _Tier:
    """One derived class at work. With a name it takes the object whose one member that is."""

    __slots__ = ("decode", "look")

    def __init__(self, kind: Any, name: str, engine: Engine, tier: Tier) -> None:
        made = shapes(engine, tier)
        shape, look = made.of(kind), made.look(kind)
        self.decode = Decoder(_frame(name, shape) if name else shape).decode
        self.look = member_look("body", look) if look is not None and name else look

    def sound(self, data: bytes) -> bool:
        """Whether the bytes come back the same."""
        try:
            value = self.decode(data)
            return _encode(value) == data and (self.look is None or self.look(value))
        except _FAILED:
            return False

    def takes(self, data: bytes) -> bool:
        """Whether the types are right, members that it does not know aside. Raises what decoding raises."""
        value = self.decode(data)
        return self.look is None or self.look(value)


def _frame(name: str, shape: Any) -> type[Struct]:
    return defstruct("Frame", [("body", shape)], rename={"body": name}, forbid_unknown_fields=True, gc=False)


def unvouched(data: bytes | memoryview, framing: Framing, start: int, engine: Engine) -> list[int]:
    """Indexes of the frames from `start` on that are not plainly readable: `judge` has to say what they are.

    The way of most frames of most journals, hence in one piece.
    """
    quicks = _BY_NUMBER[engine.name]
    left: list[int] = []
    encode, failed = _encode, _FAILED
    rows = zip(framing.offsets[start:], framing.lengths[start:], framing.kinds[start:], strict=True)
    for index, (begin, size, number) in enumerate(rows, start):
        quick = quicks[number]
        if quick is None:
            left.append(index)
            continue
        payload = bytes(data[begin + 8 : begin + 8 + size])
        if quick.is_newest:
            is_short = size < quick.short_below
            tier = quick.short if is_short else quick.long
            try:
                value = tier.decode(payload)
                if encode(value) == payload and (tier.look is None or tier.look(value)):
                    if is_short or payload.isascii() or is_utf8(payload):
                        continue
            except failed:
                pass
        if not quick.vouches(payload):
            left.append(index)
    return left


class _ByNumber(dict[str, list[_Quick | None]]):
    """By engine: the quick judges by the number of a kind, None for what the engine does not know."""

    def __missing__(self, name: str) -> list[_Quick | None]:
        by_kind = {quick.name: quick for quick in _KINDS[name].values() if quick.refusal is None}
        self[name] = [*(by_kind.get(kind) for kind in KIND_NAMES), None]
        return self[name]


_BY_NUMBER = _ByNumber()


def _vouched(data: bytes, name: str) -> _Quick | None:
    """The quick judge that vouches for a frame's payload. The way of most frames, hence in one piece."""
    quick = _KINDS[name].get(data[2:_PEEK])
    if quick is None:
        return None
    if len(data) < quick.short_below:
        short = quick.short
        try:
            value = short.decode(data)
            if _encode(value) == data and (short.look is None or short.look(value)):
                return quick
        except _FAILED:
            pass
    return quick if quick.vouches(data) else None


class _Kinds(dict[str, dict[bytes, _Quick]]):
    """By engine, made when first asked for: a quick judge by how a record of its kind begins."""

    def __missing__(self, name: str) -> dict[bytes, _Quick]:
        engine = ENGINES[name]
        self[name] = {
            f'{kind}":{{"{members(row.type, engine)[0].wire}"'.encode()[: _PEEK - 2]: _Quick(
                row.type,
                engine,
                kind,
                version(row.since) <= engine.version,
                _LONG_WINDOW if row.makes_point else _LONG,
            )
            for kind, row in KINDS.items()
        }
        return self[name]


_KINDS = _Kinds()


@cache
def _quick_value(kind: Any, name: str) -> _Quick:
    return _Quick(kind, ENGINES[name])


def _compact(data: bytes) -> bytes | None:
    """The same tokens without the space between them, as the files that people read are spaced."""
    try:
        return spaced(data, indent=-1)
    except _FAILED:
        return None
