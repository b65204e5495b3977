"""Numbers and words as the wire has them, and when each member came into the format.

A member says with `since` which engine version first knew it: to an older reader it is an unknown member, which it
skips without looking at the value.
"""

from typing import Annotated, Any, TypeVar

from msgspec import Meta, Raw

T = TypeVar("T")

U64_MAX = 2**64 - 1
U32_MAX = 2**32 - 1
I64_MAX = 2**63 - 1

U64 = Annotated[int, Meta(ge=0, extra={"bits": 64})]
U32 = Annotated[int, Meta(ge=0, le=U32_MAX, extra={"bits": 32})]
I64 = Annotated[int, Meta(extra={"bits": -64})]
"""Unix seconds, mostly."""


ABSENT = Raw(b"")
"""Of a member that may hold any JSON: not there. (A `null` there means the same.)"""


def json_or_none(value: Raw) -> bytes | None:
    """The JSON of such a member, or None where it is absent or null."""
    text = bytes(value)
    return None if text in (b"", b"null") else text


def since(version: str) -> Meta:
    """Mark a member as known from this engine version on."""
    return Meta(extra={"since": version})


def known_since(annotation: Any) -> str | None:
    """The version that `since` put on an annotation, or None for a member of the first format."""
    for note in getattr(annotation, "__metadata__", ()):
        version: str | None = (getattr(note, "extra", None) or {}).get("since")
        if version:
            return version
    return None
