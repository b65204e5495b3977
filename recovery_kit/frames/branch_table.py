"""Branches beside each other, as a table: `compare_df`."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from recovery_kit.mirrors.comparing import Comparison, How

from .columns import Column, Table, build

if TYPE_CHECKING:
    import pandas as pd


def _member(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda row: row.get(name)


COMPARE = Table(
    "compare",
    "a step after the cut, of one branch or of two that do the same",
    lambda run: (),
    (
        Column("a", "text", _member("a"), "the branch that the others are laid beside"),
        Column("b", "text", _member("b"), "the other branch"),
        Column("row", "u64", _member("row"), "order of the steps"),
        Column("how", "own_word", _member("how"), "how they compare", get_args(How)),
        Column("similarity", "usd", _member("similarity"), "likeness of their texts, 0 to 1"),
        *(
            Column(f"{side}_{member}", "text", _member(f"{side}_{member}"), doc)
            for side in ("a", "b")
            for member, doc in (
                ("kind", "`call` or `text`"),
                ("name", "the tool"),
                ("text", "arguments, or what was said"),
                ("result", "what the tool answered"),
                ("certainty", "how surely the call took effect"),
            )
        ),
    ),
)  # fmt: skip


def compare_df(found: Comparison) -> "pd.DataFrame":
    """A row an aligned step of the branches (docs/tables.md). `run_id` is that of the first one."""
    rows = found.rows()
    return build(replace(COMPARE, rows=lambda run: rows), [found.branches[0].run])
