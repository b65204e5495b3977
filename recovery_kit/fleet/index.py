"""The index file: one SQLite database beside the user's other caches, never beside the runs.

It holds nothing that the runs do not: delete it and only time is lost. Belongs here: its place, its tables, and what
happens where it is damaged, locked, or the disk is full. What the rows mean is `catalogue`'s business.
"""

import os
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from recovery_kit.runs.remote import is_url

from .summary import NAMES, Summary

FORMAT = 1
"""Another one is another file: two versions of the kit do not spoil each other's."""
BUSY_SECONDS = 5.0
"""How long another process may hold the index before this one does without it."""

_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, stamp BLOB NOT NULL, text_id INTEGER, kept BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS long_runs (source TEXT PRIMARY KEY, kept BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(
    task, error, answer, content='', detail=none, tokenize="unicode61 remove_diacritics 2"
);
"""

_WORDS = b"leviath completed complete running waiting_input waiting paused error failed cancelled tool_approval \
user_prompt interaction_point children needs_setup provider_failed anthropic/ openai/ google/ plan build review gather \
invoice 0.6.4 0.3.0 https:// \xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\x00\xc0\xc0\xc0\xc0\xc0\xc0\xc0\xc2\xc3\xc2\xc0\xc0"
"""What rows often hold, so that a short one packs well."""


class IndexDamaged(Exception):
    """The file is no index, or no longer one."""


class IndexOutOfReach(Exception):
    """It is locked, it cannot be written, or the disk is full."""


def cache_folder() -> Path:
    """The user's cache folder. Nothing is looked for and nothing made."""
    if sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "recovery_kit"


def index_path(sources: Iterable[str]) -> Path:
    """Where the index of a source lies: a name made of the places, which may hold a password, so only a digest."""
    told = "\n".join(each if is_url(each) else os.path.realpath(each) for each in sources)
    columns = ",".join(NAMES)
    digest = blake2b(f"{FORMAT}\n{columns}\n{told}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return cache_folder() / f"runs-{digest}.sqlite"


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A row of the index."""

    source: str
    stamp: bytes
    text_id: int | None
    """Row of its texts; None where it has none."""
    summary: Summary


class Index:
    """The open file. Raises IndexDamaged and IndexOutOfReach, and nothing of sqlite."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        """None for one in memory."""
        with _told():
            if path is not None:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
                except OSError as no:
                    raise IndexOutOfReach(type(no).__name__) from None
            self._db = sqlite3.connect(str(path or ":memory:"), timeout=BUSY_SECONDS, isolation_level=None)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.executescript(_TABLES)
            except sqlite3.Error:
                self._db.close()
                raise

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    def __len__(self) -> int:
        with _told():
            return int(self._db.execute("SELECT count(*) FROM runs").fetchone()[0])

    def stamps(self) -> dict[str, bytes]:
        """Stamp by run."""
        with _told():
            return dict(self._db.execute("SELECT source, stamp FROM runs"))

    def rows(self) -> Iterator[Kept]:
        """Every row, by the path of its run. Raises IndexDamaged for one that does not read."""
        with _told():
            found = self._db.execute("SELECT source, stamp, text_id, kept FROM runs ORDER BY source").fetchall()
        for source, stamp, text_id, kept in found:
            yield Kept(source, stamp, text_id, _unpacked(kept))

    def row(self, source: str) -> Kept | None:
        with _told():
            found = self._db.execute("SELECT stamp, text_id, kept FROM runs WHERE source = ?", (source,)).fetchone()
        return None if found is None else Kept(source, found[0], found[1], _unpacked(found[2]))

    def long(self, source: str) -> bytes | None:
        """What is kept of a long journal."""
        with _told():
            found = self._db.execute("SELECT kept FROM long_runs WHERE source = ?", (source,)).fetchone()
        return None if found is None else bytes(found[0])

    def write(
        self,
        rows: Iterable[tuple[bytes, Summary]],
        gone: Iterable[str] = (),
        longs: Iterable[tuple[str, bytes | None]] = (),
    ) -> None:
        """Put rows in, all or none; what another process wrote meanwhile is written over."""
        with _told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for stamp, summary in rows:
                    self._put(stamp, summary)
                for source in gone:
                    self._db.execute("DELETE FROM runs WHERE source = ?", (source,))
                    self._db.execute("DELETE FROM long_runs WHERE source = ?", (source,))
                for source, kept in longs:
                    self._db.execute("DELETE FROM long_runs WHERE source = ?", (source,))
                    if kept is not None:
                        self._db.execute("INSERT INTO long_runs VALUES (?, ?)", (source, kept))
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def _put(self, stamp: bytes, summary: Summary) -> None:
        texts = (summary.task, summary.error, summary.answer)
        old = self._db.execute("SELECT text_id, kept FROM runs WHERE source = ?", (summary.source,)).fetchone()
        digest = zlib.crc32("\0".join(text or "" for text in texts).encode()) if any(texts) else 0
        text_id = old[0] if old else None
        if digest != (_digest_of(old[1]) if old else 0):
            # the words of an earlier text stay in the table, under a number that no run has any more
            new = self._db.execute("INSERT INTO texts(task, error, answer) VALUES (?, ?, ?)", texts)
            text_id = new.lastrowid if any(texts) else None
        self._db.execute(
            "INSERT INTO runs(source, stamp, text_id, kept) VALUES (?, ?, ?, ?) ON CONFLICT(source) DO UPDATE SET "
            "stamp = excluded.stamp, text_id = excluded.text_id, kept = excluded.kept",
            (summary.source, stamp, text_id, _packed(summary, digest)),
        )

    def with_words(self, words: str) -> list[str]:
        """Runs in whose texts all the words stand. `words` is a query of FTS5."""
        with _told():
            found = self._db.execute(
                "SELECT source FROM texts JOIN runs ON runs.text_id = texts.rowid WHERE texts MATCH ? ORDER BY source",
                (words,),
            )
            return [source for (source,) in found]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as no:
        kind = getattr(no, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise (IndexOutOfReach if kind in _OUT_OF_REACH else IndexDamaged)(str(no)) from None
    except OverflowError as no:
        raise IndexDamaged(str(no)) from None


_OUT_OF_REACH = frozenset({
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
})  # fmt: skip


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Summary).decode
_HEAD = 8
"""Bytes before a packed summary: the checksum of what follows, and that of the texts."""


def _packed(summary: Summary, digest: int) -> bytes:
    data = _encode(msgspec.structs.replace(summary, task=None, error=None, answer=None))
    packer = zlib.compressobj(6, wbits=-15, zdict=_WORDS)
    packed = packer.compress(data) + packer.flush()
    return zlib.crc32(packed).to_bytes(4, "big") + digest.to_bytes(4, "big") + packed


def _digest_of(kept: bytes) -> int:
    return int.from_bytes(kept[4:_HEAD], "big")


def _unpacked(kept: bytes) -> Summary:
    packed = kept[_HEAD:]
    if zlib.crc32(packed).to_bytes(4, "big") != kept[:4]:
        raise IndexDamaged("a row is not as it was written")
    try:
        return _decode(zlib.decompressobj(wbits=-15, zdict=_WORDS).decompress(packed))
    except (zlib.error, msgspec.DecodeError, msgspec.ValidationError) as no:
        raise IndexDamaged(type(no).__name__) from None
