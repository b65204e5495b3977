"""`tail`: the last records of a run, and with `-f` those that come."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from recovery_kit.display import SHAPES_ONLY, count_text, duration_text, preview, time_text
from recovery_kit.history.events import Event
from recovery_kit.history.loom_story import Moment, says
from recovery_kit.history.windows import text_of
from recovery_kit.recovery.check import masked
from recovery_kit.runs.collection import AnyRun
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.runs_named import run_named

from .choosing import json_option, run_argument
from .printing import Page
from .unread import say_unread

SOONEST, LATEST = 0.2, 2.0
"""Seconds between two looks: the longer nothing comes, the longer."""
_LONGEST = 160
"""Characters of what a record says."""


@click.command("tail")
@run_argument
@click.option(
    "-n",
    "--lines",
    "number",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many of the last records.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with records as they come, until Ctrl-C.")
@json_option
def tail_command(run: str, root: Path | None, number: int, follow: bool, as_json: bool) -> int:
    """The last records of a run, and those that come.

    A line a record: byte offset (of a workflow the checkpoint's number), time, kind, and what it says in short. With
    --json an object a line.
    """
    opened = run_named(run, root)
    _print(opened, max(0, len(opened.records) - number), as_json)
    if follow:
        _follow(opened, as_json)
    return 2 if say_unread(opened) else 0


def _follow(run: AnyRun, as_json: bool) -> None:
    """Until somebody ends it. A journal that was replaced is told from its beginning."""
    wait, seen = SOONEST, len(run.records)
    while True:
        time.sleep(wait)
        grown = run.refresh()
        if grown.replaced:
            click.echo("recovery-kit: the journal was replaced; from its beginning", err=True)
            seen = 0
        wait = SOONEST if len(run.records) > seen else min(2 * wait, LATEST)
        _print(run, seen, as_json)
        seen = len(run.records)


def _print(run: AnyRun, first: int, as_json: bool) -> None:
    page = Page(run.masker)
    if isinstance(run, LoomRun):
        _print_boundaries(page, run.points[first:], as_json)
        return
    for event in run.records[first:]:
        what = preview(run.masker(_WHAT.get(event.kind, _nothing)(event)), _LONGEST)
        if as_json:
            row = {
                "offset": event.offset,
                "at": event.at,
                "kind": event.kind,
                "what": what,
                "behind_tear": event.behind_tear,
            }
            click.echo(json.dumps(masked(row, run.masker)))
        else:
            behind = " (behind a tear)" if event.behind_tear else ""
            page.say(f"{event.offset:>8}  {time_text(event.at)}  {event.kind:<18} {what}{behind}".rstrip())


def _print_boundaries(page: Page, moments: Sequence[Moment], as_json: bool) -> None:
    for moment in moments:
        told = f"{moment.status}, {moment.cursor}{'; ' if says(moment) else ''}{says(moment)}"
        row = {"offset": moment.offset, "at": moment.at, "kind": moment.boundary, "what": told, "behind_tear": False}
        if as_json:
            click.echo(json.dumps(masked(row, SHAPES_ONLY)))
        else:
            page.say(f"{moment.offset:>8}  {time_text(moment.at)}  {moment.boundary:<18} {page.excerpt(told)}")


# What a record says, in short. Raw text.


def _nothing(event: Event) -> str:
    return ""


def _moved(event: Event) -> str:
    meta = event.meta
    return f"{meta.status}, stage {meta.current_stage or '(none)'}, iteration {meta.iteration}" if meta else ""


def _header(event: Event) -> str:
    identity = event.record.identity
    return f"created on {identity.machine_id}, world {identity.world_id}; {_moved(event)}"


def _owner(event: Event) -> str:
    return f"taken over on {event.record.machine_id} by world {event.record.world_id}"


def _batch(event: Event) -> str:
    calls = ", ".join(f"{call.id} {call.name}" for call in event.record.calls)
    return f"turn {event.record.iteration} hands out {count_text(len(event.record.calls), 'call')}: {calls}"


def _done(event: Event) -> str:
    record = event.record
    return f"{record.call_id} of turn {record.iteration}, {record.outcome or 'ended'}: {text_of(record.result)}"


def _usage(event: Event) -> str:
    r = event.record
    cost = "" if r.cost_usd is None else f", {r.cost_usd:.6g} USD"
    return f"{r.kind} by {r.provider}/{r.model}: {r.prompt_tokens} + {r.completion_tokens} tokens{cost}"


def _attempt(event: Event) -> str:
    r = event.record
    came = r.outcome if isinstance(r.outcome, str) else f"failed ({r.outcome.failed.kind})"
    return f"trip {r.attempt} to {r.provider}/{r.model} {came} after {duration_text(r.duration_ms / 1000)}"


def _failover(event: Event) -> str:
    r = event.record
    return f"from {r.from_provider}/{r.from_model} to {r.to_provider}/{r.to_model}: {r.reason}"


def _interaction(event: Event) -> str:
    r = event.record
    how = r.settlement if isinstance(r.settlement, str) else "answered"
    return f"{r.kind} {r.request_id} {how}: {r.prompt}"


def _change(event: Event) -> str:
    r = event.record
    return f"{r.cause}: {', '.join(region.region for region in r.regions)}"


def _files(event: Event) -> str:
    return ", ".join(artifact.name for artifact in event.record.artifacts)


def _message(event: Event) -> str:
    return f"{event.record.message.role}: {event.record.message.content}"


_WHAT: dict[str, Callable[[Event], str]] = {
    "Header": _header,
    "OwnershipChanged": _owner,
    "Progress": _moved,
    "Checkpoint": _moved,
    "StatusChanged": lambda event: str(event.record.status),
    "ToolBatch": _batch,
    "ToolCallDone": _done,
    "InferenceUsage": _usage,
    "InferenceAttempt": _attempt,
    "InferenceFailover": _failover,
    "Interaction": _interaction,
    "ContextTransaction": _change,
    "ArtifactsProduced": _files,
    "Message": _message,
}
