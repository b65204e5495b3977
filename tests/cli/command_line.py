"""Where the runs of these tests are, and what they have in common."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from click.testing import Result
from samples import CASES, SAMPLES, sample

__all__ = [
    "BREAKING",
    "CASES",
    "FINISHED",
    "HOSTILE",
    "KILLED",
    "MARKUP",
    "SAMPLES",
    "SIGNED",
    "TORN",
    "Kit",
    "digests",
]

KILLED = sample("02a-killed-mid-batch")
FINISHED = sample("01-finished")
TORN = sample("14a-torn-tail")
HOSTILE = sample("16a-hostile-text")
SIGNED = next((CASES / "H08-signing-key-in-the-journal" / "input" / "runs").iterdir())
MARKUP = next((CASES / "H09-markup-in-names" / "input" / "runs").iterdir())
BREAKING = CASES / "H03-text-that-breaks" / "input" / "runs"

Kit = Callable[..., Result]
"""The fixture `kit`: run one command."""


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder by the hash of its bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
