"""From what somebody wants changed to the patch that does it. Each patch first tests what it is made on, so that on
another mirror it fits or says where it does not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from recovery_kit.errors import CannotMirror

from .document import Document
from .patching import pointer

Operations = Iterator[dict[str, Any]]


def patch_of(run_id: str, document: Document, stages: Sequence[str], wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The patch for everything that is wanted. Raises CannotMirror for a place that is not there, or for no wish."""
    given = {name: value for name, value in wanted.items() if value is not None and value is not False}
    try:
        operations = [op for needs, make in _WISHES if needs & given.keys() for op in make(document, given, stages)]
    except _Unfit as no:
        raise CannotMirror(run_id, str(no)) from None
    if not operations:
        raise CannotMirror(run_id, "nothing that can be changed was named")
    return operations


class _Unfit(Exception):
    pass


def _changed(path: str, old: Any, new: Any) -> Operations:
    yield {"op": "test", "path": path, "value": old}
    yield {"op": "replace", "path": path, "value": new}


def _task(document: Document, given: Mapping[str, Any], stages: Sequence[str]) -> Operations:
    """The task, and every entry that holds just it."""
    old, new = document["task"], given["task"]
    yield from _changed("/task", old, new)
    for name, entries in document["window"].items():
        for index, entry in enumerate(entries):
            if entry["content"] == old and entry.get("kind", {}).get("type", "Text") in ("Text", "UserMessage"):
                yield from _changed(pointer("window", name, index, "content"), old, new)


def _entry(document: Document, given: Mapping[str, Any], stages: Sequence[str]) -> Operations:
    name, text = str(given.get("region")), given.get("text")
    if name not in document["window"]:
        raise _Unfit("the window has no such region")
    entries = document["window"][name]
    if given.get("insert"):
        yield from _inserted(name, entries, given)
        return
    index = given.get("entry")
    if index is None or not -len(entries) <= index < len(entries):
        raise _Unfit(f"region {name} has {len(entries)} entries, and none of that number")
    index %= len(entries)
    if given.get("remove"):
        yield from _removed(name, entries, index)
    elif text is None:
        raise _Unfit("say text, insert or remove")
    else:
        yield from _changed(pointer("window", name, index, "content"), entries[index]["content"], text)


def _inserted(name: str, entries: list[Any], given: Mapping[str, Any]) -> Operations:
    index = given.get("entry")
    place = len(entries) if index is None else index + len(entries) if index < 0 else index
    if not 0 <= place <= len(entries):
        raise _Unfit(f"region {name} has {len(entries)} entries")
    if given.get("text") is None:
        raise _Unfit("an entry that is inserted needs a text")
    if place:
        yield {"op": "test", "path": pointer("window", name, place - 1), "value": entries[place - 1]}
    word = given.get("kind") or "Text"
    entry = {"content": given["text"], "kind": {"type": word}, "taint": "Internal"}
    yield {"op": "add", "path": pointer("window", name, place), "value": entry}


def _removed(name: str, entries: list[Any], index: int) -> Operations:
    """An entry, and the results right behind it if it is a turn (6: they leave together)."""
    last = index + 1
    if entries[index]["kind"]["type"] == "AssistantTurn":
        while last < len(entries) and entries[last]["kind"]["type"] == "ToolResult":
            last += 1
    for _ in range(index, last):
        yield {"op": "test", "path": pointer("window", name, index), "value": entries[index]}
        yield {"op": "remove", "path": pointer("window", name, index)}
        entries = entries[:index] + entries[index + 1 :]


def _result(document: Document, given: Mapping[str, Any], stages: Sequence[str]) -> Operations:
    call, text = given.get("call"), given.get("result")
    if call is None or text is None:
        raise _Unfit("a result needs the id of its call, and a text")
    if call in document["results"]:
        yield from _changed(pointer("results", call), document["results"][call], text)
        return
    places = [
        (pointer("window", name, index, "content"), entry["content"])
        for name, entries in document["window"].items()
        for index, entry in enumerate(entries)
        if entry["kind"]["type"] == "ToolResult" and entry["kind"]["tool_call_id"] == call
    ]
    if len(places) != 1:
        raise _Unfit(f"{len(places)} results of that call are in the mirror; say region and entry")
    yield from _changed(*places[0], text)


def _position(document: Document, given: Mapping[str, Any], stages: Sequence[str]) -> Operations:
    old = document["position"]
    new = dict(old)
    if "stage" in given:
        if given["stage"] not in stages:
            raise _Unfit("the manifest has no such stage")
        new |= {"stage": given["stage"], "stage_index": list(stages).index(given["stage"])}
    if "iteration" in given:
        new["iteration"] = given["iteration"]
    yield from _changed("/position", old, new)


def _model(document: Document, given: Mapping[str, Any], stages: Sequence[str]) -> Operations:
    yield from _changed("/model", document["model"], given["model"])


def _tools(document: Document, given: Mapping[str, Any], stages: Sequence[str]) -> Operations:
    tools = given["tools"]
    by_stage = tools if isinstance(tools, Mapping) else {document["position"]["stage"]: tools}
    for stage, names in by_stage.items():
        if stage not in document["tools"]:
            raise _Unfit("the manifest has no such stage")
        yield from _changed(pointer("tools", stage), document["tools"][stage], list(names))


_WISHES: tuple[tuple[frozenset[str], Callable[[Document, Mapping[str, Any], Sequence[str]], Operations]], ...] = (
    (frozenset({"task"}), _task),
    (frozenset({"region", "entry", "text", "insert", "remove", "kind"}), _entry),
    (frozenset({"call", "result"}), _result),
    (frozenset({"stage", "iteration"}), _position),
    (frozenset({"model"}), _model),
    (frozenset({"tools"}), _tools),
)
"""What has to be among the wishes, and what makes its operations."""
