"""Which manifest a reload would read, and whether it is the one that ran (0.5-to-0.6 N13.2, N20)."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from recovery_kit.errors import ManifestUnreadable
from recovery_kit.formats.manifest import parse_manifest, scripts_named
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import RunMeta

_IN_A_RUN = re.compile(r"(?:^|/)runs/([A-Za-z0-9._-]+)/[^/]+$")


@dataclass(frozen=True, slots=True)
class BlueprintFacts:
    """The manifest of a run, as far as its folder tells."""

    engine_reads: str
    """`blueprint.leviath` or `agent_path`."""
    snapshot_present: bool
    digest_recorded: str | None
    digest_of_snapshot: str | None
    digest_matches: bool | None
    """None if one of the two is missing."""
    agent_path_in_run: str | None
    """The run in whose folder the recorded path lies, by its shape."""
    scripts_missing: tuple[str, ...]
    """Scripts that the copy names by relative path and that do not lie beside it."""


def blueprint_facts(
    meta: RunMeta | None, copy: bytes | None, copy_is_file: bool, names: Mapping[str, object], rules: Engine
) -> BlueprintFacts:
    """What an engine would read; `names` are the files of the run directory."""
    recorded = meta.blueprint_digest if meta else None
    digest = None if copy is None else hashlib.sha256(copy).hexdigest()
    matches = digest == recorded if digest and recorded else None
    path = _IN_A_RUN.search((meta.agent_path if meta else "").replace("\\", "/"))
    reads = "blueprint.leviath" if copy_is_file and rules.reads_blueprint else "agent_path"
    return BlueprintFacts(
        reads, copy_is_file, recorded, digest, matches, path[1] if path else None, _missing(copy, names)
    )


def _missing(copy: bytes | None, names: Mapping[str, object]) -> tuple[str, ...]:
    blueprint = read_blueprint(copy)
    if blueprint is None:
        return ()
    return tuple(name for name in scripts_named(blueprint) if name.removeprefix("./") not in names)


def read_blueprint(copy: bytes | None) -> Blueprint | None:
    """The manifest, or None where there is none or it cannot be read as one."""
    if copy is None:
        return None
    try:
        return parse_manifest(copy)
    except ManifestUnreadable:
        return None
