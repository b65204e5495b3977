"""The one rule of the house: a file imports its own room and lower rows, and heavy libraries have an address."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "recovery_kit"

ROWS = {
    "errors": 1,
    "records": 2, "display": 2,
    "formats": 3,
    "history": 4,
    "runs": 5,
    "world": 6,
    "looms": 7,
    "restore": 8,
    "recovery": 9,
    "mirrors": 10,
    "frames": 11,
    "fleet": 12,
    "pictures": 13,
    "widgets": 14, "reports": 14,
    "cli": 15,
}  # fmt: skip

ADDRESSES = {
    "pandas": {"frames", "fleet", "pictures", "widgets", "reports", "cli"},
    "ipywidgets": {"widgets"},
    "anywidget": {"widgets"},
    "papermill": {"reports"},
    "nbconvert": {"reports"},
    "click": {"cli"},
    "fsspec": {"runs"},
    "dask": {"fleet"},
    "distributed": {"fleet"},
    "pydantic_ai": {"world"},
}

FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Absolute names of everything a file imports, wherever in it."""
    package = ("recovery_kit", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join((*base, *([node.module] if node.module else [])))
            yield from (f"{name}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_run_down(path: Path) -> None:
    """No file imports a room of its own row or a higher one."""
    own = room_of(path)
    for name in imports(path):
        if name.startswith("recovery_kit."):
            other = name.split(".")[1]
            assert other in ROWS, f"{name} is no room"
            assert other == own or ROWS[other] < ROWS[own], f"{own} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_libraries_have_an_address(path: Path) -> None:
    """Heavy libraries are imported only in their rooms."""
    for name in imports(path):
        allowed = ADDRESSES.get(name.split(".")[0])
        assert allowed is None or room_of(path) in allowed, f"{room_of(path)} imports {name}"


def test_every_room_has_a_row() -> None:
    """A new folder is a new room, and has to say where it stands."""
    assert {room_of(path) for path in FILES} <= set(ROWS)
