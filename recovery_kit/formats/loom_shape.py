"""From a JSON value to a checkpoint's value: what both formats share of it, for one file alone."""

import hashlib
import re
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from .loom_text import BadText, parse_text

T = TypeVar("T")
_UNKNOWN = re.compile(r"unknown field `.*?`", re.DOTALL)
_PATTERN = re.compile(r" matching regex .*?(?= - at |\Z)", re.DOTALL)
_WORD = re.compile(r"Invalid enum value .*?(?= - at |\Z)", re.DOTALL)


class BadShape(ValueError):
    """Not a checkpoint of that format; the message is the reason, without text of the file."""


def version_of(value: Any) -> int:
    """The format's number, looked at before anything else. Raises BadShape where there is none from 1 on."""
    if not isinstance(value, dict):
        raise BadShape("it is not a JSON object")
    if "version" not in value:
        raise BadShape("it has no version")
    version = value["version"]
    if type(version) is not int or version < 1:
        raise BadShape("its version is not an integer from 1")
    return version


def shaped(value: Any, kind: type[T]) -> T:
    """The value as that class. Raises BadShape."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as no:
        raise BadShape(_told(str(no))) from None
    except RecursionError:
        raise BadShape("it is nested too deep") from None


def _told(message: str) -> str:
    """The decoder's message without the file's own words."""
    message = _UNKNOWN.sub("an unknown key", message)
    message = _WORD.sub("a word outside the vocabulary", message)
    return _PATTERN.sub(" of the right form", message)


def refuse_no_day(*moments: str) -> None:
    """Raises BadShape for a moment that no calendar has."""
    for moment in moments:
        try:
            datetime.fromisoformat(moment)
        except ValueError:
            raise BadShape("a time in it is no moment of the calendar") from None


@lru_cache(maxsize=256)
def run_key(run_id: str) -> str:
    """The name of a Run's file or folder: lowercase hex SHA-256 of its id."""
    return hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()


__all__ = ["BadShape", "BadText", "parse_text", "refuse_no_day", "run_key", "shaped", "version_of"]
