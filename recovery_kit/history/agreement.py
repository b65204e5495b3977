"""Whether a file of a run agrees with the others, or with the hash that it is known by."""

import hashlib

from recovery_kit.formats import rundir

from .story import Story

_ABOUT = {rundir.META: ("meta", "status", "iteration", "stage"), rundir.CONTEXT: ("window",)}


def agrees(story: Story, name: str) -> bool | None:
    """True or False for a file that something else can be held against, else None."""
    if name in _ABOUT:
        if story.files.parsed(name).value is None or story.fold() is None:
            return None
        return not any(row.about in _ABOUT[name] for row in story.disagreements)
    if name == rundir.BLUEPRINT:
        return story.blueprint_facts().digest_matches
    if name == rundir.FINAL_OUTPUT:
        answer = story.answer
        return answer.described if answer is not None and answer.file_present else None
    if name.startswith(rundir.BLOBS + "/"):
        data = story.files.raw(name)
        return None if data is None else hashlib.sha256(data).hexdigest() == name.rpartition("/")[2]
    return None
