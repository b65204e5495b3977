"""What the commands say, and how runs are chosen."""

import shutil
from pathlib import Path

import pytest
from command_line import FINISHED, KILLED, SAMPLES, TORN, Kit

from recovery_kit.cli.ls import moment_of


def test_why_tells_verdict_restart_and_what_to_look_at(kit: Kit) -> None:
    """The three parts in their order, and the arguments of what is unknown."""
    text = kit("why", KILLED).stdout
    verdict, restart, look = (
        text.index(part) for part in ("3 effects unknown", "A restart (0.6.4) would", "Look first at")
    )
    assert verdict < restart < look
    assert "sh post.sh JE-302 88.40 after" in text[verdict:restart]
    assert "tell the model to look before it repeats b2, b3, b4." in text[restart:look]


def test_why_of_a_finished_run(kit: Kit) -> None:
    """A restart leaves it alone."""
    assert "not bring it back" in kit("why", FINISHED).stdout


def test_check_names_file_and_offset(kit: Kit) -> None:
    """Each finding has its severity, its kind and its place."""
    text = kit("check", TORN).stdout
    assert "error: records_hidden_behind_a_tear: " in text and "[run.lvr@9213]" in text


def test_ls_lines_are_aligned(kit: Kit, shelf: Path) -> None:
    """A line a run below the headers, each column where its header begins."""
    head, *lines = kit("ls", shelf).stdout.splitlines()
    assert len(lines) == 8
    column = head.index("status")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines)


@pytest.mark.parametrize(
    ("conditions", "n"),
    [
        (["unknown>0"], 4),
        (["unknown>2", "status=running"], 1),
        (["waits=interaction_point"], 1),
        (["agent=audit-desk"], 2),
        (["status!=running", "unknown=0"], 4),
        (["stage=nowhere"], 0),
    ],
)
def test_ls_where(kit: Kit, shelf: Path, conditions: list[str], n: int) -> None:
    """All conditions have to hold."""
    words = [word for each in conditions for word in ("--where", each)]
    assert len(kit("ls", shelf, *words).stdout.splitlines()) - 1 == n


def test_ls_since(kit: Kit, shelf: Path) -> None:
    """Runs that moved at or after a moment; a moment is a date or a time ago."""
    assert len(kit("ls", shelf, "--since", "2026-11-30T14:50:44Z").stdout.splitlines()) == 6
    assert moment_of("2026-11-30") == 1795996800
    assert moment_of("2d") < moment_of("12h") < moment_of("5min")


def test_ls_cost(kit: Kit, tmp_path: Path) -> None:
    """No figure is a dash, and never zero."""
    assert kit("ls", KILLED).stdout.splitlines()[1].endswith("–")


def test_a_run_by_the_beginning_of_its_id(kit: Kit, killed: Path) -> None:
    """Below --root, or below the folder that the environment names."""
    name = killed.name
    for words, env in (
        (["why", name[:15], "--root", killed.parent], {}),
        (["why", name[:15]], {"LEVIATH_RUNS_DIR": str(killed.parent)}),
    ):
        result = kit(*words, env=env)
        assert result.exit_code == 1 and result.stdout.startswith(name)


def test_the_engines_own_folder(kit: Kit, killed: Path) -> None:
    """Without a root it is `.leviath/runs` below the home that is named."""
    home = killed.parent.parent
    shutil.copytree(killed.parent, home / ".leviath" / "runs")
    result = kit("ls", env={"LEVIATH_HOME": str(home), "LEVIATH_RUNS_DIR": ""})
    assert killed.name in result.stdout


def test_a_beginning_of_several_ids(kit: Kit) -> None:
    """Nothing is chosen for anybody."""
    result = kit("why", "ledger-close", "--root", SAMPLES)
    assert result.exit_code == 2 and "runs have an id that begins with" in result.stderr


def test_show_at_a_call(kit: Kit) -> None:
    """Just before a batch its calls are not pending yet."""
    assert "pending" not in kit("show", "--at", "call:b2", KILLED).stdout
    assert "pending: turn 2 handed out 5 calls" in kit("show", KILLED).stdout


def test_show_full(kit: Kit) -> None:
    """Whole texts, line by line."""
    assert "\n    JE-304,430.00" in kit("show", "--full", KILLED).stdout


def test_tail_takes_the_last(kit: Kit) -> None:
    """As many as asked for, the newest last."""
    lines = kit("tail", "-n", "2", KILLED).stdout.splitlines()
    assert len(lines) == 2 and "ToolCallDone" in lines[1] and "b1 of turn 2" in lines[1]
