"""What the tests of mirrors share: a manifest for runs that have none, and folders by the hash of their bytes."""

import hashlib
from pathlib import Path

from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.records.window import Window

MANIFEST = """
[agent]
name = "{name}"

[stages.work]
mode = "autonomous"
model = {{ provider = "scripted", model = "demo" }}
available_tools = ["shell"]

[stages.merge]
mode = "autonomous"
model = {{ provider = "scripted", model = "demo" }}

[context.regions]
task = {{ kind = "pinned", max_tokens = 1000 }}
notes = {{ kind = "clearable", max_tokens = 1000 }}
conversation = {{ kind = "sliding_window", max_items = 50, max_tokens = 8000 }}
"""


def agents_folder(into: Path, name: str) -> Path:
    """A folder of agents that holds one of that name."""
    folder = into / "agents"
    (folder / name).mkdir(parents=True)
    (folder / name / "agent.leviath").write_text(MANIFEST.format(name=name))
    return folder


def tree_hash(folder: Path) -> str:
    """Names, modes and bytes of everything below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path.relative_to(folder)} {path.stat().st_mode}".encode())
        digest.update(path.read_bytes() if path.is_file() else b"/")
    return digest.hexdigest()


def all_bytes(mirror: Mirror) -> bytes:
    """Everything that the mirror's files hold."""
    return b"\n".join(path.read_bytes() for path in sorted(mirror.path.rglob("*")) if path.is_file())


def shape(window: Window) -> dict[str, list[int]]:
    """Entries and tokens by region."""
    return {region.name: [len(region.entries), region.current_tokens] for region in window.regions}
