"""A mirror in somebody's hand: the run directory, where it comes from, its edits."""

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from recovery_kit.display import Masker
from recovery_kit.errors import CannotMirror
from recovery_kit.formats.durable import DISK, Durable
from recovery_kit.records.findings import Finding
from recovery_kit.records.meta import RunMeta
from recovery_kit.runs.moment import State
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run

from .after import AfterCut
from .cutting import Cut, CutCall
from .document import Document, document_of
from .editing import Edit, Patch, apply_edit, log_path, read_log, stand
from .origin import Origin, read_origin
from .wording import patch_of


class Mirror:
    """A paused branch of a run. Values are raw; every surface masks them.

    Made by `create_mirror`, or from the folder of one that is there. Raises CannotMirror for a run that is no mirror.
    """

    def __init__(
        self, path: str | os.PathLike[str], said: Sequence[str] = (), cut: Cut | None = None, disk: Durable = DISK
    ) -> None:
        self.path = Path(os.path.abspath(path))
        self.said = tuple(said)
        """What follows from the cut, a sentence each; empty for a mirror that was opened later."""
        self.cut = cut
        """Where the source was cut; None for a mirror that was opened later."""
        self._disk = disk
        self._run: Run | None = None
        meta = self.run.meta
        origin = read_origin(meta.metadata) if meta else None
        if origin is None:
            raise CannotMirror(self.path, "this run is no mirror: its metadata name no source")
        self.origin: Origin = origin
        """The lineage, from the mirror's own metadata."""

    @property
    def run(self) -> Run:
        """The mirror as an ordinary run."""
        if self._run is None:
            self._run = open_run(self.path)
        return self._run

    def refresh(self) -> None:
        """Read the files again when somebody asks."""
        self._run = None

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def meta(self) -> RunMeta | None:
        return self.run.meta

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.run.findings

    @property
    def masker(self) -> Masker:
        """Masks the mirror's secrets and, where the source is at hand, the source's."""
        return self.run.masker.knowing(self.cut.run.masker.secrets) if self.cut else self.run.masker

    def at(self, point: int | None = None) -> State:
        """The state at a point, or now."""
        return self.run.at() if point is None else self.run.at(point)

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Ids of calls that are pending without a result: they have to be answered before the mirror goes on."""
        pending = self.run.at().pending
        return tuple(call.id for call, result in pending.calls() if result is None) if pending else ()

    @property
    def calls(self) -> tuple[CutCall, ...]:
        """The calls of the batch that was out at the cut, kept or not; empty for a mirror that was opened later."""
        return self.cut.calls if self.cut else ()

    @cached_property
    def after(self) -> AfterCut | None:
        """What the source did after the cut; None for a mirror that was opened later."""
        return self.cut.after if self.cut else None

    # Edits.

    @property
    def document(self) -> Document:
        """What can be edited, as the JSON document that patches are made on."""
        return document_of(stand(self.run))

    @property
    def edits_file(self) -> Path:
        """The append-only file of edits, beside the run."""
        return log_path(self.path)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Edits so far, undone ones included, and those that the run has gone on from."""
        log = read_log(self.path, self.run.journal.data)
        return log.sealed + log.edits

    def edit(
        self,
        patch: Iterable[Mapping[str, Any]] | None = None,
        *,
        region: str | None = None,
        entry: int | None = None,
        text: str | None = None,
        kind: str | None = None,
        insert: bool = False,
        remove: bool = False,
        task: str | None = None,
        call: str | None = None,
        result: str | None = None,
        stage: str | None = None,
        iteration: int | None = None,
        model: str | None = None,
        tools: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
        author: str = "",
        reason: str = "",
    ) -> Edit:
        """Change the mirror and record how, as one patch (RFC 6902) on `document`.

        `region` and `entry` with `text` change an entry, with `insert` put one before it (or at the end), with
        `remove` take it away, and a turn's results with it. `call` with `result` changes a tool's result, or gives
        one to a pending call. `tools`: of the current stage, or by stage. `patch` instead of all these: as it is.

        Raises CannotMirror for what does not fit, for what no provider would accept (naming the entry), and for a
        mirror that is not paused; the mirror is then as before.
        """
        if patch is None:
            wanted = {
                "region": region, "entry": entry, "text": text, "kind": kind, "insert": insert, "remove": remove,
                "task": task, "call": call, "result": result, "stage": stage, "iteration": iteration, "model": model,
                "tools": tools,
            }  # fmt: skip
            stages = [s.name for s in self.run.story.blueprint.stages] if self.run.story.blueprint else []
            patch = patch_of(self.id, self.document, stages, wanted)
        try:
            text = json.dumps([dict(operation) for operation in patch], ensure_ascii=False, allow_nan=False)
            text.encode()
        except (TypeError, ValueError):
            raise CannotMirror(self.path, "the patch holds what JSON cannot, such as a lone surrogate") from None
        return self._edited(tuple(json.loads(text)), author, reason)

    def note(self, reason: str, author: str = "") -> Edit:
        """Record a decision that changes nothing."""
        return self._edited((), author, reason)

    def _edited(self, patch: Patch, author: str, reason: str) -> Edit:
        log = self._log()
        row = {"patch": list(patch), "author": author, "reason": reason, "at": int(time.time())}
        self._run = apply_edit(self.path, row, [*(e.patch for e in log.in_force), patch], self._disk, undo=False)
        return self.edits[-1]

    def undo(self, number: int | None = None, *, author: str = "", reason: str = "") -> tuple[Edit, ...]:
        """Take an edit back, by default the last one in force; those that are left have to fit without it.

        Raises CannotMirror where there is none, or a later one does not fit any more.
        """
        in_force = [edit.number for edit in self._log().in_force]
        wanted = number if number is not None else (in_force[-1] if in_force else None)
        if wanted is None or wanted not in in_force:
            raise CannotMirror(self.path, "there is no such edit in force")
        return self._undone([wanted], author, reason)

    def undo_all(self, *, author: str = "", reason: str = "") -> tuple[Edit, ...]:
        """Take all edits back: the mirror's bytes are those it was made with."""
        numbers = [edit.number for edit in self._log().in_force]
        return self._undone(numbers, author, reason) if numbers else self.edits

    def _undone(self, numbers: list[int], author: str, reason: str) -> tuple[Edit, ...]:
        left = [edit.patch for edit in self._log().in_force if edit.number not in numbers]
        row = {"undo": numbers, "author": author, "reason": reason, "at": int(time.time())}
        self._run = apply_edit(self.path, row, left, self._disk, undo=True)
        return self.edits

    def replay(self, edits: "Iterable[Edit] | Mirror", *, author: str = "", reason: str = "") -> tuple[Edit, ...]:
        """Make edits of another mirror here, in order, each recorded as one of this mirror.

        Raises CannotMirror at the first that does not fit, naming the place; those before it are made.
        """
        wanted = edits.edits if isinstance(edits, Mirror) else tuple(edits)
        return tuple(
            self._edited(edit.patch, author or edit.author, reason or edit.reason) for edit in wanted if not edit.undone
        )

    def _log(self) -> Any:
        self._run = open_run(self.path)
        return read_log(self.path, self._run.journal.data)

    def __repr__(self) -> str:
        return f"<Mirror {self.id} of {self.origin.source} at {self.origin.at}>"
