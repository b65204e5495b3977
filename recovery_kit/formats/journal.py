"""A journal's bytes as records, both ways (leviath-run-directory 3).

`Journal` knows where frames are and decodes a body when somebody asks. `Journal.read` says which frames an engine's
reader takes: *seen* (by the peeked kind) or *verified* (each frame judged). What records mean is `history`'s business.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from recovery_kit.records.engines import NEWEST, Engine, Version, engine
from recovery_kit.records.journal import KINDS, Record

from . import framing as fr
from .bulk import collector_off
from .judge import judge, unvouched
from .skim import SKIMS, count_calls
from .writing import json_of

_MEMBERS = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode
_BODIES = [msgspec.json.Decoder(kind.type).decode for kind in KINDS.values()]
_STARTS = [len(name) + 4 for name in KINDS]  # {"Name":
_BEGINNING = 4096
"""Bytes: the first record, whose ids and times tell one run's journal from another's."""
_TAIL = 32
_AT = re.compile(rb',"at":(-?[0-9]{1,18})\}\}\Z')
_Depth = tuple[Version, bool, bool, bool]
"""What a reading depends on: the engine's version, whether it is verified, whether the reader steps over frames and
refuses newer files."""


class Doubtful(Exception):
    """A frame that was only seen, not judged, does not read: whoever asked has to read verified instead."""


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
        self._view = memoryview(self.data)
        self._readings: dict[_Depth, Reading] = {}

    @property
    def error(self) -> fr.ErrorClass | None:
        """Why the newest reader refuses the file whole."""
        return self._refused if self.missing else self.framing.error

    def payload(self, index: int) -> memoryview:
        """The JSON of a frame, as it stands in the file."""
        at, size = self.framing.offsets[index] + 8, self.framing.lengths[index]
        return self._view[at : at + size]

    def kind(self, index: int) -> str | None:
        """A frame's kind from its first bytes; None where they name none that we know."""
        number = self.framing.kinds[index]
        return fr.KIND_NAMES[number] if number != fr.OTHER else None

    def body(self, index: int, rules: Engine, decode: Callable[[Any], Any] | None = None) -> Any:
        """A frame's record, or another reading of its body. Only for frames that a `Reading` of that engine holds.

        Raises Doubtful for a frame that does not read after all, which a verified reading does not hold.
        """
        number = self.framing.kinds[index]
        if number != fr.OTHER and index not in self._odd:
            at = self.framing.offsets[index] + 8
            try:
                return (decode or _BODIES[number])(
                    self._view[at + _STARTS[number] : at + self.framing.lengths[index] - 1]
                )
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                self._odd.add(index)
        record = judge(self.payload(index), rules).record
        if record is None:
            raise Doubtful(self.framing.offsets[index])
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
        key = (rules.version, verified, rules.steps_over_unreadable, rules.refuses_newer_version)
        found = self._readings.get(key)
        if found is None or (found.journal is not self and not found.stopped):
            with collector_off():
                found = self._readings[key] = _reading(self, rules, verified, found)
        return found if found.rules is rules else replace(found, rules=rules)

    @property
    def is_judged(self) -> bool:
        """Whether somebody has read it verified already, so that nobody need be content with less."""
        return any(verified for _, verified, *_ in self._readings)

    @cached_property
    def salvage(self) -> fr.Salvage:
        """What lies readable behind a tear (verified)."""
        return fr.salvage(self.data, self.framing, (unread.index for unread in self.read().unread))

    @cached_property
    def behind(self) -> "Journal":
        """The whole frames behind a tear, as a journal without a beginning."""
        frames = self.salvage.frames
        offsets, lengths = array("Q", [f.offset for f in frames]), array("Q", [f.length for f in frames])
        kinds = bytearray(f.kind for f in frames)
        framing = fr.Framing(len(self.data), self.framing.version, None, offsets, lengths, kinds, len(self.data), None)
        return Journal(self.data, framing=framing)

    def continues_as(self, data: fr.Buffer) -> bool:
        """Whether a file looks like this one with nothing or more behind it.

        Its beginning and the last whole frame with what follows are compared, not what lies between.
        """
        size, framing = len(self.data), self.framing
        last = framing.offsets[-1] if len(framing) else 0
        if len(data) < size:
            return False
        new, old = memoryview(data), self._view
        head = min(size, _BEGINNING)
        return all(bytes(new[part]) == bytes(old[part]) for part in (slice(head), slice(last, size)))

    def grown(self, data: fr.Buffer) -> "Journal":
        """The same journal with more bytes behind."""
        known = self.framing
        more = Journal(data, framing=fr.scan(data, engine("kit")) if known.error else fr.extend(known, data))
        more._odd.update(self._odd)
        if not known.error:
            more._readings.update(self._readings)
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

    @property
    def stopped(self) -> bool:
        """Whether it ended at a frame that it cannot read: what comes behind changes nothing."""
        return not self.rules.steps_over_unreadable and bool(self.unread)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return zip(self.frames, self.kinds, strict=True)

    def offset(self, frame: int) -> int:
        return self.journal.framing.offsets[frame]

    def record(self, frame: int) -> Record:
        """The record of a frame, whole."""
        record: Record = self.journal.body(frame, self.rules)
        return record

    def at(self, frame: int, kind: str) -> int:
        """Unix seconds of a record; a `Header` counts as of the run's creation."""
        record = self.skim(frame, kind)
        return int(record.identity.created_at if kind == "Header" else record.at)

    def times(self) -> Iterator[int | None]:
        """The time of each record as its last bytes tell it; None where they do not, and `at` has to be asked."""
        data, framing, search = self.journal.data, self.journal.framing, _AT.search
        for frame, kind in self:
            end = framing.offsets[frame] + 8 + framing.lengths[frame]
            found = search(data, end - _TAIL, end)  # behind a ToolBatch's time stand members that end otherwise
            yield int(found[1]) if found is not None and kind != "Header" else None

    def count_calls(self, frame: int) -> int:
        """How many calls a `ToolBatch` has, without looking at them."""
        return len(self.journal.body(frame, self.rules, count_calls).calls)

    def skim(self, frame: int, kind: str) -> Any:
        """A frame with a window or metadata, as far as a fold needs it; any other kind whole."""
        decoder = SKIMS.get(kind)
        return self.journal.body(frame, self.rules, decoder.decode if decoder else None)


