"""The forty scenarios of intloom-recovery 3.1, under their numbers, against a real Service in a folder."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from looms.release_notes import (
    I1,
    I2,
    I3,
    RUNTIME,
    A,
    B,
    C,
    Calls,
    D,
    M,
    as_bytes,
    ask,
    call,
    head,
    history_a,
    history_b,
    history_c,
    history_m,
    key,
    on_disk,
    operation,
    snapshot,
    whole,
    workflow,
)

from recovery_kit.looms import Refused, Service, new_project, recover_project
from recovery_kit.recovery.loom_start import RecoveryBlocked, start_service
from recovery_kit.world.providers import ScriptedProvider

Start = Callable[..., Service]
PATIENCE = 20.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return new_project(tmp_path / "project")


@pytest.fixture
def start(project: Path) -> Iterator[Start]:
    """Starts the project as a new instance; what is started is stopped."""
    begun: list[Service] = []

    def begin(calls: Calls | None = None, instance: str = I2, flows: Any = None, provider: Any = None) -> Service:
        loaded = [workflow(calls)] if flows is None else flows
        service = start_service(
            project, loaded, instance_id=instance, provider=provider or ScriptedProvider(["ok"] * 9)
        )
        begun.append(service)
        return service

    yield begin
    for service in begun:
        service.stop()


def saved(project: Path, run_id: str) -> list[dict[str, Any]]:
    """Every checkpoint of a Run that is on disk, in order."""
    folder = project / RUNTIME / key(run_id)
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("[0-9]*.json"))]


def blocked(start: Start, project: Path, *expected: str, **options: Any) -> RecoveryBlocked:
    """The start is refused with those problems, and no byte changed."""
    before = snapshot(project)
    with pytest.raises(RecoveryBlocked) as caught:
        start(**options)
    assert sorted(f.problem for f in caught.value.plan.findings) == sorted(expected)
    assert caught.value.as_json()["code"] == "RECOVERY_BLOCKED" and snapshot(project) == before
    return caught.value


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as caught:
        act()
    return caught.value.code


def interrupted(checkpoint: dict[str, Any]) -> str:
    assert checkpoint["boundary"] == "terminal" and checkpoint["outcome"]["error"]["code"] == "RUN_INTERRUPTED"
    return checkpoint["outcome"]["error"]["reason"]


def test_01_saved_step_result(project: Path, start: Start) -> None:
    """A saved result is routed; its Step does not run again."""
    on_disk(project, history_a(5))
    before, calls = snapshot(project), Calls()
    service = start(calls)
    assert service.wait(A, PATIENCE).status == "waiting"
    six = saved(project, A)[5]
    assert six["boundary"] == "executing" and six["call"]["kind"] == "model" and six["instanceId"] == I2
    assert six["cursor"] == {"stageName": "draft", "stepName": "write"}
    assert six["call"]["id"] not in {call(n) for n in range(7)}
    assert "collect" not in calls and before.items() <= snapshot(project).items()


def test_02_saved_result_that_ends(project: Path, start: Start) -> None:
    """A result that leads to the end ends the Run without any Call."""
    on_disk(project, history_a(16))
    calls = Calls()
    assert start(calls, I3).wait(A, PATIENCE).status == "completed"
    assert saved(project, A)[16]["outcome"] == {"status": "completed"} and calls == []


def test_03_wait_with_recover(project: Path, start: Start) -> None:
    """An open question is open again under its id; its answer enters recover in a new Call."""
    on_disk(project, history_a(12))
    calls = Calls()
    service = start(calls)
    assert len(saved(project, A)) == 12
    view = service.run(A)
    assert view.status == "waiting" and view.prompt is not None and view.prompt["id"] == ask(1)
    service.answer(A, ask(1), {"isConfirmed": True}, operation_id=operation(20), instance_id=I2)
    assert service.wait(A, PATIENCE).status == "completed"
    rows = saved(project, A)
    assert rows[12]["boundary"] == "answered" and rows[13]["boundary"] == "executing"
    assert rows[13]["call"]["kind"] == "recovery" and rows[13]["call"]["id"] != call(4)
    told = {"action": {"id": ask(1), "kind": "user_ask_confirmation", "request": {"context": "Publish the 2.4 notes?"}},
            "answer": {"isConfirmed": True}}  # fmt: skip
    assert calls == [f"recover {json.dumps(told)} " + json.dumps({"draftId": "ART-notes", "approved": False})]


def test_04_accepted_answer(project: Path, start: Start) -> None:
    """A saved answer is delivered once, without any request."""
    on_disk(project, history_a(13))
    calls = Calls()
    assert start(calls, I3).wait(A, PATIENCE).status == "completed"
    assert len(calls) == 1 and '"answer": {"isConfirmed": true}' in calls[0]
    fourteen = saved(project, A)[13]
    assert fourteen["boundary"] == "executing" and fourteen["call"]["kind"] == "recovery"


def test_05_wait_without_recover(project: Path, start: Start) -> None:
    """A question that cannot be recovered ends the Run, once."""
    on_disk(project, history_b())
    service = start()
    assert interrupted(saved(project, B)[5]) == "no_recovery_entry"
    assert refusal(lambda: service.answer(B, ask(3), {"isConfirmed": True})) == "CONFLICT"
    service.stop()
    assert start(instance=I3).run(B).read_only and len(saved(project, B)) == 6


def test_06_executing_code(project: Path, start: Start) -> None:
    """Code that may have run is not run again; what it committed stays and is listed."""
    on_disk(project, history_a(11))
    with start(flows=[]) as first:  # formal data of the earlier instance
        payload = {"flowName": "release_notes", "stageName": "publish", "data": 1}
        first.storage.commit(
            [{"type": "create_artifact", "id": "ART-notes", "payload": payload}], "2027-01-15T09:00:11.000Z"
        )
    shutil.rmtree(project / RUNTIME)
    on_disk(project, history_a(11))
    calls = Calls()
    service = start(calls)
    assert interrupted(saved(project, A)[11]) == "uncertain_execution" and calls == []
    commits = service.run(A).commits
    assert [row["operations"] for row in commits] == [[{"type": "create_artifact", "id": "ART-notes", "revision": 1}]]
    assert [one.revision for one in service.storage.artifacts()] == [1]


def test_07_model_wait(project: Path, start: Start) -> None:
    """A model request whose answer is not saved is not sent again."""
    on_disk(project, history_a(6))
    provider = ScriptedProvider([])
    start(provider=provider)
    seven = saved(project, A)[6]
    expected = json.loads(
        """{"status": "failed", "error": {"code": "RUN_INTERRUPTED", "message": "Execution stopped with an unknown
        outcome; check committed data before starting new work.", "retryable": false,
        "reason": "uncertain_execution"}}""".replace("\n        ", " ")
    )
    assert provider.requests == [] and seven["outcome"] == expected and seven["instanceId"] == I2


def test_08_delegated_wait(project: Path, start: Start) -> None:
    """Work that a client's Agent had is over; a claim of the old instance is worth nothing."""
    on_disk(project, history_c())
    service = start()
    assert interrupted(saved(project, C)[6]) == "uncertain_execution"
    assert refusal(lambda: service.complete_work(call(2), "token", {})) == "CONFLICT" and service.offered_work() == []


