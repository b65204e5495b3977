"""Cards and small tables: plain frozen values that every surface draws, and their drawing for a terminal.

Belongs here: what a card holds, the words of its tones, and `shown`, the one way of a run's text to a surface: masked,
then shortened, then escaped. Cards hold raw text; whoever draws one passes every string through `shown`. HTML is drawn
in `pictures`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from unicodedata import category, east_asian_width

from .escaping import terminal
from .key_shapes import MASK
from .masking import Masker, mask
from .shortening import ELLIPSIS, NOTHING, preview

Tone = Literal["plain", "good", "attention", "bad", "muted"]
TONES: tuple[Tone, ...] = get_args(Tone)

_CODES: dict[Tone, str] = {"plain": "", "good": "32", "attention": "33", "bad": "31", "muted": "2"}
_MARKS: dict[Tone, str] = {"plain": "", "good": "", "attention": "! ", "bad": "!! ", "muted": ""}
"""What a tone says where there is no colour: nothing is told by colour alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a card: what is told, and its value as raw text."""

    label: str
    value: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence below the rows, as raw text."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Card:
    """A thing on one screen. All text in it is raw: it is masked, shortened and escaped when the card is drawn."""

    title: str
    subtitle: str = ""
    rows: tuple[Row, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table that has a tone; a bare text or number is a plain cell."""

    value: str | int | float | None
    tone: Tone = "plain"


# -- the one way to a surface
# ------------------------------------------------------------------------------------------------

_AHEAD = 8192
_CUT_EFFECT = 4096


def shown(
    text: str,
    masker: Masker | None = None,
    limit: int | None = None,
    escape: Callable[[str], str] = terminal,
    shorten: Callable[[str, int], str] = preview,
) -> str:
    """`text` of a run, fit for a surface: masked, then shortened to `limit` characters, then escaped.

    `limit`: characters before escaping, none for all of it. `escape`: `html`, `terminal`, `storable`, `csv_cell`, or
    `str` for a caller that escapes later. `shorten`: `preview` (one line) or `middle`.
    """
    if limit is None:
        return escape(mask(text, masker))
    return escape(shorten(_masked_beginning(text, masker, limit) if shorten is preview else mask(text, masker), limit))


def _masked_beginning(text: str, masker: Masker | None, limit: int) -> str:
    """Enough masked text for a preview, without reading a megabyte for 160 characters.

    A secret may straddle the place of the cut; so what is shown must end well before it, or all of the text is masked.
    """
    if len(text) > 2 * limit + _AHEAD:
        beginning = mask(text[: 2 * limit + _AHEAD], masker)
        if len(beginning) >= 2 * limit + _CUT_EFFECT and not beginning.endswith(MASK):
            return beginning
    return mask(text, masker)


# -- for a terminal --


def coloured(text: str, tone: Tone, colour: bool) -> str:
    """`text`, which is escaped already, in the colour of its tone if `colour`; the caller knows whether its stream is a
    terminal."""
    code = _CODES[tone] if colour else ""
    return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


