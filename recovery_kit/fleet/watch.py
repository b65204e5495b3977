"""`watch`: what happens to many runs while somebody looks, as events.

The first look is where things stand and makes no event. Each later one reads what has changed and tells it: a run that
came or went, one that moved, one of which another thing must be said than before.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from recovery_kit.runs.places import AnySource
from recovery_kit.runs.remote import is_url

from .catalogue import Catalogue, Refreshed
from .summary import Summary
from .waking import Waker

SOONEST, LATEST, LATEST_TOLD = 0.25, 8.0, 60.0
"""Seconds between two looks: the longer nothing comes the longer, up to the last two (where the kernel tells of
changes, looking is only a safeguard)."""

What = Literal["new", "moved", "verdict", "replaced", "unreadable", "gone"]
_HEADLINE = ("status", "waits_on", "needs_person", "n_unknown")
_MOVE = ("stage", "iteration", "moved_at", "n_records")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a run. Texts are masked."""

    event: What
    """`verdict`: its status, what it waits on, whether a person is needed or its unknown effects changed. `moved`:
    something else did. `replaced`: its journal shrank or is another one."""
    run_id: str
    source: str
    status: str | None = None
    waits_on: str | None = None
    needs_person: bool | None = None
    n_unknown: int | None = None
    stage: str | None = None
    iteration: int | None = None
    moved_at: int | None = None
    """Unix seconds."""
    before: dict[str, Any] | None = None
    """Of what changed, what it was."""
    why: str | None = None
    """Why it cannot be read."""

    def as_json(self) -> dict[str, Any]:
        """One object, without what does not apply."""
        row = asdict(self)
        return {key: value for key, value in row.items() if value is not None or key in _HEADLINE}


def watch(
    source: AnySource,
    index: str | os.PathLike[str] | None = None,
    *,
    waker: Waker | None = None,
    looks: int | None = None,
    said: Callable[[str], None] | None = None,
) -> Iterator[Event]:
    """Events as they come, until whoever asks has enough; `looks`: after so many looks.

    `index` as for `catalogue`. `said` is called with sentences about the index. Raises NotARun where the source is not
    there at the first look.
    """
    waker = waker or Waker()
    try:
        with Catalogue(source, index) as runs:
            yield from _events(runs, _folders(source), waker, looks, said or (lambda sentence: None))
    finally:
        waker.close()


def _events(
    runs: Catalogue, root: str | None, waker: Waker, looks: int | None, said: Callable[[str], None]
) -> Iterator[Event]:  # fmt: skip
    first = runs.refresh()
    known = {summary.source: summary for summary in runs.summaries}
    for sentence in first.said:
        said(sentence)
    delay = SOONEST
    while looks is None or looks > 0:
        looks = None if looks is None else looks - 1
        if root is not None:
            waker.look_at(_to_watch(root, known))
        waker.wait(delay)
        found = runs.refresh()
        if found.anything:
            yield from _told(found, known, runs)
        latest = LATEST_TOLD if waker.told and root is not None else LATEST
        delay = SOONEST if found.anything else min(2 * delay, latest)


def _told(found: Refreshed, known: dict[str, Summary], runs: Catalogue) -> Iterator[Event]:
    for source in found.gone:
        known.pop(source, None)
        yield Event("gone", source.rsplit("/", 1)[-1], source)
    for source in sorted({*found.new, *found.changed}):
        now = runs.summary(source)
        if now is None:
            continue
        before, known[source] = known.get(source), now
        event = _event(before, now, source in found.replaced)
        if event is not None:
            yield event


def _event(before: Summary | None, now: Summary, replaced: bool) -> Event | None:
    run_id = now.source.rsplit("/", 1)[-1]
    if now.trouble is not None:
        same = before is not None and before.trouble == now.trouble
        return None if same else Event("unreadable", run_id, now.source, why=now.trouble)
    row, old = now.row, before.row if before is not None and before.trouble is None else None
    if old is None:
        what: What = "new"
        changed: dict[str, Any] = {}
    else:
        changed = {name: old[name] for name in (*_HEADLINE, *_MOVE) if old[name] != row[name]}
        what = "verdict" if any(name in changed for name in _HEADLINE) else "moved"
        if not changed and not replaced:
            return None
    shown = ("status", "waits_on", "needs_person", "n_unknown", "stage", "iteration", "moved_at")
    told = {name: row[name] for name in shown}
    return Event("replaced" if replaced else what, run_id, now.source, **told, before=changed or None)


def _folders(source: AnySource) -> str | None:
    """The one folder that the kernel can tell of; None for a list, a URL, an archive."""
    if not isinstance(source, str | os.PathLike) or is_url(os.fspath(source)) or not os.path.isdir(source):
        return None
    return os.fspath(source)


def _to_watch(root: str, known: dict[str, Summary]) -> Iterator[str]:
    """The root, each run's folder, and the folders between."""
    yield root
    between: set[Path] = set()
    for source in known:
        folder = Path(root, source)
        yield str(folder)
        between.update(parent for parent in folder.parents if len(parent.parts) > len(Path(root).parts))
    yield from map(str, between)
