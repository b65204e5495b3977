"""What a Workflow is, as 64 hex: equal labels are not enough, the bytes have to match (intloom-recovery 1.9, 2.3)."""

import hashlib
import inspect
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import CodeType
from typing import Any

from .refusals import Refused

PROTOCOL = "2026-10-08"
_KIT = __name__.partition(".")[0]
SKIPPED = frozenset({"node_modules", ".git", ".intloom", "__pycache__"})


def package_identity(folder: Path, name: str, version: str) -> str:
    """Of a package's folder: its labels, then every regular file, depth first, names in byte order.

    Raises Refused (`KERNEL_UNAVAILABLE`) for a symbolic link anywhere.
    """
    digest = _labelled(name, version)
    _add_folder(digest, folder, "")
    return digest.hexdigest()


def sources_identity(parts: Iterable[Any], name: str, version: str) -> str:
    """Of a Workflow without a package: its labels, the source files of its functions and schemas, and the compiled code
    of functions that have none, as in a notebook."""
    mine = [part for part in parts if not (getattr(part, "__module__", None) or "").startswith(f"{_KIT}.")]
    files = {file for part in mine if (file := _source_of(part)) is not None}
    digest = _labelled(name, version)
    for file in sorted(files, key=lambda path: (path.name, str(path))):
        _add_file(digest, file.name, file.read_bytes())
    for compiled in sorted(_compiled(part) for part in mine if _source_of(part) is None):
        _add_file(digest, "", compiled)
    return digest.hexdigest()


def _labelled(name: str, version: str) -> "hashlib._Hash":
    digest = hashlib.sha256()
    digest.update(_compact([name, version, PROTOCOL]))
    return digest


def _add_folder(digest: "hashlib._Hash", folder: Path, prefix: str) -> None:
    with os.scandir(folder) as rows:
        entries = sorted(rows, key=lambda row: os.fsencode(row.name))
    for entry in entries:
        if entry.name in SKIPPED:
            continue
        if entry.is_symlink():
            raise Refused("KERNEL_UNAVAILABLE", "a Workflow package holds a symbolic link", path=entry.path)
        if entry.is_dir(follow_symlinks=False):
            _add_folder(digest, Path(entry.path), f"{prefix}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            _add_file(digest, prefix + entry.name, Path(entry.path).read_bytes())


def _add_file(digest: "hashlib._Hash", name: str, data: bytes) -> None:
    digest.update(_compact([name, len(data)]))
    digest.update(data)


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


def _source_of(part: Any) -> Path | None:
    try:
        found = inspect.getsourcefile(inspect.unwrap(part))
        return Path(found) if found and Path(found).is_file() else None
    except (TypeError, OSError):
        return None


def _compiled(part: Any) -> bytes:
    code = getattr(inspect.unwrap(part), "__code__", None)
    return repr(_of_code(code)).encode() if isinstance(code, CodeType) else b""


def _of_code(code: CodeType) -> tuple[Any, ...]:
    """What a function does, without where it was written down."""
    constants = tuple(_of_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts)
    return code.co_name, code.co_code, code.co_names, code.co_varnames, constants
