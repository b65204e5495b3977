"""The tree of runs and mirrors in a place, as the mirrors themselves tell it; sources that are gone are in it by name.

Nothing but metadata is read.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recovery_kit.display import shown
from recovery_kit.formats.rundir import JOURNAL, META
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.run import Run

from .mirror import Mirror
from .origin import Origin, read_origin


@dataclass(frozen=True, slots=True)
class Kin:
    """A run or mirror, and the mirrors made of it."""

    run_id: str
    source: str | None
    """Where it lies, relative to what was opened; None for one that is gone."""
    status: str | None
    origin: Origin | None
    """Where it was cut from; None for a run that is no mirror, and for one that is gone."""
    branches: tuple["Kin", ...] = ()

    @property
    def gone(self) -> bool:
        return self.source is None

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Kin"]]:
        """This one and all below it, with their depths."""
        yield depth, self
        for branch in self.branches:
            yield from branch.walk(depth + 1)

    def text(self) -> str:
        """One line. Ids are raw."""
        if self.gone:
            return f"{self.run_id} (gone from here)"
        origin = self.origin
        cut = f", cut at {origin.at} (record {origin.record}, batch {origin.batch})" if origin else ""
        return f"{self.run_id}: {self.status or 'unreadable'}{cut}"


@dataclass(frozen=True)
class Lineage:
    """Trees of runs and mirrors, each beginning with a run that was not cut from another."""

    roots: tuple[Kin, ...]

    def __iter__(self) -> Iterator[Kin]:
        return (kin for root in self.roots for _, kin in root.walk())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def rows(self) -> list[dict[str, Any]]:
        """One row a run, a parent before its branches."""
        return [
            {
                "run_id": kin.run_id,
                "source": kin.source,
                "depth": depth,
                "gone": kin.gone,
                "status": kin.status,
                "mirror_of": kin.origin.source if kin.origin else None,
                "at": kin.origin.at if kin.origin else None,
                "record": kin.origin.record if kin.origin else None,
                "batch": kin.origin.batch if kin.origin else None,
                "journal_sha256": kin.origin.journal_sha256 if kin.origin else None,
            }
            for root in self.roots
            for depth, kin in root.walk()
        ]

    def text(self) -> str:
        """A line a run, indented below what it was cut from."""
        return "\n".join("  " * depth + kin.text() for root in self.roots for depth, kin in root.walk())

    def __repr__(self) -> str:
        return "\n".join(shown(line, None, None) for line in self.text().split("\n"))


def lineage(source: Run | Mirror | Runs | str | os.PathLike[str] | Mapping[str, bytes]) -> Lineage:
    """The tree of the runs in a place. For one run, of the folder that holds it, if that can be told.

    Raises NotARun where there is none.
    """
    runs = _runs(source)
    return Lineage(_trees(runs))


def _runs(source: Any) -> list[Run]:
    if isinstance(source, Mirror):
        source = source.path
    if isinstance(source, Run):
        if source.folder is None:
            return [source]
        source = source.folder
    if isinstance(source, Runs):
        return list(source.agent_runs)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir() and any((path / mark).is_file() for mark in (META, JOURNAL)):
            source = path.resolve().parent
    return list(open_runs(source).agent_runs)


def _trees(runs: list[Run]) -> tuple[Kin, ...]:
    origins = {id(run): read_origin(run.meta.metadata) if run.meta else None for run in runs}
    known = {run.id for run in runs}
    below: dict[str, list[Run]] = {}
    above: dict[str, str] = {}
    for run in runs:
        origin = origins[id(run)]
        if origin is None:
            continue
        below.setdefault(origin.source, []).append(run)
        for older, younger in zip((*origin.line, origin.source), (*origin.line, origin.source)[1:], strict=False):
            if younger not in known:
                above[younger] = older
    gone = {name for name in (*below, *above, *above.values()) if name not in known}
    done: set[str] = set()

    def kin_of(name: str, run: Run | None) -> Kin:
        first = name not in done
        done.add(name)
        cut_from_it = below.get(name, ()) if first else ()
        branches = tuple(kin_of(child.id, child) for child in cut_from_it if child.id not in done)
        lost = tuple(kin_of(n, None) for n in sorted(gone) if first and above.get(n) == name and n not in done)
        meta = run.meta if run else None
        return Kin(name, run.source if run else None, meta.status if meta else None,
                   origins[id(run)] if run else None, (*branches, *lost))  # fmt: skip

    trees = [kin_of(run.id, run) for run in runs if origins[id(run)] is None]
    trees += [kin_of(name, None) for name in sorted(gone) if name not in above and name not in done]
    trees += [kin_of(run.id, run) for run in runs if run.id not in done]  # whose lineage leads in a circle
    return tuple(trees)
