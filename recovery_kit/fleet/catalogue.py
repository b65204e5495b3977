"""`catalogue`: many runs with an index of them, so that a second look costs what has changed.

The index is the kit's own and lies outside the runs. Every row in it is what `scan` would say of the files as they were
when their stamp was taken; a run whose stamp is another one is read again before anything is told of it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recovery_kit.display import Drawn
from recovery_kit.errors import CannotWrite, MissingExtra, NotARun, RecoveryKitError
from recovery_kit.formats import rundir
from recovery_kit.frames.csv_export import to_csv
from recovery_kit.runs.moment import State
from recovery_kit.runs.places import AnySource, Listing, Place, list_places, run_at
from recovery_kit.runs.run import Run

from .batches import BATCH_BYTES, Executor, Known, Told, batches, done
from .growth import state_at_end, unpack
from .index import Index, IndexDamaged, IndexOutOfReach, index_path
from .scan import table_of, told_troubles, troubles_of
from .summary import Summary

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

IN_MEMORY = ":memory:"
"""Instead of a path: an index that is gone when the catalogue is closed."""
DAMAGED = "The index was damaged and has been built anew; nothing is lost, it holds only what the runs hold."
OUT_OF_REACH = "The index cannot be used ({why}), so this look is kept in memory only; the runs are untouched."
REPLACED = "{name}: its journal shrank or is another one; it was read again from its beginning."
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a look at the places found, by the runs' relative paths."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    replaced: tuple[str, ...]
    """Of the changed ones those whose journal shrank or is another one: read again from its beginning."""
    gone: tuple[str, ...]
    unchanged: int
    fetched: int
    """Bytes that were read."""
    said: tuple[str, ...]
    """Sentences that somebody should see."""

    @property
    def anything(self) -> bool:
        return bool(self.new or self.changed or self.gone)


@dataclass(frozen=True, slots=True)
class Found:
    """A run in whose task, error or answer a text stands."""

    source: str
    where: str
    """`task`, `error` or `answer`."""
    excerpt: str
    """The masked text around it, unescaped."""


class Catalogue(Drawn):
    """The runs of a source and their index. A context manager; `close` when done.

    Two processes may use one index at once. Where it is damaged it is built anew, where it cannot be used the look is
    kept in memory, and `said` tells so in a sentence.
    """

    def __init__(
        self, source: AnySource, index: str | os.PathLike[str] | None = None, *, verified: bool = False
    ) -> None:
        self._verified = verified
        if isinstance(source, Mapping):
            raise NotARun(None, "bytes have no place to come back to, so there is nothing to index: use scan")
        parts = [os.fspath(part) for part in ([source] if isinstance(source, str | os.PathLike) else source)]
        self._source: AnySource = parts[0] if isinstance(source, str | os.PathLike) else parts
        self.path: Path | None = Path(index) if index is not None else index_path([*parts, f"verified {verified}"])
        """The index; None while it is kept in memory."""
        if str(index) == IN_MEMORY:
            self.path = None
        self.said: list[str] = []
        """Sentences about the index that somebody should see."""
        self._listing = Listing("", (), ())
        self._places: dict[str, Place] = {}
        self._index = self._opened()

    def _opened(self) -> Index:
        try:
            return Index(self.path)
        except IndexDamaged:
            return self._anew()
        except IndexOutOfReach as no:
            return self._in_memory(str(no))

    def _anew(self) -> Index:
        """A damaged index is deleted: it holds nothing of its own."""
        self.said.append(DAMAGED)
        assert self.path is not None
        try:
            for end in ("", "-wal", "-shm"):
                Path(f"{self.path}{end}").unlink(missing_ok=True)
            return Index(self.path)
        except (OSError, IndexDamaged, IndexOutOfReach) as no:
            return self._in_memory(type(no).__name__)

    def _in_memory(self, why: str) -> Index:
        self.said.append(OUT_OF_REACH.format(why=why))
        self.path = None
        return Index(None)

    def _asked(self, question: Callable[[Index], T]) -> T:
        """Ask the index; one that is damaged or out of reach is replaced and everything read again."""
        try:
            return question(self._index)
        except (IndexDamaged, IndexOutOfReach) as no:
            self._index.close()
            self._index = self._anew() if isinstance(no, IndexDamaged) else self._in_memory(str(no))
            self._refresh(None, None)
            return question(self._index)

    # Looking.

    def refresh(self, executor: Executor = None, *, progress: Told | None = None) -> Refreshed:
        """Look at the places again and read what is new or has changed since.

        What is read is kept batch by batch, so that a refresh which is broken off goes on where it stopped. Raises
        NotARun where the source is not there.
        """
        return self._asked(lambda _: self._refresh(executor, progress))

    def _refresh(self, executor: Executor, progress: Told | None) -> Refreshed:
        places = self._look()
        known = self._index.stamps()
        stale = [place for name, place in places.items() if known.get(name) != place.stamp]
        away = [each.source for each in self._listing.unlisted]
        gone = [name for name in known if name not in places and not _below(name, away)]
        keeping = {place.source: old for place in stale if (old := self._known(place.source, known)) is not None}
        fetched = read = 0
        replaced: list[str] = []
        for found in done(batches(stale, BATCH_BYTES), executor, verified=self._verified, keeping=keeping):
            rows = [(_stamp(places[each.summary.source], each.summary), each.summary) for each in found]
            self._index.write(rows, longs=[(each.summary.source, each.anchor) for each in found])
            replaced += [each.summary.source for each in found if each.replaced]
            fetched += sum(each.summary.fetched for each in found)
            read += len(found)
            if progress:
                progress(read, len(stale))
        if gone:
            self._index.write((), gone)
        said = [REPLACED.format(name=name) for name in sorted(replaced)]
        return Refreshed(
            tuple(p.source for p in stale if p.source not in known),
            tuple(p.source for p in stale if p.source in known),
            tuple(sorted(replaced)), tuple(gone), len(places) - len(stale), fetched, (*self.said, *said),
        )  # fmt: skip

    def _known(self, source: str, stamps: Mapping[str, bytes]) -> Known | None:
        """What the index knows of a run, None for one that is new or could not be read."""
        row = self._index.row(source) if source in stamps else None
        if row is None or row.summary.trouble is not None:
            return None
        return Known(row.summary.journal, row.summary.crc, self._index.long(source))

    # What is in it.

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """Every run in short, by its path."""
        return self._asked(lambda index: tuple(row.summary for row in index.rows()))

    def summary(self, source: str) -> Summary | None:
        """One run in short, by its relative path; None for one that is not in the index."""
        row = self._asked(lambda index: index.row(source))
        return row.summary if row else None

    def __len__(self) -> int:
        return self._asked(len)

    def runs_df(self) -> "pd.DataFrame":
        """`runs_df` of all runs that could be read, without findings."""
        return table_of(self.summaries)

    def findings_df(self) -> "pd.DataFrame":
        """A row for each run and folder that could not be read."""
        return troubles_of(self.summaries, self._listing.unlisted)

    def troubles(self) -> list[tuple[str, str, str]]:
        """(path, kind, sentence) of each run and folder that could not be read."""
        return told_troubles(self.summaries, self._listing.unlisted)

    def run(self, source: str) -> Run:
        """The run itself, by its relative path or id. Raises NotARun where it is no longer there."""
        place = self._place(source)
        if place is None:
            raise NotARun(self._listing.label, f"no run {source!r} is in the catalogue")
        return run_at(place, verified=self._verified)

    def _look(self) -> dict[str, Place]:
        self._listing = list_places(self._source)
        self._places = {place.source: place for place in self._listing.places}
        return self._places

    def last_state(self, source: str) -> State:
        """The state of a run after its last readable record; of a long journal without its middle. Raises NotARun."""
        run, place = self.run(source), self._place(source)
        kept = self._asked(lambda index: index.long(place.source)) if place else None
        if kept and place:
            with suppress(OSError):
                state = state_at_end(run, unpack(kept), place.journal)
                if state is not None:
                    return state
        return run.at()

    def _place(self, source: str) -> Place | None:
        places = self._places or self._look()
        if source in places:
            return places[source]
        named = [place for name, place in places.items() if name.endswith(f"/{source}")]
        return named[0] if len(named) == 1 else None

    def search(self, text: str) -> Iterator[Found]:
        """Runs whose task, error or final answer holds a text, case ignored; the first word is found by its beginning.

        The index says where to look; what is shown comes from the run's own files, masked before it is compared.
        """
        wanted = text.casefold()
        words = _WORD.findall(text)
        if not words:
            return
        query = " AND ".join(f'"{word}"*' for word in words)
        for source in self._asked(lambda index: index.with_words(query)):
            yield from self._stands(source, wanted)

    def _stands(self, source: str, wanted: str) -> Iterator[Found]:
        place = self._place(source)
        if place is None:
            return
        with suppress(OSError, RecoveryKitError):
            run = run_at(place, verified=False)
            meta, answer = run.files.meta, run.files.raw(rundir.FINAL_OUTPUT)
            texts = {
                "task": meta.task if meta else None,
                "error": meta.error if meta else None,
                "answer": None if answer is None else bytes(answer).decode("utf-8", "replace"),
            }
            for where, text in texts.items():
                if text is None or wanted not in text.casefold():
                    continue
                masked = run.masker(text)  # asks the journal for the run's own secrets, so only now
                at = masked.casefold().find(wanted)
                if at >= 0:
                    yield Found(source, where, masked[max(0, at - 60) : at + len(wanted) + 60])

    # Taking it elsewhere.

    def export(self, to: str | os.PathLike[str]) -> Path:
        """Write `runs_df` to a file: Parquet (`.parquet`, needs pyarrow), else CSV. Raises MissingExtra, OSError."""
        return export(self.runs_df(), to)

    def close(self) -> None:
        self._index.close()

    def __enter__(self) -> "Catalogue":
        return self

    def __exit__(self, *how: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Catalogue of {self._listing.label}: {len(self)} runs>"


def catalogue(
    source: AnySource,
    index: str | os.PathLike[str] | None = None,
    *,
    refresh: bool = True,
    executor: Executor = None,
    verified: bool = False,
    progress: Told | None = None,
) -> Catalogue:
    """The runs of a folder, an archive, a URL or a list of those, with an index that makes the next look cheap.

    `index`: where the index file lies (default: the user's cache folder). `refresh`: look at the places now; without it
    the catalogue tells what the last look found. Raises NotARun where the source is not there.
    """
    made = Catalogue(source, index, verified=verified)
    try:
        if refresh:
            made.refresh(executor, progress=progress)
    except BaseException:
        made.close()
        raise
    return made


def export(frame: "pd.DataFrame", to: str | os.PathLike[str]) -> Path:
    """A table as a Parquet or CSV file, by the name's ending. Raises MissingExtra, CannotWrite."""
    path = Path(to)
    try:
        if path.suffix == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            to_csv(frame, path)
    except ImportError:
        raise MissingExtra(None, "Parquet needs pyarrow: pip install 'recovery-kit[cluster]'") from None
    except OSError as no:
        raise CannotWrite(path, f"it cannot be written ({type(no).__name__})") from None
    return path


def _stamp(place: Place, summary: Summary) -> bytes:
    """A run that could not be read is looked at again next time, whatever its stamp."""
    return b"" if summary.trouble is not None else place.stamp


def _below(name: str, folders: list[str]) -> bool:
    """Whether a run lies in a folder that could not be listed: it is not gone, nobody can say."""
    return any(name == folder or name.startswith(folder + "/") for folder in folders)
