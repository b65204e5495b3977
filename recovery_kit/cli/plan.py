"""`plan`: what a restart would do with each run of a folder, in its order, before anybody starts it."""

from pathlib import Path

import click

from recovery_kit.looms.loading import load_workflows
from recovery_kit.recovery.check import Checked
from recovery_kit.recovery.plan import PlannedRun, RecoveryPlan, plan_recovery
from recovery_kit.recovery.restart_words import restart_sentences
from recovery_kit.runs.runs_named import runs_root

from .choosing import engine_option, json_option, workflows_option
from .loom_text import print_loom_plan
from .printing import Page, print_json

agents_option = click.option(
    "--agents",
    type=click.Path(path_type=Path),
    help="Folder of manifests, for runs that have none of their own.",
)


@click.command("plan")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@engine_option
@agents_option
@workflows_option
@json_option
def plan_command(folder: Path | None, engine: str, agents: Path | None, workflows: str | None, as_json: bool) -> int:
    """What a restart would do with each run, in its order, before anybody starts it.

    Exit status: 0; 1 if somebody must look first.
    """
    loaded = None if workflows is None else load_workflows(workflows)
    plan = plan_recovery(folder or runs_root(), engine, agents, loaded)
    if as_json:
        print_json(plan.as_json())
    else:
        print_plan(plan)
    return 1 if plan.needs_a_look else 0


def print_plan(plan: RecoveryPlan) -> None:
    """The plan in words: first what comes back, in order, then what does not."""
    if plan.rows or not plan.projects:
        _print_agents(plan)
    for number, project in enumerate(plan.projects):
        if plan.rows or number:
            Page().blank()
        Page().say(f"{project.project.source or project.project.label} (IntLoom project)")
        print_loom_plan(project)


def _print_agents(plan: RecoveryPlan) -> None:
    page, back = Page(), plan.resumes
    page.say(f"{len(back)} of {len(plan)} runs come back under {plan.engine.name}, in this order.")
    for place, row in enumerate(back, 1):
        page.blank()
        _print_run(f"{place}. ", row)
    rest = [row for row in plan.rows if not row.outlook.resumes]
    if rest:
        page.blank()
        page.say("Not brought back")
        for row in rest:
            Page(row.run.masker).say(f"{row.run_id}: {row.why}", indent=2)


def _print_run(mark: str, row: PlannedRun) -> None:
    page = Page(row.run.masker)
    page.say(f"{mark}{row.run_id}: {row.why}")
    for sentence in restart_sentences(Checked(row.run, row.engine, row.outlook, row.findings)):
        page.say(sentence, indent=3)
    for said in row.billed_again:
        page.say(f"pay again for {said}.", "attention", indent=3)
    for finding in row.findings:
        if finding.severity != "info":
            page.say(f"{finding}", "bad" if finding.severity == "error" else "attention", indent=3)
    for said in row.differs_from_engine:
        page.say(f"elsewhere: {said}.", "muted", indent=3)
    if row.assumes:
        page.say(f"assumes: {'; '.join(row.assumes)}.", "muted", indent=3)
