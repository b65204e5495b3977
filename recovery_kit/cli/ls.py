"""`ls`: a line a run."""

import re
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from recovery_kit.display import SHAPES_ONLY, Cell, Masker, duration_text, time_text
from recovery_kit.display.shortening import NOTHING
from recovery_kit.fleet.rows import run_rows
from recovery_kit.recovery.check import masked
from recovery_kit.runs.run_rows import (
    NUMBER_FIELDS,
    SORT_KEYS,
    TEXT_FIELDS,
    Condition,
    RunRow,
    chosen,
    condition,
    run_row,
)
from recovery_kit.runs.runs_named import place_named, runs_named

from .choosing import json_option, root_option
from .indexed import index_option, looked_up, say_unreadable
from .printing import Page, on_terminal, print_json_rows, progress
from .unread import say_unread

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = re.compile(r"([0-9]{1,9})(s|m|min|h|d|w)")


def _conditions(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> list[Condition]:
    return [_read(condition, text) for text in texts]


def _since(ctx: click.Context, option: click.Parameter, text: str | None) -> float | None:
    return None if text is None else _read(moment_of, text)


def _read(reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from None


def moment_of(text: str) -> float:
    """`2d` or `12h` ago, or an ISO date or time (UTC where it does not say), as Unix seconds. Raises ValueError."""
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("a moment is 2d, 12h, 30min, or a date such as 2026-11-30 or 2026-11-30T05:00:00Z") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@click.command("ls")
@click.argument("folder", required=False, type=str)
@click.option(
    "--where",
    "where",
    multiple=True,
    callback=_conditions,
    metavar="CONDITION",
    help=f"Only runs that are so: {', '.join(TEXT_FIELDS)} with = or !=, {', '.join(NUMBER_FIELDS)} with =, !=, <, "
    "<=, >, >=; waits=none where it waits on nothing. May be given several times: all have to hold.",
)
@click.option(
    "--since", callback=_since, metavar="WHEN", help="Only runs that moved since: 2d, 12h, 30min ago, or an ISO date."
)
@click.option(
    "--sort",
    type=click.Choice(list(SORT_KEYS)),
    default="moved",
    show_default=True,
    help="Order; times and numbers: largest first.",
)
@index_option
@root_option
@json_option
def ls_command(
    folder: str | None, where: list[Condition], since: float | None, sort: str, indexed: bool, root: Path | None,
    as_json: bool,
) -> int:  # fmt: skip
    """A line a run: status, what it waits on, since when, unknown effects, cost.

    FOLDER is a folder of runs or any tree that holds some (default: --root). A cost is – where a bill has no figure,
    and has a ~ in front where it is not exact.
    """
    if indexed:
        with looked_up(place_named(folder, root)) as runs:
            rows = chosen(run_rows(runs), where, since, sort)
            _show(rows, as_json, lambda row: SHAPES_ONLY)  # the index holds masked text only
            return 2 if say_unreadable(runs) else 0
    opened = runs_named(folder, root)
    rows = chosen((run_row(run) for run in progress(list(opened.values()), "reading")), where, since, sort)
    _show(rows, as_json, lambda row: row.run.masker)
    return 2 if say_unread(*opened.values()) else 0


def _show(rows: list[RunRow], as_json: bool, masker_of: Callable[[RunRow], Masker]) -> None:
    if as_json:
        print_json_rows(masked(_json(row), masker_of(row)) for row in rows)
    else:
        _print(rows, masker_of)


def _print(rows: list[RunRow], masker_of: Callable[[RunRow], Masker]) -> None:
    page = Page()
    now = time.time() if on_terminal() else None  # a pipe gets what the files say, and no clock
    ids = Counter(row.id for row in rows)
    lines: list[list[Cell | str | int | float | None]] = []
    for row in rows:
        name = masker_of(row)(row.id if ids[row.id] == 1 else row.source)  # the page knows no run's own secrets
        lines.append([name, _status(row), _waits(row), _still(row, now), _unknown(row), _cost(row)])
    page.table(("id", "status", "waits on", "has not moved since", "unknown", "cost USD"), lines)


_TONES = {"error": "bad", "running": "good", "waiting_input": "attention"}


def _status(row: RunRow) -> Cell:
    return Cell(row.status or "unreadable", _TONES.get(row.status or "error", "plain"))  # type: ignore[arg-type]


def _waits(row: RunRow) -> str:
    if row.waits is None:
        return "being resumed" if row.status == "paused" else ""
    return row.waits.replace("_", " ")


def _still(row: RunRow, now: float | None) -> str:
    if row.moved is None or now is None or row.terminal or now < row.moved:
        return time_text(row.moved)
    return f"still for {duration_text(now - row.moved)}"


def _unknown(row: RunRow) -> Cell:
    return Cell(row.unknown, "attention" if row.unknown else "plain")


def _cost(row: RunRow) -> str:
    return NOTHING if row.cost is None else f"{'' if row.cost_exact else '~'}{row.cost:.4f}"


def _json(row: RunRow) -> dict[str, Any]:
    members = ("source", "agent", "status", "terminal", "stage", "iteration", "needs_person")
    return {
        "run_id": row.id,
        **{name: getattr(row, name) for name in members},
        "waits_on": row.waits,
        "last_moved": row.moved,
        "n_unknown_effects": row.unknown,
        "cost_usd": row.cost,
        "cost_is_exact": row.cost_exact,
    }
