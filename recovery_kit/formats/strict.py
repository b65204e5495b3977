"""Classes derived from the records for the quick judge: what decodes into one and encodes to the same bytes is sound.

A defaulted member may only be absent, so that what was there is written again and what was not is not. Any JSON value
is decoded too, which makes the decoder look at its text and numbers.
"""

from collections.abc import Callable
from functools import cache, reduce
from operator import attrgetter, or_
from typing import Annotated, Any, Literal, get_args, get_origin

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, defstruct

from ..records.engines import Engine
from ..records.journal import Answered, Failed, RequestDigest
from ..records.meta import Artifact
from ..records.scalars import I64_MAX, U32_MAX
from ..records.sidecars import OriginTool
from ..records.window import BlobRef, Part, RegionOp
from .members import bare, bits, is_content, is_struct, is_words, members, options, words

Look = Callable[[Any], bool]
"""Whether a decoded value is sound in what decoding alone cannot tell."""

SHALLOW = 100
"""Levels that any JSON value may have without coming near the reader's limit, wherever it stands."""
_USUAL_LEVELS = 4
_BOUNDS = {64: Meta(ge=0, le=I64_MAX), 32: Meta(ge=0, le=U32_MAX), -64: Meta(ge=-I64_MAX - 1, le=I64_MAX)}
_MIME_TYPE = Meta(pattern=r"\A[a-z0-9!#$&\-^_.+*]+/[a-z0-9!#$&\-^_.+*]+\Z")
_READ_AS_ANOTHER = "run"
_ONE_MEMBER = {RegionOp, Answered, Failed, OriginTool}
"""What is told apart by its only member."""
_LONG_TEXTS = {"content", "response", "arguments"}
_QUOTE = ord('"')
_QUOTE_OR_NULL = b'"n'
_SCALAR = None | bool | int | float | str


Tier = Literal["short", "long", "any"]
"""How much a class takes.

`short` and `long` take only what writers mostly write, so that little is left to look at: values of few levels, and
contents that are not one lone part. `long` leaves long texts as their bytes, which saves most of the work on long
frames; somebody has to see that they are text. `any` takes everything, for more looking.
"""


class Shapes:
    """The derived classes for one engine."""

    def __init__(self, engine: Engine, tier: Tier) -> None:
        self.engine = engine
        self.tier = tier
        self._structs: dict[type[Struct], type[Struct]] = {}

    def of_struct(self, kind: type[Struct]) -> type[Struct]:
        """The class that stands for a record class."""
        if kind not in self._structs:
            self._structs[kind] = self._derived(kind)
        return self._structs[kind]

    def of(self, annotation: Any) -> Any:
        """What stands for any type that a member may have."""
        found, nullable = options(annotation, self.engine)
        if is_content(found) and self.tier == "long":
            return Raw
        if is_content(found) and self.tier == "short":
            made: list[Any] = [str, Annotated[list[self.of_struct(Part)], Meta(min_length=2)]]  # type: ignore[misc]
        else:
            made = [self._one(kind) for kind in found]
        if Any in made:
            return Any
        return reduce(or_, made + [None] * nullable)

    def look(self, annotation: Any) -> Look | None:
        """The rest of the question, or None if decoding answers it all."""
        found, nullable = options(annotation, self.engine)
        if is_content(found) and self.tier != "any":
            return None if self.tier == "short" else _quoted_or_null if nullable else _quoted
        looks: dict[type, Look] = {}
        for kind in map(bare, found):
            look = self._look_at(kind)
            if kind is Raw:
                return look
            if look is not None:
                looks[self.of_struct(kind) if is_struct(kind) else dict if get_origin(kind) is dict else list] = look
        if len(looks) == len(found) == 1:
            return next(iter(looks.values()))
        return _by_class(looks) if looks else None

    def _derived(self, kind: type[Struct]) -> type[Struct]:
        config = kind.__struct_config__
        rows = members(kind, self.engine)
        alone = kind is RegionOp  # None stands for absent there, null is refused
        made: list[Any] = []
        for row in rows:
            inner = self._member(kind, row.name, options(row.type, self.engine)[0][0] if alone else row.type)
            made.append((row.name, inner) if row.required else (row.name, inner | UnsetType, UNSET))
        return defstruct(
            kind.__name__,
            made,
            kw_only=True,
            rename={row.name: row.wire for row in rows if row.name != row.wire} or None,
            tag_field=config.tag_field,
            tag=config.tag,
            forbid_unknown_fields=kind in _ONE_MEMBER,
            gc=False,
        )

    def _member(self, kind: type[Struct], name: str, annotation: Any) -> Any:
        if kind is RequestDigest and name == "system_hash":
            return Annotated[int, Meta(ge=0)]
        if name == "mime_type" and kind in (Part, BlobRef, Artifact):
            return Annotated[str, _MIME_TYPE]
        return Raw if self._is_long(name, annotation) else self.of(annotation)

    def _is_long(self, name: str, annotation: Any) -> bool:
        return self.tier == "long" and annotation is str and name in _LONG_TEXTS

    def _one(self, annotation: Any) -> Any:
        width = bits(annotation)
        if width:
            return Annotated[int, _BOUNDS[width]]
        kind = bare(annotation)
        if kind is Raw:
            return Any if self.tier == "any" else _any_json(_USUAL_LEVELS)
        if is_words(kind):
            return Literal[tuple(word for word in words(kind, self.engine) if word != _READ_AS_ANOTHER)]
        if is_struct(kind):
            return self.of_struct(kind)
        if get_origin(kind) is dict:
            return dict[str, self.of(get_args(kind)[1])]  # type: ignore[misc]
        if get_origin(kind) in (tuple, list):
            inner = get_args(kind)
            if len(inner) == 1 or inner[1] is Ellipsis:
                return list[self.of(inner[0])]  # type: ignore[misc]
            return tuple[tuple(self.of(each) for each in inner)]  # type: ignore[misc]
        return kind

    def _look_at(self, kind: Any) -> Look | None:
        if kind is Raw:
            return shallow if self.tier == "any" else None
        if is_struct(kind):
            return self._look_at_struct(kind)
        if get_origin(kind) is dict:
            each = self.look(get_args(kind)[1])
            return None if each is None else _mapping_look(each)
        if get_origin(kind) in (tuple, list):
            each = self.look(get_args(kind)[0])
            return None if each is None else _TEXTS_OF.get(each) or _list_look(each)
        return None

    def _look_at_struct(self, kind: type[Struct]) -> Look | None:
        rows = members(kind, self.engine)
        looks = [(row.name, _quoted if self._is_long(row.name, row.type) else self.look(row.type)) for row in rows]
        parts = [(name, look) for name, look in looks if look is not None]
        own = _OWN_LOOKS.get(kind)
        required = {row.name for row in rows if row.required}
        if len(parts) == 1 and own is None and parts[0][0] in required:
            return _one_look(*parts[0])
        return _struct_look(parts, own) if parts else own