def card_text(card: Card, masker: Masker | None = None, width: int = 80, colour: bool = False) -> str:
    """A card in words for a terminal: title, aligned rows, notes; wrapped at `width` columns. No newline at the end."""

    def fit(text: str) -> str:
        return shown(text, masker, _LONGEST_VALUE)

    lines = [coloured(line, "plain", colour) for line in wrapped(fit(card.title), width)]
    lines += [coloured(line, "muted", colour) for line in wrapped(fit(card.subtitle), width)]
    labels = [fit(row.label) for row in card.rows]
    column = min(max(map(width_of, labels), default=0), max(width // 3, 8))
    for row, label in zip(card.rows, labels, strict=True):
        value = wrapped(_MARKS[row.tone] + fit(row.value), max(width - column - 4, 16)) or [""]
        for first, line in zip([label] + [""] * (len(value) - 1), value, strict=True):
            name = coloured(padded(cut(first, column), column), "muted", colour)
            lines.append(f"  {name}  {coloured(line, row.tone, colour)}".rstrip())
    for note in card.notes:
        text = _MARKS[note.tone] + shown(note.text, masker, _LONGEST_NOTE)
        lines += [coloured(line, note.tone, colour) for line in wrapped(text, width)]
    return "\n".join(lines)


_LONGEST_VALUE = 400
_LONGEST_NOTE = 2000


def table_text(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell | str | int | float | None]],
    masker: Masker | None = None,
    width: int | None = None,
    limit: int = 60,
    colour: bool = False,
) -> str:
    """A table for a terminal, columns two spaces apart, numbers to the right. No newline at the end.

    `width`: columns of the terminal, the widest columns give way first; none for no bound. `limit`: characters a cell.
    A row may be shorter than the headers.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row[: len(headers)]] for row in rows]
    cells = [row + [Cell("")] * (len(headers) - len(row)) for row in cells]
    words = [[_cell_text(cell, masker, limit) for cell in row] for row in cells]
    heads = [shown(header, masker, limit) for header in headers]
    columns = list(zip(heads, *words, strict=True))
    widths = _narrowed([max(map(width_of, column)) for column in columns], width)
    to_right = [bool(rows) and all(_is_number_or_none(row[i].value) for row in cells) for i in range(len(heads))]

    def line(texts: Sequence[str], tones: Sequence[Tone]) -> str:
        parts = [padded(cut(text, w), w, right) for text, w, right in zip(texts, widths, to_right, strict=True)]
        parts[-1:] = [part.rstrip() for part in parts[-1:]]
        return "  ".join(coloured(part, tone, colour) for part, tone in zip(parts, tones, strict=True)).rstrip()

    head = line(heads, ["muted"] * len(heads))
    return "\n".join(
        [head, *(line(texts, [cell.tone for cell in row]) for texts, row in zip(words, cells, strict=True))]
    )


def _cell_text(cell: Cell, masker: Masker | None, limit: int) -> str:
    if isinstance(cell.value, str):
        return shown(cell.value, masker, limit)
    return NOTHING if cell.value is None else shown(_number_text(cell.value), None, limit)


def _number_text(number: int | float) -> str:
    try:
        return str(number)
    except ValueError:  # Python refuses to spell integers of thousands of digits
        return "absurd"


def _is_number_or_none(value: object) -> bool:
    return value is None or isinstance(value, int | float)


_NARROWEST = 6


def _narrowed(widths: list[int], width: int | None) -> list[int]:
    if width is None or not widths:
        return widths
    narrow = list(widths)
    excess = sum(narrow) + 2 * (len(narrow) - 1) - width
    while excess > 0:
        widest = max(range(len(narrow)), key=narrow.__getitem__)
        if narrow[widest] <= _NARROWEST:
            break
        narrow[widest] -= 1
        excess -= 1
    return narrow


# -- columns of a terminal
# ---------------------------------------------------------------------------------------------------


def width_of(text: str) -> int:
    """Terminal columns that `text` takes: East Asian wide characters and emoji two, accents none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, right: bool = False) -> str:
    """`text` and as many spaces as make `width` columns; `right` puts them in front."""
    spaces = " " * (width - width_of(text))
    return spaces + text if right else text + spaces


def cut(text: str, width: int) -> str:
    """`text`, or its beginning and `…`, in at most `width` columns. For escaped text: a cut through an escape shows
    part of it."""
    if width_of(text) <= width:
        return text
    kept, room = [], width - 1
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept.append(character)
    return ("".join(kept) + ELLIPSIS)[: max(width, 0)] if width > 0 else ""


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces where there are any. No line for no text."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width_of(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = _broken(word, width)
        lines += full
    return [*lines, line] if line else lines


def _broken(word: str, width: int) -> list[str]:
    pieces, piece, room = [], "", width
    for character in word:
        columns = _columns(character)
        if columns > room and piece:
            pieces.append(piece)
            piece, room = "", width
        piece += character
        room -= columns
    return [*pieces, piece]
