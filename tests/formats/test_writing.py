"""The writer's side: records become the bytes that the engine writes, and unknown things survive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import journals

from recovery_kit.formats.framing import OTHER, scan
from recovery_kit.formats.journal import Journal
from recovery_kit.formats.writing import frame_of, journal_of, json_of, payload_of
from recovery_kit.records.journal import OwnershipChanged, StatusChanged, ToolCallDone
from recovery_kit.records.scalars import U64_MAX
from recovery_kit.records.window import BlobRef, Entry, Part

NEWEST_WRITER = [path for path in journals() if "older" not in path.parent.parent.name]


@pytest.mark.parametrize("path", NEWEST_WRITER, ids=lambda path: path.parent.parent.name + path.parent.name[-4:])
def test_records_are_written_back_byte_for_byte(path) -> None:
    """Every record that the newest engine wrote is written again with the same bytes."""
    journal = Journal(path.read_bytes())
    reading = journal.read()
    for frame, _ in reading:
        assert payload_of(reading.record(frame)) == bytes(journal.payload(frame))


def test_a_journal_is_its_preamble_and_frames() -> None:
    """What is written as a journal reads back as the same records."""
    records = [OwnershipChanged("m", "w", 1), StatusChanged("paused", 2)]
    reading = Journal(journal_of(records)).read()
    assert [reading.record(frame) for frame, _ in reading] == records
    assert scan(journal_of(records)).end == len(journal_of([])) + sum(len(frame_of(r)) for r in records)


def test_the_worked_example() -> None:
    """The frame that the format's description spells out."""
    written = frame_of(OwnershipChanged("m", "w", 1))
    assert (
        written == bytes.fromhex("000000000000003D") + b'{"OwnershipChanged":{"machine_id":"m","world_id":"w","at":1}}'
    )


@given(st.text(), st.integers(0, U64_MAX), st.integers(-(2**63), 2**63 - 1))
def test_any_text_and_number_survives(text: str, number: int, at: int) -> None:
    """Any text without half surrogates and any 64-bit number come back as they were."""
    entry = Entry([Part("image/png", BlobRef("0" * 64, "image/png", number), name=text)], number, key=text)
    assert b'"taint":"Internal"' in json_of(entry)
    record = ToolCallDone(iteration=number, call_id=text, result=text, at=at)
    reading = Journal(journal_of([record])).read()
    assert [reading.record(frame) for frame, _ in reading] == [record]


def test_unknown_frames_are_kept() -> None:
    """A frame nobody knows stays in the file as it is and is located."""
    odd = b'{"BudgetAdjusted":{"by":3}}'
    data = journal_of([StatusChanged("paused", 2)]) + len(odd).to_bytes(8, "big") + odd
    journal = Journal(data)
    assert journal.framing.kinds[-1] == OTHER
    (unread,) = journal.read().unread
    assert (unread.kind, bytes(journal.payload(unread.index))) == ("BudgetAdjusted", odd)
