"""A run directory: which files it has, and what each holds (leviath-run-directory 2; 0.5-to-0.6 N2).

Bytes come from a `Source`, which may be a folder, a mapping in a test or a remote place; nobody here knows which. What
the files mean together is `history`'s business.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from recovery_kit.records.engines import NEWEST, Engine, engine
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.sidecars import FanOut, OpenPoint, ProviderFiles, StageRecord
from recovery_kit.records.window import Window

from .judge import judge_value

T = TypeVar("T")

JOURNAL = "run.lvr"
META = "meta.json"
CONTEXT = "context.json"
STAGES = "stages.json"
INTERACTIONS = "interactions.json"
FAN_OUT = "fanout.json"
FINAL_OUTPUT = "final_output"
BLUEPRINT = "blueprint.leviath"
PROVIDER_FILES = "provider-files.json"
BLOBS = "blobs"


@dataclass(frozen=True, slots=True)
class FileFact:
    """What can be told of a file without reading it."""

    name: str
    """Relative to the run, with `/`."""
    size: int
    """Bytes."""
    modified: float | None = None
    """Unix seconds, where the source knows it."""
    is_link: bool = False
    """A symbolic link: never followed."""


class Source(Protocol):
    """Named bytes."""

    @property
    def label(self) -> str:
        """How to call the place in a sentence."""

    def facts(self) -> Mapping[str, FileFact]:
        """All files by name."""

    def read(self, name: str) -> bytes | memoryview | None:
        """The bytes of a file; None where there is none, or only a link. Raises OSError where reading fails."""


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What became of reading a file."""

    name: str
    value: T | None
    present: bool
    why: str | None = None
    """A short word for why it does not parse (or cannot be read), else None."""

    @property
    def unreadable(self) -> bool:
        return self.present and self.why is not None


READERS: dict[str, Any] = {
    META: RunMeta,
    CONTEXT: Window,
    STAGES: tuple[StageRecord, ...],
    INTERACTIONS: OpenPoint,
    FAN_OUT: FanOut,
    PROVIDER_FILES: ProviderFiles,
}
"""The JSON files that a reader parses, and as what."""


class RunFiles:
    """The files of one run, each read at most once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._bytes: dict[str, bytes | memoryview | None] = {}
        self._trouble: dict[str, str] = {}
        self._parsed: dict[tuple[str, str], Parsed[Any]] = {}

    @cached_property
    def facts(self) -> Mapping[str, FileFact]:
        """Every file of the run by its relative name."""
        return self.source.facts()

    def raw(self, name: str) -> bytes | memoryview | None:
        """A file's bytes; None where there is none, it is a link, or it cannot be read (see `trouble`)."""
        if name not in self._bytes:
            try:
                self._bytes[name] = self.source.read(name)
            except OSError as no:
                self._bytes[name] = None
                self._trouble[name] = type(no).__name__
        return self._bytes[name]

    def keep(self, name: str, data: bytes | memoryview | None) -> None:
        """Take a file's bytes as read: somebody knows that they are still the same."""
        self._bytes[name] = data

    def trouble(self, name: str) -> str | None:
        """Why a file that is there could not be read, in one word."""
        fact = self.facts.get(name)
        if fact is not None and fact.is_link:
            return "link_refused"
        self.raw(name)
        return self._trouble.get(name)

    def parsed(self, name: str, rules: Engine | None = None) -> Parsed[Any]:
        """A JSON file as an engine reads it (verified)."""
        rules = rules or engine(NEWEST)
        key = (name, rules.name)
        if key not in self._parsed:
            self._parsed[key] = self._parse(name, READERS[name], rules)
        return self._parsed[key]

    def _parse(self, name: str, kind: Any, rules: Engine) -> Parsed[Any]:
        data = self.raw(name)
        if data is None:
            return Parsed(name, None, name in self.facts, self.trouble(name))
        judged = judge_value(data, kind, rules)
        return Parsed(name, judged.record, True, judged.why)

    @property
    def meta(self) -> RunMeta | None:
        value: RunMeta | None = self.parsed(META).value
        return value

    @property
    def context(self) -> Window | None:
        value: Window | None = self.parsed(CONTEXT).value
        return value

    @property
    def stages(self) -> tuple[StageRecord, ...]:
        """The ledger; empty where it does not parse as a whole, as every reader sees it (2.3)."""
        return self.parsed(STAGES).value or ()

    @property
    def open_point(self) -> OpenPoint | None:
        value: OpenPoint | None = self.parsed(INTERACTIONS).value
        return value

    @property
    def fan_out(self) -> FanOut | None:
        value: FanOut | None = self.parsed(FAN_OUT).value
        return value

    @cached_property
    def blueprint_text(self) -> bytes | None:
        """The run's own copy of its manifest."""
        data = self.raw(BLUEPRINT)
        return None if data is None else bytes(data)

    def blob(self, sha256: str) -> bytes | memoryview | None:
        """The bytes stored under a hash; None where there are none. A name that is no hash is never looked up."""
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            return None
        return self.raw(f"{BLOBS}/{sha256}")

    def blob_sha256(self, sha256: str) -> str | None:
        """The hash of the bytes that lie under a hash."""
        if sha256 not in self._hashes:
            data = self.blob(sha256)
            self._hashes[sha256] = None if data is None else hashlib.sha256(data).hexdigest()
        return self._hashes[sha256]

    @cached_property
    def _hashes(self) -> dict[str, str | None]:
        return {}

    def log_lines(self) -> dict[str, int]:
        """Lines of each stage log; a line ends at LF alone (2.7)."""
        names = sorted(name for name in self.facts if name.startswith("stages/") and name.endswith(".log"))
        return {name: _lines(data) for name in names if (data := self.raw(name)) is not None}


def _lines(data: bytes | memoryview) -> int:
    text = bytes(data)
    return text.count(b"\n") + (0 if text.endswith(b"\n") or not text else 1)