def test_09_terminal(project: Path, start: Start) -> None:
    """An ended Run comes back for reading, without its Workflow."""
    on_disk(project, history_a(17))
    service = start(flows=[], instance=I3)
    view = service.run(A)
    assert (view.status, view.read_only, len(view.commits), len(view.history)) == ("completed", True, 2, 17)
    service.cancel(A)
    assert (
        refusal(lambda: service.answer(A, ask(1), {"isConfirmed": True})) == "CONFLICT" and len(saved(project, A)) == 17
    )


def test_10_stop_writes_nothing(project: Path, start: Start) -> None:
    """A stopped Service has only suspended its Runs."""
    service = start()
    run = service.create("release_notes", "Write").run_id
    assert service.wait(run, PATIENCE).status == "waiting"
    before = snapshot(project)
    service.stop()
    again = start(instance=I3)
    view = again.run(run)
    assert view.status == "waiting" and view.prompt and snapshot(project) == before
    assert view.prompt["id"] == saved(project, run)[-1]["action"]["id"]


def test_11_cancel_is_final(project: Path, start: Start) -> None:
    """A cancelled Run has ended, also for later instances."""
    on_disk(project, history_a(12))
    service = start()
    service.cancel(A, operation_id=operation(21), instance_id=I2)
    thirteen = saved(project, A)[12]
    error = thirteen["outcome"]["error"]
    assert thirteen["boundary"] == "terminal" and error["code"] == "RUN_STOPPED" and "reason" not in error
    service.stop()
    assert start(instance=I3).run(A).read_only and len(saved(project, A)) == 13


