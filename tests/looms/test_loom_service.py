"""A living Service: who owns the project, what several clients may do at once, Agents, failures of Steps."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from looms.release_notes import I1, I2, RUNTIME, A, Calls, ask, history_a, key, on_disk, operation, snapshot, workflow

from recovery_kit.looms import (
    END,
    Refused,
    Service,
    Stage,
    Step,
    Workflow,
    agent,
    code,
    new_project,
    recover_project,
    to_step,
)
from recovery_kit.looms.ownership import inspect_ownership
from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.recovery.loom_start import restore_runs, start_service
from recovery_kit.world.providers import RefusingProvider, ScriptedProvider

PATIENCE = 20.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return new_project(tmp_path / "project")


@pytest.fixture
def start(project: Path) -> Iterator[Callable[..., Service]]:
    begun: list[Service] = []

    def begin(*flows: Workflow, **options: Any) -> Service:
        begun.append(start_service(project, flows, **options))
        return begun[-1]

    yield begin
    for service in begun:
        service.stop()


def flow(function: Any, outcomes: Any = ("done",), **options: Any) -> Workflow:
    """A Workflow of one Step."""
    step = Step("only", function, dict.fromkeys(outcomes, END))
    return Workflow("one", [Stage("stage", [step], **options.pop("stage", {}))], identity="1a" * 32, **options)


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(Refused) as caught:
        act()
    return caught.value.code


def test_a_whole_run_leaves_a_sound_history(project: Path, start: Any) -> None:
    """What a Service writes is what a start reads, boundary by boundary."""
    service = start(workflow(), provider=ScriptedProvider(["text"]))
    receipt = service.create("release_notes", "Write notes", operation_id=operation(1), instance_id=service.instance_id)
    view = service.wait(receipt.run_id, PATIENCE)
    service.answer(view.id, view.prompt["id"], {"isConfirmed": True, "feedback": "go"})
    assert service.wait(view.id, PATIENCE).status == "completed"
    boundaries = [saved.boundary for saved in service.run(view.id).history]
    expected = [row["boundary"] for row in history_a(14)]  # a living Code goes on in its own Call
    assert boundaries == [*expected, "step_result", "terminal"]
    assert plan_project(project, [workflow()]).start == "ok"


def test_one_owner(project: Path, start: Any) -> None:
    """A second Service is refused while one lives; afterwards the project is free."""
    service = start(workflow())
    assert refusal(lambda: Service(project, [workflow()])) == "CLI_SERVICE_BUSY"
    assert refusal(lambda: recover_project(project)) == "CLI_RECOVERY_BLOCKED"
    assert inspect_ownership(project).state == "blocked"
    for name in ("service.lock", "service.json", "connection.json"):
        assert (project / ".intloom" / name).stat().st_mode & 0o777 == 0o600
    service.stop()
    assert inspect_ownership(project).state == "offline" and recover_project(project).paths == ()
    start(workflow())


def test_owner_files_that_cannot_be_trusted(project: Path, start: Any) -> None:
    """Open modes, foreign projects, links: neither a start nor `recover` goes on."""
    start(workflow()).stop()
    lock = project / ".intloom" / "service.lock"
    lock.write_text(json.dumps({"pid": 1, "instanceId": "x"}))
    lock.chmod(0o644)
    assert refusal(lambda: recover_project(project)) == "CLI_SERVICE_METADATA_INVALID"
    assert refusal(lambda: start(workflow())) == "CLI_SERVICE_METADATA_INVALID"
    lock.unlink()
    lock.symlink_to(os.devnull)
    assert refusal(lambda: recover_project(project)) == "CLI_SERVICE_METADATA_INVALID"


def test_nothing_is_accepted_before_restoring(project: Path) -> None:
    """An opened Service refuses requests until its Runs are back, which happens once."""
    with Service(project, [workflow()]) as service:
        assert refusal(lambda: service.create("release_notes", "x")) == "CLI_SERVICE_CLOSING"
        restore_runs(service)
        assert refusal(lambda: restore_runs(service)) == "CONFLICT"


def test_many_answers_at_once(project: Path, start: Any) -> None:
    """Of answers that arrive together one counts; a repetition gets its receipt."""
    on_disk(project, history_a(12))
    calls = Calls()
    service = start(workflow(calls), instance_id=I2)
    told: list[Any] = []
    gate = threading.Barrier(8)

    def client(n: int) -> None:
        gate.wait()
        try:
            told.append(service.answer(A, ask(1), {"isConfirmed": n < 4}, operation_id=operation(20 + n // 2)))
        except Refused as no:
            told.append(no.code)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert service.wait(A, PATIENCE).status == "completed" and len(calls) == 1
    receipts = [one for one in told if not isinstance(one, str)]
    assert told.count("CONFLICT") == 6 and len(receipts) == 2 and receipts[0] is receipts[1]


def test_a_late_call_writes_nothing(project: Path, start: Any) -> None:
    """A Call that lost its Run can neither commit, ask, nor change State, and its result is ignored."""
    begun, go, tried = threading.Event(), threading.Event(), []

    def slow(access: Any) -> str:
        begun.set()
        go.wait(PATIENCE)
        for act in (
            lambda: access.commit([]),
            lambda: access.ask_confirmation("?"),
            lambda: access.write_state({}),
            lambda: access.state,
        ):
            tried.append(refusal(act))
        over.set()
        return "done"

    over = threading.Event()
    service = start(flow(slow))
    run = service.create("one", "x").run_id
    assert begun.wait(PATIENCE)
    service.cancel(run)
    before = snapshot(project)
    go.set()
    assert over.wait(PATIENCE) and tried == ["EXECUTION_OWNERSHIP_LOST"] * 4
    assert snapshot(project) == before and service.run(run).error["code"] == "RUN_STOPPED"


@pytest.mark.parametrize(
    ("function", "code_of_end"),
    [
        (lambda access: "elsewhere", "STEP_OUTCOME_NOT_HANDLED"),
        (lambda access: 7, "STEP_RESULT_INVALID"),
        (lambda access: 1 / 0, "STEP_EXECUTION_FAILED"),
        (lambda access: access.write_state({"n": "many"}), "STAGE_STATE_INVALID"),
        (lambda access: access.ask_questions([]), "STEP_INTERACTION_INVALID"),
        (lambda access: access.commit([{"type": "remove_record", "id": "x"}]), "NOT_FOUND"),
    ],
)
def test_how_steps_fail(start: Any, function: Any, code_of_end: str) -> None:
    """A Step that fails ends its Run with the public code."""
    service = start(flow(function, stage={"schema": dict[str, int], "start": lambda access: {"n": "1"}}))
    run = service.create("one", "x").run_id
    view = service.wait(run, PATIENCE)
    assert view.status == "failed" and view.error["code"] == code_of_end
    assert view.stage is not None and (view.stage.input, view.stage.value) == ({"n": "1"}, {"n": 1})


def test_initializers_may_not_act(start: Any) -> None:
    """An initializer makes a State; it neither commits nor asks."""
    service = start(flow(lambda access: "done", stage={"start": lambda access: access.commit([])}))
    assert service.wait(service.create("one", "x").run_id, PATIENCE).error["code"] == "STEP_INTERACTION_INVALID"


def test_a_model_that_does_not_answer(start: Any) -> None:
    """A failure of the provider ends the Run; the Service goes on."""
    work = agent(lambda access: "?", lambda access, reply: "done")
    service = start(flow(work), provider=RefusingProvider())
    assert service.wait(service.create("one", "x").run_id, PATIENCE).error["code"] == "STEP_EXECUTION_FAILED"


def test_delegated_work(start: Any) -> None:
    """A client's Agent claims work once, hands it in with its token, and only then the Run goes on."""
    work = agent(lambda access: {"task": "write"}, lambda access, reply: reply["outcome"])
    service = start(flow(work))
    run = service.create("one", "x", source="agent_ide").run_id
    assert service.wait(run, PATIENCE).boundary == "executing"
    offered = _offered(service, run)
    claim = service.claim_work(offered.call_id)
    assert claim.prompt == {"task": "write"} and service.run(run).status == "waiting"
    assert refusal(lambda: service.claim_work(offered.call_id)) == "CONFLICT"
    assert refusal(lambda: service.complete_work(offered.call_id, "no", {})) == "CONFLICT"
    service.complete_work(offered.call_id, claim.token, {"outcome": "done"})
    with service.engine.lock:
        service.engine.runs[run].changed.wait_for(lambda: service.engine.runs[run].is_over, PATIENCE)
    assert service.run(run).status == "completed"


