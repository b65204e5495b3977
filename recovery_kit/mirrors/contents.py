"""The bytes of a mirror: metadata that leads nowhere else, a journal that folds to the cut, and the blobs it names.

Values in, bytes out; nothing is written here. What may come along is said here in one table. Rules:
leviath-run-directory 8.3 to 8.5, 0.5-to-0.6 N16.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from recovery_kit.display import secrets_of_url
from recovery_kit.formats.framing import PREAMBLE, frame
from recovery_kit.formats.writing import frame_of, json_of
from recovery_kit.records.journal import (
    Checkpoint,
    ContextCheckpoint,
    Header,
    Identity,
    Interaction,
    Progress,
    ToolBatch,
    ToolCallDone,
)
from recovery_kit.records.meta import Clock, RunMeta
from recovery_kit.world.ids import Owner

from .cutting import Cut
from .origin import metadata_of, origin_of_cut, without_origin

ALONE: dict[str, dict[str, Any]] = {
    "webhook": {"callback_url": None, "callback_secret": None},
    "parent": {"parent_run_id": None, "depth": 0, "max_child_depth": 0},
    "children": {"children": ()},
    "yolo": {"yolo": False, "yolo_profile": None},
    "read_paths": {"read_paths": None},
}
"""What of the source's metadata comes along only if asked for by name, and what stands there else."""

FILES_ASKED: dict[str, str] = {"fan_out": "fanout.json", "prompt": "interactions.json"}
"""Files of the source that come along only if asked for by name: either changes what a reload does (8.1)."""

KEEPABLE = frozenset({*ALONE, *FILES_ASKED, "metadata", "title"})


@dataclass(frozen=True, slots=True)
class Place:
    """Who the mirror is, and where."""

    run_id: str
    agent_path: str
    """Its own manifest."""
    workdir: str
    manifest_sha256: str
    keep: frozenset[str] = frozenset()
    """What was asked for by name: members of `KEEPABLE`."""


def mirrored(meta: RunMeta, place: Place, metadata: dict[str, str], title: str | None) -> RunMeta:
    """Metadata of some moment of the source as the mirror carries it: position and totals kept, all ties cut."""
    cut_off = [members for what, members in ALONE.items() if what not in place.keep]
    ties = {name: value for members in cut_off for name, value in members.items()}
    flags = meta.flags
    override = meta.model_override
    return replace(
        meta, **ties, run_id=place.run_id, agent_path=place.agent_path, workdir=place.workdir, pid=0, error=None,
        title=meta.title if "title" in place.keep else title, title_error=None, metadata=metadata, waiting_on=None,
        # A model that is no override would pin every stage to it when the oldest engines reload it.
        model=override, stage_models=(), blueprint_digest=place.manifest_sha256,
        active=Clock(meta.active.banked_secs) if meta.active else None,
        flags=replace(
            flags, modified_files=tuple(f for f in flags.modified_files if _is_relative(f)), broken_scripts=()
        ),
    )  # fmt: skip


def _is_relative(path: str) -> bool:
    return not path.startswith(("/", "\\", "~")) and not re.match(r"[A-Za-z]:", path)


def paused(cut: Cut, place: Place, answered: bool) -> RunMeta:
    """The mirror's own metadata: the cut's, paused, with its lineage. `answered`: the answer's bytes come along."""
    kept = without_origin(cut.meta.metadata) if "metadata" in place.keep else {}
    lineage = kept | metadata_of(origin_of_cut(cut))
    meta = mirrored(cut.meta, place, lineage, f"mirror of {cut.run.id} at {cut.asked}")
    return replace(
        meta, status="waiting_input" if "prompt" in place.keep else "paused", updated_at=cut.at,
        last_progress_at=cut.at, final_output=meta.final_output if answered else None,
    )  # fmt: skip


