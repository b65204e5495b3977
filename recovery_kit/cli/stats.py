"""`stats`: many runs in a few lines."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recovery_kit.display import Cell, duration_text, time_text
from recovery_kit.fleet.questions import BY, failures_df, standing_df, stats_df
from recovery_kit.runs.runs_named import place_named

from .choosing import json_option, root_option
from .indexed import looked_up, say_unreadable
from .printing import Page, print_json_rows

if TYPE_CHECKING:
    import pandas as pd

_TABLES = {"failures": failures_df, "standing": standing_df}
Line = list[Cell | str | int | float | None]


@click.command("stats")
@click.argument("path", required=False)
@click.option("--by", type=click.Choice(BY), default="agent", show_default=True, help="What the runs are grouped by.")
@click.option("--failures", "also", flag_value="failures", help="Instead: the runs that failed alike.")
@click.option("--standing", "also", flag_value="standing", help="Instead: the runs that stand still, and since when.")
@root_option
@json_option
def stats_command(path: str | None, by: str, also: str | None, root: Path | None, as_json: bool) -> int:
    """Many runs by agent, model, stage or outcome; what stands still, what failed alike.

    PATH is a folder of runs, an archive or a URL (default: --root). An index in the user's cache folder makes the next
    look cheap. Exit status: 0; 2 if a run cannot be read.
    """
    with looked_up(place_named(path, root)) as runs:
        frame = _TABLES[also](runs) if also else stats_df(runs, by)
        if as_json:
            print_json_rows(_json(frame))
        else:
            _PRINT[also or "stats"](frame)
        return 2 if say_unreadable(runs) else 0


def _rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows as plain values, None for a gap."""
    plain = frame.astype(object).where(frame.notna(), None)
    rows: list[dict[str, Any]] = plain.to_dict("records")
    return rows


def _json(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    return [{key: _seconds(value) for key, value in row.items()} for row in _rows(frame)]


def _seconds(value: Any) -> Any:
    return int(value.timestamp()) if isinstance(value, datetime) else value


def _money(row: dict[str, Any]) -> str:
    if not row["unpriced_calls"]:
        return f"{row['priced_usd']:.4f}"
    return f"{row['priced_usd']:.4f} + {row['unpriced_calls']} unknown"


def _print_stats(frame: "pd.DataFrame") -> None:
    lines: list[Line] = []
    for row in _rows(frame):
        spent = {name.removeprefix("seconds_"): row[name] for name in row if name.startswith("seconds_") and row[name]}
        most = sorted(spent.items(), key=lambda item: -item[1])[:3]
        went = ", ".join(f"{bucket.replace('_', ' ')} {duration_text(seconds)}" for bucket, seconds in most)
        unknown = Cell(row["n_unknown"], "attention" if row["n_unknown"] else "plain")
        lines.append([
            row["group"], row["runs"], row["n_completed"], Cell(row["n_failed"], "bad" if row["n_failed"] else "plain"),
            row["n_needs_person"], unknown, row["calls"], row["prompt_tokens"] + row["completion_tokens"], _money(row),
            went,
        ])  # fmt: skip
    head = ("", "runs", "completed", "failed", "need a person", "unknown", "bills", "tokens", "USD", "time went to")
    Page().table(head, lines)


def _print_failures(frame: "pd.DataFrame") -> None:
    lines: list[Line] = [
        [row["runs"], row["stage"], row["tool"], row["error"], time_text(_seconds(row["last_at"])), row["examples"]]
        for row in _rows(frame)
    ]
    Page().table(("runs", "stage", "last tool", "error", "last", "such as"), lines)


def _print_standing(frame: "pd.DataFrame") -> None:
    who = {True: Cell("a person", "attention"), False: Cell("goes on by itself"), None: Cell("nobody can say")}
    lines: list[Line] = [
        [row["run_id"], row["status_word"], (row["waits_on_word"] or "").replace("_", " "), who[row["needs_person"]],
         time_text(_seconds(row["since"])), row["n_unknown"]]
        for row in _rows(frame)
    ]  # fmt: skip
    Page().table(("id", "status", "waits on", "needs", "since", "unknown"), lines)


_PRINT = {"stats": _print_stats, "failures": _print_failures, "standing": _print_standing}
