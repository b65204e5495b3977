"""`reload`: bring the runs of a folder back in the kit's own world, and let them go on; `answer` a question."""

from pathlib import Path
from typing import Any

import click

from recovery_kit.errors import CannotRestore
from recovery_kit.recovery.check import masked, rules_of
from recovery_kit.recovery.plan import RecoveryPlan, plan_recovery
from recovery_kit.recovery.reload import Reload, reload_persisted_agents, reload_run
from recovery_kit.runs.run import Run
from recovery_kit.runs.runs_named import agent_run_named
from recovery_kit.world.agent_world import AgentWorld

from .casting import provider_named, provider_option, tools_named, tools_option
from .choosing import json_option, root_option
from .plan import agents_option
from .printing import Page, print_json

recording_option = click.option(
    "--source", metavar="RUN", help="The run whose recording answers (default: the run itself)."
)


def _recording(source: str, root: Path | None = None) -> Run:
    return agent_run_named(source, "it is no recording of an agent", root)


@click.command("reload")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("run", required=False)
@click.option(
    "--engine", default="kit", show_default=True, metavar="VERSION", help="Whose rules: only kit carries out."
)
@provider_option
@tools_option
@recording_option
@agents_option
@json_option
def reload_command(
    folder: Path, run: str | None, engine: str, provider_word: str, tools_word: str | None, source: str | None,
    agents: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Bring the runs of a folder back in the kit's own world, and let them go on.

    Prints first where kit differs from the newest engine. The folder is written to: try it on a copy.

    Exit status: 0; 1 if some were not restored.
    """
    if rules_of(engine).name != "kit":
        raise CannotRestore(folder, f"engine {engine} is for looking (recovery-kit plan): only kit carries out")
    plan = plan_recovery(folder, "kit", agents)
    wanted = [plan[run].run] if run else [row.run for row in plan.resumes]
    if not as_json:
        _say_differences(folder, agents, {row.id for row in wanted})
    recording = _recording(source) if source else wanted[0] if len(wanted) == 1 else None
    provider, tools = provider_named(provider_word, recording), tools_named(tools_word, recording)
    with AgentWorld(provider, tools, folder=folder, agents=agents) as world:
        done = Reload((reload_run(world, plan, run),)) if run else reload_persisted_agents(world, plan)
        world.run()
        rows = [_row(world, run_id) for run_id in done.restored]
        rows += [{"run_id": run_id, "failed": no.sentence} for run_id, no in done.failed.items()]
    if as_json:
        print_json([masked(row, plan[row["run_id"]].run.masker) for row in rows])
    else:
        _print(rows, plan)
    return 1 if done.failed else 0


def _say_differences(folder: Path, agents: Path | None, wanted: set[str]) -> None:
    newest = plan_recovery(folder, agents=agents)
    page = Page()
    for row in newest.rows:
        for said in row.differs_from_engine if row.run_id in wanted else ():
            page.say(f"{row.run_id}: {said}; engine {newest.engine.name} does not.", "muted")


def _row(world: AgentWorld, run_id: str) -> dict[str, Any]:
    agent = world[run_id]
    prompts = [prompt for prompt in world.prompts if prompt.run_id == run_id]
    return {
        "run_id": run_id,
        "status": agent.status,
        "stage": agent.stage.name,
        "iteration": agent.iteration,
        "stopped": world.why_stopped(run_id) or None,
        "error": agent.meta.error,
        "prompts": [{"id": p.id, "kind": p.kind, "text": p.text, "options": list(p.options)} for p in prompts],
    }


def _print(rows: list[dict[str, Any]], plan: RecoveryPlan) -> None:
    for row in rows:
        page = Page(plan[row["run_id"]].run.masker)
        if "failed" in row:
            page.say(f"{row['run_id']}: not restored: {row['failed']}", "bad")
            continue
        page.say(f"{row['run_id']}: {row['status']} in stage {row['stage']}, iteration {row['iteration']}")
        for why in (row["stopped"], row["error"]):
            if why:
                page.say(why, "attention", indent=2)
        for prompt in row["prompts"]:
            page.say(f"asks {prompt['id']}: {prompt['text']}", "attention", indent=2)
            for place, option in enumerate(prompt["options"]):
                page.say(f"{place}: {option}", indent=4)


@click.command("answer")
@click.argument("run", metavar="RUN")
@click.argument("prompt", metavar="PROMPT")
@root_option
@click.option("--approve", is_flag=True, help="Yes.")
@click.option("--deny", is_flag=True, help="No.")
@click.option("--text", help="A text.")
@click.option("--choice", help="An option, or its place from 0.")
@click.option("--feedback", help="A word with a yes or no.")
@provider_option
@tools_option
@recording_option
@agents_option
@json_option
def answer_command(
    run: str, prompt: str, root: Path | None, approve: bool, deny: bool, text: str | None, choice: str | None,
    feedback: str | None, provider_word: str, tools_word: str | None, source: str | None, agents: Path | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Answer an open question of a run, and let it go on.

    Exit status: 0.
    """
    held = agent_run_named(run, "its service takes answers, while it serves (recovery-kit loom serve)", root)
    folder = _folder(held)
    recording = _recording(source, root) if source else held
    provider, tools = provider_named(provider_word, recording), tools_named(tools_word, recording)
    plan = plan_recovery(folder, "kit", agents)
    picked = int(choice) if choice is not None and choice.isdecimal() else choice
    with AgentWorld(provider, tools, folder=folder, agents=agents) as world:
        reload_run(world, plan, held.id)
        try:
            world.answer(prompt, approve=approve, deny=deny, text=text, choice=picked, feedback=feedback)
        except ValueError as no:
            raise click.UsageError(str(no)) from None
        world.run()
        rows = [_row(world, held.id)]
    if as_json:
        print_json([masked(row, held.masker) for row in rows])
    else:
        _print(rows, plan)
    return 0


def _folder(held: Run) -> Path:
    if held.folder is None:
        raise CannotRestore(held.source, "a run in an archive has no folder to go on in")
    return held.folder.parent
