"""A context window, its regions and entries, and the deltas that change it (leviath-run-directory 2.2, 3.4; N3)."""

from typing import Annotated, Literal

from msgspec import Raw, Struct, field

from .scalars import ABSENT, U32, U64, since

Taint = Literal["Public", "Internal", "Private"]


class BlobRef(Struct, frozen=True):
    """Where the bytes of a stored part are: `blobs/<sha256>` (N3.1)."""

    sha256: str
    mime_type: str
    size: U64
    """Bytes."""
    width: U32 | None = None
    height: U32 | None = None
    duration_ms: U64 | None = None
    tokens: U64 = 0
    """Estimate for sending the bytes; a region is never charged this."""
    stand_in: str = ""
    """Shown wherever the bytes are not."""


class Part(Struct, frozen=True):
    """One piece of a content: inline text, or a reference to stored bytes (N3.1)."""

    mime_type: str
    body: str | BlobRef
    name: str | None = None
    deliver: Literal["native", "text", "stand_in"] | None = None


Content = str | tuple[Part, ...]
"""A bare string is one inline text/plain part; anything else is a list (N3.1)."""


class TurnCall(Struct, frozen=True):
    """A tool call as the window holds it; `arguments` is any JSON value, kept as its bytes."""

    id: str
    name: str
    arguments: Raw
    thought_signature: str | None = None


class Text(Struct, frozen=True, tag_field="type", tag="Text"):
    """Plain text."""


class UserMessage(Struct, frozen=True, tag_field="type", tag="UserMessage"):
    """What a person wrote."""


class AssistantTurn(Struct, frozen=True, tag_field="type", tag="AssistantTurn"):
    """A reply of the model with the calls it asked for."""

    tool_calls: tuple[TurnCall, ...]


class ToolResult(Struct, frozen=True, tag_field="type", tag="ToolResult"):
    """What a tool answered. `is_error` is false on disk even for failures: the text's prefix says it (2.2)."""

    tool_call_id: str
    tool_name: str
    is_error: bool


EntryKind = Text | UserMessage | AssistantTurn | ToolResult
TEXT = Text()


class Entry(Struct, frozen=True):
    """One entry of a region."""

    content: Content
    tokens: U64
    kind: EntryKind = TEXT
    metadata: Raw = ABSENT
    key: str | None = None
    taint: Taint = "Internal"
    """Internal when absent, whatever upstream pages say (2.2)."""
    reasoning: Annotated[str | None, since("0.5.8")] = None
    """An opaque token of the provider, not text."""


class Region(Struct, frozen=True):
    """A region of a window, or the new value that a `Set` gives it."""

    name: str
    kind: str
    current_tokens: U64
    max_tokens: U64
    entries: tuple[Entry, ...] = ()
    description: Annotated[str | None, since("0.4.0")] = None


class Window(Struct, frozen=True):
    """A whole context window: `context.json`, a checkpoint, a point."""

    stage_name: str
    total_tokens: U64
    max_tokens: U64
    regions: tuple[Region, ...]


EMPTY_WINDOW = Window("", 0, 0, ())


class Append(Struct, frozen=True):
    """More entries for a region that is there; ignored where it is not (4.1)."""

    name: str
    entries: tuple[Entry, ...]
    current_tokens: U64


class RegionName(Struct, frozen=True):
    """The body of `Clear` and `Remove`."""

    name: str


class RegionOp(Struct, frozen=True, omit_defaults=True):
    """One change of a delta, tagged from outside: exactly one member is there."""

    set: Region | None = field(name="Set", default=None)
    append: Append | None = field(name="Append", default=None)
    clear: RegionName | None = field(name="Clear", default=None)
    remove: RegionName | None = field(name="Remove", default=None)


class Delta(Struct, frozen=True):
    """How a window became the next one (3.4)."""

    stage_name: str
    total_tokens: U64
    max_tokens: U64
    regions: tuple[RegionOp, ...]
