"""Where the tests' data lies, and how to open it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_runs"
CASES = ROOT / "tests" / "data" / "cases"


def sample(story: str) -> Path:
    """The folder of a sample story's only run, or of its first."""
    return next(path for path in sorted((SAMPLES / story).iterdir()) if path.is_dir())


def run_folders() -> list[Path]:
    """Every run directory among the samples."""
    return sorted(path.parent for path in SAMPLES.glob("*/*/meta.json"))


def journals() -> list[Path]:
    """Every journal among the samples."""
    return sorted(SAMPLES.glob("*/*/run.lvr"))


def case(name: str) -> dict[str, Any]:
    """What a field case expects."""
    return orjson.loads((CASES / name / "expect.json").read_bytes())


def case_runs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(case, relative folder, expectation) of every run of every case."""
    for expect in sorted(CASES.glob("*/expect.json")):
        for relative, wanted in (orjson.loads(expect.read_bytes()).get("runs") or {}).items():
            yield expect.parent.name, relative, wanted


def files_of(folder: Path) -> dict[str, bytes]:
    """A run directory as named bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
