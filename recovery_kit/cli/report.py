"""`report`: an executed notebook and one offline HTML file."""

from pathlib import Path
from typing import Any

import click

from recovery_kit.display import shown
from recovery_kit.errors import ReportFailed
from recovery_kit.reports import report
from recovery_kit.runs.runs_named import runs_named

from .choosing import root_option
from .trouble import say_trouble


@click.command("report")
@click.argument("path")
@click.option(
    "-o",
    "--output",
    "to",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The HTML file to write.",
)
@click.option("--template", default=None, metavar="NAME", help="Which report (default: the one for what PATH holds).")
@click.option(
    "-p", "--parameter", "parameters", nargs=2, multiple=True, metavar="NAME VALUE", help="A parameter of the template."
)
@root_option
def report_command(
    path: str, to: Path, template: str | None, parameters: tuple[tuple[str, str], ...], root: Path | None
) -> int:  # fmt: skip
    """An executed notebook and one offline HTML file.

    PATH is a run, any tree that holds some, or the id of a run. Exit status: 0; 1 if the report failed: the notebook is
    kept and named.
    """
    runs = runs_named(path, root)
    about: Any = next(iter(runs.values())) if len(runs) == 1 else runs
    chosen: dict[str, Any] = {} if template is None else {"template": template}
    try:
        report(about, to, parameters=dict(parameters), **chosen)
    except ReportFailed as failed:
        say_trouble(failed)
        return 1
    click.echo(shown(str(to)))
    return 0
