"""Where the manifest of a run is looked for: the run's own copy, another run of the folder, or a folder of agents.

A path recorded on another machine is never followed; only its shape is used.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recovery_kit.errors import ManifestUnreadable, NotARun
from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import NEWEST, Engine, engine

from .run import Run

MANIFEST = "agent.leviath"
"""What a manifest is called in its agent's folder."""


@dataclass(frozen=True, slots=True)
class Found:
    """A manifest, or why there is none."""

    blueprint: Blueprint | None
    where: str
    """What was read, in words."""
    why_not: str = ""


def agents_in(folder: Path | None) -> Mapping[str, Blueprint]:
    """Manifests below a folder, by the agent's name and by the name of the folder each lies in.

    Raises NotARun where the folder is not there. One that cannot be read as a manifest is left out.
    """
    if folder is None:
        return {}
    if not folder.is_dir():
        raise NotARun(folder, "there is no such folder of agents")
    found: dict[str, Blueprint] = {}
    for path in sorted(folder.rglob("*.leviath")):
        try:
            blueprint = parse_manifest(path.read_bytes())
        except (ManifestUnreadable, OSError):
            continue
        found.setdefault(blueprint.name, blueprint)
        found.setdefault(path.parent.name, blueprint)
    return found


def manifest_of(
    run: Run,
    agents: Mapping[str, Blueprint] | None = None,
    others: Mapping[str, Run] | None = None,
    rules: Engine | None = None,
) -> Found:
    """The manifest that a reload of the run would read, as far as it can be found.

    `agents` is what `agents_in` gives, `others` are runs of the same folder by id.
    """
    rules, agents, others = rules or engine(NEWEST), agents or {}, others or {}
    own = run.story.blueprint
    if own is not None and rules.reads_blueprint:
        return Found(own, "its own blueprint.leviath")
    meta = run.meta
    if meta is None:
        return Found(None, "", "its metadata cannot be read")
    parts = meta.agent_path.replace("\\", "/").split("/")
    for name in (parts[-2] if len(parts) > 1 else "", meta.agent_name):
        if name in agents:
            return Found(agents[name], f"the manifest of {name} in the folder of agents")
    owner = run.story.blueprint_facts(rules).agent_path_in_run
    other = others.get(owner) if owner else None
    if other is not None and other.story.blueprint is not None:
        return Found(other.story.blueprint, f"the blueprint.leviath of {owner}")
    if own is not None:
        return Found(own, "its own blueprint.leviath, which this engine does not read")
    parent = others.get(meta.parent_run_id or "")
    copy = parent.story.blueprint if parent is not None else None
    if copy is not None and copy.sha256 == meta.blueprint_digest:
        # A worker of a fan-out has no copy of its own; its parent's has the digest that it recorded.
        return Found(copy, f"the blueprint.leviath of {meta.parent_run_id}, by its digest")
    return Found(None, "", "no manifest is at hand, and the recorded path is not followed")
