"""Where a mirror comes from, as strings in its own metadata, where every reload keeps them (leviath-run-directory 8.3).

Belongs here: the words of that record, both ways. The tree that follows from many of them is in `lineage.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from .cutting import Cut

PREFIX = "mirror."
EDITS = PREFIX + "edits"
"""Which rows of its file of edits are in force, by number; absent while none is."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The lineage of one mirror."""

    source: str
    """Id of the run it was cut from."""
    path: str
    """Where that run lay, relative to what was opened; never a path of a machine."""
    at: str
    """The moment as it was asked for: `end`, a point, `record:N`, `iteration:N`, `call:ID`."""
    record: int
    """Number of the last record before the cut; 0 where the JSON files were the source."""
    bytes: int
    """Of the source's journal up to the cut."""
    journal_sha256: str | None
    """Of those bytes."""
    batch: str
    """What became of a batch that was out at the cut: `keep`, `complete`, `drop`."""
    pending: tuple[str, ...]
    """Ids of calls that were left pending without a result."""
    line: tuple[str, ...]
    """Ids of the source's own sources, oldest first."""
    kit: str
    """Version of the kit that made it."""


def kit_version() -> str:
    """Of the installed kit."""
    try:
        return version("recovery-kit")
    except PackageNotFoundError:
        return "unknown"


def origin_of_cut(cut: Cut) -> Origin:
    """The lineage of a mirror made from a cut."""
    before = read_origin(cut.meta.metadata)
    line = (*before.line, before.source) if before else ()
    return Origin(
        cut.run.id, cut.run.source, str(cut.asked), cut.records, cut.end, cut.journal_sha256, cut.how,
        tuple(call.call_id for call in cut.open_calls), line, kit_version(),
    )  # fmt: skip


def metadata_of(origin: Origin) -> dict[str, str]:
    """As members of the mirror's metadata."""
    rows = {
        "source": origin.source,
        "path": origin.path,
        "at": origin.at,
        "record": str(origin.record),
        "bytes": str(origin.bytes),
        "journal_sha256": origin.journal_sha256 or "",
        "batch": origin.batch,
        "pending": " ".join(origin.pending),
        "line": " ".join(origin.line),
        "kit": origin.kit,
    }
    return {PREFIX + key: value for key, value in rows.items() if value}


def read_origin(metadata: Mapping[str, str]) -> Origin | None:
    """The lineage out of metadata; None where the run is no mirror. Never raises."""

    def word(key: str) -> str:
        return metadata.get(PREFIX + key, "")

    def number(key: str) -> int:
        text = word(key)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0

    if not word("source"):
        return None
    return Origin(
        word("source"), word("path"), word("at"), number("record"), number("bytes"), word("journal_sha256") or None,
        word("batch"), tuple(word("pending").split()), tuple(word("line").split()), word("kit"),
    )  # fmt: skip


def without_origin(metadata: Mapping[str, str]) -> dict[str, str]:
    """Metadata without any lineage."""
    return {key: value for key, value in metadata.items() if not key.startswith(PREFIX)}
