"""`show`: the state of a run at a point, or what the model is sent from there."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import msgspec

from recovery_kit.formats.writing import plain
from recovery_kit.recovery.answers import pending_answer
from recovery_kit.recovery.check import masked
from recovery_kit.recovery.prompt_view import prompt_view
from recovery_kit.runs.collection import AnyRun, agent_run
from recovery_kit.runs.loom_run import LoomRun, LoomState
from recovery_kit.runs.manifests import agents_in, manifest_of
from recovery_kit.runs.moment import State
from recovery_kit.runs.points_named import any_moment, point_name
from recovery_kit.runs.runs_named import run_named
from recovery_kit.world.acceptance import RULES

from .choosing import json_option, run_argument
from .loom_text import print_loom_state, state_json
from .printing import Page, print_json
from .request_text import print_request
from .state_text import print_state
from .unread import say_unread


@click.command("show")
@run_argument
@click.option(
    "--at",
    default="end",
    show_default=True,
    metavar="POINT",
    help="end, a number as in run.points (negative from the end), record:N (after the first N records), iteration:N, "
    "or call:ID (just before that call's batch was handed out).",
)
@click.option("--full", is_flag=True, help="All of every text instead of its beginning.")
@click.option("--request", is_flag=True, help="What the model is sent from there.")
@click.option("--api", type=click.Choice(sorted(RULES)), help="With --request: what this vendor would refuse in it.")
@click.option(
    "--agents",
    type=click.Path(path_type=Path, readable=False),
    help="With --request: folder of agents, for a run without its own manifest.",
)
@click.option("--after-restart", is_flag=True, help="With --request: after a restart there, stand-ins and all.")
@json_option
def show_command(
    run: str, root: Path | None, at: str, full: bool, request: bool, api: str | None, agents: Path | None,
    after_restart: bool, as_json: bool,
) -> int:  # fmt: skip
    """The state of a run at a point, or what the model is sent from there."""
    if not request and (api or agents or after_restart):
        raise click.UsageError("--api, --agents and --after-restart go with --request")
    opened = run_named(run, root)
    state = any_moment(opened, at)
    page = Page(opened.masker)
    if isinstance(opened, LoomRun) or isinstance(state, LoomState):
        agent_run(opened, _NO_REQUEST) if request else _show_workflow(page, opened, state, at, full, as_json)
    elif request:
        blueprint = manifest_of(opened, agents_in(agents)).blueprint
        view = prompt_view(state, api, blueprint, after_restart)
        if as_json:
            print_json(masked(_place(opened, state) | view.as_json(), opened.masker))
        else:
            print_request(page, view, full)
    elif as_json:
        print_json(masked(_place(opened, state) | _state_json(state), opened.masker))
    else:
        print_state(page, state, str(point_name(at)), full)
    return 2 if say_unread(opened) else 0


_NO_REQUEST = "no file tells what its model Steps send"


def _show_workflow(page: Page, run: AnyRun, state: Any, at: str, full: bool, as_json: bool) -> None:
    if as_json:
        print_json(masked(_place(run, state) | state_json(state), run.masker))
    else:
        print_loom_state(page, state, str(point_name(at)), full)


# As JSON.


def _place(run: AnyRun, state: State | LoomState) -> dict[str, Any]:
    return {"run_id": run.id, "source": run.source, "point": state.point, "offset": state.offset, "at": state.at}


def _state_json(state: State) -> dict[str, Any]:
    pending = pending_answer(state.pending)
    if pending is not None and state.pending is not None:
        pending["offset"] = state.pending.offset
        for row, call in zip(pending["calls"], state.pending.batch.calls, strict=True):
            row["arguments"] = call.arguments
    return {
        "state_source": state.source,
        "status": state.status,
        "stage": state.stage,
        "stage_index": state.stage_index,
        "iteration": state.iteration,
        "totals": asdict(state.totals) if state.totals else None,
        "revision": state.revision,
        "window_sha256": state.window_sha256,
        "window": _readable(plain(state.window)),
        "pending": _readable(pending),
    }


def _readable(value: Any) -> Any:
    """The same value with JSON that was kept as bytes read; what does not read is text."""
    if isinstance(value, dict):
        return {key: _readable(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_readable(member) for member in value]
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return bytes(value).decode("utf-8", "replace")
