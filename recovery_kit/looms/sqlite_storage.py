"""Formal data in `intloom/storage.sqlite`, write-ahead logged (intloom-recovery 1.12)."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .refusals import Refused
from .storage import Artifact, Committed, Record, apply_operations

PROJECT = "project"
FILE = "storage.sqlite"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS storage_projects (project_id TEXT PRIMARY KEY, revision INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS artifacts (
    project_id TEXT NOT NULL, id TEXT NOT NULL, flow_name TEXT NOT NULL, stage_name TEXT NOT NULL, data TEXT NOT NULL,
    created_at TEXT NOT NULL, revision INTEGER NOT NULL, updated_at TEXT NOT NULL,
    PRIMARY KEY (project_id, id), UNIQUE (project_id, flow_name, stage_name));
CREATE TABLE IF NOT EXISTS records (
    project_id TEXT NOT NULL, id TEXT NOT NULL, flow_name TEXT NOT NULL, stage_name TEXT NOT NULL, data TEXT NOT NULL,
    created_at TEXT NOT NULL, PRIMARY KEY (project_id, id));
INSERT OR IGNORE INTO storage_projects VALUES ('project', 0);
"""
_ARTIFACT = (
    "SELECT id, flow_name, stage_name, revision, data, created_at, updated_at FROM artifacts WHERE project_id = ?"
)
_RECORD = "SELECT id, flow_name, stage_name, data, created_at FROM records WHERE project_id = ?"
_ORDER = " ORDER BY created_at, id"


class SqliteStorage:
    """One database a project. Not for several threads at once: the Service's lock sees to that."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        self.path = folder / FILE
        try:
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as no:
            why = f"the database cannot be opened ({type(no).__name__})"
            raise Refused("STORAGE_ERROR", why, path=self.path) from None

    def artifacts(self) -> list[Artifact]:
        """All Artifacts, by creation time, then id."""
        return [_artifact(row) for row in self._db.execute(_ARTIFACT + _ORDER, (PROJECT,))]

    def records(self) -> list[Record]:
        """All Records, by creation time, then id."""
        return [_record(row) for row in self._db.execute(_RECORD + _ORDER, (PROJECT,))]

    def commit(self, operations: Sequence[Mapping[str, Any]], now: str) -> Committed:
        """Do all or nothing; it is on the disk when this returns. Raises Refused."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                done = apply_operations(_Transaction(self._db), operations, now)
                self._db.execute("COMMIT")
                return done
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as no:
            raise Refused("STORAGE_ERROR", f"the database refused ({type(no).__name__})", path=self.path) from None

    def close(self) -> None:
        self._db.close()


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def artifact(self, id: str) -> Artifact | None:
        row = self._db.execute(_ARTIFACT + " AND id = ?", (PROJECT, id)).fetchone()
        return _artifact(row) if row else None

    def artifact_of(self, flow_name: str, stage_name: str) -> Artifact | None:
        place = (PROJECT, flow_name, stage_name)
        row = self._db.execute(_ARTIFACT + " AND flow_name = ? AND stage_name = ?", place).fetchone()
        return _artifact(row) if row else None

    def record(self, id: str) -> Record | None:
        row = self._db.execute(_RECORD + " AND id = ?", (PROJECT, id)).fetchone()
        return _record(row) if row else None

    def put_artifact(self, a: Artifact) -> None:
        row = (PROJECT, a.id, a.flow_name, a.stage_name, _text(a.data), a.created_at, a.revision, a.updated_at)
        self._db.execute("INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def put_record(self, r: Record) -> None:
        row = (PROJECT, r.id, r.flow_name, r.stage_name, _text(r.data), r.created_at)
        self._db.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", row)

    def drop_artifact(self, id: str) -> None:
        self._db.execute("DELETE FROM artifacts WHERE project_id = ? AND id = ?", (PROJECT, id))

    def drop_record(self, id: str) -> None:
        self._db.execute("DELETE FROM records WHERE project_id = ? AND id = ?", (PROJECT, id))

    def next_revision(self) -> int:
        self._db.execute("UPDATE storage_projects SET revision = revision + 1 WHERE project_id = ?", (PROJECT,))
        row = self._db.execute("SELECT revision FROM storage_projects WHERE project_id = ?", (PROJECT,)).fetchone()
        return int(row[0])


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _artifact(row: tuple[Any, ...]) -> Artifact:
    id, flow, stage, revision, data, created, updated = row
    return Artifact(id, flow, stage, revision, json.loads(data), created, updated)


def _record(row: tuple[Any, ...]) -> Record:
    id, flow, stage, data, created = row
    return Record(id, flow, stage, json.loads(data), created)
