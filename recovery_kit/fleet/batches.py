"""Work over many runs cut into batches, and the ways to have them done: here, in other processes, on a dask cluster.

One pure function goes from a batch of places to its summaries; an executor only decides where it runs. Batches are cut
by bytes, so that a task is worth sending.
"""

import multiprocessing
import os
import signal
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import msgspec

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.bulk import collector_off
from recovery_kit.runs.places import Place, run_at
from recovery_kit.runs.run import Run

from .cluster import is_client, on_cluster
from .growth import GROW_FROM, anchor_of, grown, pack, unpack
from .summary import Summary, counted_summary, summary_at, unreadable, untold

BATCH_BYTES = 16 << 20
"""Bytes of a batch: about a second of work."""
MOST_RUNS = 500
"""Runs of a batch, however small."""
ALONE_BELOW = 48 << 20
"""Below so many bytes starting other processes costs more than it gives."""

Batch = tuple[Place, ...]
Executor = Any
"""`None` (by size), `"serial"`, `"processes"`, or a dask `Client`."""


def batches(places: Sequence[Place], most_bytes: int = BATCH_BYTES, most_runs: int = MOST_RUNS) -> list[Batch]:
    """The places in order, cut where a batch would become larger than `most_bytes` (a larger run is a batch alone)."""
    found: list[Batch] = []
    batch: list[Place] = []
    held = 0
    for place in places:
        if batch and (held + place.size > most_bytes or len(batch) >= most_runs):
            found.append(tuple(batch))
            batch, held = [], 0
        batch.append(place)
        held += place.size
    return [*found, tuple(batch)] if batch else found


class Known(NamedTuple):
    """What an index knows of a run that has changed since."""

    journal: int
    """Bytes of its journal then."""
    crc: int
    anchor: bytes | None


class Read(NamedTuple):
    """What became of a place."""

    summary: Summary
    anchor: bytes | None = None
    """Of a long journal, where somebody keeps it."""
    replaced: bool = False
    """The journal is not the one that was known, or shrank."""


Keeping = Mapping[str, Known]
"""For an index: what it knows, by run. Then anchors and checksums are told, too."""


def read_batch(batch: Batch, verified: bool = False, keeping: Keeping | None = None) -> list[Read]:
    """What every executor runs: the summaries of a batch. Never raises for a run."""
    with collector_off():
        if keeping is None:
            return [Read(summary_at(place, verified=verified)) for place in batch]
        return [_kept(place, verified, keeping.get(place.source)) for place in batch]


def _kept(place: Place, verified: bool, known: Known | None) -> Read:
    """The summary of a place for an index, from what was appended where that tells it."""
    try:
        if known is not None and known.anchor is not None:
            anchor = unpack(known.anchor)
            found = grown(run_at(place, verified=verified), anchor, known.journal, known.crc, place.journal)
            if found is not None:
                return Read(found[0], pack(found[1]))
        run = run_at(place, verified=verified)
        summary = counted_summary(run)
        if summary.trouble is not None:
            return Read(summary)
        data = run.journal.data
        replaced = known is not None and zlib.crc32(data[: known.journal]) != known.crc
        summary = msgspec.structs.replace(summary, crc=zlib.crc32(data))
        return Read(summary, _anchor(run, summary), replaced)
    except Exception as no:
        return Read(unreadable(place.source, no))


def _anchor(run: Run, summary: Summary) -> bytes | None:
    if summary.journal < GROW_FROM:
        return None
    anchor = run.ask(lambda story: anchor_of(story, summary.journal, run.masker))
    return None if anchor is None else pack(msgspec.structs.replace(anchor, written_by=summary.row["written_by"]))


def done(
    work: Sequence[Batch],
    executor: Executor = None,
    *,
    verified: bool = False,
    timeout: float | None = None,
    keeping: Keeping | None = None,
) -> Iterator[list[Read]]:
    """The summaries of all batches, in any order of completion.

    `timeout`: seconds after which a source that gives no batch at all is given up; only other processes can be left
    behind, so with `"serial"` it is not kept. Raises ValueError for an executor that is none.
    """
    if is_client(executor):
        return on_cluster(executor, read_batch, work, verified, _given_up, keeping)
    if executor not in (None, "serial", "processes"):
        raise ValueError('an executor is "serial", "processes" or a dask Client')
    size = sum(place.size for batch in work for place in batch)
    several = len(work) > 1 and (os.cpu_count() or 1) > 1
    if executor == "processes" or (executor is None and several and size >= ALONE_BELOW and _can_fork()):
        return _in_processes(work, verified, timeout, keeping)
    return (read_batch(batch, verified, keeping) for batch in work)


def _given_up(batch: Batch, why: str) -> list[Read]:
    return [Read(untold(place.source, why)) for place in batch]


# Other processes.


def _in_processes(
    work: Sequence[Batch], verified: bool, timeout: float | None, keeping: Keeping | None
) -> Iterator[list[Read]]:
    """A worker that is killed costs a second try, alone and then in this process's stead; a hanging one is left."""
    left = dict(enumerate(work))
    for _ in range(2):
        if not left:
            return
        try:
            yield from _pooled(left, verified, timeout, keeping)
        except BrokenProcessPool:
            continue
        return
    for number in sorted(left):  # pools do not work here: do it ourselves
        yield read_batch(left.pop(number), verified, keeping)


def _pooled(
    left: dict[int, Batch], verified: bool, timeout: float | None, keeping: Keeping | None
) -> Iterator[list[Read]]:
    """What is done is taken out of `left`. Raises BrokenProcessPool."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(min(len(left), os.cpu_count() or 1), _context(), initializer=_quiet)
    try:
        waiting: dict[Future[list[Read]], int] = {
            pool.submit(read_batch, batch, verified, _of(batch, keeping)): number for number, batch in left.items()
        }
        while waiting:
            ready, _ = wait(waiting, timeout, FIRST_COMPLETED)
            if not ready:  # nothing at all for so long: the source hangs
                for number in waiting.values():
                    yield _given_up(left.pop(number), f"the source did not answer within {timeout:g} s")
                return
            for future in ready:
                number = waiting.pop(future)
                found = _result(future, left[number])
                del left[number]
                yield found
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
            child.join(5)


def _of(batch: Batch, keeping: Keeping | None) -> Keeping | None:
    """Of what is known no more than the batch needs, to be sent with it."""
    if keeping is None:
        return None
    return {place.source: keeping[place.source] for place in batch if place.source in keeping}


def _result(future: Future[list[Read]], batch: Batch) -> list[Read]:
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except (RecoveryKitError, OSError, RuntimeError, ValueError, MemoryError) as no:
        return [Read(unreadable(place.source, no)) for place in batch]


def _can_fork() -> bool:
    """Forking is quick, and safe only while there is one thread. Any other start runs the caller's script again, so it
    is for who asks for it."""
    return threading.active_count() == 1 and "fork" in multiprocessing.get_all_start_methods()


def _context() -> Any:
    return multiprocessing.get_context("fork" if _can_fork() else "spawn")


def _quiet() -> None:
    """Ctrl-C is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


Told = Callable[[int, int], None]
"""Called with runs done and runs in all, for a progress bar."""
