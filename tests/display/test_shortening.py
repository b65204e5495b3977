"""Long things said in few characters, and no number that makes it raise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery_kit.display import bytes_text, count_text, duration_text, middle, preview, time_text

NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([2**64 - 1, -(2**63), 10**5000, float("inf"), float("nan"), 1e300, 253402300800])
)


@given(st.text(st.characters(exclude_categories=())), st.integers(0, 40))
def test_a_preview_is_one_short_line(text: str, limit: int) -> None:
    """Never longer than asked, never a line end, the same as the text where nothing had to go."""
    short = preview(text, limit)
    assert len(short) <= limit and short.splitlines() in ([], [short])
    assert len(middle(text, limit)) <= limit


def test_previews() -> None:
    """Line ends are shown, the ellipsis says that there was more, accents stay with their letter."""
    assert preview("a\r\nb\nc") == "a⏎b⏎c"
    assert preview("abcdef", 4) == "abc…" and preview("abcd", 4) == "abcd"
    assert preview("abe\u0301fg", 4) == "ab…"
    assert middle("/srv/demo/agents/ledger", 11) == "/srv/…edger"
    assert preview("x" * 1000, 160) == "x" * 159 + "…"


@given(NUMBERS)
def test_no_number_raises(n: float) -> None:
    """A damaged file may hold any number."""
    for say in (bytes_text, duration_text, time_text, count_text):
        assert say(n)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("said", "right"),
    [
        (duration_text(33_179), "9 h 12 min"),
        (duration_text(0), "0 s"),
        (duration_text(0.42), "0.4 s"),
        (duration_text(59.7), "1 min"),
        (duration_text(185), "3 min 5 s"),
        (duration_text(3600), "1 h"),
        (duration_text(-90), "-1 min 30 s"),
        (duration_text(86400 * 3 + 3600 * 4 + 59), "3 d 4 h"),
        (time_text(1_796_015_523), "2026-11-30 05:12:03Z"),
        (time_text(0), "1970-01-01 00:00:00Z"),
        (time_text(-1), "1969-12-31 23:59:59Z"),
        (time_text(2**64 - 1), "@18446744073709551615"),
        (time_text(None), "–"),
        (bytes_text(1), "1 byte"),
        (bytes_text(999), "999 bytes"),
        (bytes_text(4096), "4.1 kB"),
        (bytes_text(999_960), "1.0 MB"),
        (bytes_text(2**64), "18.4 EB"),
        (count_text(1, "call"), "1 call"),
        (count_text(1204, "call"), "1,204 calls"),
        (count_text(0, "entry", "entries"), "0 entries"),
        (count_text(7), "7"),
        (count_text(None), "–"),
        (count_text(10**30), "absurd"),
    ],
)
def test_numbers_in_words(said: str, right: str) -> None:
    """Units, plural, two largest units of time, UTC."""
    assert said == right
