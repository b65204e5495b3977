"""Exit statuses: what they promise, command by command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import BREAKING, FINISHED, KILLED, SAMPLES, TORN, Kit

from recovery_kit.cli import main
from recovery_kit.cli.registry import COMMANDS


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["ls", SAMPLES], 0),
        (["why", FINISHED], 0),
        (["why", KILLED], 1),
        (["show", KILLED], 0),
        (["check", FINISHED], 0),
        (["check", TORN], 1),
        (["check", FINISHED, TORN], 1),
        (["tail", KILLED], 0),
        (["search", "ledger", KILLED], 0),
        (["search", "no such words anywhere", KILLED], 1),
        (["ls", "--sort", "colour", SAMPLES], 2),
        (["ls", "--where", "colour=red", SAMPLES], 2),
        (["ls", "--since", "yesterday", SAMPLES], 2),
        (["why"], 2),
        (["frobnicate"], 2),
        (["why", "--engine", "9.9.9", KILLED], 2),
        (["show", "--at", "noon", KILLED], 2),
        (["show", "--at", "record:9999", KILLED], 2),
        (["show", "--api", "anthropic", KILLED], 2),
        (["search", "", KILLED], 2),
        (["check", "nothing-there"], 2),
    ],
    ids=lambda value: " ".join(map(str, value))[-40:] if isinstance(value, list) else str(value),
)
def test_status(kit: Kit, words: list[object], status: int, tmp_path: Path) -> None:
    """Each command's status is the one its help promises; trouble says one sentence and prints nothing else."""
    result = kit(*words, env={"LEVIATH_RUNS_DIR": str(tmp_path)})
    assert result.exit_code == status, result.output
    if status == 2:
        assert result.stdout == ""
        assert result.stderr.startswith("recovery-kit: ") and result.stderr.count("\n") == 1


def test_one_bad_path_does_not_hide_the_others(kit: Kit, tmp_path: Path) -> None:
    """`check` goes on behind a path that cannot be read, and its status says trouble."""
    result = kit("check", tmp_path / "nothing", TORN)
    assert result.exit_code == 2
    assert "torn_tail" in result.stdout and "nothing" in result.stderr


def test_a_reader_that_leaves_is_no_trouble() -> None:
    """`recovery-kit search … | head -1` is quiet on stderr."""
    words = f'"{sys.executable}" -m recovery_kit.cli search e "{SAMPLES}" | head -1'
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_is_130(killed: Path) -> None:
    """Following ends with Ctrl-C, quietly."""
    words = [sys.executable, "-m", "recovery_kit.cli", "tail", "-f", "-n", "1", str(killed)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "ToolCallDone" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert process.stderr.read().strip() == ""


def test_every_command_of_the_table_is_there() -> None:
    """Each row leads to a command whose help begins with the row's line."""
    for name, row in COMMANDS.items():
        help_text = " ".join(CliRunner().invoke(main, [name, "--help"]).output.split())
        assert row.line.rstrip(".") in help_text, name


def test_unreadable_frames_stop_nothing(kit: Kit) -> None:
    """Runs whose frames hold half surrogates and control characters are listed like any other."""
    result = kit("ls", BREAKING)
    assert result.exit_code == 0 and result.stdout.count("\n") == 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to become somebody else")
def test_a_file_that_nobody_lets_us_read(killed: Path) -> None:
    """A journal without permission is trouble with its name, never "nothing is unknown" with status 0."""
    (killed / "run.lvr").chmod(0)
    for folder in (killed, *killed.parents):
        if folder.stat().st_uid == 0 and folder != Path("/") and "pytest" in str(folder):
            folder.chmod(0o755)
    code = (
        "import os, sys\nfrom recovery_kit.cli import main\n"
        "for c in ('why', 'check', 'ls', 'show', 'tail'): main([c, sys.argv[1]], standalone_mode=False)\n"
        "main(['search', 'x', sys.argv[1]], standalone_mode=False)\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "words = [['why'], ['check'], ['ls'], ['show'], ['tail'], ['search', 'x']]\n"
        "print('STATUS', [main([*w, sys.argv[2]], standalone_mode=False) for w in words])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(KILLED), str(killed)], capture_output=True, text=True)
    assert "STATUS [2, 2, 2, 2, 2, 2]" in done.stdout
    assert f"{killed}/run.lvr: it cannot be read (PermissionError)" in done.stderr
