"""Where the frames of a journal begin and end, and what lies behind the place where the engine stops.

Nothing here looks into a payload further than its first bytes (the kind). Rules: leviath-run-directory 3.1, 3.2, 4.5.
"""

import re
import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from recovery_kit.records.engines import NEWEST, Engine, engine
from recovery_kit.records.journal import KINDS

MAGIC = b"LVR1"
PREAMBLE = MAGIC + b"\x00\x01"
VERSION = 1
CAP = 256 * 1024 * 1024
LENGTH = struct.Struct(">Q")
_HEAD = struct.Struct(">Q2x10s")
"""A length and the ten bytes behind `{"` that tell the kinds apart."""

Buffer = bytes | memoryview
ErrorClass = Literal["empty_file", "short_preamble", "bad_magic", "newer_version", "missing", "link_outside"]
TornAt = Literal["length", "payload", "oversized"]

KIND_NAMES = tuple(KINDS)
OTHER = len(KIND_NAMES)
"""Number of a frame whose first bytes name no kind we know, or not in the writer's own spelling."""

_PEEK = {f'{name}":{{"'[:10].encode(): number for number, name in enumerate(KIND_NAMES)}
_LOOSE_KIND = re.compile(rb'\s*\{\s*"([A-Za-z]{1,40})"')


class Frame(NamedTuple):
    """A whole frame: where its length prefix stands, and its payload's size in bytes."""

    offset: int
    length: int
    kind: int
    """Index into `KIND_NAMES`, or `OTHER`."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How a journal divides into frames, for the engine's reader."""

    size: int
    """Bytes of the file."""
    version: int | None
    error: ErrorClass | None
    """Why the file is refused whole; None if it can be read."""
    offsets: "array[int]"
    lengths: "array[int]"
    kinds: bytearray
    end: int
    """Where the last whole frame ends."""
    torn_at: TornAt | None

    @property
    def torn_bytes(self) -> int:
        """Bytes behind the last whole frame; 0 for a file that is refused."""
        return 0 if self.error else self.size - self.end

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, index: int) -> Frame:
        return Frame(self.offsets[index], self.lengths[index], self.kinds[index])

    def __iter__(self) -> Iterator[Frame]:
        return map(Frame, self.offsets, self.lengths, self.kinds)


def preamble(data: Buffer, rules: Engine) -> tuple[int | None, ErrorClass | None]:
    """Version and refusal of a file from its first six bytes (3.1, 3.2)."""
    if len(data) == 0:
        return None, "empty_file"
    if len(data) < len(PREAMBLE):
        return None, "short_preamble"
    if bytes(data[:4]) != MAGIC:
        return None, "bad_magic"
    version = int.from_bytes(data[4:6], "big")
    return version, "newer_version" if version > VERSION and rules.refuses_newer_version else None


def scan(data: Buffer, rules: Engine | None = None) -> Framing:
    """Hop over the frames of a whole journal.

    Stops as the engine does: at a clean end, at a partial length or payload, at a length above 256 MiB. Never raises.
    """
    rules = rules or engine(NEWEST)
    version, error = preamble(data, rules)
    framing = Framing(len(data), version, error, array("Q"), array("Q"), bytearray(), len(PREAMBLE), None)
    return framing if error else extend(framing, data)


def extend(known: Framing, data: Buffer) -> Framing:
    """The framing of a journal that has grown: what was known, and the frames that came since."""
    offsets, lengths, kinds = array("Q", known.offsets), array("Q", known.lengths), bytearray(known.kinds)
    place, size = known.end, len(data)
    head, peek, other = _HEAD.unpack_from, _PEEK.get, OTHER
    last_full_head = size - _HEAD.size
    while place <= last_full_head:
        length, key = head(data, place)
        after = place + 8 + length
        if after > size or length > CAP:
            break
        offsets.append(place)
        lengths.append(length)
        kinds.append(peek(key, other) if length >= 12 else other)
        place = after
    while place + 8 <= size:  # the last few bytes, too short for a peek
        (length,) = LENGTH.unpack_from(data, place)
        if place + 8 + length > size or length > CAP:
            break
        offsets.append(place)
        lengths.append(length)
        kinds.append(other)
        place += 8 + length
    return Framing(size, known.version, known.error, offsets, lengths, kinds, place, _torn(data, place))


