"""Checkpoint text, strictly: UTF-8 without BOM, one JSON value, no repeated key, no NaN, no half of a surrogate pair.

Python's parser lets all of these pass, so each has a guard here. Numbers stay exact: an integer at any size, a fraction
only where a finite double holds it. (intloom-recovery 2.3, 2.13)
"""

import json
import math
import re
from typing import Any, NoReturn

DEEPEST = 400
"""Levels of nesting that are read."""

_BOM = b"\xef\xbb\xbf"
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


class BadText(ValueError):
    """The bytes are not such a text; the message is the reason, without any of the text."""


def parse_text(data: bytes) -> Any:
    """The JSON value in the bytes. Raises BadText."""
    if data.startswith(_BOM):
        raise BadText("it begins with a byte order mark")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as no:
        raise BadText(f"it is not UTF-8 (at byte {no.start})") from None
    if data.count(b"[") + data.count(b"{") > DEEPEST and _depth(data) > DEEPEST:
        raise BadText(f"it is nested deeper than {DEEPEST} levels")
    try:
        value = _DECODER.decode(text)
    except BadText:
        raise
    except json.JSONDecodeError as no:
        raise BadText(f"it is not JSON (at character {no.pos})") from None
    except RecursionError:
        raise BadText("it is nested too deep") from None
    except ValueError:  # Python refuses integers of thousands of digits
        raise BadText("a number in it has thousands of digits") from None
    if _HALF_PAIR.search(text):
        _refuse_half_pairs(value)
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BadText("a key stands twice in one object")
    return members


def _constant(_: str) -> NoReturn:
    raise BadText("it holds NaN or Infinity")


def _fraction(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise BadText("a number in it is beyond any double")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant, parse_float=_fraction)


def _depth(data: bytes) -> int:
    """Levels of brackets outside of strings."""
    deepest = depth = 0
    for piece in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', data, re.DOTALL):
        mark = piece[0]
        if mark in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
        elif mark in (b"]", b"}"):
            depth -= 1
    return deepest


def _refuse_half_pairs(value: Any) -> None:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            try:
                item.encode("utf-8")
            except UnicodeEncodeError:
                raise BadText("a text in it holds half of a surrogate pair") from None
        elif isinstance(item, dict):
            todo += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            todo += item


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are the same number, true and 1 are not."""
    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, dict):
            if not isinstance(b, dict) or a.keys() != b.keys():
                return False
            todo += [(member, b[key]) for key, member in a.items()]
        elif isinstance(a, (list, tuple)):
            if not isinstance(b, (list, tuple)) or len(a) != len(b):
                return False
            todo += list(zip(a, b, strict=True))
        elif isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
            if a is not b:
                return False
        elif isinstance(a, str) != isinstance(b, str) or a != b:
            return False
    return True
