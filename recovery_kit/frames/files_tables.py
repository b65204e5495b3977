"""The evidence and what is wrong with it: `files_df`, `findings_df`."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from recovery_kit.formats import rundir
from recovery_kit.history.agreement import agrees
from recovery_kit.records.findings import SEVERITY, Finding
from recovery_kit.runs.run import FileEvidence, Run

from .columns import AnyRuns, Column, Table, build, or_none
from .runs_table import SEVERITIES, Findings, of_the_run

if TYPE_CHECKING:
    import pandas as pd


class _FileRow(NamedTuple):
    file: FileEvidence
    agrees: bool | None


def _files(run: Run) -> Iterator[_FileRow]:
    return (_FileRow(file, agrees(run.story, file.name)) for file in run.evidence)


FILES = Table(
    "files",
    "a file of the run",
    _files,
    (
        Column("name", "text", "file.name", "relative to the run"),
        Column("bytes", "u64", "file.size", "its size"),
        Column("sha256", "text", "file.sha256", "of its bytes; a gap for a link and for what cannot be read"),
        Column("modified", "time", "file.modified", "as the file system says"),
        Column("parsed_as", "own_word", "file.parsed_as", "what it was read as", ("journal", *rundir.READERS)),
        Column(
            "agrees",
            "flag",
            "agrees",
            "with the others, or with the hash it is known by; a gap where nothing can be held against it",
        ),
        Column("why", "text", "file.why", "why it does not parse"),
    ),
)

_FINDING_COLUMNS = (
    Column("offset", "u64", "offset", "of the record it is about"),
    Column("kind", "word", "kind", "of the closed list", tuple(SEVERITY)),
    Column("severity", "own_word", "severity", "how grave it is", SEVERITIES),
    Column("file", "text", "file", "the file it is about, relative to the run"),
    Column("sentence", "text", "sentence", "what it says"),
    Column("engine_does", "text", or_none("engine_does"), "what the engine will do about it, where that is known"),
)


def _findings(run: Run, findings: Findings) -> Iterator[Finding]:
    return iter(findings(run))


FINDINGS = Table(
    "findings",
    "something damaged, contradictory, lost or suspicious",
    partial(_findings, findings=of_the_run),
    _FINDING_COLUMNS,
)


def files_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a file, with size and SHA-256 (docs/tables.md)."""
    return build(FILES, runs, text)


def findings_df(runs: AnyRuns, *, text: bool = False, findings: Findings = of_the_run) -> "pd.DataFrame":
    """A row a finding (docs/tables.md). `findings` says where they come from: those about a restart are told by it."""
    return build(Table("findings", FINDINGS.doc, partial(_findings, findings=findings), _FINDING_COLUMNS), runs, text)
