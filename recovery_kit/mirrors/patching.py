"""JSON Patch (RFC 6902) over values that JSON reads as: six operations, paths by JSON Pointer (RFC 6901).

Nothing here knows what the document means. A value is never changed in place.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

Operation = Mapping[str, Any]


class DoesNotFit(Exception):
    """A patch that does not fit: which operation, at which path, and why. No text of the document is in it."""

    def __init__(self, number: int, path: str, why: str) -> None:
        self.number, self.path, self.why = number, path, why
        super().__init__(f"operation {number} at {path or 'the root'}: {why}")


def patched(document: Any, patch: Sequence[Operation]) -> Any:
    """The document after all operations, or DoesNotFit; all of a patch applies or nothing."""
    holder = [deepcopy(document)]
    for number, operation in enumerate(patch):
        path = operation.get("path")
        if not isinstance(path, str):
            raise DoesNotFit(number, "", "it has no path")
        act = _ACTS.get(str(operation.get("op")))
        if act is None:
            raise DoesNotFit(number, path, "no such operation")
        try:
            act(holder, path, operation)
        except _No as no:
            raise DoesNotFit(number, path, str(no)) from None
    return holder[0]


def pointer(*parts: str | int) -> str:
    """A path of these parts."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def same(a: Any, b: Any) -> bool:
    """Equality of JSON: true is not 1, members have no order."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and a == b


class _No(Exception):
    pass


def _parts(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise _No("a path begins with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _parent(holder: list[Any], path: str) -> tuple[Any, str | int]:
    """What holds the value at a path, and the key of it there."""
    place: Any = holder
    key: str | int = 0
    for part in _parts(path):
        place = _get(place, key)
        key = _key(place, part)
    return place, key


def _key(place: Any, part: str) -> str | int:
    if isinstance(place, dict):
        return part
    if isinstance(place, list):
        if part == "-":
            return len(place)
        if part.isascii() and part.isdigit() and (part == "0" or part[0] != "0"):
            return int(part)
    raise _No("there is no such place")


def _get(place: Any, key: str | int) -> Any:
    if isinstance(place, dict) and key in place:
        return place[key]
    if isinstance(place, list) and isinstance(key, int) and key < len(place):
        return place[key]
    raise _No("there is nothing there")


def _add(holder: list[Any], path: str, operation: Operation) -> None:
    _put(holder, path, deepcopy(_value(operation)))


def _put(holder: list[Any], path: str, value: Any) -> None:
    place, key = _parent(holder, path)
    if place is holder:
        holder[0] = value
    elif isinstance(place, list) and isinstance(key, int):
        if key > len(place):
            raise _No("the list is shorter")
        place.insert(key, value)
    else:
        place[key] = value


def _remove(holder: list[Any], path: str, operation: Operation) -> None:
    place, key = _parent(holder, path)
    _get(place, key)
    if place is holder:
        raise _No("the whole document cannot be taken away")
    del place[key]


def _replace(holder: list[Any], path: str, operation: Operation) -> None:
    place, key = _parent(holder, path)
    _get(place, key)
    place[key] = deepcopy(_value(operation))


def _move(holder: list[Any], path: str, operation: Operation) -> None:
    origin = _from(operation)
    if path.startswith(origin + "/"):
        raise _No("a value cannot be moved into itself")
    value = _get(*_parent(holder, origin))
    if origin != path:
        _remove(holder, origin, operation)
        _put(holder, path, value)


def _copy(holder: list[Any], path: str, operation: Operation) -> None:
    _put(holder, path, deepcopy(_get(*_parent(holder, _from(operation)))))


def _test(holder: list[Any], path: str, operation: Operation) -> None:
    if not same(_get(*_parent(holder, path)), _value(operation)):
        raise _No("it is not what the edit was made on")


def _value(operation: Operation) -> Any:
    if "value" not in operation:
        raise _No("it has no value")
    return operation["value"]


def _from(operation: Operation) -> str:
    origin = operation.get("from")
    if not isinstance(origin, str):
        raise _No("it has no from")
    return origin


_ACTS: dict[str, Callable[[list[Any], str, Operation], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
