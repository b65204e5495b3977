"""A journal's bytes as records, both ways (leviath-run-directory 3).

`Journal` knows where frames are and decodes a body when somebody asks. `Journal.read` says which frames an engine's
reader takes: *seen* (by the peeked kind) or *verified* (each frame judged). What records mean is `history`'s business.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from recovery_kit.records.engines import NEWEST, Engine, engine
from recovery_kit.records.journal import KINDS, Record

from . import framing as fr
from .judge import judge
from .skim import SKIMS, count_calls
from .writing import json_of

_MEMBERS = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode
_BODY = {name: msgspec.json.Decoder(kind.type).decode for name, kind in KINDS.items()}
_START = {name: len(name) + 4 for name in KINDS}  # {"Name":


@dataclass(frozen=True, slots=True)
class Unread:
    """A whole frame that the engine steps over."""

    index: int
    offset: int
    size: int
    """Bytes of the payload."""
    kind: str | None
    why: str


class Journal:
    """The frames of one `run.lvr`, or of what there is of it. Never raises for damage."""

    def __init__(
        self, data: fr.Buffer | None, *, framing: fr.Framing | None = None, refused: fr.ErrorClass | None = None
    ) -> None:
        self.data: fr.Buffer = b"" if data is None else data
        self.framing = framing or fr.scan(self.data, engine("kit"))
        self.missing = data is None
        self._refused: fr.ErrorClass = refused or "missing"
        self._readings: dict[tuple[str, bool], Reading] = {}

    @property
    def error(self) -> fr.ErrorClass | None:
        """Why the newest reader refuses the file whole."""
        return self._refused if self.missing else self.framing.error

    def payload(self, index: int) -> memoryview:
        """The JSON of a frame, as it stands in the file."""
        at, size = self.framing.offsets[index] + 8, self.framing.lengths[index]
        return memoryview(self.data)[at : at + size]

    def kind(self, index: int) -> str | None:
        """A frame's kind from its first bytes; None where they name none that we know."""
        number = self.framing.kinds[index]
        return fr.KIND_NAMES[number] if number != fr.OTHER else None

    def body(self, index: int, rules: Engine, decode: Callable[[Any], Any] | None = None) -> Any:
        """A frame's record, or another reading of its body. Only for frames that a `Reading` of that engine holds."""
        name = self.kind(index)
        if name is not None and index not in self._odd:
            try:
                return (decode or _BODY[name])(self.payload(index)[_START[name] : -1])
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                self._odd.add(index)
        record = judge(self.payload(index), rules).record
        return record if decode is None else decode(json_of(record))

    @cached_property
    def _odd(self) -> set[int]:
        """Frames in a spelling of their own, which only the exact parser reads."""
        return set()

    def members(self, index: int) -> Set[str]:
        """Names of the members of a frame's record, known or not; none where it is no object."""
        try:
            (body,) = _MEMBERS(self.payload(index)).values()
        except (msgspec.DecodeError, ValueError, RecursionError, UnicodeDecodeError):
            return frozenset()
        return body.keys()

    def read(self, rules: Engine | None = None, *, verified: bool = True) -> "Reading":
        """The frames that an engine's reader takes, in order.

        `verified` judges each frame by the engine's parse rules; without it a frame whose first bytes name a kind
        the engine knows counts as read. Engines before 0.4.0 stop at the first frame they cannot read (3.2).
        """
        rules = rules or engine(NEWEST)
        key = (rules.name, verified)
        if key not in self._readings:
            self._readings[key] = _reading(self, rules, verified)
        return self._readings[key]

    @cached_property
    def salvage(self) -> fr.Salvage:
        """What lies readable behind a tear (verified)."""
        return fr.salvage(self.data, self.framing, (unread.index for unread in self.read().unread))

    @cached_property
    def behind(self) -> "Journal":
        """The whole frames behind a tear, as a journal without a beginning."""
        frames = self.salvage.frames
        offsets, lengths = fr.array("Q", [f.offset for f in frames]), fr.array("Q", [f.length for f in frames])
        kinds = bytearray(f.kind for f in frames)
        framing = fr.Framing(len(self.data), self.framing.version, None, offsets, lengths, kinds, len(self.data), None)
        return Journal(self.data, framing=framing)

    def grown(self, data: fr.Buffer) -> "Journal":
        """The same journal with more bytes behind."""
        known = self.framing
        more = Journal(data, framing=fr.scan(data, engine("kit")) if known.error else fr.extend(known, data))
        more._odd.update(self._odd)
        return more


@dataclass(frozen=True, slots=True)
class Reading:
    """Which frames of a journal an engine reads, and which it steps over."""

    journal: Journal
    rules: Engine
    verified: bool
    error: fr.ErrorClass | None
    frames: Sequence[int]
    """Indexes of the frames it reads."""
    kinds: tuple[str, ...]
    """Their kinds."""
    unread: tuple[Unread, ...]
    n_frames: int
    """Whole frames up to where that reader stops."""
    end: int
    """Where its reading ends."""

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return zip(self.frames, self.kinds, strict=True)

    def offset(self, frame: int) -> int:
        return self.journal.framing.offsets[frame]

    def record(self, frame: int) -> Record:
        """The record of a frame, whole."""
        return self.journal.body(frame, self.rules)

    def count_calls(self, frame: int) -> int:
        """How many calls a `ToolBatch` has, without looking at them."""
        return len(self.journal.body(frame, self.rules, count_calls).calls)

    def skim(self, frame: int, kind: str) -> Any:
        """A frame with a window or metadata, as far as a fold needs it; any other kind whole."""
        decoder = SKIMS.get(kind)
        return self.journal.body(frame, self.rules, decoder.decode if decoder else None)


def _reading(journal: Journal, rules: Engine, verified: bool) -> Reading:
    framing = journal.framing
    _, error = (None, journal.error) if journal.missing else fr.preamble(journal.data, rules)
    error = error or framing.error
    if error:
        return Reading(journal, rules, verified, error, (), (), (), 0, 0)
    if not verified and fr.OTHER not in framing.kinds and rules.knows_all:
        kinds = tuple(map(fr.KIND_NAMES.__getitem__, framing.kinds))
        return Reading(journal, rules, verified, None, range(len(kinds)), kinds, (), len(kinds), framing.end)
    return _judged_reading(journal, rules, verified)


def _judged_reading(journal: Journal, rules: Engine, verified: bool) -> Reading:
    framing, odd = journal.framing, journal._odd
    frames: list[int] = []
    kinds: list[str] = []
    unread: list[Unread] = []
    n_frames, end = len(framing), framing.end
    trust = not verified and rules.knows_all
    for index, number in enumerate(framing.kinds):
        if trust and number != fr.OTHER:
            kinds.append(fr.KIND_NAMES[number])
            frames.append(index)
            continue
        verdict = judge(journal.payload(index), rules)
        if verdict.readable:
            if verdict.odd:
                odd.add(index)
            kinds.append(verdict.kind or "")
            frames.append(index)
            continue
        offset = framing.offsets[index]
        unread.append(Unread(index, offset, framing.lengths[index], verdict.kind, verdict.why or ""))
        if not rules.steps_over_unreadable:
            n_frames, end = index + 1, offset
            break
    return Reading(journal, rules, verified, None, tuple(frames), tuple(kinds), tuple(unread), n_frames, end)
