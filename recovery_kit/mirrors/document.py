"""What of a mirror can be edited, as one JSON document; and an edited document back into its metadata, window, results
and manifest.

Tokens are not in the document: an entry that changed is counted anew as the engine does (0.5-to-0.6 N3.2). What did not
change keeps its very bytes.
"""

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from recovery_kit.errors import CannotMirror, ManifestUnreadable
from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.formats.writing import plain
from recovery_kit.history.fold import Pending
from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.journal import ToolCallDone
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import Content, Entry, Region, Window
from recovery_kit.world.regions import holding, retotalled

from .contents import sha256_of
from .patching import pointer, same

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stand:
    """How a mirror stands: what its files say."""

    meta: RunMeta
    window: Window
    pending: Pending | None
    manifest: bytes
    blueprint: Blueprint


def document_of(stand: Stand) -> Document:
    """Task, model, position, tools, window by region, results of the pending batch by call."""
    meta = stand.meta
    return {
        "task": meta.task,
        "model": meta.model_override,
        "position": {"stage": stand.window.stage_name, "stage_index": meta.stage_index, "iteration": meta.iteration},
        "tools": {stage.name: list(stage.available_tools) for stage in stand.blueprint.stages},
        "window": {region.name: [entry_document(e) for e in region.entries] for region in _named_once(stand.window)},
        "results": {call.id: _json(result) for call, result in stand.pending.calls()} if stand.pending else {},
    }


def _named_once(window: Window) -> Iterator[Region]:
    """Regions by name; of two with one name the first, as every reader takes it."""
    seen: set[str] = set()
    for region in window.regions:
        if region.name not in seen:
            seen.add(region.name)
            yield region


def entry_document(entry: Entry) -> dict[str, Any]:
    """An entry without its tokens."""
    members = dict(_json(entry))
    members.pop("tokens", None)
    return members


def _json(value: Any) -> Any:
    return None if value is None else json.loads(msgspec.json.encode(plain(value)))


def stand_of(before: Stand, old: Document, new: Document) -> tuple[Stand, dict[str, Content]]:
    """How the mirror stands after its document became `new`, and the results that were given to calls.

    Raises CannotMirror, naming the place, for a document that says nothing a run can hold.
    """
    if new.keys() != old.keys():
        raise CannotMirror(None, "an edit changes task, model, position, tools, window or results, nothing else")
    window = _window(before.window, old["window"], new["window"])
    meta, window = _meta(before, old, new, window)
    manifest, blueprint = before.manifest, before.blueprint
    if not same(old["tools"], new["tools"]):
        manifest, blueprint = _with_tools(before, old["tools"], new["tools"])
        meta = replace(meta, blueprint_digest=sha256_of(manifest))
    return Stand(meta, window, before.pending, manifest, blueprint), _results(before, old["results"], new["results"])


def _window(window: Window, old: dict[str, Any], new: dict[str, Any]) -> Window:
    if not isinstance(new, dict) or new.keys() != old.keys():
        raise CannotMirror(None, "an edit cannot add or take away a region: a reload builds them from the manifest")
    changed = {name for name in old if not same(old[name], new[name])}
    regions, seen = [], set()
    for region in window.regions:
        if region.name in changed and region.name not in seen:
            region = holding(region, _entries(region, old[region.name], new[region.name]))
        seen.add(region.name)
        regions.append(region)
    return retotalled(replace(window, regions=tuple(regions))) if changed else window


def _entries(region: Region, old: list[Any], new: Any) -> list[Entry]:
    if not isinstance(new, list):
        raise CannotMirror(None, f"{pointer('window', region.name)} is no list of entries")
    known: dict[str, list[Entry]] = {}
    for document, entry in zip(old, region.entries, strict=True):
        known.setdefault(_key(document), []).append(entry)
    entries = []
    for index, document in enumerate(new):
        there = known.get(_key(document))
        entries.append(there.pop(0) if there else _entry(document, pointer("window", region.name, index)))
    return entries


def _key(document: Any) -> str:
    return json.dumps(document, sort_keys=True)


def _entry(document: Any, place: str) -> Entry:
    try:
        text = json.dumps(document | {"tokens": 0}, ensure_ascii=False).encode()
        entry = msgspec.json.decode(text, type=Entry)
    except (TypeError, UnicodeEncodeError, msgspec.DecodeError):
        raise CannotMirror(None, f"{place} is no entry of a window") from None
    return replace(entry, tokens=tokens_of(entry.content))


