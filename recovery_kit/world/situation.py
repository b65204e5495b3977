"""What a request depends on beyond window, manifest and stage (leviath-requests R2, R18): no run directory tells it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recovery_kit.history.layout import NEWEST_RULES
from recovery_kit.records.engines import Engine

TEXT_TYPES = (
    "text/*", "application/json", "application/xml", "image/svg+xml", "model/obj", "model/gltf+json",
)  # fmt: skip
"""What the engine's own registry calls text (R11.3)."""


def no_bytes(sha256: str) -> bytes | None:
    """A place without blobs."""
    return None


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts of an installation, a model and a process. The defaults are those of a run right after a restart, on a
    model that takes everything and has a window of 200,000 and an output limit of 8,000 tokens."""

    rules: Engine = NEWEST_RULES
    entered: tuple[str, ...] = ()
    """Stages entered by this process after the first one, oldest first; none right after a restart (R3)."""
    accepts: tuple[str, ...] = ("text/*", "image/*", "application/pdf")
    """MIME patterns the model takes as bytes."""
    text_types: tuple[str, ...] = TEXT_TYPES
    context_tokens: int = 200_000
    output_tokens: int = 8_000
    takes_temperature: bool = True
    takes_system_prompt: bool = True
    takes_tools: bool = True
    forbids_calls: bool = False
    """The provider can be told to make no call, so that routing keeps the tools (R14)."""
    hints: tuple[str, ...] = ()
    """Texts of the framework's own blocks in front (R9): an installation may have switched them on."""
    extra_tools: tuple[str, ...] = ()
    """MCP and script tools of the installation, in catalogue order."""
    unattended: bool = False
    blob: Callable[[str], bytes | None] = field(default=no_bytes, repr=False)
    """The bytes of a stored part by their SHA-256, or None."""
    media_limit: int = 20 << 20
    """Bytes of all parts of one request together."""
    changed_at: Mapping[str, int] = field(default_factory=dict)
    """Second in which a region last got an entry, by name. After a restart all are 0 (R8.1)."""
    previous_hash: int | None = None
    """`system_hash` of this process's previous request of the run."""
    shortfall: int = 0
    """Tokens: how much more than the window counts this process has seen billed for a prompt (R11.1)."""
    cap_raised: bool = False
    """A reply was cut off at the limit in this stage (`output_cap_raised` of the ledger)."""


AFTER_RESTART = Situation()
