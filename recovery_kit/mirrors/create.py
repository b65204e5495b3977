"""Making a mirror: a run directory of its own, paused on disk, cut from a run at some moment.

The source is only read. What may come along is decided in `contents.py`, the cut in `cutting.py`, how a folder appears
whole in `publishing.py`.
"""

import os
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal

from recovery_kit.errors import CannotMirror, UnsafeName
from recovery_kit.formats import rundir
from recovery_kit.formats.durable import DISK, Durable
from recovery_kit.formats.writing import json_of, pretty_json_of
from recovery_kit.history.findings import SAFE_ID
from recovery_kit.records.engines import Engine
from recovery_kit.recovery.restoring import restored
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.points_named import PointName
from recovery_kit.runs.run import Run
from recovery_kit.world.ids import Owner

from .contents import FILES_ASKED, KEEPABLE, Place, blobs_named, journal_of_cut, paused, sha256_of, unmasked_texts
from .cutting import Batch, Cut, cut
from .manifests import Taken, manifest_for
from .mirror import Mirror
from .publishing import new_folder

History = Literal["none", "full"]
Variant = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Arguments of one `Mirror.edit`, or of several."""

_PIECE = 8 * 1024 * 1024
_STEM = re.compile(r"-[0-9]{10}-[0-9a-f]{12}$")
WORK = ".work"
"""How the folder that a mirror works in is called: its id and this."""


def create_mirror(
    run: Run | Mirror | str | os.PathLike[str],
    at: str | int | PointName = "end",
    into: str | os.PathLike[str] = "mirrors",
    history: History = "none",
    *,
    batch: Batch | None = None,
    workdir: str | os.PathLike[str] | None = None,
    agents: str | os.PathLike[str] | None = None,
    keep: Collection[str] = (),
    run_id: str | None = None,
    disk: Durable = DISK,
) -> Mirror:
    """Branch a run: a new, paused run directory in the folder `into` that stands where `run` stood at a moment.

    `at`: see `points_named`. `history`: `full` takes the records before it along. `batch`: what becomes of a batch that
    was out there (by default as `cutting.BY_DEFAULT`). `workdir`: by default a new folder beside the mirror. `agents`:
    where the manifest is, for a run without its own. `keep`: ties of the source that come along all the same, of
    `contents.KEEPABLE`. The source is only read; one that is still running is cut where it was durable.

    Raises UnknownMoment, CannotMirror, NotARun, UnsafeName, CannotWrite; nothing is left behind then.
    """
    source = run_of(run)
    unknown = [word for word in keep if word not in KEEPABLE]
    if unknown or history not in ("none", "full"):
        raise CannotMirror(source.id, f"keep takes {', '.join(sorted(KEEPABLE))}; history is none or full")
    made = cut(source, at, batch)
    manifest = manifest_for(source, made.meta, Path(agents) if agents is not None else None)
    folder = Path(os.path.abspath(into))
    _refuse_inside(source, folder)
    new_id = _new_id(source.id, run_id)
    target = folder / new_id
    work = Path(os.path.abspath(workdir)) if workdir is not None else folder / (new_id + WORK)
    place = Place(new_id, str(target / rundir.BLUEPRINT), str(work), sha256_of(manifest.text), frozenset(keep))
    with ExitStack() as undo:
        for made_folder in _missing(folder):
            undo.callback(_rmdir, made_folder)
            disk.make_folder(made_folder)
        if not os.path.lexists(work):
            undo.callback(_rmdir, work)
            disk.make_folder(work)
        elif not work.is_dir():
            raise CannotMirror(work, "the work directory is no folder")
        with new_folder(target, disk) as temporary:
            lost = _write(temporary, made, place, manifest, history == "full", disk)
        undo.pop_all()
    behind = _left_behind(source, place.keep, history)
    told = (*made.said, *behind, *lost, *unmasked_texts(made), *_dropped_regions(target, manifest))
    return Mirror(target, told, made)


def create_mirrors(
    run: Run | Mirror | str | os.PathLike[str],
    at: str | int | PointName,
    into: str | os.PathLike[str] = "mirrors",
    variants: Mapping[str, Variant] | Sequence[Variant] = (),
    *,
    author: str = "",
    reason: str = "",
    **how: Any,
) -> dict[str, Mirror]:
    """Several mirrors of one moment side by side, each with its edits, by name (or `0`, `1`, …).

    `how` goes to `create_mirror`. Raises as it and `Mirror.edit` do; mirrors made before stay.
    """
    source = run_of(run)
    named = variants if isinstance(variants, Mapping) else {str(n): variant for n, variant in enumerate(variants)}
    made: dict[str, Mirror] = {}
    for name, variant in named.items():
        mirror = create_mirror(source, at, into, **how)
        for edit in (variant,) if isinstance(variant, Mapping) else variant:
            mirror.edit(**({"author": author, "reason": reason or f"variant {name}"} | dict(edit)))
        made[name] = mirror
    return made


def run_of(run: Run | Mirror | str | os.PathLike[str]) -> Run:
    """A run, however it was handed over. Raises NotARun."""
    if isinstance(run, Mirror):
        return run.run
    return run if isinstance(run, Run) else open_run(run)


def _refuse_inside(source: Run, folder: Path) -> None:
    if source.folder is not None:
        inside = source.folder.resolve()
        if inside == folder.resolve() or inside in folder.resolve().parents:
            raise CannotMirror(folder, "the target lies inside the source, which is never written to")


def _new_id(source_id: str, wanted: str | None) -> str:
    """An id as a spawner mints it (1.2)."""
    if wanted is not None:
        if not SAFE_ID.fullmatch(wanted) or wanted in (".", ".."):
            raise UnsafeName(None, "the new id is no plain name")
        return wanted
    stem = re.sub(r"[^A-Za-z0-9-]", "-", _STEM.sub("", source_id)) or "run"
    return f"{stem}-{int(time.time()):010d}-{secrets.token_hex(6)}"


def _missing(folder: Path) -> list[Path]:
    """Folders that have to be made for this one, outermost first."""
    chain = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    if os.path.lexists(folder) and not folder.is_dir():
        raise CannotMirror(folder, "the target is no folder")
    return chain[::-1]


def _rmdir(folder: Path) -> None:
    with suppress(OSError):
        os.rmdir(folder)


# Writing.


def _write(temporary: Path, made: Cut, place: Place, manifest: Taken, history: bool, disk: Durable) -> tuple[str, ...]:
    """All files of the mirror; what could not come along, a sentence each."""
    answer = _answer(made)
    meta = paused(made, place, answer is not None)
    named: dict[str, None] = {}
    with disk.open_append(temporary, rundir.JOURNAL) as journal:
        for piece in _pieces(journal_of_cut(made, place, meta, Owner.here(), history)):
            named |= dict.fromkeys(blobs_named([piece]))
            journal.append(piece)
    named |= dict.fromkeys(blobs_named([json_of(meta)]))
    files: dict[str, bytes] = {rundir.BLUEPRINT: manifest.text, **manifest.files}
    if answer is not None:
        files[rundir.FINAL_OUTPUT] = answer
    for word, name in FILES_ASKED.items():
        data = made.run.files.raw(name) if word in place.keep else None
        if data is not None:
            files[name] = bytes(data)
    for name, data in files.items():
        disk.replace_file(temporary, name, data)
    lost = tuple(_blobs(made.run, named, temporary, disk))
    disk.replace_file(temporary, rundir.META, pretty_json_of(meta))
    return lost


def _pieces(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Frames joined into pieces worth a flush."""
    held: list[bytes] = []
    size = 0
    for frame in frames:
        held.append(frame)
        size += len(frame)
        if size >= _PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _answer(made: Cut) -> bytes | None:
    """The answer's bytes, where it existed at the cut and was not replaced since."""
    described, now = made.meta.final_output, made.run.meta.final_output if made.run.meta else None
    data = made.run.files.raw(rundir.FINAL_OUTPUT)
    if described is None or data is None or now is None:
        return None
    same = (described.submitted_at, described.bytes) == (now.submitted_at, now.bytes)
    return bytes(data) if same and len(data) == described.bytes else None


