"""What the commands over many runs share: the index, brought up to date, and what it could not read."""

import os
from pathlib import Path

import click

from recovery_kit.errors import NotARun
from recovery_kit.fleet.catalogue import Catalogue, catalogue
from recovery_kit.formats.loom_tree import FolderTree, is_project

from .printing import bar
from .trouble import say_trouble

index_option = click.option(
    "--index",
    "indexed",
    is_flag=True,
    help="Keep an index in the user's cache folder, so that the next look reads only what has changed.",
)


def looked_up(place: str) -> Catalogue:
    """The catalogue of a place, up to date; what is to be said of its index goes to stderr."""
    if os.path.isdir(place) and is_project(FolderTree(Path(place))):
        click.echo("recovery-kit: an index holds runs of agents alone; open_runs and ls take workflows", err=True)
    made = catalogue(place, refresh=False)
    try:
        with bar("reading") as drawn:
            found = made.refresh(progress=drawn)
    except BaseException:
        made.close()
        raise
    for sentence in found.said:
        click.echo(f"recovery-kit: {sentence}", err=True)
    return made


def say_unreadable(runs: Catalogue) -> bool:
    """Name each run and folder that could not be read; whether there is one."""
    troubles = runs.troubles()
    for source, _, sentence in troubles:
        say_trouble(NotARun(source, sentence))
    return bool(troubles)
