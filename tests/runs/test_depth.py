"""Seen and verified: the same answers where every frame reads, and the verified ones where one does not."""

from pathlib import Path

import pytest
from samples import files_of, run_folders, sample

import recovery_kit as rk
from recovery_kit import frames
from recovery_kit.formats.framing import scan
from recovery_kit.formats.journal import Journal
from recovery_kit.records.engines import engine


@pytest.mark.parametrize("folder", run_folders(), ids=lambda path: path.parent.name + path.name[-4:])
def test_seen_is_verified_where_all_reads(folder: Path) -> None:
    """Points, calls and the end are the same at both depths of a journal without damage."""
    verified, seen = rk.open_run(folder), rk.open_run(folder, verified=False)
    if verified.journal.read().unread or verified.journal.salvage.frames:
        return
    assert [(e.offset, e.kind, e.at) for e in seen.records] == [(e.offset, e.kind, e.at) for e in verified.records]
    assert [p.offset for p in seen.points] == [p.offset for p in verified.points]
    assert seen.effects == verified.effects
    assert seen.at().window_sha256 == verified.at().window_sha256
    assert not seen.journal.is_judged


def test_a_frame_that_does_not_read_is_no_error() -> None:
    """Where a frame that was taken for what its first bytes name does not read, the verified answer stands."""
    files = files_of(sample("02a-killed-mid-batch"))
    whole = files["run.lvr"]
    frame = next(frame for frame in reversed(list(scan(whole))) if frame.kind == 4)  # a ToolBatch
    begin, end = frame.offset + 8, frame.offset + 8 + frame.length
    broken = whole[begin:end].replace(b'"calls":[', b'"calls":{', 1)
    files["run.lvr"] = whole[:begin] + broken + whole[end:]
    verified, seen = rk.open_run(files), rk.open_run(files, verified=False)
    assert seen.effects == verified.effects
    assert frames.calls_df(rk.open_run(files, verified=False)).equals(frames.calls_df(verified))
    assert seen.verified and seen.at().window_sha256 == verified.at().window_sha256


def test_the_verdict_is_verified_in_any_case() -> None:
    """A run that was opened to be seen has the verdict of one that was not."""
    folder = sample("02a-killed-mid-batch")
    seen = rk.open_run(folder, verified=False)
    assert seen.verdict.sentences() == rk.open_run(folder).verdict.sentences()
    assert seen.told is seen.story


def test_a_longer_journal_is_judged_from_where_it_ended() -> None:
    """Reading on from any frame gives what reading at once gives, for a reader that stops at damage too."""
    data = files_of(sample("02e-killed-twice-and-finished"))["run.lvr"]
    framing = scan(data)
    for name in ("0.6.4", "0.3.10"):
        rules = engine(name)
        at_once = Journal(data).read(rules)
        for cut in framing.offsets[::7]:
            part = Journal(data[:cut])
            part.read(rules)
            found = part.grown(data).read(rules)
            assert (tuple(found.frames), found.kinds, found.unread) == (
                tuple(at_once.frames), at_once.kinds, at_once.unread,
            )  # fmt: skip
            assert (found.n_frames, found.end) == (at_once.n_frames, at_once.end)
