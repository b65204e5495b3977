"""Identifiers as the engine mints them: a letter, the time, a counter of the process (0.5-to-0.6 N6)."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.durable import DISK

_HEX = set("0123456789abcdef")


@dataclass(slots=True)
class Ids:
    """Mints ids that sort in the order of minting. Nobody matches by them, so they need only differ."""

    nanoseconds: Callable[[], int] = time.time_ns
    _counter: "count[int]" = field(default_factory=count, repr=False)

    def execution(self) -> str:
        """Of one attempt at one tool call."""
        return self._mint("x")

    def visit(self) -> str:
        """Of one stay in a stage."""
        return self._mint("v")

    def attempt(self) -> str:
        """Of one trip to a provider."""
        return self._mint("a")

    def _mint(self, letter: str) -> str:
        return f"{letter}{self.nanoseconds():016x}-{next(self._counter):08x}"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who writes a run: a machine and one world of it. Nobody compares these; they tell lives apart (3.3)."""

    machine_id: str
    world_id: str

    @staticmethod
    def here(data_root: Path | None = None) -> "Owner":
        """A new world on this machine; the machine's id is that of the engine beside it, where there is one."""
        known = None
        if data_root is not None:
            try:
                known = DISK.read_file(data_root, "machine-id", 64)
            except RecoveryKitError:
                known = None
        text = (known or b"").decode("ascii", "replace").strip()
        machine = text if len(text) == 16 and set(text) <= _HEX else secrets.token_hex(8)
        return Owner(machine, secrets.token_hex(8))