def _any_json(levels: int) -> Any:
    if levels == 0:
        return _SCALAR
    inner = _any_json(levels - 1)
    return _SCALAR | list[inner] | dict[str, inner]  # type: ignore[valid-type]


def _struct_look(parts: list[tuple[str, Look]], own: Look | None) -> Look:
    def sound(value: Any) -> bool:
        for name, look in parts:
            member = getattr(value, name)
            if member is not UNSET and member is not None and not look(member):
                return False
        return own is None or own(value)

    return sound


def member_look(name: str, look: Look) -> Look:
    get = attrgetter(name)
    return lambda value: look(get(value))


_TEXTS_OF: dict[Look, Look] = {}
"""For looks at one text of a struct: the look at a list of such structs, which is what most time would go into."""


@cache
def _one_look(name: str, look: Look) -> Look:
    one = member_look(name, look)
    if look is _quoted:
        _TEXTS_OF[one] = _texts_look(name)
    return one


def _texts_look(name: str) -> Look:
    get = attrgetter(name)

    def sound(items: Any) -> bool:
        for text in map(get, items):
            if memoryview(text)[0] != _QUOTE:
                return False
        return True

    return sound


def _list_look(each: Look) -> Look:
    def sound(items: Any) -> bool:
        for item in items:  # half the time of all()
            if not each(item):
                return False
        return True

    return sound


def _mapping_look(each: Look) -> Look:
    return lambda items: all(map(each, items.values()))


def _by_class(looks: dict[type, Look]) -> Look:
    def sound(value: Any) -> bool:
        look = looks.get(type(value))
        return look is None or look(value)

    return sound


def _quoted(value: Any) -> bool:
    return memoryview(value)[0] == _QUOTE


def _quoted_or_null(value: Any) -> bool:
    return memoryview(value)[0] in _QUOTE_OR_NULL


def _one_member(value: Any) -> bool:
    return (value.set is UNSET) + (value.append is UNSET) + (value.clear is UNSET) + (value.remove is UNSET) == 3


def _fits(value: Any) -> bool:
    return bool(value.system_hash < 2**64)


_OWN_LOOKS: dict[type, Look] = {RegionOp: _one_member, RequestDigest: _fits}


def shallow(value: Any) -> bool:
    """Level by level, without recursion."""
    level = [value]
    for _ in range(SHALLOW):
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                below.extend(item.values())
            elif type(item) is list:
                below.extend(item)
        if not below:
            return True
        level = below
    return False


@cache
def shapes(engine: Engine, tier: Tier) -> Shapes:
    return Shapes(engine, tier)