def test_12_truncated_file(project: Path, start: Start) -> None:
    """One damaged file keeps everything from starting, and stays as it is."""
    on_disk(project, history_a(12), history_b())
    path = project / RUNTIME / key(A) / "00000012.json"
    path.write_bytes(path.read_bytes()[:100])
    found = blocked(start, project, "corrupt").plan.findings[0]
    assert found.path == f"{RUNTIME}/{key(A)}/00000012.json" and len(saved(project, B)) == 5


def test_13_format_1_beside(project: Path, start: Start) -> None:
    """A file of format 1 is refused by number, and not converted."""
    on_disk(project, history_a(12))
    (project / RUNTIME / f"{key(D)}.json").write_text('{"version": 1}')
    found = blocked(start, project, "version").plan.findings[0]
    assert "1" in found.detail and "3" in found.detail


@pytest.mark.parametrize("version", ["2", "4", "3.0", '"3"', "true", None])
def test_14_odd_versions(project: Path, start: Start, version: str | None) -> None:
    """Whatever the version is, if it is not 3 the start is refused."""
    on_disk(project)
    text = as_bytes(whole([history_a(1)[0]], head(D))[0]).decode()
    text = text.replace('"version":3,', "" if version is None else f'"version":{version},')
    (project / RUNTIME / key(D)).mkdir()
    (project / RUNTIME / key(D) / "00000001.json").write_text(text)
    blocked(start, project, "version" if version in ("2", "4") else "corrupt")


def test_15_version_wins(project: Path, start: Start) -> None:
    """A file of another version is not looked at further."""
    on_disk(project)
    (project / RUNTIME / f"{key(D)}.json").write_text('{"version": 1, "nothing": 0}')
    blocked(start, project, "version")


@pytest.mark.parametrize("place", ["file", "folder", "root"])
def test_16_symbolic_links(project: Path, start: Start, tmp_path: Path, place: str) -> None:
    """Links are refused, and what they point to is untouched."""
    outside = on_disk(tmp_path / "outside", history_a(12))
    (project / RUNTIME).mkdir(parents=True)
    name = {"file": f"{key(A)}/00000012.json", "folder": key(A), "root": ""}[place]
    if place == "file":
        on_disk(project, history_a(11))
    if place == "root":
        (project / RUNTIME).rmdir()
    (project / RUNTIME / name).symlink_to(outside / RUNTIME / name)
    before = snapshot(outside)
    blocked(start, project, "unsafe_path")
    assert snapshot(outside) == before


def test_17_gap(project: Path, start: Start) -> None:
    """A missing number is named."""
    on_disk(project, history_a(12))
    (project / RUNTIME / key(A) / "00000007.json").unlink()
    assert "7" in blocked(start, project, "corrupt").plan.findings[0].detail


def test_18_copied_directory(project: Path, start: Start) -> None:
    """A copy under another key is twelve findings, and no duplicate."""
    on_disk(project, history_a(12))
    shutil.copytree(project / RUNTIME / key(A), project / RUNTIME / key(D))
    found = blocked(start, project, *["corrupt"] * 12).plan.findings
    assert all(key(D) in one.path for one in found)


def test_19_duplicate_operation(project: Path, start: Start) -> None:
    """Two Runs of one operation."""
    on_disk(project, history_a(12), history_b(op=1))
    detail = blocked(start, project, "duplicate").plan.findings[0].detail
    assert A in detail and B in detail


@pytest.mark.parametrize("change", ["twice", "nan", "bom"])
def test_20_bad_text(project: Path, start: Start, change: str) -> None:
    """Text that is not strict JSON."""
    on_disk(project, history_a(12))
    path = project / RUNTIME / key(A) / "00000012.json"
    text = path.read_bytes()
    path.write_bytes({
        "twice": text.replace(b'"boundary"', b'"boundary":"waiting","boundary"'),
        "nan": text.replace(b'"approved":false', b'"approved":NaN'),
        "bom": b"\xef\xbb\xbf" + text,
    }[change])  # fmt: skip
    blocked(start, project, "corrupt")


def test_21_after_the_end(project: Path, start: Start) -> None:
    """Nothing follows the end."""
    more = history_a(9)[8] | {"seq": 18, "commits": history_a()[16]["commits"]}
    on_disk(project, [*history_a(), more])
    blocked(start, project, "corrupt")


