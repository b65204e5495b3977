"""The element builder: what it escapes, and what it refuses to build."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recovery_kit.display import Masker
from recovery_kit.pictures import Pen, Safe, el, join


def test_text_is_escaped_and_markup_is_not() -> None:
    """A plain text is text wherever it stands; only `Safe` is markup."""
    assert el("p", "<b>", el("b", "x"), None, ["y", 3]) == "<p>&lt;b&gt;<b>x</b>y3</p>"
    assert el("svg", aria_label='"><script>') == '<svg aria-label="&quot;&gt;&lt;script&gt;"></svg>'


def test_a_sum_with_text_is_no_markup() -> None:
    """Adding to markup by hand loses the right to stand unescaped."""
    assert not isinstance(Safe("<p>") + "x", Safe)
    assert join([Safe("<p>") + "<i>"]) == "&lt;p&gt;&lt;i&gt;"


@pytest.mark.parametrize("tag", ["script", "img", "a", "iframe", "link", "meta", "style", "use", "image", "form"])
def test_nothing_that_acts_or_loads_can_be_built(tag: str) -> None:
    """There is no spelling of a script, a link or a picture from elsewhere."""
    with pytest.raises(ValueError):
        el(tag)


@pytest.mark.parametrize("attribute", ["onclick", "href", "src", "xlink:href", "srcdoc", "action"])
def test_no_handler_and_no_address(attribute: str) -> None:
    """Attributes that act are not in the list."""
    with pytest.raises(ValueError):
        el("p", **{attribute: "x"})


def test_a_style_may_not_load() -> None:
    """Our own styles never name a place."""
    with pytest.raises(ValueError):
        el("p", style="background:url(https://example.test/x)")


@given(st.text(max_size=60), st.integers(4, 40))
def test_whatever_a_pen_writes_is_text(text: str, limit: int) -> None:
    """No text becomes markup, shortened or whole."""
    pen = Pen(Masker())
    for written in (pen.line(text, limit), pen.whole(text, limit)):
        inside = written.replace('<pre class="rk-pre">', "").replace("</pre>", "")
        inside = inside.replace('<small class="rk-muted">', "").replace("</small>", "")
        assert "<" not in inside and '"' not in inside
        written.encode("utf-8")


def test_what_is_left_out_is_said() -> None:
    """A text that is too long keeps both ends and tells how much is missing."""
    written = Pen().whole("a" * 50 + "z" * 50, 20)
    assert "80 of 100 characters left out" in written and "aaa" in written and "zzz" in written
