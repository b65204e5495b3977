"""A folder of runs in one table, each with its verdict: what a report about many runs begins with.

Belongs here: the row of a run among others. Every journal is read for it.
"""

from collections.abc import Sequence

from recovery_kit.display import count_text, time_text
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.run import Run

from .markup import Pen, Safe, el, join
from .tables import Column, fold, left_out, table_html
from .timeline import timeline_svg
from .verdict import headline, status_badge, verdict_html
from .vocabulary import CERTAINTY, badge

MOST_RUNS = 300
MOST_DRAWN = 20
_WEIGHT = {"bad": 0, "attention": 1, "plain": 2, "good": 3, "muted": 4}


def by_weight(runs: Runs) -> list[Run]:
    """Runs somebody has to look at first; then by id."""
    return sorted(runs.values(), key=lambda run: (_WEIGHT[headline(run.verdict)[1]], run.source))


def folder_html(runs: Runs, most: int = MOST_RUNS) -> Safe:
    """A row a run, those that somebody has to look at first (verified)."""
    columns = [
        Column("run", lambda r: Pen(r.masker).line(r.source, 120)),
        Column("status", lambda r: status_badge(r.verdict.status), "w"),
        Column(
            "what to know", lambda r: el("span", headline(r.verdict)[0], class_=f"rk-{headline(r.verdict)[1]}"), "x"
        ),
        Column("unknown effects", _unknown, "w"),
        Column("waits on", lambda r: Pen(r.masker).line((r.verdict.wait.reason or "–").replace("_", " "), 60)),
        Column(
            "stage, turn",
            lambda r: Pen(r.masker).line(f"{r.verdict.stage or '–'}, {count_text(r.verdict.iteration)}", 60),
        ),
        Column("USD", _money, "n"),
        Column("findings", lambda r: count_text(len(r.verdict.damage)), "n"),
        Column("last moved", lambda r: time_text(r.verdict.moved_at), "w"),
    ]
    return table_html(count_text(len(runs), "run"), columns, by_weight(runs), most)


def _unknown(run: Run) -> Safe:
    n = len(run.verdict.unknown)
    return badge(CERTAINTY["unknown"], str(n)) if n else Safe("none")


def _money(run: Run) -> str:
    cost = run.verdict.cost
    if not run.verdict.tokens.calls:
        return "–"
    return f"{cost.total_usd:.4f}" if cost.total_usd is not None else f"{cost.priced_usd:.4f} + unknown"


def each_html(runs: Sequence[Run], most: int = MOST_DRAWN) -> Safe:
    """The verdict and the timeline of each of some runs, folded."""
    folds = [
        fold(
            [
                el("strong", Pen(run.masker).line(run.source, 120)),
                " ",
                status_badge(run.verdict.status),
                " ",
                headline(run.verdict)[0],
            ],
            verdict_html(run.verdict, run.masker),
            timeline_svg(run.story, run.masker, 120, f"-{number}"),
        )
        for number, run in enumerate(runs[:most])
    ]
    return join([folds, left_out(len(runs) - most, "run")])