def test_22_reused_question_id(project: Path, start: Start) -> None:
    """A question's id is used once in a Run."""
    rows = history_a(13)
    on_disk(project, [*rows, rows[10] | {"seq": 14}, rows[11] | {"seq": 15}])
    blocked(start, project, "corrupt")


def test_23_several_at_once(project: Path, start: Start) -> None:
    """All problems are told at once."""
    on_disk(project, history_a(12), history_b(op=2), history_c(op=2))
    path = project / RUNTIME / key(A) / "00000012.json"
    path.write_bytes(path.read_bytes()[:100])
    (project / RUNTIME / f"{key(D)}.json").write_text('{"version": 1}')
    blocked(start, project, "corrupt", "version", "duplicate")


def leftover(project: Path, run_id: str) -> Path:
    path = project / RUNTIME / key(run_id) / ".0b5e7e0c-1111-4111-8111-111111111111.tmp"
    path.write_bytes(as_bytes(history_a(13)[12]))
    return path


def test_24_answer_not_yet_durable(project: Path, start: Start) -> None:
    """An answer that was not published was not accepted; the question is open, and a new answer counts once."""
    on_disk(project, history_a(12))
    left = leftover(project, A)
    calls = Calls()
    service = start(calls)
    view = service.run(A)
    assert view.prompt and view.prompt["id"] == ask(1) and left.exists()
    assert service.receipt(operation(20), I1) == {"receipt": "changed_instance", "currentInstanceId": I2}
    service.answer(A, ask(1), {"isConfirmed": True}, operation_id=operation(22), instance_id=I2)
    assert service.wait(A, PATIENCE).status == "completed" and len(calls) == 1


def test_25_between_answered_and_executing(project: Path, start: Start) -> None:
    """A published answer is delivered once, whatever lies beside it."""
    on_disk(project, history_a(13))
    left = leftover(project, A)
    calls = Calls()
    assert start(calls, I3).wait(A, PATIENCE).status == "completed" and len(calls) == 1 and left.exists()


def test_26_after_the_execution_mark(project: Path, start: Start) -> None:
    """Once delivery was announced it is never done again."""
    on_disk(project, history_a(14))
    calls = Calls()
    start(calls, I3)
    rows = saved(project, A)
    assert (
        interrupted(rows[14]) == "uncertain_execution" and calls == [] and rows[12]["answer"] == {"isConfirmed": True}
    )


def test_27_between_commit_and_reference(project: Path, start: Start) -> None:
    """Formal data that no checkpoint refers to is neither removed nor claimed."""
    with start(flows=[]) as first:
        payload = {"flowName": "release_notes", "stageName": "publish", "data": 1}
        first.storage.commit(
            [{"type": "create_artifact", "id": "ART-notes", "payload": payload}], "2027-01-15T09:00:11.000Z"
        )
    on_disk(project, history_a(10))
    service = start()
    assert interrupted(saved(project, A)[10]) == "uncertain_execution"
    assert service.run(A).commits == () and [one.id for one in service.storage.artifacts()] == ["ART-notes"]


def test_28_directory_without_checkpoint(project: Path, start: Start) -> None:
    """A Run without a first checkpoint was never created."""
    on_disk(project)
    (project / RUNTIME / key(D)).mkdir()
    service = start()
    assert service.runs() == () and service.runs(operation(4), I1) == ()


def test_29_between_result_and_route(project: Path, start: Start) -> None:
    """A crash right after the routed Call was announced: the finished Step is not run by either start."""
    on_disk(project, history_a(7))
    calls, more = Calls(), Calls()
    service = start(calls)
    service.wait(A, PATIENCE)
    service.stop()
    for path in sorted((project / RUNTIME / key(A)).glob("*.json"))[8:]:
        path.unlink()  # as if killed right after file 8
    eight = saved(project, A)[7]
    assert eight["call"]["kind"] == "initializer"
    start(more, I3)
    assert interrupted(saved(project, A)[8]) == "uncertain_execution"
    assert "write" not in calls and more == []


def test_30_double_answers(project: Path, start: Start) -> None:
    """An answer counts once: a repetition gets the same receipt, another one a conflict."""
    on_disk(project, history_a(12))
    calls = Calls()
    service = start(calls)
    yes, no = {"isConfirmed": True}, {"isConfirmed": False}
    first = service.answer(A, ask(1), yes, operation_id=operation(20), instance_id=I2)
    again = service.answer(A, ask(1), yes, operation_id=operation(20), instance_id=I2)
    assert first is again and first.seq == 13
    assert refusal(lambda: service.answer(A, ask(1), no, operation_id=operation(23), instance_id=I2)) == "CONFLICT"
    assert service.receipt(operation(23), I2) == {"receipt": "missing"}
    assert refusal(lambda: service.answer(A, ask(1), no, operation_id=operation(20), instance_id=I2)) == "CONFLICT"
    service.wait(A, PATIENCE)
    assert len(calls) == 1


