"""Looking for text in one run: every string of every readable record and of the JSON files, masked before it is
compared."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from recovery_kit.formats import rundir
from recovery_kit.history.story import Story

AROUND = 60
"""Characters shown on each side of a hit."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the text stands."""

    file: str
    offset: int | None
    """Of the frame; None in a JSON file."""
    kind: str | None
    """Of the record."""
    member: str
    """Where in the record: names and indexes joined by dots."""
    excerpt: str
    """The masked text around it, unescaped."""
    behind_tear: bool = False


def search(story: Story, text: str, mask: Callable[[str], str]) -> Iterator[Hit]:
    """Hits in the order of the file, then those in JSON files. Case is ignored; a masked secret is never found."""
    wanted = text.casefold()
    if not wanted:
        return
    journal = story.journal
    for place in (journal, journal.behind) if journal.salvage.frames else (journal,):
        behind = place is not journal
        for frame, kind in place.read():
            offset = place.framing.offsets[frame]
            for member, value in strings(_loaded(place.payload(frame))):
                for excerpt in excerpts(mask(value), wanted):
                    yield Hit(rundir.JOURNAL, offset, kind, member, excerpt, behind)
    for name in sorted(story.files.facts):
        if name == rundir.JOURNAL or name.startswith(rundir.BLOBS + "/"):
            continue
        data = story.files.raw(name)
        if data is not None:
            content = bytes(data).decode("utf-8", "replace")
            for excerpt in excerpts(mask(content), wanted):
                yield Hit(name, None, None, "", excerpt)


def _loaded(payload: memoryview) -> Any:
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return bytes(payload).decode("utf-8", "replace")


def strings(value: Any) -> Iterator[tuple[str, str]]:
    """(place, text) of each string in a JSON value."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, str):
            yield place, item
        elif isinstance(item, dict):
            waiting += [(f"{place}.{key}".lstrip("."), member) for key, member in reversed(item.items())]
        elif isinstance(item, list):
            waiting += [(f"{place}.{number}", member) for number, member in reversed(list(enumerate(item)))]


def excerpts(text: str, wanted: str) -> Iterator[str]:
    """The text around each place where `wanted`, which is folded, stands."""
    folded = text.casefold()
    if wanted not in folded:
        return
    same_places = len(folded) == len(text)
    start = folded.find(wanted)
    while start >= 0:
        if same_places:
            yield text[max(0, start - AROUND) : start + len(wanted) + AROUND]
        else:  # folding moved the characters: show the beginning instead of a wrong place
            yield text[: 2 * AROUND]
        start = folded.find(wanted, start + len(wanted))
