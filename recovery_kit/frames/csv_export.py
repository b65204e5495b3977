"""Tables as CSV that no spreadsheet takes for formulas."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recovery_kit.display import csv_cell, unstorable
from recovery_kit.formats.durable import DISK

if TYPE_CHECKING:
    import pandas as pd


def to_csv(df: "pd.DataFrame", path: str | os.PathLike[str]) -> None:
    """Write a table as CSV in UTF-8, its index left out.

    A text that begins like a formula gets an apostrophe in front, a lone surrogate is written as its escape; every
    text is quoted, so that line ends inside one end no row. A gap is an empty cell without quotes, an empty text has
    them. Numbers stay exact, times are ISO 8601 in UTC. Whoever reads the file finds the old one or the new one, never
    a part. Raises CannotWrite.
    """
    target = Path(path)
    columns = [_cells(df.iloc[:, place]) for place in range(df.shape[1])]
    lines = [",".join(_quoted(str(name)) for name in df.columns), *map(",".join, zip(*columns, strict=True))]
    DISK.replace_file(target.parent, target.name, ("\n".join(lines) + "\n").encode())


def _cells(column: "pd.Series") -> Iterable[str]:
    write = _writer(column)
    gaps = column.isna()
    return ["" if gap else write(value) for value, gap in zip(column, gaps, strict=True)]


def _writer(column: "pd.Series") -> Callable[[Any], str]:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        return lambda value: "true" if value else "false"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return str
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return lambda value: str(value.isoformat()).replace("+00:00", "Z")
    return lambda value: _quoted(str(value))


def _quoted(text: str) -> str:
    cell = csv_cell(unstorable(text))  # texts of tables are storable already: once is enough
    return '"' + cell.replace('"', '""') + '"'