def test_31_three_receipt_answers(project: Path, start: Start) -> None:
    """Found, missing, changed."""
    on_disk(project, history_a(12))
    service = start()
    service.answer(A, ask(1), {"isConfirmed": True}, operation_id=operation(20), instance_id=I2)
    assert service.receipt(operation(20), I2) == {
        "receipt": "found", "operationId": operation(20), "instanceId": I2, "kind": "answer", "runId": A, "seq": 13,
    }  # fmt: skip
    assert service.receipt(operation(99), I2) == {"receipt": "missing"}
    changed = {"receipt": "changed_instance", "currentInstanceId": I2}
    assert service.receipt(operation(1), I1) == changed | {"runId": A}
    assert service.receipt(operation(98), I1) == changed


def test_32_old_instance_mutation(project: Path, start: Start) -> None:
    """A request for an earlier instance is not carried out; the Run it made is found by its operation."""
    on_disk(project, history_a(12))
    service = start()
    before = snapshot(project)
    create = lambda: service.create("release_notes", "x", operation_id=operation(1), instance_id=I1)  # noqa: E731
    assert refusal(create) == "INSTANCE_CHANGED" and snapshot(project) == before
    assert [view.id for view in service.runs(operation(1), I1)] == [A]


def test_33_failed_save(project: Path, start: Start) -> None:
    """A question that cannot be saved is never seen, and nothing is written after it."""
    service = start()
    run = service.create("release_notes", "Write").run_id
    service.wait(run, PATIENCE)  # it asks at 12; another Run meets a foreign file there
    folder_of: list[Path] = []

    class Blocking(ScriptedProvider):
        def infer(self, request: Any, turn: Any = None) -> Any:
            mine = next(view.id for view in service.runs() if view.boundary == "executing")
            folder_of.append(project / RUNTIME / key(mine))
            (folder_of[0] / "00000012.json").write_text("foreign")
            return super().infer(request)

    service.engine.provider = Blocking(["ok"])
    service.storage.commit(
        [{"type": "remove_artifact", "id": "ART-notes", "expectedRevision": 1}], "2027-01-15T09:00:11.000Z"
    )
    second = service.create("release_notes", "Write again").run_id
    view = service.wait(second, PATIENCE)
    assert (
        view.status == "failed" and view.error and view.error["code"] == "RUN_CHECKPOINT_FAILED" and view.prompt is None
    )
    assert (folder_of[0] / "00000012.json").read_text() == "foreign"
    asked = operation(50)
    assert refusal(lambda: service.create("release_notes", "x", operation_id=asked)) == "RUN_CHECKPOINT_FAILED"
    assert service.receipt(asked, I2)["error"]["code"] == "RUN_CHECKPOINT_FAILED"


def test_34_deleted_while_live(project: Path, start: Start) -> None:
    """Deleting a Run's files opts it out: it goes on in memory and is never made again."""
    calls = Calls()
    service = start(calls)
    run = service.create("release_notes", "Write").run_id
    view = service.wait(run, PATIENCE)
    shutil.rmtree(project / RUNTIME / key(run))
    assert view.prompt
    receipt = service.answer(run, view.prompt["id"], {"isConfirmed": True})
    assert receipt.seq is None and service.wait(run, PATIENCE).status == "completed"
    assert 'confirmed {"isConfirmed": true}' in calls and not (project / RUNTIME / key(run)).exists()
    service.stop()
    again = start(instance=I3)
    assert again.runs() == () and len(again.storage.artifacts()) == 1


def test_35_changed_identity(project: Path, start: Start) -> None:
    """Another package blocks what would run on, and leaves what is interrupted anyway alone."""
    on_disk(project, history_a(12))
    other = [workflow(identity="4a" * 32)]
    blocked(start, project, "workflow_changed", flows=other)
    (project / RUNTIME / key(A) / "00000012.json").unlink()
    assert interrupted(saved(project, A)[-1] if start(flows=other) else {}) == "uncertain_execution"


