"""Files of a run that are there and cannot be read: trouble, whatever else a command has to say."""

from collections.abc import Iterator

from recovery_kit.errors import NotARun
from recovery_kit.formats import rundir
from recovery_kit.formats.loom_set import UNREAD
from recovery_kit.runs.collection import AnyRun
from recovery_kit.runs.loom_run import LoomRun

from .trouble import say_trouble


def say_unread(*runs: AnyRun) -> bool:
    """Name each file that is there and that this user or this disk does not give; whether there is one.

    What is damaged is a finding; what nobody let us read is trouble, and nothing may be concluded from it.
    """
    troubles = [trouble for run in runs for trouble in _unread(run)]
    for trouble in troubles:
        say_trouble(trouble)
    return bool(troubles)


def _unread(run: AnyRun) -> Iterator[NotARun]:
    if isinstance(run, LoomRun):
        for finding in run.findings:
            if finding.detail.startswith(UNREAD):
                yield NotARun(f"{run.project.label}/{finding.path}", finding.detail)
        return
    for name in (rundir.JOURNAL, *rundir.READERS):
        why = run.files.trouble(name) if name in run.files.facts else None
        if why not in (None, "link_refused"):
            yield NotARun(f"{run.files.source.label}/{name}", f"it cannot be read ({why})")