def _torn(data: Buffer, place: int) -> TornAt | None:
    left = len(data) - place
    if left == 0:
        return None
    if left < 8:
        return "length"
    return "oversized" if LENGTH.unpack_from(data, place)[0] > CAP else "payload"


def loose_kind(payload: Buffer) -> str | None:
    """The kind's name as far as a payload shows one at its beginning, known or not."""
    found = _LOOSE_KIND.match(payload)
    return found[1].decode() if found else None


def frame(payload: bytes) -> bytes:
    """A payload as it stands in the file, behind its length."""
    return LENGTH.pack(len(payload)) + payload


# What is not the engine's: the ways behind a tear.

_RESYNC = re.compile(rb"\x00{4}[\x00-\x10][\x00-\xff]{3}(?=\{\"[A-Z])")
"""A length below the cap before a record: JSON holds no raw NUL, so four of them are a prefix (exact, not a guess)."""


class Block(NamedTuple):
    """A stretch of the file: its offset and its size in bytes."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Salvage:
    """What can be told beside the engine's reading; never mixed with it."""

    tear: tuple[int, int] | None
    """From the first byte that belongs to no whole record to the first frame behind it (or the end of the file)."""
    frames: tuple[Frame, ...]
    """Whole frames behind the tear."""
    swallowed: int | None
    """Index of a frame of the engine's reading that holds others: its length reaches over a tear."""
    zeros: tuple[Block, ...]
    """Blocks of zero bytes, which read as frames of length 0."""


def salvage(data: Buffer, framing: Framing, stepped_over: Iterable[int]) -> Salvage:
    """Look behind the place where the engine's reading ends or has gone astray (4.5).

    `stepped_over` are the indexes of frames that cannot be read: the length of one of them may reach over a tear.
    """
    if framing.error:
        return Salvage(None, (), None, ())
    zeros = _zeros(data, framing)
    swallowed = next((index for index in stepped_over if _holds_a_frame(data, framing[index])), None)
    begin = start = framing.end if swallowed is None else framing.offsets[swallowed]
    if swallowed is None and zeros and framing.lengths[-1] == 0:  # zeros may have eaten the beginning of a length
        begin, start = zeros[-1].offset, zeros[-1].offset + zeros[-1].size
    if start >= framing.size or (framing.torn_at is None and swallowed is None):
        return Salvage(None, (), swallowed, zeros)
    frames = tuple(_behind(data, start, whole_first=swallowed is None))
    return Salvage((begin, frames[0].offset if frames else framing.size), frames, swallowed, zeros)


def _holds_a_frame(data: Buffer, frame: Frame) -> bool:
    """Whether another length prefix begins inside: the text of a record has no raw NUL, so this one spans a tear."""
    begin, end = frame.offset + 8, frame.offset + 8 + frame.length
    found = _RESYNC.search(data, begin, end + LENGTH.size + 3)
    return found is not None and found.start() < end


def _zeros(data: Buffer, framing: Framing) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if 0 not in framing.lengths:
        return ()
    for offset, length, _ in framing:
        if length:
            continue
        if blocks and blocks[-1].offset + blocks[-1].size >= offset:
            continue
        blocks.append(Block(offset, _zero_run(data, offset)))
    return tuple(blocks)


def _zero_run(data: Buffer, start: int) -> int:
    """Zero bytes from here, less those that begin the length of a frame which follows."""
    stop, step = start, 1 << 16
    while stop < len(data):
        piece = bytes(data[stop : stop + step])
        rest = piece.lstrip(b"\0")
        stop += len(piece) - len(rest)
        if rest:
            break
    for head in range(max(start, stop - 8), stop):
        if _RESYNC.match(data, head):
            return head - start
    return stop - start


def _behind(data: Buffer, start: int, whole_first: bool) -> Iterator[Frame]:
    """Whole frames from here on, found by their prefixes: each must fit the file and end like a record."""
    place = start if whole_first else start + 1
    while found := _RESYNC.search(data, place):
        offset = found.start()
        length, key = _HEAD.unpack_from(data, offset) if offset + _HEAD.size <= len(data) else (len(data), b"")
        after = offset + 8 + length
        if after <= len(data) and data[after - 1] == 0x7D:
            yield Frame(offset, length, _PEEK.get(key, OTHER))
            place = after
        else:
            place = offset + 1
