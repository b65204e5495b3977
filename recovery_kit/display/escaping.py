"""Text of a run made harmless for one surface each: HTML, a terminal, a CSV cell, UTF-8 storage.

Belongs here: one function a surface, each saying whether it can be undone. Escaping comes last, after masking and
shortening.

| function | can be undone |
|---|---|
| `html`, `terminal` | no: for looking at. The signs that they put in can also stand in the text itself |
| `storable` | yes, by `unstorable` |
| `csv_cell` | yes, by `csv_text` |
"""

import re
from html import escape as _escape_markup

# Invisible or acting characters beyond the controls: soft hyphen, joiners and fillers of no width, marks of direction,
# separators of lines, annotation and tag characters.
_HIDDEN_RANGES = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e007f"
)
_SURROGATES = "\ud800-\udfff"
_HIDDEN = re.compile(rf"[\x00-\x1f\x7f-\x9f{_HIDDEN_RANGES}{_SURROGATES}]")
_HIDDEN_BUT_LAYOUT = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_HIDDEN_RANGES}{_SURROGATES}]")

_PICTURES = {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "␡"}
_ON_ONE_LINE = _PICTURES | {"\n": "⏎"}
_ON_LINES = _PICTURES | {"\t": "    "}


def html(text: str) -> str:
    """For HTML, between tags and inside quoted attributes. What acts unseen becomes visible (`␛`, `\\u202e`); LF and
    TAB stay.

    The result holds no `<`, `>`, `"`, `'` and no control character but LF and TAB. Display only.
    """
    return _HIDDEN_BUT_LAYOUT.sub(_visible, _escape_markup(text, quote=True))


def terminal(text: str, multiline: bool = False) -> str:
    """For a terminal: nothing in it moves the cursor, changes colour or direction, or rings. LF is `⏎`, or itself with
    `multiline`.

    Display only.
    """
    if not multiline:
        return _HIDDEN.sub(_visible_on_one_line, text)
    return _HIDDEN_BUT_LAYOUT.sub(_visible, text).replace("\t", _ON_LINES["\t"])


def _visible(found: re.Match[str]) -> str:
    return _PICTURES.get(found[0]) or _code(found[0])


def _visible_on_one_line(found: re.Match[str]) -> str:
    return _ON_ONE_LINE.get(found[0]) or _code(found[0])


def _code(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


# -- kept, not shown --

# A backslash of the text is respelled only where it would read as one of these escapes; every other text stays as it
# is.
_NOT_STORABLE = re.compile(rf"[{_SURROGATES}]|\\(?=u(?:d[89a-f][0-9a-f]{{2}}|005c))")
_STORED_ESCAPE = re.compile(r"\\u(d[89a-f][0-9a-f]{2}|005c)")


def storable(text: str) -> str:
    """`text` fit for UTF-8: a lone surrogate is written as its `\\udXXX` escape (and a backslash that only looks like
    one as `\\u005c`).

    Anything else stays the same, character by character. `unstorable` undoes it.
    """
    if "\\u" not in text and (text.isascii() or _holds_no_surrogate(text)):
        return text
    return _NOT_STORABLE.sub(lambda found: _code(found[0]), text)


def _holds_no_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def unstorable(stored: str) -> str:
    """The text that `storable` was given."""
    return _STORED_ESCAPE.sub(lambda found: chr(int(found[1], 16)), stored)


_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_ESCAPED_FORMULA = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")


def csv_cell(value: str | int | float | None) -> str:
    """A cell that no spreadsheet takes for a formula: a text that starts like one gets an apostrophe in front; lone
    surrogates as in `storable`.

    A number stays a number (`-5`); a text that reads like one (`"-5"`) is text and gets the apostrophe. None is the
    empty cell. `csv_text` undoes it. Quoting is the writer's: quote every text, or a lone CR inside one ends the row
    for some readers.
    """
    if not isinstance(value, str):
        return "" if value is None else str(value)
    stored = storable(value)
    return "'" + stored if _FORMULA.match(stored) else stored


def csv_text(cell: str) -> str:
    """The text that `csv_cell` was given."""
    return unstorable(cell[1:] if _ESCAPED_FORMULA.match(cell) else cell)