def journal_of_cut(cut: Cut, place: Place, meta: RunMeta, owner: Owner, history: bool) -> Iterator[bytes]:
    """A journal, in pieces, that folds to the cut.

    Without history `Header`, `ContextCheckpoint` and the batch that is out; with it the source's records, and a
    `Checkpoint` behind them, which every version folds.
    """
    identity = Identity(place.run_id, owner.machine_id, owner.world_id, meta.started_at)
    yield PREAMBLE
    if not history or not cut.records:
        yield frame_of(Header(identity, meta))
        yield frame_of(ContextCheckpoint(cut.window, cut.at))
        yield from _batch(cut, cut.held + cut.added)
        return
    yield from _history(cut, place, identity)
    in_history = cut.out_offset is not None and cut.out_offset < cut.end
    yield from map(frame_of, cut.added) if in_history else _batch(cut, cut.held + cut.added)
    yield frame_of(Checkpoint(meta, cut.window, cut.at))


def _batch(cut: Cut, completions: tuple[ToolCallDone, ...]) -> Iterator[bytes]:
    if cut.batch is not None:
        yield frame_of(cut.batch)
        yield from map(frame_of, completions)


def _history(cut: Cut, place: Place, identity: Identity) -> Iterator[bytes]:
    """The source's records before the cut, ids rewritten; those of a dropped batch and answers of people left out."""
    reading = cut.run.story.reading()
    rewrite = _rewriters(place, identity)
    dropped = cut.out_offset if cut.batch is None else None
    iteration: int | None = None
    for number, kind in zip(reading.frames[: cut.records], reading.kinds[: cut.records], strict=True):
        if kind in ("ToolBatch", "ToolCallDone") and dropped is not None:
            record = reading.record(number)
            if isinstance(record, ToolBatch) and reading.offset(number) == dropped:
                iteration = record.iteration
                continue
            if isinstance(record, ToolCallDone) and record.iteration == iteration:
                continue
        if kind == Interaction.__name__:
            continue
        change = rewrite.get(kind)
        if change is None:
            yield frame(bytes(reading.journal.payload(number)))
        else:
            yield frame_of(change(reading.record(number)))


def _rewriters(place: Place, identity: Identity) -> dict[str, Callable[[Any], Any]]:
    """How records with metadata are rewritten."""

    def meta(old: RunMeta) -> RunMeta:
        return replace(mirrored(old, place, {}, None), final_output=None)

    return {
        Header.__name__: lambda r: replace(r, identity=identity, meta=meta(r.meta)),
        Progress.__name__: lambda r: replace(r, meta=meta(r.meta)),
        Checkpoint.__name__: lambda r: replace(r, meta=meta(r.meta)),
    }


_NAMED = re.compile(rb'"sha256":"([0-9a-f]{64})"')


def blobs_named(pieces: Collection[bytes]) -> tuple[str, ...]:
    """Hashes of stored bytes that a piece of a journal or metadata names, each once."""
    return tuple(dict.fromkeys(found.decode() for piece in pieces for found in _NAMED.findall(piece)))


def sha256_of(data: bytes | memoryview) -> str:
    """In hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def unmasked_texts(cut: Cut) -> Iterator[str]:
    """Entries of the window that hold what leads back to the source, a sentence each: a mirror needs its own texts, so
    they come along as they are."""
    metas = [meta for meta in (cut.meta, cut.run.meta) if meta is not None]
    kinds = {
        "a secret of the source": {word for meta in metas for word in _secrets(meta)},
        "an id of another run": {word for meta in metas for word in (*meta.children, meta.parent_run_id or "")},
        "a path of the source's machine": {
            *(word for meta in metas for word in (meta.workdir, meta.agent_path)), str(cut.run.folder or "")
        },
    }  # fmt: skip
    for region in cut.window.regions:
        for number, entry in enumerate(region.entries):
            text = json_of(entry).decode()
            for what, words in kinds.items():
                if any(len(word) > 3 and word in text for word in words):
                    yield f"entry {region.name}/{number} holds {what}, and comes along as it is"


def _secrets(meta: RunMeta) -> tuple[str, ...]:
    return (meta.callback_secret or "", *secrets_of_url(meta.callback_url or ""))
