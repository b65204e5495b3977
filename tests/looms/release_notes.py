"""The example of intloom-recovery 2.5 as plain JSON, and the Workflow that it belongs to; made anew for every test."""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

from recovery_kit.looms import END, Stage, Step, Workflow, agent, code, to_stage, to_step

I1, I2, I3 = (f"{d * 8}-{d * 4}-4{d * 3}-8{d * 3}-{d * 12}" for d in "123")
IDENTITY = "3f" * 32
A, B, C, D, M = (f"RUN-20270115T090000000Z-{letter * 21}" for letter in "ABCDM")
RUNTIME = ".intloom/runtime"


def operation(n: int) -> str:
    """The id of operation On."""
    return f"aaaaaaaa-0000-4000-8000-{n:012d}"


def call(n: int) -> str:
    return f"CALL-{n:021d}"


def ask(n: int) -> str:
    return f"ASK-{n:021d}"


def key(run_id: str) -> str:
    return hashlib.sha256(run_id.encode()).hexdigest()


def head(run_id: str, op: int = 1, execution: dict[str, str] | None = None, instance: str = I1) -> dict[str, Any]:
    return {
        "id": run_id,
        "flowName": "release_notes",
        "intent": "Write notes for 2.4",
        "execution": execution or {"source": "cli", "agentExecutor": "service"},
        "createdAt": "2027-01-15T09:00:00.000Z",
        "origin": {"operationId": operation(op), "instanceId": instance},
    }


_COLLECT = {"stageName": "draft", "stepName": "collect"}
_WRITE = {"stageName": "draft", "stepName": "write"}
_CONFIRM = {"stageName": "publish", "stepName": "confirm"}
_EMPTY = {"version": "2.4", "items": []}
_FILLED = {"version": "2.4", "items": ["fix A"]}
_DRAFT = {"input": _EMPTY, "value": _EMPTY}
_DRAFTED = {"input": _FILLED, "value": _FILLED}
_PUBLISH = {"input": {"draftId": "ART-notes", "approved": "no"}, "value": {"draftId": "ART-notes", "approved": False}}
_DONE = {"input": {"draftId": "ART-notes", "approved": "yes"}, "value": {"draftId": "ART-notes", "approved": True}}
_ART = {"callId": call(4), "operations": [{"type": "create_artifact", "id": "ART-notes", "revision": 1}]}
_REC = {"callId": call(5), "operations": [{"type": "append_record", "id": "REC-publish-2.4"}]}
_ACTION = {
    "id": ask(1),
    "kind": "user_ask_confirmation",
    "request": {"context": "Publish the 2.4 notes?"},
    "createdAt": "2027-01-15T09:00:12.000Z",
    "recoverable": True,
}


def _row(boundary: str, cursor: Any, commits: tuple[Any, ...] = (), instance: str = I1, **more: Any) -> dict[str, Any]:
    return {"boundary": boundary, "cursor": cursor, "commits": list(commits), "instanceId": instance, **more}


def _rows() -> list[dict[str, Any]]:
    init = lambda n: {"id": call(n), "kind": "initializer"}  # noqa: E731
    code4, recovery5 = {"id": call(4), "kind": "code"}, {"id": call(5), "kind": "recovery"}
    answered = {"stage": _PUBLISH, "call": code4, "action": _ACTION, "answer": {"isConfirmed": True}}
    to_write = {"outcome": "collected", "route": {"kind": "step", "cursor": _WRITE}}
    to_confirm = {"outcome": "written", "route": {"kind": "stage", "cursor": _CONFIRM}}
    to_end = {"outcome": "published", "route": {"kind": "end"}}
    return [
        _row("ready", _COLLECT),
        _row("executing", _COLLECT, call=init(0)),
        _row("ready", _COLLECT, stage=_DRAFT),
        _row("executing", _COLLECT, stage=_DRAFT, call={"id": call(1), "kind": "code"}),
        _row("step_result", _COLLECT, stage=_DRAFTED, result=to_write),
        _row("executing", _WRITE, stage=_DRAFTED, call={"id": call(2), "kind": "model"}),
        _row("step_result", _WRITE, stage=_DRAFTED, result=to_confirm),
        _row("executing", _CONFIRM, call=init(3)),
        _row("ready", _CONFIRM, stage=_PUBLISH),
        _row("executing", _CONFIRM, stage=_PUBLISH, call=code4),
        _row("executing", _CONFIRM, (_ART,), stage=_PUBLISH, call=code4),
        _row("waiting", _CONFIRM, (_ART,), stage=_PUBLISH, call=code4, action=_ACTION),
        _row("answered", _CONFIRM, (_ART,), I2, **answered),
        _row("executing", _CONFIRM, (_ART,), I2, stage=_PUBLISH, call=recovery5),
        _row("executing", _CONFIRM, (_ART, _REC), I2, stage=_PUBLISH, call=recovery5),
        _row("step_result", _CONFIRM, (_ART, _REC), I2, stage=_DONE, result=to_end),
        _row("terminal", _CONFIRM, (_ART, _REC), I2, stage=_DONE, outcome={"status": "completed"}),
    ]


