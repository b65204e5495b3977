"""What a table is: a list of columns, each with a name, a kind and where its cells come from; and the one builder.

A new column is a new line in a table's file. No table has code of its own for pandas, and what a cell means is
worked out in `history`, never here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, get_args

from recovery_kit.formats.bulk import collector_off
from recovery_kit.history.places import point_before, point_offsets
from recovery_kit.runs.collection import AnyRun, Runs
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.run import Run

from .arrays import ARRAYS, texts, whole_numbers, words
from .loom_rows import as_loom
from .safe_text import SafeText

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["text", "long", "word", "own_word", "u64", "i64", "usd", "flag", "time", "point"]
"""`text` is short and always whole. `long` is three columns. `word` is of a run: two columns. `own_word` is of the kit,
so it is never `other`. `point` is worked out from an offset."""

DTYPES: dict[Kind, str] = {
    "text": "string", "long": "string", "word": "ordered category", "own_word": "ordered category", "u64": "UInt64",
    "i64": "Int64", "usd": "Float64", "flag": "boolean", "time": "datetime64[s, UTC]", "point": "UInt64",
}  # fmt: skip

Where = str | Callable[[Any], Any]
"""A path of attributes, from the row; or a function of the row."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or the few that belong together."""

    name: str
    kind: Kind
    of: Where
    doc: str
    words: tuple[str, ...] = ()
    """Of a closed vocabulary, without `other`, in order."""
    offset: Where | None = None
    """Of a long text: the record that holds it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the DataFrame."""
        if self.kind == "long":
            return self.name, f"{self.name}_offset", f"{self.name}_bytes"
        return (self.name, f"{self.name}_word") if self.kind == "word" else (self.name,)


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `run_id` and `source` stand before its columns."""

    name: str
    doc: str
    """What a row is."""
    rows: Callable[[Run], Iterable[Any]]
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for column in (*KEYS, *self.columns) for name in column.names)


KEYS = (
    Column("run_id", "text", "id", "the run: its folder's name"),
    Column("source", "text", "source", "path of the run relative to what was opened"),
)
"""Cells of the run, not of the row."""

AnyRuns = AnyRun | Runs | Iterable[AnyRun]


def build(table: Table, runs: AnyRuns, text: bool = False) -> "pd.DataFrame":
    """The table of some runs, each at its own depth. The same columns and dtypes whether it has rows or none."""
    return frame_of(table, cells_of(table, runs, text))


def cells_of(table: Table, runs: AnyRuns, text: bool = False) -> dict[str, list[Any]]:
    """The cells of a table as plain values by column: masked, and fit to be kept or sent elsewhere."""
    cells: dict[str, list[Any]] = {name: [] for name in table.names}
    of_looms = as_loom(table)
    with collector_off():
        for run in each(runs):
            add_cells(cells, of_looms if isinstance(run, LoomRun) else table, run, text)
    return cells


def frame_of(table: Table, cells: Mapping[str, list[Any]]) -> "pd.DataFrame":
    """The DataFrame of cells that `cells_of` gave."""
    import pandas as pd

    arrays = {name: array for column in (*KEYS, *table.columns) for name, array in _arrays(column, cells)}
    return pd.DataFrame(arrays, columns=list(table.names))


def add_cells(cells: dict[str, list[Any]], table: Table, run: AnyRun, text: bool = False) -> None:
    """Add one run's rows, of a table whose rows and cells are those of its system."""
    rows = run.ask(lambda story: list(table.rows(run)))  # type: ignore[arg-type]
    safe = SafeText(run.masker)
    for column in KEYS:
        cells[column.name] += safe.shorts([_getter(column.of)(run)]) * len(rows)
    for column in table.columns:
        _fill(cells, column, rows, run, safe, text)


def each(runs: AnyRuns) -> Iterator[AnyRun]:
    """The runs, one at a time."""
    if isinstance(runs, Run | LoomRun):
        yield runs
    else:
        yield from runs.values() if isinstance(runs, Mapping) else runs


def _getter(where: Where) -> Callable[[Any], Any]:
    return attrgetter(where) if isinstance(where, str) else where


def _fill(
    cells: dict[str, list[Any]], column: Column, rows: list[Any], run: AnyRun, safe: SafeText, text: bool
) -> None:
    """Add one run's cells to a column."""
    values = list(map(_getter(column.of), rows))
    names = column.names
    if column.kind == "text":
        cells[names[0]] += safe.shorts(values)
    elif column.kind == "word":
        cells[names[0]] += values
        cells[names[1]] += safe.shorts(values)
    elif column.kind == "long":
        assert column.offset is not None, column.name
        cells[names[0]] += map(safe.whole if text else safe.beginning, values)
        cells[names[1]] += map(_getter(column.offset), rows)
        cells[names[2]] += map(utf8_size, values)
    elif column.kind == "point":
        assert isinstance(run, Run), column.name  # of a workflow they are numbers
        points = point_offsets(run.told.reading())
        cells[names[0]] += [point_before(value, points) for value in values]
    else:
        cells[names[0]] += values


def _arrays(column: Column, cells: Mapping[str, list[Any]]) -> Iterator[tuple[str, Any]]:
    first, *more = column.names
    if column.kind in ("word", "own_word"):
        yield first, words(cells[first], column.words)
        yield from ((name, texts(cells[name])) for name in more)
    elif column.kind == "long":
        yield first, texts(cells[first])
        yield from ((name, whole_numbers(cells[name])) for name in more)
    else:
        yield first, ARRAYS["u64" if column.kind == "point" else column.kind](cells[first])


def utf8_size(text: str | None) -> int | None:
    """Bytes of a text in UTF-8, before anything is masked."""
    if text is None:
        return None
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def words_of(annotation: Any) -> tuple[str, ...]:
    """The words of the `Literal`s in an annotation, in order; the empty one is a gap, not a word."""
    if isinstance(annotation, str):
        return (annotation,) if annotation else ()
    return tuple(dict.fromkeys(word for part in get_args(annotation) for word in words_of(part)))


def or_none(where: Where) -> Callable[[Any], Any]:
    """The cell with an empty text as a gap: a member that older engines left out."""
    get = _getter(where)
    return lambda row: get(row) or None


def behind(first: str, second: str) -> Callable[[Any], Any]:
    """`row.first.second`, a gap where `row.first` is None."""
    one, two = attrgetter(first), attrgetter(second)

    def cell(row: Any) -> Any:
        value = one(row)
        return None if value is None else two(value)

    return cell