def _offered(service: Service, run: str) -> Any:
    live = service.engine.runs[run]
    with service.engine.lock:
        assert live.changed.wait_for(lambda: live.delegated is not None, PATIENCE)
    return service.offered_work()[0]


def test_exclusive_workflows(start: Any) -> None:
    """Only one Run at a time, mirrors on hold not counted."""

    def asks(access: Any) -> str:
        access.ask_confirmation("?")
        return "done"

    service = start(flow(code(asks), exclusive=True))
    first = service.create("one", "x").run_id
    assert service.wait(first, PATIENCE).status == "waiting"
    assert refusal(lambda: service.create("one", "y")) == "BUSY"
    service.cancel(first)
    service.create("one", "y")


def test_two_questions_in_one_call(project: Path, start: Any) -> None:
    """Code may ask again; each answer reaches its own question."""
    heard: list[Any] = []

    def asks(access: Any) -> str:
        for n in "12":
            questions = [{"id": "q", "question": n, "isSkippable": False, "options": [{"id": "a", "label": "A"}]}]
            heard.append(access.ask_questions(questions)[0]["answer"])
        return "done"

    service = start(flow(asks))
    run = service.create("one", "x").run_id
    for n in "12":
        view = service.wait(run, PATIENCE)
        bad = [{"questionId": "q", "isSkipped": True}]
        assert refusal(lambda view=view, bad=bad: service.answer(run, view.prompt["id"], bad)) == "INVALID_REQUEST"
        service.answer(run, view.prompt["id"], [{"questionId": "q", "isSkipped": False, "answer": n}])
        with service.engine.lock:
            live = service.engine.runs[run]
            live.changed.wait_for(lambda live=live, view=view: _moved_on(live, view), PATIENCE)
    assert service.run(run).status == "completed" and heard == ["1", "2"]
    assert plan_project(project).start == "ok"


