"""Text of a run on a page, a terminal, in a cell, in UTF-8."""

import csv
import io
import unicodedata
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery_kit.display import csv_cell, csv_text, html, storable, terminal, unstorable

ANY = st.text(st.characters(exclude_categories=()))
SPOKEN_ESCAPES = st.lists(
    st.sampled_from(["\\", "u", "d8", "00", "5c", "ud800", "\\u005c", "\\udfff", "\ud800", "\udfff", "'", "="])
).map("".join)
ACTING = "\x1b[31mred\x1b[0m\x00\x7f\x85\x9b\u202egnp\u202c\u2066x\u2069\u200b\ufeff\u2028\u2029\U000e0041\ud83d\r\b"


def acts(text: str, allowed: str = "") -> list[str]:
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp", "Cf") and c not in allowed]


@given(ANY)
def test_html_holds_no_markup_and_nothing_that_acts_unseen(text: str) -> None:
    """No bare sign of markup, no control character but LF and TAB, no lone surrogate."""
    page = html(text)
    assert not set(page) & set("<>\"'") and not [c for c in acts(page, "\n\t") if unicodedata.category(c) != "Cf"]


@given(st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(" \n\t")))
def test_the_reader_sees_each_character(text: str) -> None:
    """What a browser makes of it is the text itself: nothing is escaped twice."""
    hidden = any(c in "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" or "\u180b" <= c <= "\u180f" for c in text)
    assert hidden or unescape(html(text)) == text


@given(ANY)
def test_nothing_raw_reaches_a_terminal(text: str) -> None:
    """No C0, C1, line or direction mark, on one line; on lines only LF."""
    assert not [c for c in acts(terminal(text)) if unicodedata.category(c) != "Cf"] and "\n" not in terminal(text)
    assert not [c for c in acts(terminal(text, multiline=True), "\n") if unicodedata.category(c) != "Cf"]


def test_what_acts_unseen_is_made_visible() -> None:
    """Pictures for C0, code points for the rest; also marks of direction and characters of no width."""
    for surface in (html, terminal):
        assert not acts(surface(ACTING))
        assert surface("\x1b\x00\u202e\ud83d") == "␛␀\\u202e\\ud83d"
    assert terminal("a\nb\tc") == "a⏎b␉c" and terminal("a\nb\tc", multiline=True) == "a\nb    c"
    assert html("\U000e0041") == "\\U000e0041"
    assert terminal("e\u0301 \U0001f9fe") == "e\u0301 \U0001f9fe"


@given(ANY | SPOKEN_ESCAPES)
def test_storable_can_be_stored_and_undone(text: str) -> None:
    """UTF-8 takes it, and the text comes back, whatever escapes the text itself spoke of."""
    storable(text).encode("utf-8")
    assert unstorable(storable(text)) == text


@given(st.text())
def test_storable_changes_nothing_else(text: str) -> None:
    """A text without surrogates stays the same."""
    assert storable(text) == text or "\\u" in text


@given(
    ANY
    | SPOKEN_ESCAPES
    | st.sampled_from("=+-@\t\r\n'＝").flatmap(lambda first: st.text().map(lambda rest: first + rest))
)
def test_no_cell_is_a_formula_and_each_can_be_undone(text: str) -> None:
    """A spreadsheet never computes; a reader gets the text back, through a CSV file too."""
    cell = csv_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
    assert csv_text(cell) == text
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerow([cell])
    file.seek(0)
    assert [csv_text(cell) for cell in next(csv.reader(file))] == [text]


@pytest.mark.parametrize(
    ("value", "cell"), [(-5, "-5"), (2.5, "2.5"), ("-5", "'-5"), (None, ""), ("'quoted'", "'quoted'"), ("'=x", "''=x")]
)
def test_numbers_are_numbers_and_texts_are_texts(value: str | float | None, cell: str) -> None:
    """Only a text is ever escaped."""
    assert csv_cell(value) == cell
