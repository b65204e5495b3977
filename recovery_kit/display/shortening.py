"""Long things said in few characters: previews of text, sizes, durations, times, counts.

Belongs here: functions that lose something on purpose. None of them raises, whatever number a damaged file holds. Text
is masked before it comes here and escaped after (`shown` in `card.py` keeps that order).
"""

from datetime import UTC, datetime, timedelta
from math import isfinite
from unicodedata import combining

ELLIPSIS = "…"
NOTHING = "–"
"""Stands for a value that is not there."""
_ABSURD = "absurd"
"""Stands for a number that nobody could read anyway."""

_HOLDS_ON = frozenset("\u200d\ufe0e\ufe0f") | {chr(code) for code in range(0x1F3FB, 0x1F400)}
"""Joiner, variation selectors, skin tones: they belong to the character before them."""
_LOOK_BACK = 8


def preview(text: str, limit: int = 160) -> str:
    """At most `limit` characters of `text` on one line, `…` at the end if there was more; line ends are shown as
    `⏎`."""
    beginning = "⏎".join((text[: 2 * limit + 2] + ".").splitlines())[:-1]
    if len(text) <= 2 * limit + 2 and len(beginning) <= limit:
        return beginning
    return beginning[: _whole_characters(beginning, limit - 1)] + ELLIPSIS if limit > 0 else ""


def middle(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, both ends kept and `…` between them: for paths and ids. Line ends stay."""
    if len(text) <= limit:
        return text
    if limit < 3:
        return ELLIPSIS[:limit]
    end = len(text) - (limit - 1) // 2
    while end < len(text) and _belongs_to_the_one_before(text, end):
        end += 1
    return text[: _whole_characters(text, limit - 1 - (limit - 1) // 2)] + ELLIPSIS + text[end:]


def _whole_characters(text: str, at: int) -> int:
    """`at`, or a little before it if a cut there would part a letter from its accents."""
    for cut in range(at, max(at - _LOOK_BACK, 0), -1):
        if not _belongs_to_the_one_before(text, cut):
            return cut
    return at


def _belongs_to_the_one_before(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return False
    here, before = text[at], text[at - 1]
    split_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= here <= "\udfff"
    return split_pair or combining(here) != 0 or here in _HOLDS_ON or before == "\u200d"


# -- numbers
# -----------------------------------------------------------------------------------------------------------------

_READABLE = 10**24
_SIZES = ("kB", "MB", "GB", "TB", "PB", "EB", "ZB")


def count_text(n: int | None, one: str = "", many: str = "") -> str:
    """`1,204`, with a noun `1 call`, `3 calls`; `many` where an s does not do. None is `–`."""
    if n is None or not _is_readable(n):
        return NOTHING if n is None else _ABSURD
    noun = one if n == 1 else many or (one and one + "s")
    return f"{n:,} {noun}".rstrip()


def bytes_text(n: int | None) -> str:
    """A size given in bytes: `1 byte`, `912 bytes`, `4.1 kB`, `2.0 GB` (steps of 1000). None is `–`."""
    if n is None or not _is_readable(n) or abs(n) < 1000:
        return count_text(n, "byte")
    size = float(n)
    for unit in _SIZES:
        size /= 1000
        if abs(size) < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size:,.1f} {_SIZES[-1]}"


_STEPS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def duration_text(seconds: float | None) -> str:
    """A length of time given in seconds, by its two largest units: `9 h 12 min`, `3 min 5 s`, `0.4 s`. None is `–`."""
    if seconds is None or not _is_readable(seconds):
        return NOTHING if seconds is None else _ABSURD
    if seconds < 0:
        return "-" + duration_text(-seconds)
    if 0 < seconds < 9.95 and seconds != int(seconds):
        return f"{seconds:.1f} s" if seconds >= 0.05 else "under 0.1 s"
    rest, said = _rounded_to_two_units(seconds), []
    for unit, length in _STEPS:
        amount, rest = divmod(rest, length)
        if amount:
            said.append(f"{amount:,} {unit}")
    return " ".join(said) or "0 s"


def _rounded_to_two_units(seconds: float) -> int:
    """Whole seconds without what a third unit would say, so that 9 h 12 min 59 s is 9 h 12 min."""
    whole = int(seconds + 0.5) if seconds < 1e15 else int(seconds)
    for (_, larger), (_, smaller) in zip(_STEPS, _STEPS[1:], strict=False):
        if whole >= larger:
            return whole - whole % smaller
    return whole


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_text(unix_seconds: float | None) -> str:
    """A moment given in seconds since 1970, in UTC: `2026-11-30 05:12:03Z`. Beyond the calendar `@` and the number;
    None is `–`."""
    if unix_seconds is None or not _is_readable(unix_seconds):
        return NOTHING if unix_seconds is None else _ABSURD
    try:
        moment = _EPOCH + timedelta(seconds=int(unix_seconds // 1))
    except OverflowError:
        return f"@{int(unix_seconds)}"
    return moment.replace(tzinfo=None).isoformat(" ", "seconds") + "Z"


def _is_readable(n: float) -> bool:
    return (isinstance(n, int) or isfinite(n)) and -_READABLE < n < _READABLE
