"""`loom`: what a start of an IntLoom project would do, its Runs, serving it, and cleaning up after a dead service."""

import signal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import click

from recovery_kit.display import SHAPES_ONLY
from recovery_kit.looms.client import Client, answers
from recovery_kit.looms.http_face import Face
from recovery_kit.looms.loading import load_workflows
from recovery_kit.looms.ownership import recover_project
from recovery_kit.recovery.check import masked
from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.recovery.loom_start import start_service
from recovery_kit.runs.loom_run import LoomRun, open_loom_runs
from recovery_kit.world.providers import Provider, ScriptedProvider

from .choosing import json_option, workflows_option
from .loom_text import print_loom_plan
from .printing import Page, print_json, print_json_rows

project_argument = click.argument("project", type=click.Path(path_type=Path))


@click.group("loom")
def loom_command() -> None:
    """IntLoom projects: plan a start, list, serve, branch, and clean up after a dead service."""


@loom_command.command("plan")
@project_argument
@workflows_option
@json_option
def plan_command(project: Path, workflows: str | None, as_json: bool) -> int:
    """What a start would do with every Run, and what is in the way. Writes nothing.

    Exit status: 0; 1 if the start is blocked.
    """
    plan = plan_project(project, None if workflows is None else load_workflows(workflows))
    if as_json:
        print_json(masked(plan.as_json(), SHAPES_ONLY))
    else:
        print_loom_plan(plan)
    return 1 if plan.is_blocked else 0


@loom_command.command("recover")
@project_argument
@click.option("--dry-run", is_flag=True, help="Name what would be removed, and touch nothing.")
@json_option
def recover_command(project: Path, dry_run: bool, as_json: bool) -> int:
    """Remove what a dead service left: its lock and its announcement, never a checkpoint, never formal data.

    Refused (exit status 2) while an owner lives or cannot be judged.
    """
    told = recover_project(project, dry_run, lambda service: answers(service, project))
    if as_json:
        print_json(masked(told.as_json(), SHAPES_ONLY))
        return 0
    page = Page()
    page.say({True: "Removed", False: "Would remove" if told.paths else "Nothing is left to remove."}[told.recovered])
    for path in told.paths:
        page.say(path, indent=2)
    return 0


@loom_command.command("runs")
@project_argument
@click.option("--operation-id", metavar="UUID", help="Only the Run that this operation created.")
@click.option("--origin-instance", metavar="UUID", help="The instance that the operation was sent to.")
@json_option
def runs_command(project: Path, operation_id: str | None, origin_instance: str | None, as_json: bool) -> int:
    """A line a Run, ended and held ones too, of the files alone."""
    if (operation_id is None) != (origin_instance is None):
        raise click.UsageError("--operation-id and --origin-instance are given together")
    runs = [run for run in open_loom_runs(project).values() if _made_by(run, operation_id, origin_instance)]
    runs.sort(key=lambda run: run.id)
    if as_json:
        print_json_rows(masked(_row(run), run.masker) for run in runs)
        return 0
    Page().table(
        ("run", "workflow", "status", "boundary", "at", "asks", "unknown"),
        [(run.id, run.verdict.agent, run.verdict.status or "unreadable", run.verdict.boundary, run.verdict.stage,
          run.verdict.prompt.request_id if run.verdict.prompt else "", len(run.verdict.unknown)) for run in runs],
    )  # fmt: skip
    return 0


def _made_by(run: LoomRun, operation_id: str | None, instance_id: str | None) -> bool:
    if operation_id is None:
        return True
    origin = getattr(run.meta, "origin", None)
    return origin is not None and (origin.operation_id, origin.instance_id) == (operation_id, instance_id)


def _row(run: LoomRun) -> dict[str, Any]:
    verdict, origin = run.verdict, getattr(run.meta, "origin", None)
    return {
        "runId": run.id,
        "source": run.source,
        "flowName": verdict.agent,
        "status": verdict.status,
        "boundary": verdict.boundary,
        "cursor": verdict.stage,
        "seq": run.points[-1].offset if run.points else None,
        "prompt": verdict.prompt.request_id if verdict.prompt else None,
        "n_unknown_effects": len(verdict.unknown),
        "n_commits": verdict.commits,
        "error": verdict.error,
        "operationId": origin.operation_id if origin else None,
        "originInstance": origin.instance_id if origin else None,
    }


@loom_command.command("serve")
@project_argument
@click.option("--workflows", metavar="MODULE", required=True, help="Module or .py file that holds the Workflows.")
@click.option("--provider", metavar="P", help="Who answers model Steps: scripted:FILE. Without it they fail.")
@click.option("--storage", type=click.Choice(["sqlite", "file"]), default="sqlite", show_default=True)
def serve_command(project: Path, workflows: str, provider: str | None, storage: Literal["sqlite", "file"]) -> int:
    """Bring the Runs back, all or none, and serve them on 127.0.0.1 until Ctrl-C or a client's stop.

    The address and the token are in .intloom/connection.json. Exit status: 0; 2 if the start is refused.
    """
    service = start_service(project, load_workflows(workflows), provider=_provider(provider), storage=storage)
    with service:
        face = Face(service, service.connection)
        if not face.wait_until_serving():
            port = service.connection["port"]
            raise click.ClickException(f"the saved port {port} cannot be served on ({face.failure})")
        signal.signal(signal.SIGTERM, lambda *_: face.stopped.set())
        Page().say(f"serving {project} at {face.url} as instance {service.instance_id}")
        try:
            while not face.stopped.wait(1):
                pass
        finally:
            face.stop()
    return 0


def _provider(text: str | None) -> Provider | None:
    if text is None:
        return None
    kind, _, file = text.partition(":")
    if kind != "scripted" or not file:
        raise click.BadParameter("a provider is scripted:FILE", param_hint="--provider")
    return ScriptedProvider.from_file(Path(file))


@loom_command.command("mirror")
@project_argument
@click.argument("run", metavar="RUN")
@click.option("--checkpoint", type=click.IntRange(1, 99_999_999), required=True, help="Number of the saved boundary.")
def mirror_command(project: Path, run: str, checkpoint: int) -> int:
    """Branch a Run at a saved boundary: a new Run, on hold. Asks the service that is at work; prints the new id."""
    Page().say(str(Client(project).change(f"/runs/{quote(run, safe='')}/mirror", checkpoint=checkpoint)["runId"]))
    return 0


@loom_command.command("resume")
@project_argument
@click.argument("run", metavar="RUN")
def resume_command(project: Path, run: str) -> int:
    """Let a mirror on hold go on, as a restart would from there. Asks the service that is at work."""
    told = Client(project).change(f"/runs/{quote(run, safe='')}/resume")
    Page().say(f"{told['runId']} goes on from checkpoint {told['seq']}")
    return 0