def test_36_recover_entry_changed(project: Path, start: Start) -> None:
    """Whether Code can recover has to be what was saved."""
    on_disk(project, history_a(12))
    blocked(start, project, "workflow_changed", flows=[workflow(recover=False)])


def test_37_state_no_longer_matches(project: Path, start: Start) -> None:
    """A schema that behaves differently is found without saving anything."""
    from typing import Annotated

    from pydantic import BaseModel, BeforeValidator

    class Shouting(BaseModel):
        draftId: str
        approved: Annotated[str, BeforeValidator(str.upper)]

    on_disk(project, history_a(12))
    blocked(start, project, "state_invalid", flows=[workflow(schema=Shouting)])


def test_38_mirror(project: Path, start: Start) -> None:
    """A mirror holds over restarts, refuses answers, and goes on with exactly what it held."""
    on_disk(project, history_a(17))
    before = snapshot(project)
    service = start()
    mirror = service.mirror(A, 12, operation_id=operation(9), instance_id=I2).run_id
    first = saved(project, mirror)[0]
    expected = history_m()[0]
    assert service.run(mirror).status == "paused" and before.items() <= snapshot(project).items()
    assert first["run"]["lineage"] == expected["run"]["lineage"] and first["run"]["origin"] == expected["run"]["origin"]
    assert first["action"]["id"] not in (ask(1), ask(2)) and first["call"]["id"] != call(4) and first["commits"] == []
    for name in ("workflowIdentity", "boundary", "cursor", "stage"):
        assert first[name] == expected[name]
    service.stop()
    again = start(instance=I3)
    assert again.run(mirror).status == "paused" and len(saved(project, mirror)) == 1
    answer = {"isConfirmed": True}
    assert refusal(lambda: again.answer(mirror, first["action"]["id"], answer)) == "CONFLICT"
    again.resume(mirror)
    one, two = saved(project, mirror)
    assert again.run(mirror).status == "waiting" and two["run"]["lineage"].pop("paused") is False
    assert one["run"]["lineage"].pop("paused") is True
    for name in ("seq", "savedAt", "instanceId"):
        one.pop(name), two.pop(name)
    assert one == two
    again.answer(mirror, first["action"]["id"], answer)
    assert again.wait(mirror, PATIENCE).status == "completed"


@pytest.mark.parametrize(("run", "seq"), [(A, 10), (A, 14), (A, 17), (B, 5)])
def test_39_forbidden_branch_points(project: Path, start: Start, run: str, seq: int) -> None:
    """No branch begins at an unknown outcome, at the end, or at a question that cannot be recovered."""
    on_disk(project, history_a(17), history_b())
    service = start(instance=I3)
    before = snapshot(project)
    assert refusal(lambda: service.mirror(run, seq)) == "CONFLICT" and snapshot(project) == before


def test_40_cleanup_is_blind_to_checkpoints(project: Path, start: Start) -> None:
    """`recover` removes what a dead process left, and says nothing about a damaged Run, which then blocks the start."""
    start().stop()  # leaves connection.json
    on_disk(project, history_a(12))
    path = project / RUNTIME / key(A) / "00000012.json"
    path.write_bytes(path.read_bytes()[:100])
    gone = _dead_pid()
    root = str(project.resolve())
    owner = {"version": 1, "projectRoot": root, "pid": gone, "instanceId": I1, "url": "http://127.0.0.1:1",
             "startedAt": "2027-01-15T09:00:00.000Z", "storage": "file"}  # fmt: skip
    stale = {
        ".intloom/service.json": owner,
        ".intloom/service.lock": {"pid": gone, "instanceId": I1},
        "intloom/store.lock": {"pid": gone, "createdAt": "2027-01-15T09:00:00.000Z"},
    }
    for name, value in stale.items():
        (project / name).write_text(json.dumps(value))
        (project / name).chmod(0o600)
    before = snapshot(project)
    assert refusal(start) == "CLI_SERVICE_BUSY"
    rehearsal = recover_project(project, dry_run=True)
    assert set(rehearsal.paths) == set(stale) and all((project / name).exists() for name in stale)
    deed = recover_project(project)
    assert deed.paths == rehearsal.paths and deed.recovered and not any((project / name).exists() for name in stale)
    assert snapshot(project) == before
    blocked(start, project, "corrupt")


def _dead_pid() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def test_paused_mirror_of_the_example_starts(project: Path, start: Start) -> None:
    """The mirror of the document's example is held."""
    on_disk(project, history_m())
    assert start(instance=I3).run(M).status == "paused" and len(saved(project, M)) == 1
