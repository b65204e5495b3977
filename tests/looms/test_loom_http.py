"""The HTTP face: the same operations for clients, and everything that is kept out."""

import http.client
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from looms.release_notes import I1, A, ask, history_a, on_disk, operation, workflow  # noqa: E402

from recovery_kit.looms import Refused, new_project, recover_project  # noqa: E402
from recovery_kit.looms.client import Client, answers  # noqa: E402
from recovery_kit.looms.http_face import LONGEST_BODY, Face  # noqa: E402
from recovery_kit.looms.ownership import inspect_ownership  # noqa: E402
from recovery_kit.recovery.loom_start import start_service  # noqa: E402

PATIENCE = 20.0


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A Service with its face, and what its connection.json holds."""
    project = on_disk(new_project(tmp_path), history_a(12))
    service = start_service(project, [workflow()])
    connection = json.loads((project / ".intloom" / "connection.json").read_text())
    face = Face(service, connection)
    assert face.wait_until_serving()
    yield service, connection
    face.stop()
    service.stop()


def raw(connection: dict[str, Any], verb: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    link = http.client.HTTPConnection("127.0.0.1", connection["port"], timeout=PATIENCE)
    told = {"Authorization": f"Bearer {connection['token']}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    link.request(verb, path, body, told)
    answer = link.getresponse()
    data = answer.read()
    link.close()
    try:
        return answer.status, json.loads(data)
    except ValueError:
        return answer.status, data


def test_operations(served: Any) -> None:
    """Create, answer, look, mirror, resume, cancel, receipts: each once, each with its receipt."""
    service, _ = served
    client = Client(service.project)
    assert {run["id"]: run["status"] for run in client.get("/runs")} == {A: "waiting"}
    yes = {"isConfirmed": True}
    first = client.change(f"/runs/{A}/answer", operation(20), actionId=ask(1), answer=yes)
    assert first == client.change(f"/runs/{A}/answer", operation(20), actionId=ask(1), answer=yes)
    assert first["receipt"] == "found" and first["seq"] == 13
    assert client.get(f"/receipts/{operation(20)}?instanceId={service.instance_id}") == first
    assert client.get(f"/receipts/{operation(1)}?instanceId={I1}")["runId"] == A
    assert service.wait(A, PATIENCE).status == "completed"
    mirror = client.change(f"/runs/{A}/mirror", checkpoint=12)["runId"]
    assert client.get(f"/runs/{mirror}")["status"] == "paused"
    client.change(f"/runs/{mirror}/resume")
    client.change(f"/runs/{mirror}/cancel")
    assert client.get(f"/runs/{mirror}")["error"]["code"] == "RUN_STOPPED"
    assert [run["id"] for run in client.get(f"/runs?operationId={operation(1)}&originInstance={I1}")] == [A]
    with pytest.raises(Refused) as caught:
        client.change(f"/runs/{A}/mirror", checkpoint=16)
    assert caught.value.code == "CONFLICT"


def test_what_is_kept_out(served: Any) -> None:
    """Wrong tokens, foreign hosts, large or bad bodies, other instances, paths that are none."""
    service, connection = served
    ask_ = partial(raw, connection)
    assert ask_("GET", "/runs", Authorization="Bearer no")[0] == 401
    assert ask_("GET", "/runs", Authorization="")[0] == 401
    assert ask_("GET", "/runs", Host="evil.example")[0] == 403
    assert ask_("POST", "/runs", b"x" * (LONGEST_BODY + 1))[1]["code"] == "TOO_LARGE"
    for body in (b"{", b"[]", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff", b'{"flowName":"release_notes","intent":"x"}'):
        status, told = ask_("POST", "/runs", body)
        assert status == 400 and told.keys() == {"code", "message", "retryable"}
    ids = {"operationId": operation(1), "instanceId": I1}
    assert ask_("POST", f"/runs/{A}/cancel", json.dumps(ids))[1]["code"] == "INSTANCE_CHANGED"
    assert ask_("POST", "/service/stop", json.dumps(ids))[0] == 409
    for path in ("/runs/..%2f..%2fetc", "/runs/%00", "/runs/x"):
        assert ask_("GET", path)[0] == 404
    many = {"operationId": operation(2), "instanceId": service.instance_id, "checkpoint": 10**30}
    assert ask_("POST", f"/runs/{A}/mirror", json.dumps(many))[0] == 400


def test_a_service_that_answers_is_running(served: Any) -> None:
    """`recover` refuses while the endpoint answers as that instance."""
    service, _ = served
    judge = partial(answers, project=service.project)
    assert inspect_ownership(service.project, judge).state == "running"
    with pytest.raises(Refused) as caught:
        recover_project(service.project, answers=judge)
    assert caught.value.code == "CLI_RECOVERY_BLOCKED"
