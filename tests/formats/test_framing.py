"""Framing: where frames end for the engine's reader, and what lies behind a tear."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import CASES, journals

from recovery_kit.formats.framing import CAP, PREAMBLE, extend, frame, salvage, scan
from recovery_kit.formats.journal import Journal
from recovery_kit.records.engines import engine

WHOLE = (CASES / "H01-torn-tail/input/runs/ledger-clerk-1790000001-000000000001/run.lvr").read_bytes()
SMALL = min((path.read_bytes() for path in journals()), key=len)


@given(st.integers(0, len(WHOLE)))
def test_cut_anywhere(cut: int) -> None:
    """However long a piece of a journal is, frames are those that end in it, and prefix and tail add up to its size."""
    whole, piece = scan(WHOLE), scan(WHOLE[:cut])
    if cut < len(PREAMBLE):
        assert piece.error in ("empty_file", "short_preamble")
        return
    ends = [offset + 8 + length for offset, length, _ in whole]
    assert len(piece) == sum(end <= cut for end in ends)
    assert piece.end + piece.torn_bytes == cut


@given(st.integers(0, len(SMALL) - 1), st.integers(0, 255))
def test_flip_any_byte(place: int, byte: int) -> None:
    """Whatever one byte becomes, reading answers and never raises, and its counts add up."""
    data = SMALL[:place] + bytes([byte]) + SMALL[place + 1 :]
    journal = Journal(data)
    for rules in (engine("0.6.4"), engine("0.4.0"), engine("0.3.9")):
        reading = journal.read(rules)
        assert len(reading) + len(reading.unread) == reading.n_frames
    assert journal.salvage is not None


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(0, 20))
def test_foreign_frames_are_stepped_over(payloads: list[bytes], where: int) -> None:
    """Whole frames that are no records are counted and located wherever they stand, and cost nothing else."""
    framing = scan(SMALL)
    starts = [offset for offset, _, _ in framing] + [framing.end]
    place = starts[min(where, len(starts) - 1)]
    data = SMALL[:place] + b"".join(map(frame, payloads)) + SMALL[place:]
    known, odd = Journal(SMALL).read(), Journal(data).read()
    assert odd.n_frames == known.n_frames + len(payloads)
    assert odd.kinds == known.kinds


@given(st.integers(1, 60))
def test_zero_filled_blocks(zeros: int) -> None:
    """A block of zeros behind the last frame is one finding; a following frame is found whatever the block's length."""
    more = frame(b'{"StatusChanged":{"status":"paused","at":1}}')
    journal = Journal(SMALL + bytes(zeros) + more)
    assert [(b.offset, b.size) for b in journal.salvage.zeros] == [(len(SMALL), zeros)]
    seen = [*journal.read().kinds, *(journal.behind.read().kinds if journal.salvage.frames else ())]
    assert seen[-1] == "StatusChanged"
    assert journal.salvage.tear is None or zeros % 8


def test_the_largest_frame() -> None:
    """A length of 256 MiB is a frame that is cut short here, one byte more is an error of its own."""
    assert scan(PREAMBLE + struct.pack(">Q", CAP) + b"{}").torn_at == "payload"
    assert scan(PREAMBLE + struct.pack(">Q", CAP + 1) + b"{}").torn_at == "oversized"
    assert scan(PREAMBLE + b"\0\0\0").torn_at == "length"


def test_versions() -> None:
    """Version 0 and 1 are read, a higher one is refused by number since 0.4.0 and read on before."""
    body = SMALL[len(PREAMBLE) :]
    assert scan(b"LVR1\0\0" + body).error is None
    newer = Journal(b"LVR1\0\2" + body)
    assert newer.read().error == "newer_version"
    assert newer.framing.version == 2
    assert scan(b"LVR2\0\1" + body).error == "bad_magic"


@given(st.integers(6, len(SMALL)))
def test_growing_equals_reading_whole(cut: int) -> None:
    """The framing of a file that has grown is that of the whole file."""
    grown, whole = extend(scan(SMALL[:cut]), SMALL), scan(SMALL)
    assert (list(grown), grown.end, grown.torn_at) == (list(whole), whole.end, whole.torn_at)


@pytest.mark.parametrize("missing", [1, 7, 8, 20, 80])
def test_what_was_appended_behind_a_tear(missing: int) -> None:
    """Frames behind a torn one are found again, each once, and the engine's own reading does not have them."""
    last = list(scan(SMALL))[-1]
    torn = SMALL[: len(SMALL) - min(missing, last.length)]
    more = [
        b'{"OwnershipChanged":{"machine_id":"m","world_id":"w","at":1}}',
        b'{"StatusChanged":{"status":"paused","at":2}}',
    ]
    journal = Journal(torn + b"".join(map(frame, more)))
    assert list(journal.behind.read().kinds) == ["OwnershipChanged", "StatusChanged"]
    assert journal.salvage.tear == (last.offset, len(torn))
    assert "OwnershipChanged" not in journal.read().kinds


def test_a_file_in_order_has_nothing_behind_it() -> None:
    """Without damage there is no tear, no block of zeros and nothing to salvage."""
    for path in journals():
        data = path.read_bytes()
        framing = scan(data)
        if framing.torn_at is None:
            assert salvage(data, framing, ()).tear is None
