"""What all tables keep: one schema, exact numbers, safe text, a page that says what they hold."""

from pathlib import Path

import pandas as pd
import pytest

from recovery_kit import frames
from recovery_kit.display import SHAPES_ONLY, preview, storable, unmasked
from recovery_kit.frames import TABLES, arrays, page
from recovery_kit.frames.safe_text import SafeText
from recovery_kit.runs.opening import open_run, open_runs

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "data" / "cases"
CAP = 2**64 - 1

NUMBERS = CASES / "H07-fan-out-and-u64" / "input"
BILLS = CASES / "H18-trips-and-bills" / "input"
TEXTS = CASES / "H03-text-that-breaks" / "input"
MARKUP = CASES / "H09-markup-in-names" / "input"
KEYS = CASES / "H08-signing-key-in-the-journal" / "input"


def made(table: frames.Table, *args: object, **more: object) -> pd.DataFrame:
    """The table by its public function."""
    frame = getattr(frames, f"{table.name}_df")(*args, **more)
    assert isinstance(frame, pd.DataFrame)
    return frame


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_one_schema_empty_or_full(table: frames.Table) -> None:
    """The same columns and dtypes with rows, without any, with text and without."""
    full, empty = made(table, open_runs(BILLS)), made(table, [])
    assert list(full.columns) == list(empty.columns) == list(table.names)
    assert list(full.dtypes) == list(empty.dtypes) == list(made(table, open_runs(BILLS), text=True).dtypes)
    assert list(full.columns[:2]) == ["run_id", "source"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_dtypes_are_those_of_the_contract(table: frames.Table) -> None:
    """Whole numbers have gaps and 64 bits, times are UTC seconds, words are ordered and end in other."""
    for name, dtype in made(table, []).dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            assert dtype.ordered and dtype.categories[-1] == "other", name
        else:
            assert str(dtype) in ("string", "UInt64", "Int64", "Float64", "boolean", "datetime64[s, UTC]"), name


def test_caps_stay_exact() -> None:
    """The largest 64-bit number stands beside a gap and is still itself, in the table and in a CSV."""
    table = frames.runs_df(open_runs(NUMBERS)).set_index("run_id").max_workers
    ids = ("ledger-clerk-1790000061-00000000003d", "ledger-clerk-1790000064-000000000040")
    assert [table[i] for i in ids] == [CAP, 4]
    assert table["ledger-clerk-1790000066-000000000042"] is pd.NA
    assert str(table.dtype) == "UInt64"


def test_numbers_that_fit_nowhere_are_gaps() -> None:
    """Absurd times become NaT and absurd numbers gaps; nothing raises, nothing goes through a float."""
    assert list(arrays.whole_numbers([CAP, None, -1, CAP + 1, 2**53 + 1])) == [CAP, pd.NA, pd.NA, pd.NA, 2**53 + 1]
    assert pd.Series(arrays.times([0, None, 2**63 - 1, -(2**63), 10**30, float("nan")])).isna().tolist() == [
        False, True, True, True, True, True,
    ]  # fmt: skip
    assert list(arrays.money([0.0, None, float("inf")])) == [0.0, pd.NA, pd.NA]
    assert list(arrays.words(["a", None, "z"], ("a", "b"))) == ["a", pytest.approx(float("nan"), nan_ok=True), "other"]


def test_free_is_not_unknown() -> None:
    """Sums by run: exact, free, unknown, partly from rates."""
    table = frames.runs_df(open_runs(BILLS)).set_index("run_id")
    rows = [f"seed-keeper-179000045{n}-0000000001c{n + 2}" for n in (2, 3, 4, 5)]
    assert table.cost_usd[rows].tolist() == [0.75, 0.0, pd.NA, 0.75]
    assert table.cost_is_exact[rows].tolist() == [True, True, False, False]
    assert table.unpriced_calls[rows].tolist() == [0, 0, 2, 0]


def test_no_table_holds_a_secret(tmp_path: Path) -> None:
    """No signing key, no beginning of one, no token of an address: with previews, with text, in CSV and JSON."""
    run = open_run(KEYS)
    assert run.meta is not None and run.meta.callback_secret and run.meta.callback_url
    key = run.meta.callback_secret
    token = run.meta.callback_url.rpartition("=")[2]
    for table in TABLES:
        for text in (False, True):
            frame = made(table, run, text=text)
            frames.to_csv(frame, tmp_path / "table.csv")
            said = (tmp_path / "table.csv").read_text() + str(frame.to_json(orient="records", date_format="iso"))
            assert key not in said and key[:24] not in said and token not in said, (table.name, text)
    with unmasked():
        results = frames.calls_df(run, text=True).result.dropna()
    assert any(key in result for result in results)


@pytest.mark.parametrize("source", [TEXTS, MARKUP, NUMBERS], ids=["texts", "markup", "numbers"])
def test_any_text_survives_every_export(source: Path, tmp_path: Path) -> None:
    """Controls, half emoji and markup go through CSV, JSON, printing and HTML."""
    for table in TABLES:
        frame = made(table, open_runs(source), text=True)
        frames.to_csv(frame, tmp_path / "table.csv")
        with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as lines:
            back = pd.read_csv(lines, dtype="object", keep_default_na=False, lineterminator="\n")
        assert list(back.columns) == list(frame.columns)
        frame.to_json(orient="records", date_format="iso").encode()
        assert repr(frame) and "<script" not in frame._repr_html_()


def test_half_an_emoji_is_written_as_its_escape() -> None:
    """A lone surrogate cannot be stored; its escape can, in full texts, previews and names alike."""
    safe = SafeText(SHAPES_ONLY)
    assert safe.whole("a\ud83db") == safe.beginning("a\ud83db") == "a\\ud83db"
    assert safe.shorts(["a\ud83db", None, "a\ud83db"]) == ["a\\ud83db", None, "a\\ud83db"]


def test_previews_are_those_of_the_whole_masked_text() -> None:
    """Masking only the beginning of a long text shows what masking all of it would."""
    secret = "ghp_" + "a1" * 900
    for text in ("x" * 2000, "y " * 150 + secret + " z" * 900, secret * 3 + " tail" * 400, "a\r\n" * 700, ""):
        assert SafeText(SHAPES_ONLY).beginning(text) == storable(preview(SHAPES_ONLY(text), 160))


def test_short_texts_are_masked_alone_and_together() -> None:
    """A key among a hundred names is masked, and the names beside it stay as they are."""
    names = [f"name-{n}" for n in range(200)] + ["ghp_" + "a1" * 20, "token=hunter2hunter2", "two\nlines"]
    safe = SafeText(SHAPES_ONLY)
    assert safe.shorts(names) == [storable(SHAPES_ONLY(name)) for name in names]


def test_csv_does_not_escape_twice(tmp_path: Path) -> None:
    """The escape of half an emoji stands in the CSV as it stands in the table."""
    frames.to_csv(pd.DataFrame({"x": ["a\\ud83db", "a\\u005cud83db", "a\ud83db"]}, dtype=object), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().split() == ['"x"', '"a\\ud83db"', '"a\\u005cud83db"', '"a\\ud83db"']


def test_csv_cells_are_no_formulas(tmp_path: Path) -> None:
    """A text that begins like a formula gets an apostrophe; numbers, gaps and empty texts stay what they are."""
    frame = pd.DataFrame({
        "=name": pd.array(["=1+1", "", None], dtype=pd.StringDtype("python")),
        "n": arrays.whole_numbers([CAP, None, 0]),
        "at": arrays.times([0, None, 1]), "flag": arrays.flags([True, None, False]),
        "usd": arrays.money([-0.5, None, 0.0]),
    })  # fmt: skip
    frames.to_csv(frame, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines() == [
        '"\'=name","n","at","flag","usd"',
        '"\'=1+1",18446744073709551615,1970-01-01T00:00:00Z,true,-0.5',
        '"",,,,',
        ",0,1970-01-01T00:00:01Z,false,0.0",
    ]


def test_the_page_is_true() -> None:
    """docs/tables.md is what the declarations say; `python -m recovery_kit.frames.page` writes it."""
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == page.page()


def test_names_are_sorted() -> None:
    """The room's public names, in order, a function for every table."""
    assert frames.__all__ == sorted(frames.__all__)
    assert {f"{table.name}_df" for table in (*TABLES, frames.PLAN, frames.COMPARE)} == {
        name for name in frames.__all__ if name.endswith("_df")
    }
