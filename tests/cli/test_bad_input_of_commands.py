"""Whatever is handed in: one sentence or an answer, the right status, no traceback, and no byte changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import KILLED, Kit, digests

COMMANDS = (["ls"], ["why"], ["show"], ["check"], ["tail"], ["search", "words"])


def _empty(place: Path) -> None:
    place.mkdir()


def _file(place: Path) -> None:
    place.write_text("not a run")


def _other_json(place: Path) -> None:
    place.mkdir()
    (place / "meta.json").write_text('{"name": "of something else"}')


def _cut_meta(place: Path) -> None:
    shutil.copytree(KILLED, place)
    (place / "meta.json").write_bytes((place / "meta.json").read_bytes()[:300])


def _empty_journal(place: Path) -> None:
    place.mkdir()
    (place / "run.lvr").write_bytes(b"")


def _newer(place: Path) -> None:
    place.mkdir()
    (place / "run.lvr").write_bytes(b"LVR1\x00\x63")


def _deep(place: Path) -> None:
    shutil.copytree(KILLED, place.joinpath(*"abcdefghij") / "run-1")


def _link_inside(place: Path) -> None:
    place.mkdir()
    (place / "meta.json").write_text("{}")
    (place / "run.lvr").symlink_to("/etc/passwd")


def _nothing(place: Path) -> None:
    pass


NOT_A_RUN: tuple[Callable[[Path], None], ...] = (_empty, _file, _nothing)
DAMAGED = (_other_json, _cut_meta, _empty_journal, _newer, _link_inside)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("make", NOT_A_RUN, ids=lambda make: make.__name__)
def test_what_is_no_run(kit: Kit, tmp_path: Path, make: Callable[[Path], None], words: list[str]) -> None:
    """One sentence with the path, status 2."""
    make(tmp_path / "it")
    before = digests(tmp_path)
    result = kit(*words, tmp_path / "it")
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith(f"recovery-kit: {tmp_path}") and result.stderr.count("\n") == 1
    assert digests(tmp_path) == before


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("make", DAMAGED, ids=lambda make: make.__name__)
def test_damage_is_an_answer(kit: Kit, tmp_path: Path, make: Callable[[Path], None], words: list[str]) -> None:
    """A run that is broken is told as far as it goes, and nothing on stderr."""
    make(tmp_path / "it")
    before = digests(tmp_path)
    result = kit(*words, tmp_path / "it")
    assert result.exit_code in (0, 1) and result.stderr == ""
    assert digests(tmp_path) == before


@pytest.mark.parametrize("make", [_other_json, _empty_journal, _newer, _link_inside], ids=lambda make: make.__name__)
def test_where_nothing_can_be_read_something_is_unknown(kit: Kit, tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A run without a readable record does not pass as one without unknown effects."""
    make(tmp_path / "it")
    assert kit("why", tmp_path / "it").exit_code == 1
    assert kit("check", tmp_path / "it").exit_code == 1


def test_a_run_far_down(kit: Kit, tmp_path: Path) -> None:
    """A run ten folders down is found by the name of any folder above it."""
    _deep(tmp_path / "it")
    assert kit("why", tmp_path / "it").exit_code == 1
    assert "run-1" in kit("ls", tmp_path / "it").stdout


def test_a_name_with_an_escape_sequence(kit: Kit, tmp_path: Path) -> None:
    """A path that would colour the terminal is shown, not obeyed."""
    result = kit("why", tmp_path / "e\x1b[31mvil\x07")
    assert result.exit_code == 2 and "\x1b" not in result.stderr and "\x07" not in result.stderr


def test_an_id_is_never_a_path(kit: Kit, tmp_path: Path) -> None:
    """What leads out of the root is not looked for."""
    result = kit("why", "..%2f..", "--root", tmp_path)
    assert result.exit_code == 2 and "no id" in result.stderr
