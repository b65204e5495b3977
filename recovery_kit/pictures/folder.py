"""A folder of runs in one table, each with its verdict: what a report about many runs begins with.

Belongs here: the row of a run among others. Every journal is read for it.
"""

from collections.abc import Sequence

from recovery_kit.display import count_text, time_text
from recovery_kit.runs.collection import AnyRun, Runs
from recovery_kit.runs.loom_run import LoomRun

from .looms import boundaries_html, loom_verdict_html
from .markup import Pen, Safe, el, join
from .tables import Column, fold, left_out, table_html
from .timeline import timeline_svg
from .verdict import headline, status_badge, verdict_html
from .vocabulary import CERTAINTY, badge

MOST_RUNS = 300
MOST_DRAWN = 20
_WEIGHT = {"bad": 0, "attention": 1, "plain": 2, "good": 3, "muted": 4}


def by_weight(runs: Runs) -> list[AnyRun]:
    """Runs somebody has to look at first; then by id."""
    return sorted(runs.values(), key=lambda run: (_WEIGHT[headline(run.verdict)[1]], run.source))


def folder_html(runs: Runs, most: int = MOST_RUNS) -> Safe:
    """A row a run, those that somebody has to look at first (verified)."""
    columns = [
        Column("run", lambda r: Pen(r.masker).line(_name(r), 120)),
        Column("status", lambda r: status_badge(r.verdict.status), "w"),
        Column(
            "what to know", lambda r: el("span", headline(r.verdict)[0], class_=f"rk-{headline(r.verdict)[1]}"), "x"
        ),
        Column("unknown effects", _unknown, "w"),
        Column("waits on", lambda r: Pen(r.masker).line(_waits(r), 60)),
        Column(
            "stage, turn",
            lambda r: Pen(r.masker).line(_place(r), 60),
        ),
        Column("USD", _money, "n"),
        Column("findings", lambda r: count_text(len(r.verdict.damage)), "n"),
        Column("last moved", lambda r: time_text(r.verdict.moved_at), "w"),
    ]
    return table_html(count_text(len(runs), "run"), columns, by_weight(runs), most)


def _name(run: AnyRun) -> str:
    """Where it lies; a workflow's Run by its id, for its directory's name is a digest."""
    return run.project.below(run.id) if isinstance(run, LoomRun) else run.source


def _waits(run: AnyRun) -> str:
    asked = run.verdict.prompt and run.verdict.prompt.kind if isinstance(run, LoomRun) else run.verdict.wait.reason
    return (asked or "–").replace("_", " ")


def _place(run: AnyRun) -> str:
    stage = run.verdict.stage or "–"
    return stage if isinstance(run, LoomRun) else f"{stage}, {count_text(run.verdict.iteration)}"


def _unknown(run: AnyRun) -> Safe:
    n = len(run.verdict.unknown)
    return badge(CERTAINTY["unknown"], str(n)) if n else Safe("none")


def _money(run: AnyRun) -> str:
    if isinstance(run, LoomRun):
        return "–"
    cost = run.verdict.cost
    if not run.verdict.tokens.calls:
        return "–"
    return f"{cost.total_usd:.4f}" if cost.total_usd is not None else f"{cost.priced_usd:.4f} + unknown"


def each_html(runs: Sequence[AnyRun], most: int = MOST_DRAWN) -> Safe:
    """The verdict and the timeline of each of some runs, folded."""
    folds = [
        fold(
            [
                el("strong", Pen(run.masker).line(_name(run), 120)),
                " ",
                status_badge(run.verdict.status),
                " ",
                headline(run.verdict)[0],
            ],
            *_drawn(run, number),
        )
        for number, run in enumerate(runs[:most])
    ]
    return join([folds, left_out(len(runs) - most, "run")])


def _drawn(run: AnyRun, number: int) -> tuple[Safe, Safe]:
    if isinstance(run, LoomRun):
        return loom_verdict_html(run.verdict, run.masker), boundaries_html(run)
    return verdict_html(run.verdict, run.masker), timeline_svg(run.story, run.masker, 120, f"-{number}")
