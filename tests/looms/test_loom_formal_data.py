"""Formal data: atomic commits with their conflicts, the same from every backend."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recovery_kit.looms.file_storage import FileStorage
from recovery_kit.looms.refusals import Refused
from recovery_kit.looms.sqlite_storage import SqliteStorage
from recovery_kit.looms.storage import Storage

NOW = "2027-01-15T09:00:00.000Z"
LATER = "2027-01-15T10:00:00.000Z"


@pytest.fixture(params=[SqliteStorage, FileStorage])
def opened(request: Any, tmp_path: Path) -> Callable[[], Storage]:
    """Opens the same place again and again."""
    return lambda: request.param(tmp_path / "intloom")


def create(id: str, stage: str = "draft", data: Any = 1) -> dict[str, Any]:
    payload = {"flowName": "notes", "stageName": stage, "data": data}
    return {"type": "create_artifact", "id": id, "payload": payload}


def replace(id: str, revision: int, stage: str = "draft", data: Any = 2) -> dict[str, Any]:
    return create(id, stage, data) | {"type": "replace_artifact", "expectedRevision": revision}


def append(id: str) -> dict[str, Any]:
    return create(id) | {"type": "append_record"}


def code_of(act: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as caught:
        act()
    return caught.value.code


def test_a_commit_is_there_after_opening_again(opened: Callable[[], Storage]) -> None:
    """Artifacts, Records and revisions outlive the process."""
    storage = opened()
    done = storage.commit([create("a"), append("r")], NOW)
    assert [(o.type, o.id) for o in done.operations] == [("create_artifact", "a"), ("append_record", "r")]
    storage.commit([replace("a", 1, data={"text": "ü"})], LATER)
    storage.close()
    again = opened()
    (artifact,) = again.artifacts()
    assert (artifact.revision, artifact.data, artifact.created_at, artifact.updated_at) == (
        2,
        {"text": "ü"},
        NOW,
        LATER,
    )
    assert [record.id for record in again.records()] == ["r"]
    assert again.commit([create("b", "other")], LATER).written_artifacts[0].revision == 3
    again.close()


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (create("a", "other"), "CONFLICT"),
        (create("b"), "CONFLICT"),
        (replace("a", 7), "CONFLICT"),
        (replace("x", 1), "NOT_FOUND"),
        (append("r"), "CONFLICT"),
        ({"type": "remove_record", "id": "x"}, "NOT_FOUND"),
        ({"type": "remove_artifact", "id": "a", "expectedRevision": 9}, "CONFLICT"),
        ({"type": "remove_artifact", "id": "a"}, "INVALID_REQUEST"),
        ({"type": "drop", "id": "a"}, "INVALID_REQUEST"),
        (create(" "), "INVALID_REQUEST"),
        (create("a\n"), "INVALID_REQUEST"),
        (create("c", "other", float("nan")), "INVALID_REQUEST"),
        (replace("a", True), "INVALID_REQUEST"),
    ],
)
def test_a_refused_operation_leaves_nothing(opened: Callable[[], Storage], operation: Any, code: str) -> None:
    """One refused operation undoes its whole batch."""
    storage = opened()
    storage.commit([create("a"), append("r")], NOW)
    before = (storage.artifacts(), storage.records())
    assert code_of(lambda: storage.commit([append("new"), operation], LATER)) == code
    assert (storage.artifacts(), storage.records()) == before
    storage.close()


def test_removing(opened: Callable[[], Storage]) -> None:
    """What is removed is gone, and its revision is never given again."""
    storage = opened()
    storage.commit([create("a"), append("r")], NOW)
    removal = {"type": "remove_artifact", "id": "a", "expectedRevision": 1}
    done = storage.commit([removal, {"type": "remove_record", "id": "r"}], NOW)
    assert (done.removed_artifact_ids, done.removed_record_ids) == (("a",), ("r",))
    assert storage.commit([create("a")], LATER).written_artifacts[0].revision == 2
    storage.close()


def test_one_batch_names_a_thing_once(opened: Callable[[], Storage]) -> None:
    """The same Artifact twice in one batch is refused."""
    storage = opened()
    assert code_of(lambda: storage.commit([create("a"), replace("a", 1)], NOW)) == "INVALID_REQUEST"
    storage.close()


def test_altered_content_is_an_error(tmp_path: Path) -> None:
    """The file backend never takes missing or altered content for an empty store."""
    FileStorage(tmp_path).commit([create("a")], NOW)
    (content,) = (tmp_path / "artifacts").iterdir()
    content.write_bytes(content.read_bytes() + b" ")
    assert code_of(lambda: FileStorage(tmp_path)) == "STORAGE_ERROR"
    (tmp_path / "store.json").unlink()
    assert code_of(lambda: FileStorage(tmp_path)) == "STORAGE_ERROR"