def _blobs(run: Run, named: Collection[str], temporary: Path, disk: Durable) -> Iterator[str]:
    for sha256 in named:
        data = run.files.blob(sha256)
        if data is None:
            yield f"stored bytes {sha256[:12]} are missing in the source"
        elif sha256_of(data) != sha256:
            yield f"stored bytes {sha256[:12]} are altered in the source and do not come along"
        else:
            disk.replace_file(temporary, f"{rundir.BLOBS}/{sha256}", data)


_STAYS = {
    "fan_out": "the source's fan-out does not come along: its workers stay the source's",
    "prompt": "the source's open question does not come along",
}


def _left_behind(source: Run, keep: Collection[str], history: History) -> Iterator[str]:
    for word, name in FILES_ASKED.items():
        if word not in keep and name in source.files.facts:
            yield _STAYS[word]
    if history == "full" and "Interaction" in source.story.reading().kinds:
        yield "what people answered is left out of the copied history"


def _dropped_regions(target: Path, manifest: Taken) -> Iterator[str]:
    """Regions of the cut that a reload by the newest engine will not bring back (5.4)."""
    mirror = open_run(target)
    rules: Engine = mirror.story.reading().rules
    after = restored(mirror.story, rules, manifest.blueprint, lambda _: False)
    for region in after.agent.lost if after else ():
        yield f"region {region.name} with {region.entries} entries is of a later stage: the engine's reload drops it"
