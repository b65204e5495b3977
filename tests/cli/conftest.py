"""How the tests of the command line run it."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command_line import KILLED, SAMPLES, Kit

from recovery_kit.cli import main


@pytest.fixture
def kit() -> Kit:
    """Run one command; an exception that gets out fails the test."""

    def run(*words: object, env: dict[str, str] | None = None) -> Result:
        result = CliRunner().invoke(main, [str(word) for word in words], env=env)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output and "flaw of the kit" not in result.output, result.output
        return result

    return run


STORIES = ("01-finished", "02a-killed-mid-batch", "05a-parked-at-a-question", "07a-paused", "09a-parents-and-children")


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight runs of five stories."""
    place = tmp_path_factory.mktemp("shelf")
    for story in STORIES:
        shutil.copytree(SAMPLES / story, place / story)
    return place


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A copy of the killed run, alone in a folder of runs."""
    return Path(shutil.copytree(KILLED, tmp_path / "runs" / KILLED.name))
