"""Records as the engine writes them: compact JSON, and which empty members it leaves out (0.5-to-0.6 N3, N5, N10)."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import fields

from recovery_kit.records import journal, meta, sidecars, window
from recovery_kit.records.journal import Record
from recovery_kit.records.scalars import json_or_none

from .framing import PREAMBLE, frame

LEFT_OUT: dict[type[msgspec.Struct], frozenset[str]] = {
    window.Entry: frozenset({"metadata", "key", "reasoning"}),
    window.Region: frozenset({"entries", "description"}),
    window.RegionOp: frozenset({"set", "append", "clear", "remove"}),
    window.Part: frozenset({"name", "deliver"}),
    window.BlobRef: frozenset({"width", "height", "duration_ms"}),
    window.TurnCall: frozenset({"thought_signature"}),
    meta.RunMeta: frozenset({
        "stage_models", "yolo_profile", "read_paths", "final_output", "waiting_on", "output_request", "model_override",
        "blueprint_digest",
    }),
    meta.Flags: frozenset({"broken_scripts"}),
    meta.FinalOutput: frozenset({"format", "artifacts"}),
    meta.OutputSpec: frozenset(meta.OutputSpec.__struct_fields__),
    meta.OutputArtifact: frozenset({"description"}),
    journal.BatchCall: frozenset({"execution_id", "thought_signature"}),
    journal.ToolBatch: frozenset({"visit_id", "requested_by"}),
    journal.ToolCallDone: frozenset({"execution_id", "outcome"}),
    journal.InferenceUsage: frozenset({"cost_usd", "cost_reported_by_provider"}),
    journal.InferenceAttempt: frozenset({"id", "finish_reason", "stopped_for", "model_input"}),
    journal.ModelInput: frozenset({"request"}),
    journal.Interaction: frozenset({"tool"}),
    journal.Answer: frozenset(journal.Answer.__struct_fields__),
    journal.ContextTransaction: frozenset({"execution_id"}),
    sidecars.StageRecord: frozenset({"models"}),
    sidecars.FanOutConfig: frozenset({
        "worker_agent", "worker_stage", "worker_query", "merge_stage", "results_region", "max_items", "max_attempts",
    }),
}  # fmt: skip
"""Members that the writer leaves out when they have their default; every other one is always written."""

_encode = msgspec.json.Encoder().encode


@cache
def _plan(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, Any], ...]:
    """(attribute, name on the wire, the value for which it is left out) of each member."""
    gone = LEFT_OUT.get(kind, frozenset())
    return tuple((f.name, f.encode_name, f.default if f.name in gone else msgspec.NODEFAULT) for f in fields(kind))


def is_nothing(member: Any) -> bool:
    """Whether a member that may hold any JSON holds none."""
    return isinstance(member, msgspec.Raw) and json_or_none(member) is None


def plain(value: Any) -> Any:
    """A record's members as dicts and lists, in the writer's order; JSON that is kept as bytes stays so."""
    if isinstance(value, msgspec.Struct):
        config = type(value).__struct_config__
        members = {config.tag_field: config.tag} if config.tag_field else {}
        for attribute, name, left_out in _plan(type(value)):
            member = getattr(value, attribute)
            if left_out is msgspec.NODEFAULT or not (member == left_out or is_nothing(member)):
                members[name] = plain(member)
        return members
    if isinstance(value, tuple):
        return [plain(member) for member in value]
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, msgspec.Raw) and not bytes(value):
        return None
    return value


def json_of(value: Any) -> bytes:
    """A record or a sidecar as compact JSON."""
    return _encode(plain(value))


def pretty_json_of(value: Any) -> bytes:
    """The same with two blanks of indentation, as the engine writes `meta.json` and `stages.json`."""
    return msgspec.json.format(json_of(value), indent=2)


def payload_of(record: Record) -> bytes:
    """The JSON of one frame."""
    return b'{"%s":%s}' % (type(record).__name__.encode(), json_of(record))


def frame_of(record: Record) -> bytes:
    """One frame: length and JSON."""
    return frame(payload_of(record))


def journal_of(records: Iterable[Record]) -> bytes:
    """A whole journal: preamble and frames."""
    return PREAMBLE + b"".join(map(frame_of, records))
