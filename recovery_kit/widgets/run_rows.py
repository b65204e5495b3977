"""The rows of a run table: read as deeply as somebody asks, in slices, so that no folder is too large to open.

Belongs here: which columns there are, what each needs to be read, filtering and ordering. What goes to the browser is
masked text.
"""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, NamedTuple

from recovery_kit.display import Tone, count_text, duration_text, time_text
from recovery_kit.history.clock import Bucket
from recovery_kit.history.waits import wait_of
from recovery_kit.pictures.vocabulary import CERTAINTY, STATUS
from recovery_kit.runs.collection import AnyRun, Runs
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.run import Run
from recovery_kit.runs.run_rows import Condition, condition, run_row

from .trees import line

SLICE = 0.2
"""Seconds of reading for one answer: a kernel that reads thousands of journals still answers others in between."""
NAME, META, JOURNAL = 0, 1, 2
"""How deeply a run is read: not at all, its `meta.json`, every record."""
STANDING_STILL: tuple[Bucket, ...] = ("backoff", "person", "paused", "no_process")
"""Buckets of a run's time in which neither a model nor a tool nor a child run was at work."""

Cell = str | list[str]
"""Text, or text and its tone."""


class Facts(NamedTuple):
    """What a column is ordered by and shows."""

    sort: Any
    cell: Cell


class Column(NamedTuple):
    key: str
    heading: str
    depth: int
    width: str
    facts: Callable[[Run], Facts]
    """Not asked of the first column, which holds the key."""


def _word(run: AnyRun, text: str | None, limit: int = 60) -> Facts:
    shown = line(text, run.masker, limit)
    return Facts(shown.casefold() if text is not None else None, shown)


def _status(run: Run) -> Facts:
    return _status_word(run, run.meta.status if run.meta else None)


def _status_word(run: AnyRun, status: str | None) -> Facts:
    if status is None:
        return Facts(None, ["cannot be read", "bad"])
    look = STATUS.get(status)
    return Facts(look.word, [f"{look.sign} {look.word}", look.tone]) if look else _word(run, status)


def _waits(run: Run) -> Facts:
    wait = wait_of(run.meta, run.story.files.fan_out, run.story.files.open_point)
    text = (wait.reason or "").replace("_", " ")
    tone: Tone = "attention" if wait.needs_person and text else "plain"
    shown = line(text, run.masker, 60, "")
    return Facts(shown or None, [f"{shown} (a person)", tone] if tone == "attention" else shown)


def _stage(run: Run) -> Facts:
    return _word(run, (run.meta.current_stage or None) if run.meta else None)


def _moved(run: Run) -> Facts:
    moved = run.meta.last_progress_at if run.meta else None
    return Facts(moved, time_text(moved))


def _unknown(run: Run) -> Facts:
    return _counted(len(run.story.unknown_effects) if run.story.events else None)


def _counted(n: int | None) -> Facts:
    look = CERTAINTY["unknown"]
    return Facts(n, "–" if n is None else [f"{look.sign} {n} unknown", "bad"] if n else "none")


def _cost(run: Run) -> Facts:
    cost, meta = run.story.cost, run.meta
    if run.story.trips.bills:
        if not cost.priced_calls and cost.total_usd is None:
            return Facts(None, "not known")
        more = "" if cost.total_usd is not None else " + unknown"
        return Facts(cost.priced_usd, f"{cost.priced_usd:.4f}{more}")
    told = meta.cost_usd if meta else None
    return Facts(told, "–" if told is None else f"{told:.4f}")


def _still(run: Run) -> Facts:
    account = run.story.time_account
    if account is None:
        return Facts(None, "–")
    seconds = sum(account.seconds[bucket] for bucket in STANDING_STILL)
    return Facts(seconds, duration_text(seconds))


def _of_workflow(run: LoomRun, key: str) -> Facts:
    """A Run of a workflow: it has no bills, and no account of its time."""
    row = run_row(run)
    if key == "status":
        return _status_word(run, row.status)
    if key == "unknown":
        return _counted(row.unknown)
    if key == "moved":
        return Facts(row.moved, time_text(row.moved))
    if key in ("cost", "still"):
        return Facts(None, "–")
    text = getattr(row, key)
    return _word(run, text if text is not None or key != "waits" else "")


COLUMNS: tuple[Column, ...] = (
    Column("run", "run", NAME, "minmax(13em, 3fr)", lambda run: _word(run, run.id, 120)),
    Column("status", "status", META, "8.5em", _status),
    Column("unknown", "effects", JOURNAL, "8.2em", _unknown),
    Column("waits", "waits on", META, "minmax(7em, 1.5fr)", _waits),
    Column("moved", "last moved", META, "12em", _moved),
    Column("cost", "USD", JOURNAL, "5.5em", _cost),
    Column("still", "stood still", JOURNAL, "6.5em", _still),
    Column(
        "agent", "agent", META, "minmax(6em, 1fr)", lambda run: _word(run, run.meta.agent_name if run.meta else None)
    ),
    Column("stage", "stage", META, "minmax(4.5em, .7fr)", _stage),
)
"""`stood still`: seconds waiting to try again, for a person, paused, or without a process, by the records."""
_PLACES = {column.key: place for place, column in enumerate(COLUMNS)}
_TEXTS = [column.key for column in COLUMNS if column.depth < JOURNAL and column.key != "moved"]


