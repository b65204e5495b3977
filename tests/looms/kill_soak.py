"""A Service killed over and over, and what has to be true after every kill.

`python tests/looms/kill_soak.py KILLS [SEED]`

Each life is a process of its own (forked, so that it begins at once), killed with SIGKILL at a moment of a checkpoint's
writing or after a random while. Workflows leave a trace of everything they do in a file that survives them.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from recovery_kit.formats.loom_publish import Publisher
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
    to_stage,
    to_step,
)
from recovery_kit.looms.sqlite_storage import SqliteStorage
from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.recovery.loom_start import start_service
from recovery_kit.world.providers import Reply

RUNTIME = ".intloom/runtime"
IDENTITY = "5a" * 32
AT_ONCE = 2
"""Runs that are active in each life."""


class Trace:
    """Lines that outlive the process that wrote them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *words: str) -> None:
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, (json.dumps(words) + "\n").encode())
        os.close(handle)

    def lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


class Model:
    """A model that says yes and is counted."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def infer(self, request: Any, turn: Any = None) -> Reply:
        self.trace.add("model", request.messages[0].content)
        return Reply(text="yes", finish_reason="complete")


def workflow(trace: Trace) -> Workflow:
    """Commits, questions and a model Step, each leaving a trace."""

    def collect(access: Any) -> str:
        trace.add("begin", access.run_id, "collect")
        access.commit([_record(access.run_id, "collect-1")])
        access.commit([_record(access.run_id, "collect-2")])
        access.write_state({"n": "2"})
        return "collected"

    @code
    def confirm(access: Any) -> str:
        trace.add("begin", access.run_id, "confirm")
        answer = access.ask_confirmation("Go on?")
        trace.add("delivered", access.run_id, "confirm", json.dumps(answer))
        access.commit([_record(access.run_id, "confirm")])
        return "confirmed"

    @confirm.recover
    def _(saved: Any, access: Any) -> str:
        trace.add("delivered", access.run_id, "confirm", json.dumps(saved["answer"]))
        access.commit([_record(access.run_id, "confirm")])
        return "confirmed"

    def prompt(access: Any) -> str:
        trace.add("begin", access.run_id, "write")
        return access.run_id

    def last(access: Any) -> str:
        trace.add("begin", access.run_id, "last")
        answer = access.ask_questions([{"id": "q", "question": "Which?", "isSkippable": True}])
        trace.add("delivered", access.run_id, "last", json.dumps(answer))
        return "done"

    first = Stage(
        "first",
        (
            Step("collect", collect, {"collected": to_step("write")}),
            Step("write", agent(prompt, lambda access, reply: "written"), {"written": to_stage("second")}),
        ),
        lambda access: trace.add("begin", access.run_id, "start first") or {"n": "1"},
    )
    second = Stage(
        "second",
        (Step("confirm", confirm, {"confirmed": to_step("last")}), Step("last", last, {"done": END})),
        lambda access: trace.add("begin", access.run_id, "start second") or {},
    )
    return Workflow("soak", (first, second), identity=IDENTITY)


def _record(run_id: str, name: str) -> dict[str, Any]:
    payload = {"flowName": "soak", "stageName": "any", "data": {"of": run_id}}
    return {"type": "append_record", "id": f"{run_id}/{name}", "payload": payload}


def live(project: Path, trace: Trace, die_at: int | None) -> None:
    """One life: bring back what can be, keep some Runs going, answer whatever is asked, until all have ended."""
    reached = 0

    def failpoint(_: str) -> None:
        nonlocal reached
        reached += 1
        if reached == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    recover_project(project)
    service = start_service(project, [workflow(trace)], provider=Model(trace), disk=Publisher(failpoint))
    active = [view.id for view in service.runs() if not view.read_only]
    while len(active) < AT_ONCE:
        active.append(service.create("soak", "survive").run_id)
        trace.add("created", active[-1])
    for run_id in active:
        _see_through(service, trace, run_id)
    service.stop()


def _see_through(service: Service, trace: Trace, run_id: str) -> None:
    answers = {
        "user_ask_confirmation": {"isConfirmed": True},
        "user_ask_questions": [{"questionId": "q", "isSkipped": True}],
    }
    while True:
        view = service.wait(run_id, 20)
        if view.status in ("completed", "failed"):
            return
        assert view.status == "waiting" and view.prompt is not None, view
        try:
            service.answer(run_id, view.prompt["id"], answers[view.prompt["kind"]])
            trace.add("acknowledged", run_id, view.prompt["id"])
        except Refused as no:
            assert no.code == "CONFLICT", no


class Broken(AssertionError):
    """A promise that was not kept."""


def snapshot(project: Path) -> dict[str, bytes]:
    files = sorted((project / RUNTIME).glob("*/[0-9]*.json"))
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}


def verify(project: Path, trace: Trace, before: dict[str, bytes]) -> dict[str, bytes]:
    """Hold the folder and the trace against everything that is promised. Raises Broken."""
    now = snapshot(project)
    _demand(before.items() <= now.items(), "earlier checkpoints changed")
    plan = plan_project(project)
    _demand(not plan.is_blocked, f"the start is blocked: {plan.findings}")
    lines = trace.lines()
    begun = Counter((run, step) for word, run, step, *_ in (line for line in lines if line[0] == "begin"))
    delivered = Counter((line[1], line[2]) for line in lines if line[0] == "delivered")
    asked = Counter(line[1] for line in lines if line[0] == "model")
    for counted in (begun, delivered, asked):
        _demand(max(counted.values(), default=0) <= 1, f"something ran twice: {counted.most_common(1)}")
    by_run = {row.run_id: row.folder.checkpoints for row in plan.runs}
    _demand({line[1] for line in lines if line[0] == "created"} <= by_run.keys(), "an acknowledged Run is lost")
    records = {record.id for record in _records(project)}
    for run_id, checkpoints in by_run.items():
        answers = {c.action.id: c for c in checkpoints if c.boundary == "answered"}
        acknowledged = {line[2] for line in lines if line[0] == "acknowledged" and line[1] == run_id}
        _demand(acknowledged <= answers.keys(), "an acknowledged answer is lost")
        claimed = {operation.id for commit in checkpoints[-1].commits for operation in commit.operations}
        _demand(claimed <= records, "a commit on record is not in Storage")
        end = checkpoints[-1]
        if end.boundary != "terminal":
            continue
        if end.outcome.status == "completed":
            _demand(sum(delivered[run_id, step] for step in ("confirm", "last")) == 2, "an answer was lost")
            _demand(len(claimed) == 3, "a commit was lost or doubled")
        else:
            error, uncertain = end.outcome.error, checkpoints[-2].boundary == "executing"
            expected = "uncertain_execution" if uncertain else "no_recovery_entry"
            _demand((error.code, error.reason) == ("RUN_INTERRUPTED", expected), f"it ended as {error}")
    return now


def _records(project: Path) -> list[Any]:
    if not (project / "intloom").exists():
        return []
    storage = SqliteStorage(project / "intloom")
    try:
        return storage.records()
    finally:
        storage.close()


def _demand(kept: bool, promise: str) -> None:
    if not kept:
        raise Broken(promise)


PROJECT_LASTS = 100
"""Kills after which a new project is begun: everything in one is looked at after every kill."""


def soak(kills: int, seed: int) -> dict[str, int]:
    """Kill that many lives. Most die at a moment of writing, each at the next one; the others after a random while."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    moment = 0
    while counts["kills"] < kills:
        with tempfile.TemporaryDirectory() as folder:
            project, trace = new_project(Path(folder) / "project"), Trace(Path(folder) / "trace")
            before: dict[str, bytes] = {}
            last = min(kills, counts["kills"] + PROJECT_LASTS)
            while counts["kills"] < last:
                moment = moment % MOMENTS + 1
                killed = _life(project, trace, moment if chance.random() < 0.7 else None, chance)
                counts["kills" if killed else "ends"] += 1
                before = verify(project, trace, before)
            for row in plan_project(project).runs:
                counts[f"{row.disposition}: {row.checkpoint.status}"] += 1
            counts["checkpoints"] += len(before)
    return dict(counts)


MOMENTS = 260
"""More moments of writing than a life with two Runs has."""


def _life(project: Path, trace: Trace, die_at: int | None, chance: random.Random) -> bool:
    """One life; whether it was killed."""
    pid = os.fork()
    if pid == 0:
        _child(project, trace, die_at)
    if die_at is None:
        time.sleep(chance.uniform(0.002, 0.08))
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    _demand(killed or os.waitstatus_to_exitcode(status) == 0, f"a life ended by itself: {status}")
    return killed


def _child(project: Path, trace: Trace, die_at: int | None) -> None:
    status = 1
    try:
        live(project, trace, die_at)
        status = 0
    except BaseException as no:
        print(f"{type(no).__name__}: {no}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    print(json.dumps(soak(arguments[0] if arguments else 1000, arguments[1] if len(arguments) > 1 else 1)))
