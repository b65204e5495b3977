"""What an engine version knows of a record: its members in order, and the few types that depend on the version.

Both judges go by this, the quick one and the exact one.
"""

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from msgspec import Struct, UnsetType
from msgspec.structs import fields

from ..records.engines import Engine, version
from ..records.journal import InferenceAttempt, InferenceFailover, InferenceResponse, InferenceUsage
from ..records.meta import BLOCKERS_SINCE_062, Artifact
from ..records.scalars import known_since
from ..records.window import Content

_REQUIRED = {
    (kind, name) for kind in (InferenceUsage, InferenceResponse) for name in ("cached_tokens", "cache_write_tokens")
}
"""Members without a stated default are required, whatever their class says for those who build one (3.3)."""

_FREE_WORDS = {(InferenceAttempt, "finish_reason"), (InferenceFailover, "reason")}
"""Texts to the reader, of which the writer uses a few words only (N5.6, N5.7)."""

_PARTS = set(get_args(Content))


class Member(NamedTuple):
    """A member of a record as one engine knows it."""

    name: str
    """In Python."""
    wire: str
    """In the file."""
    type: Any
    required: bool


@cache
def members(kind: type[Struct], engine: Engine) -> tuple[Member, ...]:
    """The members of a class that this engine knows, in the order in which an array would give them."""
    return tuple(
        Member(
            row.name,
            row.encode_name,
            str if (kind, row.name) in _FREE_WORDS else row.type,
            row.required or (kind, row.name) in _REQUIRED,
        )
        for row in fields(kind)
        if version(known_since(row.type) or "0.0.0") <= engine.version
    )


def bare(annotation: Any) -> Any:
    """The annotation without its notes."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def bits(annotation: Any) -> int | None:
    """64, 32 or -64 (signed) for the integers of the wire."""
    for note in getattr(annotation, "__metadata__", ()):
        width: int | None = (getattr(note, "extra", None) or {}).get("bits")
        if width:
            return width
    return None


def options(annotation: Any, engine: Engine) -> tuple[list[Any], bool]:
    """What a member may be in the eyes of this engine, and whether null is one of the options."""
    plain = bare(annotation)
    found = list(get_args(plain)) if get_origin(plain) in (Union, UnionType) else [annotation]
    nullable = NoneType in found or UnsetType in found
    found = [kind for kind in found if kind not in (NoneType, UnsetType)]
    if not engine.reads_parts:
        found = _without_parts(found)
    return found, nullable


def _without_parts(found: list[Any]) -> list[Any]:
    """Before 0.6.2 a content was a text, and a produced file a path (N3, N12)."""
    if set(found) == _PARTS or set(found) == {Artifact, str}:
        return [str]
    return found


def words(annotation: Any, engine: Engine) -> tuple[str, ...]:
    """The words of a Literal that this engine knows (N10)."""
    known = get_args(annotation)
    if not engine.reads_parts and BLOCKERS_SINCE_062.issubset(known):
        return tuple(word for word in known if word not in BLOCKERS_SINCE_062)
    return known


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def is_words(kind: Any) -> bool:
    return get_origin(bare(kind)) is Literal


def is_content(found: list[Any]) -> bool:
    """A text or a list of parts."""
    return set(found) == _PARTS
