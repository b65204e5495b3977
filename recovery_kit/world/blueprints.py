"""Manifests that this world can carry out: read from text, a file or a folder of agents, refused by name otherwise."""

from collections.abc import Mapping
from pathlib import Path

from recovery_kit.errors import CannotRestore, ManifestUnreadable
from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.records.blueprint import Blueprint

Named = Mapping[str, Blueprint]


def undone(blueprint: Blueprint) -> tuple[str, ...]:
    """What a manifest asks for and this world does not do, as dotted paths; empty where it can be carried out.

    A runtime that ignored one of them would carry on a different run (leviath-runtime T2.11).
    """
    found = list(blueprint.unsupported)
    found += ["security.taint_tracking"] * bool(blueprint.taint_tracking)
    found += [f"stages.{stage.name}.security.taint_tracking" for stage in blueprint.stages if stage.taint_tracking]
    return tuple(dict.fromkeys(found))


def checked(blueprint: Blueprint) -> Blueprint:
    """The blueprint itself. Raises CannotRestore with the names of what this world does not do."""
    names = undone(blueprint)
    if names:
        raise CannotRestore(None, f"this world does not do what the manifest asks for: {', '.join(names)}")
    return blueprint


def load_blueprint(source: Blueprint | str | Path) -> Blueprint:
    """A blueprint from a value, a path, or a manifest's text. Raises ManifestUnreadable; CannotRestore as `checked`."""
    if isinstance(source, Blueprint):
        return checked(source)
    if isinstance(source, Path) or "\n" not in source:
        path = Path(source)
        path = path / "agent.leviath" if path.is_dir() else path
        try:
            data: str | bytes = path.read_bytes()
        except OSError as no:
            raise ManifestUnreadable(path, f"the manifest cannot be read: {no.strerror}") from None
    else:
        data = source
    return checked(parse_manifest(data))