def _reading(journal: Journal, rules: Engine, verified: bool, before: Reading | None) -> Reading:
    """The reading of a journal; `before` is that of the same journal when it was shorter."""
    framing = journal.framing
    _, error = (None, journal.error) if journal.missing else fr.preamble(journal.data, rules)
    error = error or framing.error
    if error:
        return Reading(journal, rules, verified, error, (), (), (), 0, 0)
    start = before.n_frames if before is not None else 0
    doubtful = _doubtful(journal, rules, verified, start)
    unread: list[Unread] = list(before.unread) if before is not None else []
    n_frames, end = len(framing), framing.end
    odd: dict[int, str] = {}
    for index in doubtful:
        verdict = judge(journal.payload(index), rules)
        if verdict.readable:
            odd[index] = verdict.kind or ""
            if verdict.odd:
                journal._odd.add(index)
            continue
        offset = framing.offsets[index]
        unread.append(Unread(index, offset, framing.lengths[index], verdict.kind, verdict.why or ""))
        if not rules.steps_over_unreadable:
            n_frames, end = index + 1, offset
            break
    return _of_frames(journal, rules, verified, before, (tuple(unread), odd, n_frames, end))


def _doubtful(journal: Journal, rules: Engine, verified: bool, start: int) -> list[int]:
    """Frames from `start` on of which a quick look does not tell that they are read."""
    if verified or not rules.knows_all:
        return unvouched(journal.data, journal.framing, start, rules)
    kinds = journal.framing.kinds
    return [index for index in range(start, len(kinds)) if kinds[index] == fr.OTHER] if fr.OTHER in kinds else []


def _of_frames(
    journal: Journal, rules: Engine, verified: bool, before: Reading | None,
    found: tuple[tuple[Unread, ...], dict[int, str], int, int],
) -> Reading:  # fmt: skip
    unread, odd, n_frames, end = found
    start = before.n_frames if before is not None else 0
    numbers = journal.framing.kinds[start:n_frames]
    if not unread and not odd:
        frames: Sequence[int] = range(n_frames)
        kinds = tuple(map(fr.KIND_NAMES.__getitem__, numbers))
    else:
        gone = {row.index for row in unread}
        new = [index for index in range(start, n_frames) if index not in gone]
        kinds = tuple(odd.get(index) or fr.KIND_NAMES[numbers[index - start]] for index in new)
        frames = (*before.frames, *new) if before is not None else tuple(new)
    kinds = before.kinds + kinds if before is not None else kinds
    return Reading(journal, rules, verified, None, frames, kinds, unread, n_frames, end)
