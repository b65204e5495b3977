"""`lineage`: the tree of runs and mirrors in a place, sources that are gone included."""

from pathlib import Path

import click

from recovery_kit.display import SHAPES_ONLY
from recovery_kit.mirrors.lineage import lineage
from recovery_kit.recovery.check import masked
from recovery_kit.runs.runs_named import agent_run_named

from .choosing import json_option, root_option
from .printing import Page, print_json

_IN_ITS_TABLE = "runs_df names the Run that a mirror of it branched from, in `parent`"


@click.command("lineage")
@click.argument("path", metavar="PATH")
@root_option
@json_option
def lineage_command(path: str, root: Path | None, as_json: bool) -> int:
    """The tree of runs and mirrors, sources that are gone included.

    PATH is a folder, or a run: then it is the folder that holds it.
    """
    place = Path(path)
    found = lineage(place if place.exists() else agent_run_named(path, _IN_ITS_TABLE, root))
    if as_json:
        print_json(masked(found.rows(), SHAPES_ONLY))
        return 0
    page = Page()
    for depth, kin in (pair for tree in found.roots for pair in tree.walk()):
        page.say(kin.text(), "muted" if kin.gone else "plain", indent=2 * depth)
    return 0
