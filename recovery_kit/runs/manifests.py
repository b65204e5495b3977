"""The manifest of a run: its own copy, else the one of that agent in a folder of agents.

Belongs here: finding and reading one. A path that the run itself names is never opened. What a missing manifest costs
is said by whoever needs it.
"""

from collections.abc import Iterator
from pathlib import Path

from recovery_kit.errors import ManifestUnreadable
from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.history.findings import SAFE_ID
from recovery_kit.records.blueprint import Blueprint

from .run import Run

MANIFEST = "agent.leviath"


def manifest_of(run: Run, agents: Path | None = None) -> Blueprint | None:
    """The run's own copy; where there is none that reads, the manifest in `agents` of the agent of that name.

    `agents` holds a folder for each agent; the one of that name is looked at first. Raises ManifestUnreadable where
    `agents` is given and none in it is of that agent.
    """
    own = run.story.blueprint
    if own is not None or agents is None:
        return own
    name = run.meta.agent_name if run.meta else None
    for path in _candidates(agents, name):
        try:
            found = parse_manifest(path.read_bytes())
        except (ManifestUnreadable, OSError):
            continue  # another agent's broken manifest is not this run's trouble
        if found.name == name:
            return found
    raise ManifestUnreadable(agents, f"no {MANIFEST} in there is of this run's agent")


def _candidates(agents: Path, name: str | None) -> Iterator[Path]:
    direct = agents / name / MANIFEST if name and SAFE_ID.fullmatch(name) else None
    if direct is not None and direct.is_file():
        yield direct
    yield from (path for path in sorted(agents.glob(f"*/{MANIFEST}")) if path != direct)
