"""`check`: what is damaged or disagrees, where, and what a restart would do with it."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import click

from recovery_kit.display import Tone
from recovery_kit.errors import RecoveryKitError
from recovery_kit.records.engines import Engine
from recovery_kit.records.findings import Finding
from recovery_kit.recovery.check import Checked, check_run, rules_of, what_is_there
from recovery_kit.recovery.loom_check import check_projects
from recovery_kit.recovery.restart_words import restart_sentences
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.runs_named import runs_named

from .choosing import engine_option, json_option, root_option
from .loom_text import print_project
from .printing import Page, print_json_rows, progress
from .trouble import say_trouble
from .unread import say_unread

_TONES: dict[str, Tone] = {"error": "bad", "warning": "attention", "info": "muted"}


@click.command("check")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@engine_option
@root_option
@json_option
def check_command(paths: tuple[str, ...], engine: str, root: Path | None, as_json: bool) -> int:
    """What is damaged or disagrees, and where.

    PATH is a run, any tree that holds some, an IntLoom project, or the id of a run. Exit status: 0; 1 a finding of
    warning or worse; 2 if a PATH could not be read (the others are checked all the same).
    """
    rules = rules_of(engine)
    opened, unread = _opened(paths, root)
    there = [what_is_there(runs) for runs in opened]
    runs = [run for some, _ in there for run in some]
    projects = check_projects(project for _, some in there for project in some)
    needs_a_look = any(project.needs_a_look for project in projects)
    unread = say_unread(*(run for some in opened for run in some.loom_runs)) or unread

    def checked() -> Iterator[Checked]:
        nonlocal needs_a_look, unread
        for run in progress(runs, "checking", prints=True):
            row = check_run(run, rules)
            needs_a_look = needs_a_look or row.needs_a_look
            unread = say_unread(run) or unread
            yield row

    if as_json:
        print_json_rows(chain((row.as_json() for row in projects), (row.as_json() for row in checked())))
    else:
        for project in projects:
            print_project(project)
        for number, checked_run in enumerate(checked()):
            _print(checked_run, rules, first=not number and not projects)
    return 2 if unread else 1 if needs_a_look else 0


def _opened(paths: Sequence[str], root: Path | None) -> tuple[list[Runs], bool]:
    """What is at each path, and whether a path could not be opened: said at once, the others go on."""
    found: list[Runs] = []
    unread = False
    for path in paths:
        try:
            found.append(runs_named(path, root))
        except (RecoveryKitError, OSError) as trouble:
            say_trouble(trouble)
            unread = True
    return found, unread


def _print(row: Checked, rules: Engine, first: bool) -> None:
    page = Page(row.run.masker)
    if not first:
        page.blank()
    same = row.run.source == row.run.id
    page.say(row.run.id if same else f"{row.run.id} ({row.run.source})")
    for finding in row.findings:
        page.say(_line(finding), _TONES[finding.severity], indent=2)
    if not row.findings:
        page.say("nothing is damaged or contradictory", "good", indent=2)
    for sentence in restart_sentences(row)[:1]:
        page.say(f"a restart ({rules.name}) would {sentence}", indent=2)


def _line(finding: Finding) -> str:
    where = f" [{finding.file}{'' if finding.offset is None else f'@{finding.offset}'}]" if finding.file else ""
    does = f"; the engine {finding.engine_does}" if finding.engine_does else ""
    return f"{finding.severity}: {finding}{does}{where}"
