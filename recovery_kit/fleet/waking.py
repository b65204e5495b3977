"""Waiting until something may have changed below a folder: by the kernel's word where it gives one, else by the clock.

Linux tells of changes through inotify; anywhere else, and where it has no room left, `wait` only lets time pass. Being
woken says nothing of what changed: whoever waits has to look.
"""

import ctypes
import os
import select
import sys
import time
from collections.abc import Iterable

_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_ANY = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | 0x01000000  # the last: only folders
_READ = 1 << 16


class Waker:
    """Waits for changes in some folders. `close` when done."""

    def __init__(self) -> None:
        self._watched: set[str] = set()
        self._handle = -1
        if sys.platform.startswith("linux"):
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._handle = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    @property
    def told(self) -> bool:
        """Whether the kernel tells of changes, so that looking now and then is enough."""
        return self._handle >= 0

    def look_at(self, folders: Iterable[str]) -> None:
        """Be woken by changes right in these folders, too."""
        for folder in folders:
            if self._handle < 0:
                return
            if folder in self._watched:
                continue
            if self._libc.inotify_add_watch(self._handle, os.fsencode(folder), _ANY) < 0:
                if ctypes.get_errno() in (28, 12):  # no room for more: then by the clock alone
                    self.close()
                continue
            self._watched.add(folder)

    def wait(self, seconds: float) -> bool:
        """Wait until something changes, at most so long; whether something did."""
        if self._handle < 0:
            time.sleep(seconds)
            return False
        ready, _, _ = select.select([self._handle], [], [], seconds)
        if not ready:
            return False
        try:
            while os.read(self._handle, _READ):
                pass
        except BlockingIOError:
            pass
        return True

    def forget(self, folder: str) -> None:
        """A folder that has gone: one of the same name is another one."""
        self._watched.discard(folder)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
