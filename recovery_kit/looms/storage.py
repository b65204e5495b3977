"""Formal data: Artifacts that are replaced and Records that are only appended, changed by atomic commits.

Belongs here: what a commit may do, the same for every backend. Where the bytes lie is in `sqlite_storage` and
`file_storage`. (intloom-recovery 1.12)
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import UNSET

from recovery_kit.records.loom import Operation

from .refusals import Refused
from .state import plain_json

_NAME = re.compile(r"(?=.*\S)[^\x00-\x1f\x7f]{1,1024}", re.DOTALL)
_OPERATIONS: dict[str, frozenset[str]] = {
    "create_artifact": frozenset({"type", "id", "payload"}),
    "replace_artifact": frozenset({"type", "id", "expectedRevision", "payload"}),
    "append_record": frozenset({"type", "id", "payload"}),
    "remove_artifact": frozenset({"type", "id", "expectedRevision"}),
    "remove_record": frozenset({"type", "id"}),
}
_PAYLOAD = frozenset({"flowName", "stageName", "data"})


@dataclass(frozen=True, slots=True)
class Artifact:
    """A replaceable result, at most one a Workflow and Stage."""

    id: str
    flow_name: str
    stage_name: str
    revision: int
    """A conflict check, not a version to fetch."""
    data: Any
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Record:
    """An entry that is only ever appended."""

    id: str
    flow_name: str
    stage_name: str
    data: Any
    created_at: str


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit did."""

    written_artifacts: tuple[Artifact, ...]
    appended_records: tuple[Record, ...]
    removed_artifact_ids: tuple[str, ...]
    removed_record_ids: tuple[str, ...]
    operations: tuple[Operation, ...]
    """As a checkpoint refers to them."""


class Storage(Protocol):
    """Formal data of one project."""

    def artifacts(self) -> list[Artifact]:
        """All of them, by creation time, then id."""

    def records(self) -> list[Record]:
        """All of them, by creation time, then id."""

    def commit(self, operations: Sequence[Mapping[str, Any]], now: str) -> Committed:
        """Do all or nothing. Raises Refused (`CONFLICT`, `NOT_FOUND`, `INVALID_REQUEST`, `STORAGE_ERROR`)."""

    def close(self) -> None:
        """Let go of the files."""


class Draft(Protocol):
    """The data inside one transaction."""

    def artifact(self, id: str) -> Artifact | None: ...
    def artifact_of(self, flow_name: str, stage_name: str) -> Artifact | None: ...
    def record(self, id: str) -> Record | None: ...
    def put_artifact(self, artifact: Artifact) -> None: ...
    def put_record(self, record: Record) -> None: ...
    def drop_artifact(self, id: str) -> None: ...
    def drop_record(self, id: str) -> None: ...
    def next_revision(self) -> int: ...


def apply_operations(draft: Draft, operations: Sequence[Mapping[str, Any]], now: str) -> Committed:
    """Apply a batch to a transaction that the caller keeps or throws away. Raises Refused."""
    checked = [_checked(operation) for operation in operations]
    named = [(row["type"].split("_")[1], row["id"]) for row in checked]
    if len(set(named)) != len(named):
        raise Refused("INVALID_REQUEST", "one batch names the same thing twice")
    written: list[Artifact] = []
    appended: list[Record] = []
    done: list[Operation] = []
    for row in checked:
        revision: Any = UNSET
        if row["type"] in ("create_artifact", "replace_artifact"):
            artifact = _written(draft, row, now)
            draft.put_artifact(artifact)
            written.append(artifact)
            revision = artifact.revision
        elif row["type"] == "append_record":
            record = _appended(draft, row, now)
            draft.put_record(record)
            appended.append(record)
        elif row["type"] == "remove_artifact":
            _expected(draft, row)
            draft.drop_artifact(row["id"])
        else:
            if draft.record(row["id"]) is None:
                raise Refused("NOT_FOUND", "there is no such Record")
            draft.drop_record(row["id"])
        done.append(Operation(type=row["type"], id=row["id"], revision=revision))
    artifacts, records = (
        tuple(row["id"] for row in checked if row["type"] == f"remove_{kind}") for kind in ("artifact", "record")
    )
    return Committed(tuple(written), tuple(appended), artifacts, records, tuple(done))


def _checked(operation: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = plain_json(dict(operation))
    members = _OPERATIONS.get(row.get("type", "")) if isinstance(row.get("type"), str) else None
    if members is None or row.keys() != members:
        raise Refused("INVALID_REQUEST", "an operation has a known type and exactly its members")
    names = [row["id"]]
    if "payload" in row:
        if not isinstance(row["payload"], dict) or row["payload"].keys() != _PAYLOAD:
            raise Refused("INVALID_REQUEST", "a payload has flowName, stageName and data")
        names += [row["payload"]["flowName"], row["payload"]["stageName"]]
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
        raise Refused("INVALID_REQUEST", "a name has 1 to 1024 characters, not all blank, no control characters")
    if "expectedRevision" in row and type(row["expectedRevision"]) is not int:
        raise Refused("INVALID_REQUEST", "an expectedRevision is an integer")
    return row


def _expected(draft: Draft, row: dict[str, Any]) -> Artifact:
    artifact = draft.artifact(row["id"])
    if artifact is None:
        raise Refused("NOT_FOUND", "there is no such Artifact")
    if artifact.revision != row["expectedRevision"]:
        raise Refused("CONFLICT", f"the Artifact is at revision {artifact.revision}")
    return artifact


def _written(draft: Draft, row: dict[str, Any], now: str) -> Artifact:
    payload = row["payload"]
    place = (payload["flowName"], payload["stageName"])
    before = _expected(draft, row) if row["type"] == "replace_artifact" else None
    if before is None and draft.artifact(row["id"]) is not None:
        raise Refused("CONFLICT", "there is an Artifact of that id already")
    holder = draft.artifact_of(*place)
    if holder is not None and holder.id != row["id"]:
        raise Refused("CONFLICT", "that Workflow and Stage has an Artifact already")
    created = before.created_at if before else now
    return Artifact(row["id"], *place, draft.next_revision(), payload["data"], created, now)


def _appended(draft: Draft, row: dict[str, Any], now: str) -> Record:
    if draft.record(row["id"]) is not None:
        raise Refused("CONFLICT", "there is a Record of that id already")
    payload = row["payload"]
    return Record(row["id"], payload["flowName"], payload["stageName"], payload["data"], now)