def _meta(before: Stand, old: Document, new: Document, window: Window) -> tuple[RunMeta, Window]:
    meta, position = before.meta, new["position"]
    if not isinstance(new["task"], str) or not (new["model"] is None or isinstance(new["model"], str)):
        raise CannotMirror(None, "task is a text, model a text or null")
    if not same(old["position"], position):
        window, meta = _moved(before, position, window)
    if not same(old["model"], new["model"]):
        meta = replace(meta, model=new["model"], model_override=new["model"])
    return replace(meta, task=new["task"]), window


def _moved(before: Stand, position: Any, window: Window) -> tuple[Window, RunMeta]:
    names = [stage.name for stage in before.blueprint.stages]
    try:
        stage, index, iteration = position["stage"], position["stage_index"], position["iteration"]
        fits = len(position) == 3 and names[index] == stage and index >= 0 and iteration >= 0
    except (TypeError, KeyError, IndexError):
        fits = False
    if not fits:
        raise CannotMirror(None, "position is a stage of the manifest, its index and an iteration")
    if before.pending is not None:
        raise CannotMirror(None, "a batch is pending, and it would be forgotten at another position: drop it first")
    return replace(window, stage_name=stage), replace(
        before.meta, current_stage=stage, stage_index=index, iteration=iteration
    )


def _results(before: Stand, old: dict[str, Any], new: Any) -> dict[str, Content]:
    if not isinstance(new, dict) or new.keys() != old.keys():
        raise CannotMirror(None, "results can be given to calls of the pending batch only")
    given: dict[str, Content] = {}
    for call_id, value in new.items():
        if same(value, old[call_id]):
            continue
        try:
            given[call_id] = msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode(), type=Content)
        except (UnicodeEncodeError, msgspec.DecodeError):
            raise CannotMirror(None, f"{pointer('results', call_id)} is no result: a text or a list of parts") from None
    return given


def completions(pending: Pending | None, given: dict[str, Content], at: int) -> tuple[ToolCallDone, ...]:
    """Records that give results to calls of the pending batch."""
    if pending is None:
        return ()
    executions = {call.id: call.execution_id for call in reversed(pending.batch.calls)}
    return tuple(
        ToolCallDone(
            iteration=pending.batch.iteration, call_id=call_id, execution_id=executions[call_id], result=result, at=at
        )
        for call_id, result in given.items()
    )  # fmt: skip


# Tools are the manifest's.

_ASSIGNED = re.compile(r"^[ \t]*available_tools[ \t]*=[ \t]*\[[^\]]*\][^\n]*\n?", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def _with_tools(before: Stand, old: Any, new: Any) -> tuple[bytes, Blueprint]:
    """The manifest with other tools of stages; refused where that would change anything else in it."""
    text = before.manifest.decode()
    if not isinstance(new, dict) or new.keys() != old.keys():
        raise CannotMirror(None, "tools are given for the stages of the manifest")
    for stage in new:
        tools = new[stage]
        if same(tools, old[stage]):
            continue
        if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
            raise CannotMirror(None, f"{pointer('tools', stage)} is no list of names")
        text = _assigned(text, stage, tools)
    data = text.encode()
    try:
        blueprint = parse_manifest(data)
    except ManifestUnreadable:
        raise CannotMirror(None, "the manifest cannot be given other tools: its spelling is not understood") from None
    wanted = [dataclasses.replace(s, available_tools=tuple(new[s.name])) for s in before.blueprint.stages]
    if list(blueprint.stages) != wanted:
        raise CannotMirror(None, "the manifest cannot be given other tools: its spelling is not understood")
    return data, blueprint


def _assigned(text: str, stage: str, tools: list[str]) -> str:
    head = re.compile(
        rf"^[ \t]*\[[ \t]*stages[ \t]*\.[ \t]*(?:{re.escape(stage)}|{re.escape(json.dumps(stage))})[ \t]*\][^\n]*\n",
        re.MULTILINE,
    )
    found = head.search(text)
    if found is None:
        raise CannotMirror(None, "the manifest cannot be given other tools: the stage has no table of its own")
    end = _TABLE.search(text, found.end())
    stop = end.start() if end else len(text)
    body = _ASSIGNED.sub("", text[found.end() : stop])
    line = f"available_tools = {json.dumps(tools)}\n"
    return text[: found.end()] + line + body + text[stop:]
