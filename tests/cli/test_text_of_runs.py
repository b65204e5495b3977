"""Text of a run is data: masked, escaped, never markup or a command to the terminal."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import BREAKING, CASES, HOSTILE, MARKUP, SIGNED, Kit

EXPECTED = json.loads((CASES / "H08-signing-key-in-the-journal" / "expect.json").read_text())
SECRETS = EXPECTED["must_not_contain"]

READING = (
    ["ls"], ["ls", "--json"], ["why"], ["why", "--json"], ["show"], ["show", "--full"], ["show", "--json"],
    ["show", "--request", "--full", "--api", "openai"], ["show", "--request", "--json", "--after-restart"],
    ["check"], ["check", "--json"], ["tail", "-n", "99"], ["tail", "--json", "-n", "99"], ["search", "e"],
    ["search", "e", "--json"],
)  # fmt: skip
ACTING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")

RUNS = [
    *sorted(BREAKING.iterdir()), SIGNED, MARKUP,
    HOSTILE,
]  # fmt: skip


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_no_secret_on_any_surface(kit: Kit, words: list[str]) -> None:
    """The signing key, a piece of it and the token of the callback's address are nowhere, whole texts included."""
    run = SIGNED
    result = kit(*words, run)
    assert result.exit_code in (0, 1)
    assert not [secret for secret in SECRETS if secret in result.output]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_search_for_the_secret(kit: Kit, secret: str) -> None:
    """It finds nothing, and does not say it again."""
    result = kit("search", secret, SIGNED)
    assert result.exit_code == 1 and result.output == ""


def test_that_a_key_is_set_is_shown(kit: Kit) -> None:
    """Whether there is one is no secret."""
    (row,) = json.loads(kit("check", "--json", SIGNED).stdout)
    assert row["has_signing_key"] is True


@pytest.mark.parametrize("words", READING, ids=" ".join)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name[-20:])
def test_nothing_acts_on_the_terminal(kit: Kit, run: Path, words: list[str]) -> None:
    """No escape, NUL, bell, direction mark or line separator of a run comes out raw, and JSON is ASCII."""
    result = kit(*words, run)
    assert result.exit_code in (0, 1), result.output
    assert not ACTING.search(result.output)
    if "--json" in words:
        assert result.stdout.isascii()


def test_colour_is_for_terminals(kit: Kit) -> None:
    """A pipe gets no colour, whatever the environment says."""
    assert "\x1b" not in kit("why", HOSTILE, env={"TERM": "xterm-256color"}).stdout


def test_a_stream_that_cannot_show_a_character() -> None:
    """A latin-1 stdout gets codes instead of an exception."""
    words = [sys.executable, "-m", "recovery_kit.cli", "show", str(RUNS[0])]
    done = subprocess.run(words, capture_output=True, env={"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0 and done.stderr == b"" and b"\\u23ce" in done.stdout
