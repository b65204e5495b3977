"""`watch`: what happens to the runs of a folder, as it happens."""

import json
from pathlib import Path

import click

from recovery_kit.display import time_text
from recovery_kit.fleet.watch import Event, watch
from recovery_kit.runs.runs_named import place_named

from .choosing import json_option, root_option
from .printing import Page


@click.command("watch")
@click.argument("folder", required=False)
@root_option
@json_option
def watch_command(folder: str | None, root: Path | None, as_json: bool) -> int:
    """What happens to the runs of a folder, as it happens, until Ctrl-C.

    FOLDER is a folder of runs or a URL (default: --root). The first look is where things stand and tells nothing. With
    --json an object a line, for other programs.
    """
    page = Page()
    for event in watch(place_named(folder, root), said=lambda s: click.echo(f"recovery-kit: {s}", err=True)):
        if as_json:
            click.echo(json.dumps(event.as_json()))
        else:
            page.say(_words(event), "attention" if event.needs_person or event.n_unknown else "plain")
    return 0


def _words(event: Event) -> str:
    if event.event in ("gone", "unreadable"):
        return f"{event.event}: {event.source}" + (f": {event.why}" if event.why else "")
    waits = f", waits on {event.waits_on.replace('_', ' ')}" if event.waits_on else ""
    unknown = f", {event.n_unknown} unknown" if event.n_unknown else ""
    where = f", stage {event.stage}" if event.stage else ""
    at = f", at {time_text(event.moved_at)}" if event.moved_at is not None else ""
    return f"{event.event}: {event.source}: {event.status or 'unreadable'}{waits}{unknown}{where}{at}"
