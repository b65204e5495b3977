"""`stats`, `watch`, and `ls` and `search` with an index."""

import json
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from click.testing import CliRunner, Result
from places_of_tests import journal

from recovery_kit.cli import main


def kit(*words: object) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, [str(word) for word in words])


def test_ls_with_an_index_says_the_same(runs_folder: Path) -> None:
    """Text and JSON, the first time and the second, with conditions or without."""
    some = ("--where", "waits=interaction_point", "--json")
    for words in ((), ("--json",), ("--where", "unknown>0"), some, ("--sort", "agent")):
        plain, indexed = kit("ls", runs_folder, *words), kit("ls", "--index", runs_folder, *words)
        assert (indexed.stdout, indexed.exit_code) == (plain.stdout, plain.exit_code)


def test_what_is_to_be_said_of_the_index(runs_folder: Path) -> None:
    """A sentence on stderr, and the lines all the same."""
    kit("ls", "--index", runs_folder)
    journal(runs_folder).write_bytes(b"")
    done = kit("ls", "--index", runs_folder)
    assert "shrank or is another one" in done.stderr and len(done.stdout.splitlines()) == 8


def test_search_with_an_index(runs_folder: Path) -> None:
    """Tasks, errors and answers; exit 1 if nothing was found."""
    done = kit("search", "--index", "LEDGER", runs_folder)
    assert done.exit_code == 0 and all("task: " in line for line in done.stdout.splitlines())
    assert json.loads(kit("search", "--index", "--json", "invoices", runs_folder).stdout)[0]["where"] == "task"
    assert kit("search", "--index", "nowhere", runs_folder).exit_code == 1


_TABLES = [(), ("--by", "model"), ("--by", "stage"), ("--by", "outcome"), ("--standing",), ("--failures",)]


@pytest.mark.parametrize("words", _TABLES)
def test_stats(runs_folder: Path, words: tuple[str, ...]) -> None:
    """Every table as text and as JSON with the same number of rows."""
    text, rows = kit("stats", runs_folder, *words), json.loads(kit("stats", runs_folder, *words, "--json").stdout)
    assert text.exit_code == 0, text.stderr
    assert len(text.stdout.splitlines()) == len(rows) + 1


def test_an_index_is_of_a_place(runs_folder: Path) -> None:
    """An id is none; nothing there is trouble."""
    for words in (("ls", "--index", "some-id"), ("stats", runs_folder / "nowhere"), ("watch", runs_folder / "nowhere")):
        done = kit(*words)
        assert done.exit_code == 2 and "nothing there" in done.stderr


def test_watch_until_ctrl_c(runs_folder: Path) -> None:
    """An object a line as it happens, then 130."""
    command = [sys.executable, "-m", "recovery_kit.cli", "watch", str(runs_folder), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdout is not None
        told = None
        for number in range(200):
            (runs_folder / f"new-{number}").mkdir()
            (runs_folder / f"new-{number}" / "meta.json").write_bytes(b"{}")
            if _ready(process.stdout):
                told = json.loads(process.stdout.readline())
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert told is not None and told["event"] == "new"
    assert process.returncode == 130


def _ready(stream: IO[str]) -> bool:
    return bool(select.select([stream], [], [], 0.2)[0])
