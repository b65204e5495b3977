"""Publishing a file under a name that nobody has: whole or not at all, and never over anything that is there.

Beside `durable`, which replaces; here a crash or a second writer cannot destroy what was published. (intloom-recovery
2.2)
"""

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from .durable import Bytes, Durable, _flush, _told

PUBLISH_FAILPOINTS = (
    "publish:begun", "publish:half", "publish:written", "publish:synced", "publish:linked", "publish:unlinked",
    "publish:done",
)  # fmt: skip
"""The moments that a `failpoint` is told of, each before the step that would follow."""


class Publisher(Durable):
    """Durable writes, and files that appear once."""

    def publish_file(self, folder: Path, name: str, data: Bytes, mode: int = 0o600) -> None:
        """Make a new file hold `data`: written beside, flushed, linked under its name, the folder flushed.

        Raises CannotWrite where the name is taken or the folder does not allow it, UnsafeName for a link in the way.
        """
        with _told(folder / name), self._inside(folder, name, make=False) as (place, last):
            temporary = f".{uuid.uuid4()}.tmp"
            self._reached("publish:begun")
            handle = os.open(temporary, _CREATING, mode, dir_fd=place)
            try:
                try:
                    os.fchmod(handle, mode)
                    self._put(handle, data, "publish")
                finally:
                    os.close(handle)
                self._reached("publish:synced")
                os.link(temporary, last, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
                self._reached("publish:linked")
            finally:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=place)
            self._reached("publish:unlinked")
            _flush(place)
            self._reached("publish:done")


_CREATING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def is_real_folder(path: Path) -> bool:
    """Whether a folder stands there, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_regular_file(path: Path) -> bool:
    """Whether a regular file stands there, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
