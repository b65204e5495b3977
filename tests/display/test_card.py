"""Cards and tables drawn for a terminal."""

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

import recovery_kit.display as display
from recovery_kit.display import (
    MASK,
    TONES,
    Card,
    Cell,
    Masker,
    Note,
    Row,
    card_text,
    coloured,
    html,
    shown,
    table_text,
    width_of,
)

ANY = st.text(st.characters(exclude_categories=()), max_size=80)


def test_the_front_door_is_sorted_and_whole() -> None:
    """Each listed name is there, none twice."""
    assert display.__all__ == sorted(set(display.__all__)) and all(hasattr(display, name) for name in display.__all__)


def test_a_card_in_words() -> None:
    """Labels are aligned, values wrap under themselves, tones have a mark without colour."""
    card = Card(
        "ledger-close",
        "running, written by 0.6.4",
        (Row("waits on", "nobody"), Row("unknown effects", "1 call of shell may have happened", "bad")),
        (Note("look at c1 first", "attention"),),
    )
    assert card_text(card, width=48).splitlines() == [
        "ledger-close",
        "running, written by 0.6.4",
        "  waits on         nobody",
        "  unknown effects  !! 1 call of shell may have",
        "                   happened",
        "! look at c1 first",
    ]
    assert "\x1b[31m" in card_text(card, colour=True) and "\x1b" not in card_text(card)


@given(title=ANY, label=ANY, value=ANY, note=ANY, tone=st.sampled_from(TONES), width=st.integers(40, 100))
@settings(deadline=None)
def test_no_card_holds_raw_text(title: str, label: str, value: str, note: str, tone: str, width: int) -> None:
    """No secret and no control character of a run comes through, and no line is wider than the terminal."""
    secret = "q7Wn-4kPz_90aaB"
    card = Card(
        title + secret, value + secret, (Row(label + secret, value + secret, tone),), (Note(note + secret, tone),)
    )  # type: ignore[arg-type]
    text = card_text(card, Masker([secret]), width)
    assert "q7Wn" not in text
    assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"]
    assert all(width_of(line) <= width + 6 for line in text.split("\n"))


def test_a_table_in_words() -> None:
    """Numbers to the right, absent values as a dash, wide characters counted as two columns."""
    rows = [["a", 1, None], ["票据", 1204, Cell("x\ny", "bad")]]
    assert table_text(["name", "n", "what"], rows).splitlines() == [
        "name     n  what",
        "a        1  –",
        "票据  1204  x⏎y",
    ]
    assert table_text(["name"], []) == "name"


@given(st.lists(st.lists(ANY | st.integers() | st.none(), max_size=3), max_size=4), st.integers(30, 80))
@settings(deadline=None)
def test_a_table_keeps_to_its_width(rows: list[list[str | int | None]], width: int) -> None:
    """The widest columns give way; each row stays one line."""
    lines = table_text(["one", "two", "three"], rows, width=width).split("\n")
    assert len(lines) == len(rows) + 1 and all(width_of(line) <= width for line in lines)


def test_colour_is_asked_for() -> None:
    """Only the flag decides, not the environment."""
    assert coloured("x", "good", False) == "x" and coloured("x", "good", True) == "\x1b[32mx\x1b[0m"


def test_masked_then_shortened_then_escaped() -> None:
    """The one way of a text to a surface."""
    assert shown("<password=hunter2", None, 12, html) == "&lt;password=•…"
    assert shown("password=hunter2", escape=str) == f"password={MASK}"
