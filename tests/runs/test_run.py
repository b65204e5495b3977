"""A run in the hand: moments, records, evidence, search, a journal that grows."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import SAMPLES, files_of, run_folders, sample

import recovery_kit as rk
from recovery_kit.errors import UnknownMoment
from recovery_kit.formats.framing import scan


def test_a_run_tells_its_state_at_any_point() -> None:
    """Points count from both ends, and the end holds what was pending."""
    run = rk.open_run(sample("02a-killed-mid-batch"))
    assert run.at(0).iteration == 0
    assert run.at(-1).window_sha256 == run.at(len(run.points) - 1).window_sha256
    pending = run.at().pending
    assert pending is not None
    held = {call.id: result is not None for call, result in pending.calls()}
    assert held == {"b1": True, "b2": False, "b3": False, "b4": False, "b5": True}


def test_a_moment_that_is_not_there() -> None:
    """A wrong point or offset is a lookup error with one sentence."""
    run = rk.open_run(sample("01-finished"))
    with pytest.raises(LookupError, match="there is no point 999"):
        run.at(999)
    with pytest.raises(UnknownMoment, match="no readable record begins there"):
        run.record(7)


def test_an_offset_leads_back_to_its_record() -> None:
    """`run.record(offset)` gives the record that a table's row came from."""
    run = rk.open_run(sample("02a-killed-mid-batch"))
    for call in run.effects:
        record = run.record(call.offset)
        assert record.calls[call.position].id == call.call_id


@pytest.mark.parametrize("folder", run_folders(), ids=lambda path: path.parent.name + path.name[-4:])
def test_a_mapping_tells_what_the_folder_tells(folder: Path) -> None:
    """A run handed in as named bytes gives the same verdict, but for what other runs would have to say."""
    there, bytes_ = rk.open_run(folder), rk.open_run({f"{folder.name}/{n}": d for n, d in files_of(folder).items()})
    assert there.verdict.sentences()[:-1] == bytes_.verdict.sentences()[:-1]
    assert [e.sha256 for e in there.evidence] == [e.sha256 for e in bytes_.evidence]


@given(st.data())
def test_refresh_equals_a_full_read(data: st.DataObject) -> None:
    """A journal that grew by any number of bytes reads as if it had been read at once, and old indexes stay."""
    files = files_of(sample("02e-killed-twice-and-finished"))
    whole = files["run.lvr"]
    cut = data.draw(st.integers(0, len(whole)))
    growing = dict(files, **{"run.lvr": whole[:cut]})
    run = rk.open_run(growing)
    before = [point.offset for point in run.points]
    growing["run.lvr"] = whole
    run.refresh()
    fresh = rk.open_run(files)
    assert [p.offset for p in run.points][: len(before)] == before
    assert run.at().window_sha256 == fresh.at().window_sha256
    assert run.verdict.sentences() == fresh.verdict.sentences()
    assert [call.certainty for call in run.effects] == [call.certainty for call in fresh.effects]


def test_a_replaced_journal_is_said() -> None:
    """If the journal shrank or is another one the generation rises."""
    files = files_of(sample("02a-killed-mid-batch"))
    growing = dict(files)
    run = rk.open_run(growing)
    old = run.at()
    growing["run.lvr"] = files["run.lvr"][: scan(files["run.lvr"]).offsets[3]]
    assert run.refresh().replaced
    assert run.generation == 1
    assert old.window_sha256  # older states stay valid


def test_search_finds_text_and_no_secret() -> None:
    """Text is found with its place; a masked secret is not, and is never echoed."""
    run = rk.open_run(sample("02a-killed-mid-batch"))
    hits = list(run.search("POST.SH"))
    assert hits and all("post.sh" in hit.excerpt for hit in hits)
    assert {hit.kind for hit in hits} >= {"ToolBatch"}


@pytest.mark.parametrize("folder", run_folders(), ids=lambda path: path.parent.name + path.name[-4:])
def test_reading_changes_no_byte(folder: Path) -> None:
    """Everything that a run can be asked leaves its files as they were."""
    before = {name: hashlib.sha256(data).digest() for name, data in files_of(folder).items()}
    run = rk.open_run(folder)
    assert run.verdict and run.findings is not None and run.evidence and run.at() and list(run.search("a")) is not None
    assert {name: hashlib.sha256(data).digest() for name, data in files_of(folder).items()} == before


def test_ids_that_repeat_are_paths(tmp_path: Path) -> None:
    """A unique id is a key, and so is its beginning; one that repeats raises and names the paths, which are keys too."""
    for place in ("a", "b"):
        (tmp_path / place / "same-1-0").mkdir(parents=True)
        (tmp_path / place / "same-1-0" / "meta.json").write_bytes(b"{}")
    runs = rk.open_runs(tmp_path)
    with pytest.raises(LookupError, match=r"a/same-1-0, b/same-1-0"):
        runs["same-1-0"]
    assert runs["a/same-1-0"].source == "a/same-1-0"
    assert rk.open_runs(SAMPLES)["hostile-desk"].id.startswith("hostile-desk-")


def test_written_by() -> None:
    """The version is the oldest one that writes all that is there."""
    assert rk.open_run(sample("02a-killed-mid-batch")).written_by == "0.6.4"
    assert rk.open_run(sample("21-older-engine-killed-mid-batch")).written_by in ("0.3.10", "0.4.0")
