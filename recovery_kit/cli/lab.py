"""`lab`: JupyterLab on the tour."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click

import recovery_kit
from recovery_kit.errors import MissingExtra, NotARun

TOUR = Path("notebooks", "00_tour.ipynb")


@click.command("lab", context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab_command(options: tuple[str, ...]) -> int:
    """Open JupyterLab on the tour.

    OPTIONS go to JupyterLab as they are. Exit status: Lab's own.
    """
    if find_spec("jupyterlab") is None:
        raise MissingExtra(None, "JupyterLab is not installed: pip install 'recovery-kit[lab]'")
    words = [sys.executable, "-m", "jupyterlab", str(tour()), *options]
    if os.name == "posix":
        os.execv(sys.executable, words)  # Lab takes this process over: its signals, its status
    return subprocess.call(words)


def tour() -> Path:
    """The tour's notebook, in the current folder or in the source tree. Raises NotARun where it is in neither."""
    for folder in (Path.cwd(), Path(recovery_kit.__file__).parents[1]):
        if (folder / TOUR).is_file():
            return folder / TOUR
    raise NotARun(TOUR, "the tour is part of the source tree, and it is not here")
