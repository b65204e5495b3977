"""Secrets out of text: by value (what the run itself names as secret) and by shape (what looks like a key to anybody).

Belongs here: the `Masker`, the one switch, and the search for known values; the shapes of keys are in `key_shapes.py`.
Does not belong here: shortening and escaping, which come after masking and in that order, because a piece of a secret
left by a cut, or a secret respelled by an escape, is found by nobody.
"""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from json import dumps
from urllib.parse import quote, quote_plus

from .key_shapes import MASK, mask_shapes

SHORTEST_SECRET = 6
"""Characters. Anything shorter occurs in ordinary text too often to be hidden by value."""
_PIECE = 12
"""A beginning or an end of a secret is masked from this many characters on: texts are cut by tools and by the engine as
well."""
_ROUNDS = 8

_masking: ContextVar[bool] = ContextVar("recovery_kit_masking", default=True)


@contextmanager
def unmasked() -> Iterator[None]:
    """Show secrets inside the `with` block; the one switch there is. It holds for this thread or task only: others keep
    masking."""
    before = _masking.set(False)
    try:
        yield
    finally:
        _masking.reset(before)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Masker:
    """A function from text to text without secrets; a value, equal to another with the same secrets. Its repr names
    none.

    `secrets`: values to hide wherever they occur, also in their URL, JSON, base64 and hexadecimal spelling; values
    shorter than `SHORTEST_SECRET` are left out. Shapes of keys are hidden in any case.
    """

    secrets: tuple[str, ...]
    _spellings: tuple[str, ...] = field(compare=False)
    _ends: tuple[str, ...] = field(compare=False)
    """Beginnings and ends of the spellings: a text without any of them holds no secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        kept = tuple(sorted({secret for secret in secrets if len(secret) >= SHORTEST_SECRET}))
        spelled = {spelling for secret in kept for spelling in _spellings_of(secret)}
        object.__setattr__(self, "secrets", kept)
        spellings = tuple(sorted(s for s in spelled if s[:_PIECE] not in MASK and s[-_PIECE:] not in MASK))
        object.__setattr__(self, "_spellings", spellings)
        object.__setattr__(self, "_ends", tuple({end for s in spellings for end in (s[:_PIECE], s[-_PIECE:])}))

    def __call__(self, text: str) -> str:
        """`text` with each secret replaced by `MASK`; the same again for a text already masked."""
        if not _masking.get():
            return text
        for _ in range(_ROUNDS):  # a mask is a new neighbour; two rounds settle all but made-up texts
            masked = mask_shapes(_mask_values(text, self._spellings) if self._holds_a_piece(text) else text)
            if masked == text:
                break
            text = masked
        return text

    def _holds_a_piece(self, text: str) -> bool:
        for end in self._ends:
            if end in text:
                return True
        return False

    def __repr__(self) -> str:
        return f"Masker({len(self.secrets)} secret{'' if len(self.secrets) == 1 else 's'})"

    def knowing(self, more: Iterable[str]) -> "Masker":
        """Another masker that hides `more` as well."""
        return Masker((*self.secrets, *more))


def mask(text: str, masker: Masker | None = None) -> str:
    """`text` without the secrets of `masker` and without anything shaped like a key; without a masker, shapes only."""
    return (masker or SHAPES_ONLY)(text)


# -- by value --


def _spellings_of(secret: str) -> Iterator[str]:
    """How a secret reads as it is, in a URL, in JSON (once and twice), in base64 at each of the three alignments, and
    in hexadecimal."""
    raw = secret.encode("utf-8", "surrogatepass")
    percent, plus = quote(raw, safe=""), quote_plus(raw)
    yield secret
    yield from (percent, plus, quote(raw, safe="/"))
    yield from (re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), spelled) for spelled in (percent, plus))
    for ascii_only in (True, False):
        once = dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield from (once, once.replace("/", "\\/"), dumps(once, ensure_ascii=ascii_only)[1:-1])
    yield from (spelled for spelled in (raw.hex(), raw.hex().upper()) if len(spelled) >= _PIECE)
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):  # only characters that the secret alone decides: the edges hold bits of its neighbours
            first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
            core = encode(b"\0" * before + raw)[first:last].decode()
            if len(core) >= 7:
                yield core


def _mask_values(text: str, spellings: tuple[str, ...]) -> str:
    spans = [span for spelling in spellings for span in _spans(text, spelling)]
    if not spans:
        return text
    pieces, at = [], 0
    for start, end in _joined(sorted(spans)):
        pieces += [text[at:start], MASK]
        at = end
    return "".join([*pieces, text[at:]])


def _spans(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Where `secret`, a beginning or an end of it occurs."""
    head, tail, whole = secret[:_PIECE], secret[-_PIECE:], len(secret)
    at = text.find(head)
    while at >= 0:
        length = len(head)
        while length < whole and text[at + length : at + length + 1] == secret[length]:
            length += 1
        yield at, at + length
        at = text.find(head, at + length)
    if whole <= _PIECE:
        return
    at = text.find(tail)
    while at >= 0:
        length, end = len(tail), at + len(tail)
        while length < whole and end > length and text[end - length - 1] == secret[-length - 1]:
            length += 1
        yield end - length, end
        at = text.find(tail, end)


def _joined(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that touch as one: two masks in a row would tell how many secrets stood there."""
    start, end = spans[0]
    for next_start, next_end in spans[1:]:
        if next_start > end:
            yield start, end
            start, end = next_start, next_end
        end = max(end, next_end)
    yield start, end


SHAPES_ONLY = Masker()
