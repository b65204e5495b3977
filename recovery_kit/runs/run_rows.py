"""A row a run for listings: how it stands, what it waits on, when it last moved, what is unknown, what it cost.

Belongs here: the row, and choosing and ordering rows. No clock: "since" is a moment that somebody hands in.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recovery_kit.history.story import Story
from recovery_kit.history.waits import is_terminal, wait_of

from .collection import AnyRun
from .loom_run import LoomRun
from .run import Run


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in a list (seen, unless the run has been read verified). Texts are raw."""

    run: AnyRun
    id: str
    source: str
    """Path relative to what was opened."""
    agent: str | None
    status: str | None
    terminal: bool | None
    waits: str | None
    """The reason of a wait, in the engine's word."""
    needs_person: bool | None
    stage: str | None
    iteration: int | None
    moved: int | None
    """When iteration, stage or status last changed (Unix seconds); a heartbeat is not a move."""
    unknown: int | None
    """Effects of which nobody can tell from the files whether they happened; None where no record can be read."""
    cost: float | None
    """USD; None where a bill has no figure."""
    cost_exact: bool


def run_row(run: AnyRun) -> RunRow:
    """The row of one run."""
    if isinstance(run, LoomRun):
        return _loom_row(run)
    return run.ask(lambda story: _row(run, story), seen=True)


def _loom_row(run: LoomRun) -> RunRow:
    """Workflows have no iterations and no bills: those are gaps."""
    verdict = run.verdict
    return RunRow(
        run=run,
        id=run.id,
        source=run.source,
        agent=verdict.agent,
        status=verdict.status,
        terminal=verdict.terminal,
        waits=verdict.prompt.kind if verdict.prompt else None,
        needs_person=None if verdict.status is None else verdict.prompt is not None or verdict.status == "paused",
        stage=verdict.stage,
        iteration=None,
        moved=verdict.moved_at,
        unknown=len(verdict.unknown) if run.points else None,
        cost=None,
        cost_exact=False,
    )


def _row(run: Run, story: Story) -> RunRow:
    meta, wait = story.best_meta, wait_of(story.meta, story.files.fan_out, story.files.open_point)
    spent, exact = story.cost.total_usd, story.cost.exact
    if not story.trips.bills:  # older engines write no bills; nothing in the journal says that it was free
        spent, exact = (meta.cost_usd, meta.cost_is_exact) if meta else (None, False)
    state = story.fold()
    told = (state.skim_meta() if state else None) or meta
    return RunRow(
        run=run,
        id=run.id,
        source=run.source,
        agent=meta.agent_name if meta else None,
        status=meta.status if meta else None,
        terminal=is_terminal(meta),
        waits=wait.reason,
        needs_person=wait.needs_person,
        stage=(state.window.stage_name if state else None) or (meta.current_stage if meta else None) or None,
        iteration=told.iteration if told else None,
        moved=meta.last_progress_at if meta else None,
        unknown=len(story.unknown_effects) if story.events else None,
        cost=spent,
        cost_exact=exact,
    )


# Choosing.

TEXT_FIELDS = ("status", "waits", "agent", "stage", "id")
NUMBER_FIELDS = ("unknown", "cost", "iteration")

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_WRITTEN = re.compile(r"([a-z]+)\s*(!=|>=|<=|=|>|<)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that a row has to be: `status=running`, `waits=tool_approval`, `unknown>0`, `cost>=0.5`."""

    field: str
    sign: str
    value: str | float

    def holds(self, row: RunRow) -> bool:
        """Whether a row is so. A word that it does not tell is `none`; a number that it does not tell is `!=` all."""
        told = getattr(row, self.field)
        if isinstance(self.value, str):
            told = told if told is not None else "none"
        elif told is None:
            return self.sign == "!="
        return _COMPARE[self.sign](told, self.value)


def condition(text: str) -> Condition:
    """Read a condition. Raises ValueError, saying how one is written."""
    written = _WRITTEN.fullmatch(text.strip())
    field, sign, value = written.groups() if written else ("", "", "")
    if field in TEXT_FIELDS and sign in ("=", "!="):
        return Condition(field, sign, value)
    if field in NUMBER_FIELDS:
        try:
            return Condition(field, sign, float(value))
        except ValueError:
            pass
    raise ValueError(
        f"a condition is {', '.join(TEXT_FIELDS)} with = or != and a word, or {', '.join(NUMBER_FIELDS)} with "
        "=, !=, <, <=, > or >= and a number"
    )


# Ordering.

SORT_KEYS: dict[str, Callable[[RunRow], Any]] = {
    "moved": lambda row: _last(row.moved, newest_first=True),
    "id": lambda row: row.id,
    "source": lambda row: row.source,
    "agent": lambda row: _last(row.agent),
    "status": lambda row: _last(row.status),
    "waits": lambda row: _last(row.waits),
    "unknown": lambda row: _last(row.unknown, newest_first=True),
    "cost": lambda row: _last(row.cost, newest_first=True),
}
"""How rows can be ordered: times and numbers the largest first, words by the alphabet, what is not told last."""


def _last(value: Any, newest_first: bool = False) -> tuple[bool, Any]:
    if value is None:
        return True, 0
    return False, -value if newest_first else value


def chosen(
    rows: Iterable[RunRow], where: Sequence[Condition] = (), since: float | None = None, sort: str = "moved"
) -> list[RunRow]:
    """The rows for which every condition holds and that moved at or after `since` (Unix seconds), in order."""
    kept = [row for row in rows if all(each.holds(row) for each in where)]
    if since is not None:
        kept = [row for row in kept if row.moved is not None and row.moved >= since]
    return sorted(kept, key=lambda row: (SORT_KEYS[sort](row), row.source))
