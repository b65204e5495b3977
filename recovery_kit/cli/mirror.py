"""`mirror`: branch a run at a moment, as a new, paused run directory."""

from pathlib import Path
from typing import Any

import click

from recovery_kit.display import Masker, shown
from recovery_kit.mirrors.contents import KEEPABLE
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.mirrors.cutting import BATCHES
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.recovery.check import masked
from recovery_kit.runs.runs_named import agent_run_named

from .choosing import json_option, run_argument
from .printing import print_json

_BY_ITS_SERVICE = "its service branches it (recovery-kit loom mirror)"


@click.command("mirror")
@run_argument
@click.option(
    "--at",
    default="end",
    show_default=True,
    metavar="POINT",
    help="end, a number as in run.points (negative from the end), record:N (after the first N records), iteration:N, "
    "or call:ID (just before that call's batch was handed out).",
)
@click.option("--into", required=True, type=click.Path(path_type=Path), help="Folder that will hold the mirror.")
@click.option(
    "--batch",
    type=click.Choice(BATCHES),
    help="What becomes of a batch that was out: kept pending with what was known then, completed with the results that "
    "were recorded later, or dropped, so that its turn is done again. Default: keep after record:N and at end, "
    "else drop.",
)
@click.option("--history", type=click.Choice(("none", "full")), default="none", show_default=True,
              help="Whether the records before the cut come along.")  # fmt: skip
@click.option("--workdir", type=click.Path(path_type=Path), help="Where it works (default: a new folder beside it).")
@click.option("--agents", type=click.Path(path_type=Path), help="Folder of agents, for a run without its own manifest.")
@click.option("--keep", multiple=True, type=click.Choice(sorted(KEEPABLE)),
              help="A tie of the source that comes along all the same. May be given several times.")  # fmt: skip
@json_option
def mirror_command(
    run: str, root: Path | None, at: str, into: Path, batch: Any, history: Any, workdir: Path | None,
    agents: Path | None, keep: tuple[str, ...], as_json: bool,
) -> int:  # fmt: skip
    """Branch a run at a moment: a new run directory, paused, that stands where the run stood there.

    Its path is printed; what follows from the cut, and what the run did after it, is said on stderr.
    """
    source = agent_run_named(run, _BY_ITS_SERVICE, root)
    made = create_mirror(source, at, into, history, batch=batch, workdir=workdir, agents=agents, keep=keep)
    if as_json:
        print_json(masked(_as_json(made), made.masker))
        return 0
    for sentence in made.said:
        _aside(sentence, made.masker)
    for sentence in made.after.sentences() if made.after else ():
        _aside(f"not rolled back: {sentence}", made.masker)
    click.echo(made.path)
    return 0


def _as_json(made: Mirror) -> dict[str, Any]:
    after, origin = made.after, made.origin
    return {
        "run_id": made.id,
        "path": str(made.path),
        "workdir": made.meta.workdir if made.meta else None,
        "source": origin.source,
        "at": origin.at,
        "record": origin.record,
        "bytes": origin.bytes,
        "journal_sha256": origin.journal_sha256,
        "batch": origin.batch,
        "calls": [
            {"id": call.call_id, "name": call.name, "known": call.known, "recorded_later": call.recorded_later}
            for call in made.calls
        ],
        "open_calls": list(made.open_calls),
        "said": list(made.said),
        "source_did_after_cut": {
            "completed": [call.call_id for call in after.completed],
            "sent_out": [call.call_id for call in after.sent_out],
            "files": list(after.files),
            "children": list(after.children),
            "answered": after.answered,
        }
        if after
        else None,
    }


def _aside(sentence: str, masker: Masker) -> None:
    click.echo(f"recovery-kit: {shown(sentence, masker)}", err=True)
