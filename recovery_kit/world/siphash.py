"""SipHash-1-3 with keys of zero, the engine's own hash of a request's system blocks (leviath-requests R8)."""

import struct
from collections.abc import Iterable

MASK = (1 << 64) - 1
START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _left(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & MASK


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a, c = (a + b) & MASK, (c + d) & MASK
    b, d = _left(b, 13) ^ a, _left(d, 16) ^ c
    a, c = (_left(a, 32) + d) & MASK, (c + b) & MASK
    b, d = _left(b, 17) ^ c, _left(d, 21) ^ a
    return a, b, _left(c, 32), d


def siphash13(data: bytes) -> int:
    """The 64-bit hash of the bytes: one round for each eight of them, three at the end."""
    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])
    a, b, c, d = START
    for (word,) in struct.iter_unpack("<Q", padded):
        a, b, c, d = _round(a, b, c, d ^ word)
        a ^= word
    c ^= 255
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


def system_hash(texts: Iterable[str]) -> int:
    """`digest.system_hash` of the attempt that sends these system blocks, framework's blocks not among them."""
    return siphash13(b"".join(text.encode("utf-8", "surrogatepass") + b"\xff" for text in texts))
