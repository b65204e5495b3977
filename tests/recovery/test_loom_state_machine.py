"""Operations, sudden ends, deletions and foreign edits in any order, against a small model of what has to be true."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from looms.release_notes import RUNTIME, key, snapshot

from recovery_kit.looms import END, Refused, Stage, Step, Workflow, code, new_project, to_step
from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.recovery.loom_start import RecoveryBlocked, start_service

PATIENCE = 20.0


class Projects(RuleBasedStateMachine):
    """A project with any number of Runs, each of which asks twice and commits after each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.project = new_project(Path(self.folder) / "project")
        self.answers: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.open: dict[str, str] = {}
        """Runs that wait, with the question they wait on."""
        self.ended: dict[str, str] = {}
        self.gone: set[str] = set()
        self.files: dict[str, bytes] = {}
        self.service = self.begin()

    def flow(self) -> Workflow:
        def step(name: str) -> Any:
            def heard(access: Any, answer: Any) -> str:
                self.delivered[access.run_id] += 1
                payload = {"flowName": "f", "stageName": "s", "data": answer}
                access.commit([{"type": "append_record", "id": f"{access.run_id}/{name}", "payload": payload}])
                return "done"

            work = code(lambda access: heard(access, access.ask_confirmation(name)))
            work.recover(lambda saved, access: heard(access, saved["answer"]))
            return work

        steps = [Step("one", step("one"), {"done": to_step("two")}), Step("two", step("two"), {"done": END})]
        return Workflow("flow", [Stage("stage", steps)], identity="6b" * 32)

    def begin(self) -> Any:
        return start_service(self.project, [self.flow()])

    def settled(self, run: str) -> None:
        view = self.service.wait(run, PATIENCE)
        if view.status == "waiting":
            self.open[run] = view.prompt["id"]
        else:
            self.open.pop(run, None)
            self.ended[run] = view.status

    # Operations.

    @rule()
    def create(self) -> None:
        self.settled(self.service.create("flow", "x").run_id)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), yes=st.booleans(), twice=st.booleans())
    def answer(self, data: Any, yes: bool, twice: bool) -> None:
        run = data.draw(st.sampled_from(sorted(self.open)))
        question = self.open[run]
        self.service.answer(run, question, {"isConfirmed": yes})
        self.answers[run] += 1
        live = self.service.engine.runs[run]
        with self.service.engine.lock:
            assert live.changed.wait_for(lambda: live.is_over or _asks_another(live, question), PATIENCE)
        self.settled(run)
        if twice:
            try:
                self.service.answer(run, question, {"isConfirmed": yes})
                raise AssertionError("a question was answered twice")
            except Refused as no:
                assert no.code == "CONFLICT"

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def cancel(self, data: Any) -> None:
        run = data.draw(st.sampled_from(sorted(self.open)))
        self.service.cancel(run)
        self.settled(run)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def mirror(self, data: Any) -> None:
        run = data.draw(st.sampled_from(sorted(set(self.open) - self.gone) or [None]))
        if run is None:
            return
        made = self.service.mirror(run, self.service.run(run).seq).run_id
        assert self.service.run(made).status == "paused"
        self.service.resume(made)
        self.settled(made)

    # What befalls a project.

    @rule(release=st.booleans())
    def end_and_begin(self, release: bool) -> None:
        """A stop, or a sudden end whose leftovers are cleaned away."""
        self.end(release)
        for run in self.gone:
            self.open.pop(run, None), self.ended.pop(run, None)
        self.service = self.begin()
        known = {view.id for view in self.service.runs()}
        assert known == set(self.open) | set(self.ended)
        for run, question in self.open.items():
            view = self.service.run(run)
            assert view.status == "waiting" and view.prompt["id"] == question
        assert all(self.service.run(run).read_only for run in self.ended)

    def end(self, release: bool) -> None:
        if release:
            self.service.stop()
            return
        self.service.engine.suspend()
        self.service.storage.close()
        for name in ("service.lock", "service.json"):
            (self.project / ".intloom" / name).unlink()

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        run = data.draw(st.sampled_from(sorted(self.open)))
        shutil.rmtree(self.project / RUNTIME / key(run), ignore_errors=True)
        self.gone.add(run)
        self.files = {name: text for name, text in self.files.items() if not name.startswith(key(run))}

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        """Somebody damages a file while nobody serves: the start is blocked and changes nothing, until it is mended."""
        name = data.draw(st.sampled_from(sorted(self.files)))
        self.end(True)
        for run in self.gone:
            self.open.pop(run, None), self.ended.pop(run, None)
        path = self.project / RUNTIME / name
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        before = snapshot(self.project)
        try:
            self.begin()
            raise AssertionError("a damaged set was started")
        except RecoveryBlocked as no:
            assert [finding.path for finding in no.plan.findings] == [f"{RUNTIME}/{name}"]
        assert snapshot(self.project) == before
        path.write_bytes(whole)
        self.service = self.begin()

    # What is always so.

    @invariant()
    def promises(self) -> None:
        now = snapshot(self.project)
        assert self.files.items() <= now.items(), "an earlier checkpoint changed"
        self.files = now
        assert self.delivered == self.answers
        assert not any(key(run) in name for run in self.gone for name in now), "a deleted Run was made again"
        assert plan_project(self.project, [self.flow()]).start == "ok"

    def teardown(self) -> None:
        self.service.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _asks_another(live: Any, question: str) -> bool:
    return live.checkpoint.boundary == "waiting" and live.checkpoint.action.id != question


Projects.TestCase.settings = settings(
    max_examples=8, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestProjects = Projects.TestCase
