"""Stored bytes and who speaks of them: parts of contents, produced files, the answer (0.5-to-0.6 N3, N5.4, N12).

Every place that names bytes is looked up by their hash. The lookup is handed in: no file is opened here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from recovery_kit.records.meta import Artifact, RunMeta
from recovery_kit.records.sidecars import FanOut
from recovery_kit.records.window import BlobRef, Content, Part, Window

from .events import Event
from .fold import Pending

BytesState = Literal["present", "missing", "altered", "unknown"]
Where = Literal["window", "pending_result", "fan_out"]
Lookup = Callable[[str], str | None]
"""Hash of the bytes that lie under a hash; None where there are none."""


def state_of(sha256: str, lookup: Lookup) -> BytesState:
    """Whether the bytes that a hash names are there, unaltered."""
    if not sha256:
        return "unknown"
    found = lookup(sha256)
    if found is None:
        return "missing"
    return "present" if found == sha256 else "altered"


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part whose bytes are stored."""

    where: Where
    region: str | None
    entry: int | None
    call_id: str | None
    name: str | None
    mime_type: str
    sha256: str
    size: int
    """Bytes, as recorded."""
    tokens: int
    stand_in: str
    state: BytesState


def stored_parts(
    window: Window | None, pending: Pending | None, fan_out: FanOut | None, lookup: Lookup
) -> tuple[StoredPart, ...]:
    """Stored parts of the window, then of held results, then of what workers handed up."""
    found: list[StoredPart] = []
    for region in window.regions if window else ():
        for number, entry in enumerate(region.entries):
            found += _parts(entry.content, "window", lookup, region=region.name, entry=number)
    for call, result in pending.calls() if pending else ():
        if result is not None:
            found += _parts(result, "pending_result", lookup, call_id=call.id)
    if fan_out is not None:
        found += _parts(fan_out.parts, "fan_out", lookup)
    return tuple(found)


def _parts(
    content: Content, where: Where, lookup: Lookup, *, region: str | None = None, entry: int | None = None,
    call_id: str | None = None,
) -> Iterator[StoredPart]:  # fmt: skip
    for part in content if not isinstance(content, str) else ():
        if isinstance(part.body, BlobRef):
            yield _part(part, part.body, where, region, entry, call_id, lookup)


def _part(
    part: Part, body: BlobRef, where: Where, region: str | None, entry: int | None, call_id: str | None, lookup: Lookup
) -> StoredPart:
    return StoredPart(
        where, region, entry, call_id, part.name, part.mime_type, body.sha256, body.size, body.tokens, body.stand_in,
        state_of(body.sha256, lookup),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProducedFile:
    """A file that came with an answer."""

    offset: int | None
    """Of its record; None for one that only the answer's description names."""
    execution_id: str | None
    name: str
    path: str
    mime_type: str
    size: int
    sha256: str
    state: BytesState
    superseded: bool
    """A later answer stands."""
    claimed: bool
    """A call's record names its execution; True where there is no record to ask."""
    behind_tear: bool


def produced_files(events: Sequence[Event], meta: RunMeta | None, lookup: Lookup) -> tuple[ProducedFile, ...]:
    """Files of every answer in file order, then those that only `meta.json` knows."""
    executions = {call.execution_id for e in events if e.kind == "ToolBatch" for call in e.record.calls}
    records = [event for event in events if event.kind == "ArtifactsProduced"]
    answers = [event.place for event in records if event.record.execution_id in executions]
    found = [
        ProducedFile(
            e.offset, e.record.execution_id, a.name, a.path, a.mime_type, a.size, a.sha256, state_of(a.sha256, lookup),
            any(place > e.place for place in answers), e.record.execution_id in executions, e.behind_tear,
        )
        for e in records
        for a in e.record.artifacts
    ]  # fmt: skip
    known = {(row.path, row.sha256) for row in found}
    described = meta.final_output.artifacts if meta and meta.final_output else ()
    for artifact in map(_as_artifact, described):
        if (artifact.path, artifact.sha256) not in known:
            found.append(
                ProducedFile(
                    None, None, artifact.name, artifact.path, artifact.mime_type, artifact.size, artifact.sha256,
                    state_of(artifact.sha256, lookup), False, True, False,
                )
            )  # fmt: skip
    return tuple(found)


def _as_artifact(artifact: Artifact | str) -> Artifact:
    """A bare path, as written before 0.6.2, as the engine reads it (N12)."""
    if isinstance(artifact, Artifact):
        return artifact
    return Artifact(artifact.rstrip("/").rsplit("/", 1)[-1], artifact, "application/octet-stream")


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The two halves of an answer: its description and its bytes. A reader needs both (leviath-run-directory 2.4)."""

    described: bool
    file_present: bool
    bytes_described: int | None
    bytes_in_file: int | None
    text: str | None

    @property
    def missing(self) -> bool:
        return self.described and not self.file_present


def final_answer(meta: RunMeta | None, data: bytes | memoryview | None) -> FinalAnswer | None:
    """The answer of a run; None where neither half is there."""
    described = meta.final_output if meta else None
    if described is None and data is None:
        return None
    text = None if data is None else bytes(data).decode("utf-8", "replace")
    told = described.bytes if described else None
    return FinalAnswer(described is not None, data is not None, told, None if data is None else len(data), text)