class Wanted(NamedTuple):
    """What a table is filtered and ordered by."""

    query: str = ""
    sort: str = ""
    down: bool = False


class RunRows:
    """Rows of some runs by number; numbers stay, also when runs come."""

    def __init__(self, runs: Runs) -> None:
        self.runs: list[AnyRun] = []
        self.keys: list[str] = []
        self.grow(runs)

    def grow(self, runs: Runs) -> None:
        """Take up runs that came since."""
        keys = {id(run): (key, run) for key, run in runs.items()}
        there = {id(run) for run in self.runs}
        self.runs += [run for name, (_, run) in keys.items() if name not in there]
        self.keys = [keys[id(run)][0] if id(run) in keys else run.source for run in self.runs]
        self._facts: list[dict[str, Facts]] = [{} for _ in self.runs]
        self._orders: dict[Wanted, list[int]] = {}
        self._read = {META: 0, JOURNAL: 0}

    def facts(self, number: int, key: str) -> Facts:
        """A cell. A run that cannot be read so far says so: a table has no holes."""
        known = self._facts[number]
        if key not in known:
            try:
                run = self.runs[number]
                if key == "run":
                    known[key] = _word(run, self.keys[number], 120)
                else:
                    known[key] = (
                        _of_workflow(run, key) if isinstance(run, LoomRun) else COLUMNS[_PLACES[key]].facts(run)
                    )
            except Exception as error:  # a damaged run is a row like others
                known[key] = Facts(None, [f"not read ({type(error).__name__})", "bad"])
        return known[key]

    def cells(self, number: int, depth: int) -> list[Cell | None]:
        """A row; None for what is read later."""
        return [
            self.facts(number, c.key).cell if c.depth <= depth or c.key in self._facts[number] else None
            for c in COLUMNS
        ]

    def order(self, wanted: Wanted) -> list[int] | tuple[int, int]:
        """Numbers of the rows that fit, in order; or how many of how many runs are read for it so far.

        Raises ValueError for a condition that is none.
        """
        if wanted in self._orders:
            return self._orders[wanted]
        words, conditions = _understood(wanted.query)
        depth = max(_depth(wanted.sort), META if words else NAME, JOURNAL if conditions else NAME)
        if not self._read_all(depth):
            return self._read[depth], len(self.runs)
        fitting = [n for n in range(len(self.runs)) if self._fits(n, words, conditions)]
        if wanted.sort == "run":  # by the names themselves: a name is masked when it is seen
            fitting.sort(key=lambda n: self.keys[n].casefold(), reverse=wanted.down)
        elif wanted.sort:
            told = [n for n in fitting if self.facts(n, wanted.sort).sort is not None]
            told.sort(key=lambda n: self.facts(n, wanted.sort).sort, reverse=wanted.down)
            there = set(told)
            fitting = told + [n for n in fitting if n not in there]
        if len(self._orders) > 8:
            self._orders.clear()
        self._orders[wanted] = fitting
        return fitting

    def _read_all(self, depth: int) -> bool:
        """Go on reading for a slice of time; whether all is read."""
        keys = [column.key for column in COLUMNS if column.depth <= depth]
        until = monotonic() + SLICE
        while depth > NAME and self._read[depth] < len(self.runs):
            for key in keys:
                self.facts(self._read[depth], key)
            self._read[depth] += 1
            if monotonic() > until:
                break
        return depth == NAME or self._read[depth] >= len(self.runs)

    def _fits(self, number: int, words: Sequence[str], conditions: Sequence[Condition]) -> bool:
        texts = " ".join(_text(self.facts(number, key).cell) for key in _TEXTS).casefold() if words else ""
        return all(word in texts for word in words) and (
            not conditions or all(c.holds(run_row(self.runs[number])) for c in conditions)
        )

    def deep(self, numbers: Sequence[int]) -> Iterator[tuple[int, list[Cell | None]]]:
        """Whole rows, as many as a slice of time allows; at least one."""
        until = monotonic() + SLICE
        for number in numbers:
            if 0 <= number < len(self.runs):
                yield number, self.cells(number, JOURNAL)
            if monotonic() > until:
                return


def _depth(key: str) -> int:
    return COLUMNS[_PLACES[key]].depth if key in _PLACES else NAME


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _understood(query: str) -> tuple[list[str], list[Condition]]:
    """Words that rows hold, and conditions like `status=paused` or `unknown>0`, for which every journal is read."""
    pieces = query.split()
    signs = [piece for piece in pieces if any(sign in piece for sign in "=<>")]
    return [p.casefold() for p in pieces if p not in signs], [condition(piece) for piece in signs]


def counted(n: int, of: int) -> str:
    return count_text(of, "run") if n == of else f"{count_text(n)} of {count_text(of, 'run')}"