def _moved_on(live: Any, view: Any) -> bool:
    c = live.checkpoint
    return live.is_over or (c.boundary == "waiting" and c.action.id != view.prompt["id"])


def test_bad_requests(start: Any) -> None:
    """Each door has its sentence."""
    service = start(flow(lambda access: "done"))
    doors: dict[str, Callable[[], Any]] = {
        "NOT_FOUND": lambda: service.create("none", "x"),
        "INVALID_REQUEST": lambda: service.create("one", ""),
        "INSTANCE_CHANGED": lambda: service.cancel("x", instance_id=I1),
    }
    for expected, act in doors.items():
        assert refusal(act) == expected
    assert refusal(lambda: service.run("RUN-x")) == "NOT_FOUND"
    assert refusal(lambda: service.runs(operation(1))) == "INVALID_REQUEST"
    assert refusal(lambda: service.answer("RUN-x", "a", float("nan"))) == "INVALID_REQUEST"
    assert refusal(lambda: service.checkpoint("RUN-x", 1)) == "NOT_FOUND"


def test_broken_workflows_are_refused() -> None:
    """A route to nowhere is found when the Workflow is made."""
    step = Step("a", lambda access: "x", {"x": to_step("b")})
    assert refusal(lambda: Workflow("w", [Stage("s", [step])])) == "INVALID_TRANSITION"
    assert refusal(lambda: Workflow("w", [Stage("s", [])])) == "INVALID_REQUEST"


def test_identity_of_functions_without_a_file() -> None:
    """What is typed into a notebook has no source file: its compiled code tells one Workflow from another."""

    def identity(outcome: str) -> str:
        names: dict[str, Any] = {"__name__": "typed"}
        exec(f"def step(access):\n    return {outcome!r}", names)
        return Workflow("w", [Stage("s", [Step("a", names["step"], {outcome: END})])]).identity

    assert identity("x") == identity("x") != identity("y")


def test_identity_is_of_the_bytes(tmp_path: Path) -> None:
    """Another byte in a package is another Workflow; names of folders that are skipped are not looked at."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "a.py").write_text("1")

    def identity() -> str:
        return Workflow("w", [Stage("s", [Step("a", lambda access: "x", {"x": END})])], package=tmp_path).identity

    first = identity()
    (tmp_path / "node_modules" / "b").write_text("2")
    assert identity() == first
    (tmp_path / "a.py").write_text("2")
    assert identity() != first
    (tmp_path / "link").symlink_to("a.py")
    assert refusal(identity) == "KERNEL_UNAVAILABLE"


def test_a_plan_that_is_out_of_date(project: Path) -> None:
    """Files that changed since the plan was made: nothing of it is carried out."""
    from recovery_kit.errors import PlanOutOfDate

    on_disk(project, history_a(11))
    plan = plan_project(project, [workflow()])
    on_disk(project, history_a(12))
    with Service(project, [workflow()]) as service:
        before = snapshot(project)
        with pytest.raises(PlanOutOfDate):
            restore_runs(service, plan)
        assert snapshot(project) == before and (project / RUNTIME / key(A)).is_dir()
