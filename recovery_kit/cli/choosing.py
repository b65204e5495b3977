"""Arguments and options that several commands share: which run, which engine, JSON or text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from recovery_kit.records.engines import ENGINES, NEWEST

F = TypeVar("F", bound=Callable[..., Any])

root_option = click.option(
    "--root",
    type=click.Path(path_type=Path, readable=False),
    help="Where ids are looked up (default: $LEVIATH_RUNS_DIR, else ${LEVIATH_HOME:-~}/.leviath/runs).",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON (ASCII, masked) instead of text.")

engine_option = click.option(
    "--engine",
    default=NEWEST,
    show_default=True,
    metavar="VERSION",
    help=f"Engine whose reader and restart are asked: {next(iter(ENGINES))} to {NEWEST}, or kit.",
)


def run_argument(command: F) -> F:
    """RUN and --root."""
    return click.argument("run", metavar="RUN")(root_option(command))


workflows_option = click.option(
    "--workflows",
    metavar="MODULE",
    help="Module or .py file that holds the Workflows of IntLoom projects; it is imported. Without it, what files "
    "alone prove is checked.",
)
