"""Where a Service saves boundaries: numbered files that appear once and never change (intloom-recovery 2.2).

One writer a project and one at a time inside the process; both are the Service's to see to.
"""

import os
from pathlib import Path

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.loom_publish import Publisher, is_real_folder, is_regular_file
from recovery_kit.formats.loom_shape import BadShape, BadText, run_key
from recovery_kit.formats.loom_tree import PRIVATE, RUNTIME
from recovery_kit.formats.loom_v3 import OtherFormat, encode_checkpoint
from recovery_kit.records.loom import Checkpoint

from .refusals import Refused

FAILED = "RUN_CHECKPOINT_FAILED"


class CheckpointStore:
    """The runtime folder of one project, as one instance of its Service writes it."""

    def __init__(self, project: Path, disk: Publisher | None = None) -> None:
        self.project = project
        self.root = project / RUNTIME
        self.disk = disk or Publisher()
        self.has_failed = False
        """After one failure nothing is written any more by this instance."""
        self._opted_out: set[str] = set()

    def prepare(self) -> None:
        """Make the runtime root where it is missing (0700)."""
        for folder in (self.project / PRIVATE, self.root):
            self.disk.make_folder(folder)

    def write(self, checkpoint: Checkpoint) -> bool:
        """Save a boundary; it is on the disk when this returns. False where the Run's files were deleted: it is opted
        out, and nothing of it is ever made again.

        Raises Refused (`RUN_CHECKPOINT_FAILED`), for good.
        """
        run_id = checkpoint.run.id
        if self.has_failed:
            raise Refused(FAILED, "an earlier checkpoint could not be saved, so nothing is written any more")
        if run_id in self._opted_out:
            return False
        try:
            data = encode_checkpoint(checkpoint)
        except (BadText, BadShape, OtherFormat) as no:  # what is not sound is not saved, and nothing is lost by it
            raise Refused(FAILED, f"the boundary is not sound: {no}") from None
        folder = self.root / run_key(run_id)
        try:
            if checkpoint.seq == 1:
                self._admit(folder)
            elif self._is_gone(folder, checkpoint.seq - 1):
                self._opted_out.add(run_id)
                return False
            self.disk.publish_file(folder, f"{checkpoint.seq:08d}.json", data)
        except (OSError, RecoveryKitError) as no:
            self.has_failed = True
            raise Refused(FAILED, f"checkpoint {checkpoint.seq} could not be saved ({type(no).__name__})") from no
        return True

    def is_opted_out(self, run_id: str) -> bool:
        """Whether a Run's files were deleted while it lived."""
        return run_id in self._opted_out

    def _admit(self, folder: Path) -> None:
        if not (is_real_folder(self.project / PRIVATE) and is_real_folder(self.root)):
            raise FileNotFoundError(self.root)
        if not self.disk.make_folder(folder):
            raise FileExistsError(folder)

    def _is_gone(self, folder: Path, before: int) -> bool:
        """Whether the directory or its newest file was removed. Raises OSError where something else stands there."""
        newest = folder / f"{before:08d}.json"
        if is_real_folder(folder) and is_regular_file(newest):
            return False
        for path in (folder, newest):
            if os.path.lexists(path) and not (is_real_folder(path) or is_regular_file(path)):
                raise NotADirectoryError(path)
        return True
