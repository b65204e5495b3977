"""`why`: what happened to a run and how surely, what a restart would do, what to look at first."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from recovery_kit.formats import rundir
from recovery_kit.history.verdict import Verdict
from recovery_kit.recovery.answers import ANSWERS
from recovery_kit.recovery.check import Checked, check_run, masked, rules_of
from recovery_kit.recovery.restart_words import FirstLook, first_looks, restart_sentences
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.runs_named import run_named

from .choosing import engine_option, json_option, run_argument
from .loom_text import print_why, why_json
from .printing import Page, print_json
from .unread import say_unread

SHOWN_LOOKS = 12


@click.command("why")
@run_argument
@engine_option
@json_option
def why_command(run: str, root: Path | None, engine: str, as_json: bool) -> int:
    """The verdict of a run, then what a restart would do.

    Exit status: 0; 1 if an effect is unknown, or no record can be read that would tell.
    """
    rules, opened = rules_of(engine), run_named(run, root)
    if isinstance(opened, LoomRun):
        return _of_workflow(opened, as_json)
    checked = check_run(opened, rules)
    verdict = checked.run.verdict
    if as_json:
        print_json(masked(_json(checked, verdict), checked.run.masker))
    else:
        _print(checked, verdict)
    if say_unread(checked.run):
        return 2
    return 1 if verdict.unknown or verdict.last_certain is None else 0


def _of_workflow(run: LoomRun, as_json: bool) -> int:
    if as_json:
        print_json(masked(why_json(run), run.masker))
    else:
        print_why(run)
    if say_unread(run):
        return 2
    return 1 if run.verdict.unknown or not run.points else 0


def _print(checked: Checked, verdict: Verdict) -> None:
    page = Page(checked.run.masker)
    page.say(checked.run.id, "muted")
    calls = iter(verdict.unknown)
    for sentence in verdict.sentences():
        if not sentence.startswith("  "):
            page.say(sentence)
            continue
        page.say(sentence.strip(), "attention", indent=2)
        call = next(calls, None)  # one such line an unknown effect, in the same order
        if call is not None and call.arguments:
            page.say(f"with {page.excerpt(call.arguments)}", "muted", indent=6)
    page.blank()
    page.say(f"A restart ({checked.engine.name}) would")
    for sentence in restart_sentences(checked):
        page.say(sentence, indent=2)
    looks = first_looks(checked)
    page.blank()
    page.say("Look first at" if looks else "Nothing needs to be looked at first.")
    for number, look in enumerate(looks[:SHOWN_LOOKS], 1):
        page.say(f"{number}. {look.what}{_place(look)}", indent=2)
    if len(looks) > SHOWN_LOOKS:
        page.say(f"and {len(looks) - SHOWN_LOOKS} more: recovery-kit check {checked.run.id}", indent=2)


def _place(look: FirstLook) -> str:
    if look.file is None:
        return ""
    return f" ({look.file} at byte {look.offset})" if look.offset is not None else f" ({look.file})"


def _json(checked: Checked, verdict: Verdict) -> dict[str, Any]:
    run = checked.run
    row = asdict(verdict)
    del row["masker"]
    row["damage"] = [_finding(finding) for finding in verdict.damage]
    return {
        "run_id": run.id,
        "source": run.source,
        "engine": checked.engine.name,
        "sentences": list(verdict.sentences()),
        "verdict": row,
        "restart": ANSWERS["restart"](run.story, checked.engine, checked.outlook),
        "restart_sentences": list(restart_sentences(checked)),
        "look_first": [asdict(look) for look in first_looks(checked)],
    }


def _finding(finding: Any) -> dict[str, Any]:
    return {**asdict(finding), "severity": finding.severity, "file": finding.file or rundir.JOURNAL}
