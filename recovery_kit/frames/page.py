"""docs/tables.md, written from the declarations: `python -m recovery_kit.frames.page [FILE]`."""

import sys
from pathlib import Path

from . import COMPARE, PLAN, TABLES
from .arrays import OTHER
from .columns import DTYPES, KEYS, Column, Table

PAGE = Path("docs/tables.md")

_HEAD = """# Tables

*Made by `python -m recovery_kit.frames.page` from the declarations in `recovery_kit/frames`; a test keeps it true.*

Each function takes a `Run`, `Runs` or any number of runs, and gives a DataFrame with the same columns and dtypes
whether it has a million rows or none. A gap (`<NA>`, `NaT`) is what the files do not tell: an older engine left the
member out, or there is no such thing.

- `run_id` and `source` come first. `run_id` and `offset` lead back to the bytes: `run.record(offset)`. `point` of an
  event is the last point before its record.
- Text is masked; a lone surrogate is written as its `\\udXXX` escape. A long text is three columns: `X` (160
  characters, all of it with `text=True`), `X_offset` (the record that holds it), `X_bytes` (its size in UTF-8 before
  it was masked).
- Whole numbers are exact up to 2^64-1. Sizes are in bytes, costs in USD. Times are UTC; what is beyond the calendar is
  `NaT`.
- A closed vocabulary is an ordered category that ends in `other`. A word that comes from the run stands in `X_word` as
  it is; a word that is the kit's own is never `other`.
"""


def page() -> str:
    """The page's text."""
    return "\n".join([_HEAD, *map(_section, (*TABLES, PLAN, COMPARE))])


def _section(table: Table) -> str:
    lines = [f"## {table.name}_df", "", f"A row is {table.doc}.", "", "| column | dtype | holds |", "|---|---|---|"]
    lines += [line for column in (*KEYS, *table.columns) for line in _lines(column)]
    return "\n".join([*lines, ""])


def _lines(column: Column) -> list[str]:
    words = f": {', '.join(f'`{word}`' for word in (*column.words, OTHER))}" if column.words else ""
    lines = [_line(column.name, DTYPES[column.kind], column.doc + words)]
    if column.kind == "word":
        lines.append(_line(column.names[1], DTYPES["text"], "the word itself"))
    if column.kind == "long":
        lines.append(_line(column.names[1], DTYPES["u64"], "of the record that holds it"))
        lines.append(_line(column.names[2], DTYPES["u64"], "its size"))
    return lines


def _line(name: str, dtype: str, doc: str) -> str:
    return f"| `{name}` | {dtype} | {doc.replace('|', chr(92) + '|')} |"


def main(arguments: list[str]) -> None:
    """Write the page, to docs/tables.md unless told otherwise."""
    target = Path(arguments[0]) if arguments else PAGE
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
