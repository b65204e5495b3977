"""Runs behind a URL: object stores, web servers, archives, whatever fsspec has a file system for.

The one file that knows fsspec (extra `remote`). Credentials come from the environment, the way each store's own package
looks for them; none is taken as an argument, and what a URL holds of them is on no surface.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from recovery_kit.errors import MissingExtra, NotARun
from recovery_kit.formats import rundir
from recovery_kit.formats.rundir import FileFact

from .sources import MAX_DEPTH

MARKS = (rundir.META, rundir.JOURNAL)
"""A folder with one of these is a run directory."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")
_USER = re.compile(r"(?<=//)[^/@\s]*@")
_QUERY = re.compile(r"\?[^#\s:]*")
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "updated", "created")
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")
_EXTRAS = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "http": "aiohttp",
           "https": "aiohttp", "sftp": "paramiko", "ssh": "paramiko"}  # fmt: skip
"""The package that speaks a protocol, named where it is missing."""


def is_url(text: object) -> bool:
    """Whether a text is a URL (`s3://bucket/runs`, `zip::https://…`) and no path. One letter and a colon is a drive."""
    return isinstance(text, str) and _URL.match(text) is not None


def shown_url(url: str) -> str:
    """A URL fit for a surface: without user, password and query."""
    return _QUERY.sub("", _USER.sub("", url))


class Remote:
    """A place behind a URL. `fetched` counts the bytes that were asked of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.label = shown_url(url)
        self.fetched = 0
        self._files, self.root = _opened(url)

    def __repr__(self) -> str:
        return f"<Remote {self.label}>"

    def listing(self, below: str = "") -> dict[str, dict[str, Any]]:
        """What the store tells of each file, by its name relative to the root. Raises OSError."""
        try:
            self._files.invalidate_cache()
            top = self._path(below)
            if self._files.isfile(top):
                return {}
            found = self._files.find(top, detail=True)
        except FileNotFoundError:
            raise
        except Exception as no:  # every store raises errors of its own, whose text may hold the URL
            raise OSError(f"the store cannot be listed ({type(no).__name__})") from None
        start = len(self.root) + 1 if self.root else 0
        return {path[start:].lstrip("/"): info for path, info in found.items() if info.get("type", "file") == "file"}

    def read(self, name: str, start: int | None = None, stop: int | None = None) -> bytes | None:
        """A file's bytes, or a range of them; None where there is none. Raises OSError."""
        try:
            data: bytes = self._files.cat_file(self._path(name), start=start, end=stop)
        except (FileNotFoundError, IsADirectoryError):
            return None
        except Exception as no:
            raise OSError(f"the store does not give it ({type(no).__name__})") from None
        self.fetched += len(data)
        return data

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}".strip("/") if not self.root.startswith("/") else f"{self.root}/{name}".rstrip("/")


class RemoteSource:
    """The files of one run in a remote place. The first list of them is that of the listing that found the run."""

    def __init__(self, remote: Remote, prefix: str, known: Mapping[str, dict[str, Any]] | None = None) -> None:
        self.remote = remote
        self.prefix = prefix
        """Of the names inside the remote place: empty, or a folder that ends in `/`."""
        self.label = f"{remote.label.rstrip('/')}/{prefix}".rstrip("/")
        self._known = known

    def __repr__(self) -> str:
        return f"<RemoteSource {self.label}>"

    def facts(self) -> dict[str, FileFact]:
        known, self._known = self._known, None
        if known is None:
            found = self.remote.listing(self.prefix.rstrip("/"))
            known = {name.removeprefix(self.prefix): info for name, info in found.items()}
        return {name: _fact(name, info) for name, info in sorted(known.items()) if name.count("/") <= MAX_DEPTH}

    def read(self, name: str) -> bytes | None:
        if any(part in ("", ".", "..") for part in name.split("/")):
            return None
        return self.remote.read(self.prefix + name)


class RemoteFiles(Mapping[str, bytes]):
    """Files of a remote place that one listing named, below a prefix; each is fetched when it is asked for."""

    def __init__(self, remote: Remote, prefix: str, listing: Mapping[str, Any]) -> None:
        self._remote, self._prefix = remote, prefix
        self._names = {name.removeprefix(prefix): None for name in listing if name.startswith(prefix)}

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> bytes:
        """Raises KeyError for what the listing does not name; OSError where it is gone or not given."""
        if name not in self._names:
            raise KeyError(name)
        data = self._remote.read(self._prefix + name)
        if data is None:
            raise FileNotFoundError(name)
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def by_run(listing: dict[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Files by run: the folders that hold one of the marks, and what lies below each."""
    folders = {name.rpartition("/")[0] for name in listing if name.rpartition("/")[2] in MARKS}
    inner = {folder for folder in folders if any(parent in folders for parent in _parents(folder))}
    runs: dict[str, dict[str, dict[str, Any]]] = {folder: {} for folder in sorted(folders - inner)}
    for name, info in listing.items():
        for folder in (name.rpartition("/")[0], *_parents(name.rpartition("/")[0])):
            if folder in runs:
                runs[folder][name[len(folder) + 1 :] if folder else name] = info
                break
    return runs


def _parents(folder: str) -> Iterator[str]:
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder


def last_part(remote: Remote) -> str:
    """The name of the place itself."""
    return remote.root.rstrip("/").rsplit("/", 1)[-1] or "run"


def version_of(info: Mapping[str, Any]) -> str:
    """What tells that a file is another one: its ETag, else a checksum, else when it was written."""
    return next((str(info[key]) for key in _VERSIONS if info.get(key)), "")


def _fact(name: str, info: Mapping[str, Any]) -> FileFact:
    told = next((info[key] for key in _TIMES if info.get(key)), None)
    moment = told.timestamp() if isinstance(told, datetime) else told
    return FileFact(name, int(info.get("size") or 0), float(moment) if isinstance(moment, int | float) else None)


def _opened(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise MissingExtra(None, "a URL needs fsspec: pip install 'recovery-kit[remote]'") from None
    label = shown_url(url)
    try:
        files, root = url_to_fs(url)
    except ImportError:
        package = _EXTRAS.get(url.split("://")[0].split("::")[-1], "a package for that protocol")
        raise MissingExtra(label, f"this kind of URL needs {package}") from None
    except ValueError:
        raise NotARun(label, "no file system is known for this kind of URL") from None
    except Exception as no:
        raise NotARun(label, f"the place cannot be opened ({type(no).__name__})") from None
    return files, str(root).rstrip("/")
