"""What people ask of many runs: how they go by agent, model, stage and outcome, which failed alike, what stands still.

Sums over summaries and nothing else; each answer is a table with fixed columns. No clock: "since" is a moment, and how
long ago that is a surface says.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from recovery_kit.frames.columns import Column, Table, frame_of, words_of
from recovery_kit.frames.runs_table import REASONS, SHARED
from recovery_kit.history.clock import BUCKETS
from recovery_kit.records.meta import Status

from .summary import Spend, Summary

if TYPE_CHECKING:
    import pandas as pd


class Summarised(Protocol):
    """A `Scan` or a `Catalogue`."""

    @property
    def summaries(self) -> tuple[Summary, ...]: ...


Asked = Summarised | Iterable[Summary]
BY = ("agent", "model", "stage", "outcome")
NONE_TOLD = "(none told)"
"""The group of runs whose files do not tell."""


def _read(asked: Asked) -> list[Summary]:
    found: Iterable[Summary] = asked.summaries if hasattr(asked, "summaries") else asked
    return [summary for summary in found if summary.trouble is None]


def _table(name: str, doc: str, columns: Sequence[Column]) -> Table:
    return Table(name, doc, lambda run: (), tuple(columns))


def _frame(table: Table, rows: Sequence[dict[str, Any]]) -> "pd.DataFrame":
    return frame_of(table, {name: [row.get(name) for row in rows] for name in table.names})


def _grouped(table: Table, rows: Sequence[dict[str, Any]]) -> "pd.DataFrame":
    """A table whose rows are of no one run."""
    return _frame(table, rows).drop(columns=["run_id", "source"])


# How they go.

STATS = _table(
    "stats",
    "a group of runs",
    (
        Column("group", "text", "group", "agent, model, stage or outcome"),
        Column("runs", "u64", "runs", "runs in it; for models and stages a run counts in each that it has bills of"),
        *(Column(f"n_{word}", "u64", word, f"of them {word}") for word in SHARED),
        Column("n_needs_person", "u64", "needs_person", "of them waiting for somebody to act"),
        Column("n_unknown", "u64", "unknown", "calls of which nobody can say whether they took effect (of whole runs)"),
        Column("calls", "u64", "calls", "bills"),
        Column("prompt_tokens", "u64", "prompt_tokens", "by the bills"),
        Column("completion_tokens", "u64", "completion_tokens", "by the bills"),
        Column("cached_tokens", "u64", "cached_tokens", "by the bills"),
        Column("cache_write_tokens", "u64", "cache_write_tokens", "by the bills"),
        Column("priced_usd", "usd", "priced_usd", "sum of the figures that are known"),
        Column("unpriced_calls", "u64", "unpriced_calls", "bills without a figure: what they cost is in no sum"),
        Column("cost_usd", "usd", "cost_usd", "the whole sum; a gap if one bill has no figure"),
        *(
            Column(f"seconds_{bucket}", "u64", bucket, "time that went to it; a gap where groups are parts of runs")
            for bucket in BUCKETS
        ),
    ),
)


_NO_SECONDS: list[int | None] = [None] * len(BUCKETS)


@dataclass
class _Group:
    runs: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    needs_person: int = 0
    unknown: int = 0
    spend: list[Spend] = field(default_factory=list)
    seconds: list[int] | None = None

    def add(self, row: dict[str, Any], spend: Iterable[Spend], seconds: Sequence[int] | None) -> None:
        self.runs += 1
        self.statuses[row["status_shared"]] = self.statuses.get(row["status_shared"], 0) + 1
        self.needs_person += row["needs_person"] is True
        self.unknown += row["n_unknown"] or 0
        self.spend += spend
        if seconds is not None:
            self.seconds = [a + b for a, b in zip(self.seconds or [0] * len(BUCKETS), seconds, strict=True)]

    def cells(self, group: str) -> dict[str, Any]:
        unpriced = sum(s.unpriced_calls for s in self.spend)
        priced = float(sum(s.priced_usd for s in self.spend))
        tokens = ("calls", "prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
        seconds = dict(zip((f"seconds_{b}" for b in BUCKETS), self.seconds or _NO_SECONDS, strict=True))
        return {
            "group": group, "runs": self.runs, **{f"n_{w}": self.statuses.get(w, 0) for w in SHARED},
            "n_needs_person": self.needs_person, "n_unknown": self.unknown,
            **{name: sum(getattr(s, name) for s in self.spend) for name in tokens},
            "priced_usd": priced, "unpriced_calls": unpriced, "cost_usd": None if unpriced else priced, **seconds,
        }  # fmt: skip


_WHOLE_RUN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "agent": lambda row: row["agent"],
    "outcome": lambda row: row["status_shared"],
}
_OF_A_BILL: dict[str, tuple[Callable[[Spend], str], Callable[[dict[str, Any]], Any]]] = {
    "model": (lambda spend: spend.model, lambda row: row["model"]),
    "stage": (lambda spend: spend.stage, lambda row: row["stage"]),
}
"""Of what a bill is, and what stands for it in a run without bills."""


def stats_df(asked: Asked, by: str = "agent") -> "pd.DataFrame":
    """A row a group, the dearest first. `by`: `agent`, `model`, `stage` or `outcome`.

    Tokens and cost are those of the bills before any tear. Raises ValueError for another `by`.
    """
    if by not in BY:
        raise ValueError(f"by is {', '.join(BY)}")
    groups: dict[str, _Group] = {}
    for summary in _read(asked):
        row = summary.row
        if by in _WHOLE_RUN:
            key = _WHOLE_RUN[by](row) or NONE_TOLD
            groups.setdefault(key, _Group()).add(row, summary.spend, summary.seconds or None)
            continue
        of_bill, of_run = _OF_A_BILL[by]
        parts: dict[str, list[Spend]] = {} if summary.spend else {of_run(row) or NONE_TOLD: []}
        for spend in summary.spend:
            parts.setdefault(of_bill(spend) or NONE_TOLD, []).append(spend)
        for key, spends in parts.items():
            groups.setdefault(key, _Group()).add(row, spends, None)
    rows = [group.cells(name) for name, group in groups.items()]
    rows.sort(key=lambda row: (-row["priced_usd"], -row["runs"], row["group"]))
    return _grouped(STATS, rows)


# Which failed alike.

FAILURES = _table(
    "failures",
    "runs that failed alike",
    (
        Column("stage", "text", "stage", "where they failed"),
        Column("tool", "text", "tool", "the last call that was handed out in that stage"),
        Column("error", "text", "error", "the error with numbers, ids, paths and quoted words taken out"),
        Column("runs", "u64", "runs", "how many"),
        Column("first_at", "time", "first_at", "when the first of them last moved"),
        Column("last_at", "time", "last_at", "when the last of them did"),
        Column("priced_usd", "usd", "priced_usd", "what they cost, as far as it is known"),
        Column("examples", "text", "examples", "up to three of them"),
    ),
)


def failures_df(asked: Asked) -> "pd.DataFrame":
    """Runs that ended on an error, grouped by stage, last tool and normalised error text; the most frequent first."""
    groups: dict[tuple[str, str, str], list[Summary]] = {}
    for summary in _read(asked):
        if summary.failure is not None:
            f = summary.failure
            groups.setdefault((f.stage or "", f.tool or "", f.text), []).append(summary)
    rows: list[dict[str, Any]] = []
    for (stage, tool, text), alike in groups.items():
        moved = [row["moved_at"] for row in (s.row for s in alike) if row["moved_at"] is not None]
        rows.append({
            "stage": stage or None, "tool": tool or None, "error": text, "runs": len(alike),
            "first_at": min(moved, default=None), "last_at": max(moved, default=None),
            "priced_usd": float(sum(spend.priced_usd for s in alike for spend in s.spend)),
            "examples": ", ".join(s.source for s in alike[:3]),
        })  # fmt: skip
    rows.sort(key=lambda row: (-row["runs"], row["stage"] or "", row["tool"] or "", row["error"]))
    return _grouped(FAILURES, rows)


# What stands still.

STANDING = _table(
    "standing",
    "a run that is not over",
    (
        Column("status", "word", "status", "as `meta.json` says", words_of(Status)),
        Column("waits_on", "word", "waits_on", "why it stands still", REASONS),
        Column("needs_person", "flag", "needs_person", "whether somebody has to act; a gap where nobody can say"),
        Column("since", "time", "since", "since when: of the open question, else of its last move"),
        Column("since_of", "own_word", "since_of", "what `since` is of", ("question", "move")),
        Column("agent", "text", "agent", "name of the agent"),
        Column("stage", "text", "stage", "the stage it is in"),
        Column("n_unknown", "u64", "n_unknown", "calls of which nobody can say whether they took effect"),
        Column("priced_usd", "usd", "priced_usd", "what it cost, as far as it is known"),
    ),
)


def standing_df(asked: Asked) -> "pd.DataFrame":
    """Runs that are not over: those that need a person first, and among them those that stand longest."""
    rows: list[dict[str, Any]] = []
    for summary in _read(asked):
        row = summary.row
        if row["terminal"] is not False:
            continue
        question = summary.asked_at is not None and row["needs_person"]
        same = ("run_id", "source", "status_word", "waits_on", "waits_on_word", "needs_person", "agent", "stage",
                "n_unknown", "priced_usd")  # fmt: skip
        rows.append({
            **{name: row[name] for name in same}, "status": row["status"],
            "since": summary.asked_at if question else row["moved_at"], "since_of": "question" if question else "move",
        })  # fmt: skip
    rows.sort(key=lambda r: (r["needs_person"] is not True, r["since"] is None, r["since"] or 0, r["source"]))
    return _frame(STANDING, rows)
