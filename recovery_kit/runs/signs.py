"""Which engine version wrote a run, as far as its files tell: the oldest one that writes all that is there."""

from collections.abc import Iterator

import msgspec

from recovery_kit.formats import rundir
from recovery_kit.history.story import Story
from recovery_kit.records.engines import version
from recovery_kit.records.journal import KINDS
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.scalars import known_since

_META_SINCE = {
    name: known_since(note) for name, note in RunMeta.__annotations__.items() if known_since(note) is not None
}


def written_by(story: Story) -> str | None:
    """The version, or None where neither metadata nor a journal can be read."""
    signs = list(_signs(story))
    return max(signs, key=version) if signs else None


def _signs(story: Story) -> Iterator[str]:
    data = story.files.raw(rundir.META)
    try:
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw]) if data is not None else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        members = {}
    if members:
        yield "0.1.0"
    for name in members:
        since = _META_SINCE.get(name)
        if since:
            yield since
    for kind in dict.fromkeys(story.reading().kinds):
        yield KINDS[kind].since
    if rundir.BLUEPRINT in story.files.facts:
        yield "0.6.4"
    for event in story.events:
        if getattr(event.record, "visit_id", "") or getattr(event.record, "execution_id", ""):
            yield "0.6.4"
            return
