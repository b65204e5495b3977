"""Files into the window as stored parts, and stored parts back into files (leviath-runtime T7.2; 0.5-to-0.6 N3)."""

import hashlib
import mimetypes
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.durable import DISK
from recovery_kit.history.windows import tokens_of
from recovery_kit.records.window import BlobRef, Entry, Part

from .local_tools import inside
from .running import Running

PIXELS_A_TOKEN = 750
PNG = b"\x89PNG\r\n\x1a\n"

Arguments = Mapping[str, object]


def file_in_workdir(run: Running, path: str) -> bytes | None:
    """A file below the run's work directory; None where it is not there, or not inside."""
    root = Path(run.agent.meta.workdir)
    try:
        return DISK.read_file(root, "/".join(inside(root, path))) if root.is_dir() else None
    except (RecoveryKitError, OSError):
        return None


def stored_part(run: Running, name: str, mime_type: str, data: bytes) -> Part:
    """Bytes as a part of the run, stored before anything names them."""
    sha256 = hashlib.sha256(data).hexdigest()
    run.keeper.keep_blob(sha256, data)
    size = struct.unpack(">II", data[16:24]) if data.startswith(PNG) and len(data) >= 24 else None
    tokens = -(-size[0] * size[1] // PIXELS_A_TOKEN) if size else -(-len(data) // 4)
    seen = f" {size[0]}x{size[1]}" if size else ""
    stand_in = f"[{mime_type}{seen}, {size_words(len(data))}] {name}"
    width, height = size or (None, None)
    return Part(mime_type, BlobRef(sha256, mime_type, len(data), width, height, None, tokens, stand_in), name=name)


def size_words(size: int) -> str:
    """Bytes as the engine words them."""
    return f"{size} B" if size < 1024 else f"{size // 1024} KB" if size < 1 << 20 else f"{size >> 20} MB"


def parts_of(run: Running) -> Iterator[tuple[Part, BlobRef]]:
    """Stored parts of the run's window, in its order."""
    for region in run.agent.window.regions:
        for entry in region.entries:
            for part in entry.content if not isinstance(entry.content, str) else ():
                if isinstance(part.body, BlobRef):
                    yield part, part.body


def part_named(run: Running, name: str) -> tuple[BlobRef, bytes] | None:
    """The newest stored part of that name, with its bytes."""
    for part, body in reversed(list(parts_of(run))):
        data = run.keeper.read_blob(body.sha256) if part.name == name else None
        if data is not None:
            return body, data
    return None


def context_attach(run: Running, arguments: Arguments, execution: str) -> str:
    """A file becomes a stored part of a region."""
    path, region, key = str(arguments["path"]), str(arguments["region"]), arguments.get("key")
    data = file_in_workdir(run, path)
    if data is None:
        return f"[error] '{path}' cannot be read"
    name = path.rsplit("/", 1)[-1]
    kind = arguments.get("type") or mimetypes.guess_type(path)[0] or "application/octet-stream"
    part = stored_part(run, name, str(kind), data)
    if arguments.get("deliver") in ("native", "text", "stand_in"):
        part = msgspec.structs.replace(part, deliver=arguments["deliver"])
    caption = arguments.get("caption")
    parts = (Part("text/plain", caption), part) if isinstance(caption, str) and caption else (part,)
    entry = Entry(parts, tokens_of(parts), key=key if isinstance(key, str) else None)
    done = run.append(region, entry, "produced_part", execution)
    if done.refusal is not None:
        return f"[error] {done.refusal}"
    under = f" under key '{key}'" if isinstance(key, str) else ""
    digest = hashlib.sha256(data).hexdigest()[:12]
    return (
        f"Attached '{name}' to region '{region}'{under} as {kind} ({entry.tokens} tokens, sha256 {digest}). It is in "
        f"your context under that heading; name it as '{name}' where a tool takes a part."
    )


def context_export(run: Running, arguments: Arguments, execution: str) -> str:
    """A stored part becomes a file in the work directory."""
    name = str(arguments["name"])
    found = part_named(run, name)
    if found is None:
        held = "\n".join(body.stand_in for _, body in parts_of(run))
        return f"[error] no stored part matches '{name}'. The run holds:\n{held}"
    path, root = str(arguments.get("path") or name), Path(run.agent.meta.workdir)
    try:
        DISK.replace_file(root, "/".join(inside(root, path)), found[1], 0o644)
    except (RecoveryKitError, OSError):
        return f"[error] '{path}' cannot be written"
    return f"Exported '{name}' to '{path}' ({size_words(len(found[1]))})."