def whole(rows: list[dict[str, Any]], run: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows as whole checkpoints."""
    return [_in_order(row, n, run) for n, row in enumerate(rows, start=1)]


_ORDER = ("version", "seq", "savedAt", "instanceId", "workflowIdentity", "boundary", "run", "cursor", "stage", "call",
          "action", "answer", "result", "commits", "outcome")  # fmt: skip


def _in_order(row: dict[str, Any], n: int, run: dict[str, Any]) -> dict[str, Any]:
    """One checkpoint with its members as the document orders them."""
    saved_at = f"2027-01-15T09:00:{n:02d}.000Z"
    members = row | {"version": 3, "seq": n, "savedAt": saved_at, "workflowIdentity": IDENTITY, "run": run}
    return copy.deepcopy({name: members[name] for name in _ORDER if name in members})


def history_a(until: int = 17) -> list[dict[str, Any]]:
    """A[1..until]."""
    return whole(_rows(), head(A))[:until]


def history_b(op: int = 2) -> list[dict[str, Any]]:
    """Five checkpoints, ending in the wait of `collect`, which cannot be recovered."""
    action = {
        "id": ask(3),
        "kind": "user_ask_confirmation",
        "request": {"context": "Use these sources?"},
        "createdAt": "2027-01-15T09:00:05.000Z",
        "recoverable": False,
    }
    wait = _row("waiting", _COLLECT, stage=_DRAFT, call={"id": call(1), "kind": "code"}, action=action)
    return whole([*_rows()[:4], wait], head(B, op))


def history_c(op: int = 3) -> list[dict[str, Any]]:
    """Six checkpoints, ending in work delegated to a client's Agent."""
    rows = _rows()[:6]
    rows[5]["call"]["kind"] = "agent"
    return whole(rows, head(C, op, {"source": "agent_ide", "agentExecutor": "mcp_client"}))


def history_m() -> list[dict[str, Any]]:
    """The mirror of A at 12."""
    run = head(M, 9, instance=I2) | {"createdAt": "2027-01-16T10:00:00.000Z"}
    run["lineage"] = {"runId": A, "seq": 12, "paused": True}
    action = _ACTION | {"id": ask(2), "createdAt": "2027-01-16T10:00:00.000Z"}
    wait = _row("waiting", _CONFIRM, (), I2, stage=_PUBLISH, call={"id": call(6), "kind": "code"}, action=action)
    return whole([wait], run)


def as_bytes(checkpoint: dict[str, Any]) -> bytes:
    return json.dumps(checkpoint, ensure_ascii=False, separators=(",", ":")).encode()


def named(*histories: list[dict[str, Any]]) -> dict[str, bytes]:
    """A project of named bytes."""
    files = {"intloom.yaml": b""}
    for history in histories:
        for checkpoint in history:
            files[f"{RUNTIME}/{key(checkpoint['run']['id'])}/{checkpoint['seq']:08d}.json"] = as_bytes(checkpoint)
    return files


def on_disk(folder: Path, *histories: list[dict[str, Any]]) -> Path:
    """A project in a folder."""
    (folder / RUNTIME).mkdir(parents=True, mode=0o700, exist_ok=True)
    for name, data in named(*histories).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)
        path.chmod(0o600)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below the runtime root, links as what they point to."""
    root = folder / RUNTIME
    return {
        str(path.relative_to(root)): str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def _approved(given: Any) -> bool:
    return {"yes": True, "no": False}.get(given, given)


class Calls(list[str]):
    """What was called, in order."""


def workflow(
    calls: Calls | None = None,
    *,
    identity: str = IDENTITY,
    recover: bool = True,
    schema: Any = "default",
) -> Workflow:
    """`release_notes`: `collect` (Code without recover), `write` (Agent), `confirm` (Code with recover)."""
    from typing import Annotated

    from pydantic import BaseModel, BeforeValidator

    class Publish(BaseModel):
        draftId: str
        approved: Annotated[bool, BeforeValidator(_approved)]

    seen = calls if calls is not None else Calls()

    def collect(access: Any) -> str:
        seen.append("collect")
        access.write_state(_FILLED)
        return "collected"

    @code
    def confirm(access: Any) -> str:
        seen.append("confirm")
        access.commit([{
            "type": "create_artifact", "id": "ART-notes",
            "payload": {"flowName": "release_notes", "stageName": "publish", "data": {"text": "notes"}},
        }])  # fmt: skip
        answer = access.ask_confirmation("Publish the 2.4 notes?")
        seen.append(f"confirmed {json.dumps(answer)}")
        access.write_state({"draftId": "ART-notes", "approved": "yes"})
        return "published"

    if recover:

        @confirm.recover
        def recovered(saved: Any, access: Any) -> str:
            seen.append(f"recover {json.dumps(saved)} {json.dumps(access.state)}")
            access.write_state({"draftId": "ART-notes", "approved": "yes"})
            return "published"

    def started(stage: str, state: Any) -> Any:
        def start(access: Any) -> Any:
            seen.append(f"start {stage}")
            return state

        return start

    def prompt(access: Any) -> str:
        seen.append("write")
        return "Write it."

    draft = Stage(
        "draft",
        (
            Step("collect", collect, {"collected": to_step("write")}),
            Step("write", agent(prompt, lambda access, reply: "written"), {"written": to_stage("publish")}),
        ),
        started("draft", _EMPTY),
    )
    publish = Stage(
        "publish",
        (Step("confirm", confirm, {"published": END}),),
        started("publish", {"draftId": "ART-notes", "approved": "no"}),
        Publish if schema == "default" else schema,
    )
    return Workflow("release_notes", (draft, publish), identity=identity)
