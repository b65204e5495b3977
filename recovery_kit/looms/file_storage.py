"""Formal data as plain files: a manifest that names its content by hash (intloom-recovery 1.12)."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.durable import DISK, Durable
from recovery_kit.formats.loom_text import BadText, parse_text

from .refusals import Refused
from .storage import Artifact, Committed, Record, apply_operations

MANIFEST = "store.json"
_T = TypeVar("_T", Artifact, Record)


class FileStorage:
    """One folder a project. A batch is content first, then the manifest by rename; what it does not name is ignored."""

    kind = "file"

    def __init__(self, folder: Path, disk: Durable = DISK) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        self.folder, self._disk = folder, disk
        self._load()

    def _load(self) -> None:
        data = self._disk.read_file(self.folder, MANIFEST)
        if data is None:
            if any((self.folder / name).exists() for name in ("artifacts", "records")):
                raise Refused("STORAGE_ERROR", "content is there, and its manifest is not", path=self.folder)
            self._held = _Held(str(uuid.uuid4()), 0, {}, {})
            return
        manifest = _parsed(data, self.folder / MANIFEST)
        if manifest.get("version") != 2:
            raise Refused("STORAGE_ERROR", "the manifest is of another layout", path=self.folder / MANIFEST)
        artifacts = [self._content("artifacts", name, Artifact) for name in manifest["artifacts"]]
        records = [self._content("records", name, Record) for name in manifest["records"]]
        held = ({one.id: one for one in artifacts}, {one.id: one for one in records})
        self._held = _Held(manifest["storeId"], manifest["revision"], *held)

    def _content(self, kind: str, name: str, what: type[_T]) -> _T:
        data = self._disk.read_file(self.folder, f"{kind}/{name}.json")
        if data is None or sha256(data).hexdigest() != name:
            raise Refused("STORAGE_ERROR", "content that the manifest names is missing or altered", path=self.folder)
        members = {_SNAKE.get(key, key): value for key, value in _parsed(data, self.folder).items()}
        return what(**members)

    def artifacts(self) -> list[Artifact]:
        """All Artifacts, by creation time, then id."""
        return sorted(self._held.artifacts.values(), key=_order)

    def records(self) -> list[Record]:
        """All Records, by creation time, then id."""
        return sorted(self._held.records.values(), key=_order)

    def commit(self, operations: Sequence[Mapping[str, Any]], now: str) -> Committed:
        """Do all or nothing; it is on the disk when this returns. Raises Refused."""
        held = self._held
        draft = _Held(held.store_id, held.revision, dict(held.artifacts), dict(held.records))
        done = apply_operations(draft, operations, now)
        try:
            names = {
                kind: [self._save(kind, one) for one in sorted(getattr(draft, kind).values(), key=_order)]
                for kind in ("artifacts", "records")
            }
            manifest = {"version": 2, "storeId": draft.store_id, "revision": draft.revision, **names}
            self._disk.replace_file(self.folder, MANIFEST, _compact(manifest), 0o644)
        except (OSError, RecoveryKitError) as no:
            raise Refused("STORAGE_ERROR", f"the files refused ({type(no).__name__})", path=self.folder) from None
        self._held = draft
        return done

    def _save(self, kind: str, one: Artifact | Record) -> str:
        data = _compact({_CAMEL.get(key, key): value for key, value in asdict(one).items()})
        name = sha256(data).hexdigest()
        if not (self.folder / kind / f"{name}.json").exists():
            self._disk.replace_file(self.folder, f"{kind}/{name}.json", data, 0o644)
        return name

    def close(self) -> None:
        """Nothing is held open."""


_CAMEL = {"flow_name": "flowName", "stage_name": "stageName", "created_at": "createdAt", "updated_at": "updatedAt"}
_SNAKE = {camel: snake for snake, camel in _CAMEL.items()}


def _order(one: Artifact | Record) -> tuple[str, bytes]:
    return one.created_at, one.id.encode()


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = parse_text(data)
    except BadText:
        value = None
    if not isinstance(value, dict):
        raise Refused("STORAGE_ERROR", "a file of the store cannot be read", path=path)
    return value


class _Held:
    """Everything that is there, as a transaction changes it."""

    def __init__(
        self, store_id: str, revision: int, artifacts: dict[str, Artifact], records: dict[str, Record]
    ) -> None:
        self.store_id, self.revision, self.artifacts, self.records = store_id, revision, artifacts, records

    def artifact(self, id: str) -> Artifact | None:
        return self.artifacts.get(id)

    def artifact_of(self, flow_name: str, stage_name: str) -> Artifact | None:
        place = (flow_name, stage_name)
        return next((one for one in self.artifacts.values() if (one.flow_name, one.stage_name) == place), None)

    def record(self, id: str) -> Record | None:
        return self.records.get(id)

    def put_artifact(self, artifact: Artifact) -> None:
        self.artifacts[artifact.id] = artifact

    def put_record(self, record: Record) -> None:
        self.records[record.id] = record

    def drop_artifact(self, id: str) -> None:
        del self.artifacts[id]

    def drop_record(self, id: str) -> None:
        del self.records[id]

    def next_revision(self) -> int:
        self.revision += 1
        return self.revision
