"""Masking lets nearly every text pass after a quick look: no text passes that a shape of a key fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_masking import NOT_SECRETS, SHAPES

from recovery_kit.display.key_shapes import mask_shapes, mask_suspect, may_hold_a_key

PIECES = st.sampled_from([
    *SHAPES, *NOT_SECRETS, "pass", "word", "token", "TOKEN", "to\N{KELVIN SIGN}en", "api", "_", "-", "key", ":", "=",
    "%3D", "%3a", "=>", " ", "\t", '"', "'", "\\", '\\\\"', "`", "x", "0123456789abcdef", "sk-", "hf_", "--", "@", "://",
    "\\/\\/", "Bearer ", "credentials", "İ", "é", "“", "\ud83d", "eyJ", ".", "\n", "xoxb-", "whsec_", "k_live_",
])  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_every_shape_is_suspect(text: str) -> None:
    """The quick look stops at every key that the tests know, whatever its case rules."""
    assert may_hold_a_key(text)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_the_quick_look_changes_nothing(text: str) -> None:
    """A text reads the same with the quick look and without."""
    assert mask_shapes(text) == mask_suspect(text)
