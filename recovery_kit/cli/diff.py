"""`diff`: branches of one run side by side: where they part, why, and what each did then."""

import os
from pathlib import Path
from typing import Any

import click

from recovery_kit.mirrors.comparing import Comparison
from recovery_kit.mirrors.comparing_either import compare
from recovery_kit.mirrors.comparing_looms import LoomComparison
from recovery_kit.recovery.check import masked
from recovery_kit.runs.collection import AnyRun
from recovery_kit.runs.runs_named import run_named

from .choosing import json_option, root_option
from .printing import Page, print_json


@click.command("diff")
@click.argument("a", metavar="A[@POINT]")
@click.argument("b", metavar="B[@POINT]")
@root_option
@json_option
def diff_command(a: str, b: str, root: Path | None, as_json: bool) -> int:
    """Where two branches of a run part, and what each did then.

    By meaning: calls by name and arguments, texts by their words, windows entry by entry.

    Exit status: 0; 1 if they differ.
    """
    found = compare(_side(a, root), _side(b, root))
    if as_json:
        print_json(masked(found.as_json(), found.masker))
    else:
        _print(found)
    return 0 if found.same else 1


def _side(text: str, root: Path | None) -> tuple[AnyRun, str]:
    """A run and a moment of it; an @ in a path that is there belongs to the path."""
    name, at, point = text.rpartition("@")
    if not at or os.path.lexists(text):
        name, point = text, "end"
    return run_named(name, root), point


def _print(found: Comparison | LoomComparison) -> None:
    page = Page(found.masker)
    for sentence in found.sentences():
        page.say(sentence)
    if isinstance(found, LoomComparison):
        return
    rows = [_row(row) for pair in found.pairs for row in pair.rows if row.how != "same"]
    if rows:
        page.blank()
        page.table(("how", "in the first", "in the second"), rows)


def _row(row: Any) -> tuple[str, str, str]:
    return row.how.replace("_", " "), _step(row.a), _step(row.b)


def _step(step: Any) -> str:
    if step is None:
        return "-"
    return f"says: {step.text}" if step.kind == "text" else f"{step.name} {step.text} ({step.certainty})"
