"""What moves Runs: each boundary is saved before what it announces becomes visible, and each Call owns its Run or may
do nothing.

Everything under one lock but the functions of Workflows, which run in a thread a Run. What clients ask for is in
`service`. (intloom-recovery 2.6)
"""

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET

from recovery_kit.formats.loom_asks import answer_problem, request_problem
from recovery_kit.history.loom_rules import resumed_head
from recovery_kit.records.loom import (
    Action,
    Boundary,
    CallMark,
    Checkpoint,
    Commit,
    Cursor,
    EndError,
    Outcome,
    StageState,
    StepResult,
)
from recovery_kit.world.messages import Message
from recovery_kit.world.providers import Failure, Provider
from recovery_kit.world.request import Request

from .access import Access
from .live import Delegated, LiveRun, Saved
from .names import Clock, moment, new_action_id, new_call_id
from .refusals import Refused
from .state import new_state, plain_json
from .storage import Committed, Storage
from .store import CheckpointStore
from .workflow import AgentWork, Code, Workflow

T = TypeVar("T")
WORKING = ("code", "recovery")


class _Lost(Exception):
    """The Call no longer owns its Run: its thread ends, and nothing is written."""


class Engine:
    """The Runs of one instance."""

    def __init__(
        self,
        store: CheckpointStore,
        storage: Storage,
        workflows: Mapping[str, Workflow],
        instance_id: str,
        now: Clock,
        provider: Provider | None,
    ) -> None:
        self.store, self.storage, self.workflows = store, storage, workflows
        self.instance_id, self.now, self.provider = instance_id, now, provider
        self.lock = threading.RLock()
        self.runs: dict[str, LiveRun] = {}
        self.is_open = True
        """False once the instance suspends: nothing is written any more."""

    # Boundaries.

    def time(self) -> str:
        return moment(self.now())

    def save(self, run: LiveRun, boundary: Boundary, /, **members: Any) -> None:
        """Save the next boundary, then let it be seen. Raises Refused where it cannot be saved."""
        if not self.is_open:
            raise _Lost
        before = run.checkpoint
        kept: dict[str, Any] = {"run": before.run, "cursor": before.cursor, "commits": before.commits}
        checkpoint = Checkpoint(
            version=3, seq=before.seq + 1, saved_at=self.time(), instance_id=self.instance_id,
            workflow_identity=before.workflow_identity, boundary=boundary, **kept | members,
        )  # fmt: skip
        try:
            run.is_saved = self.store.write(checkpoint)
        except Refused as no:
            run.failure = EndError(code=no.code, message=no.message, retryable=False)
            run.call = None
            run.changed.notify_all()
            raise
        run.checkpoint = checkpoint
        run.trail.append(Saved(checkpoint.seq, checkpoint.boundary, checkpoint.saved_at))
        run.changed.notify_all()

    def end(self, run: LiveRun, error: EndError | None) -> None:
        """The Run's end, completed or failed. Its Call is revoked, whether or not that can be saved."""
        run.call = None
        outcome = Outcome(status="completed") if error is None else Outcome(status="failed", error=error)
        self.save(run, "terminal", stage=run.state, outcome=outcome)

    def _begin(self, run: LiveRun, at: Checkpoint, kind: str, cursor: Cursor, stage: Any) -> CallMark:
        """A new Call from the boundary that was looked at. Two threads may have looked; one of them begins."""
        with self.lock:
            if run.is_over or not self.is_open or run.call is not None or run.checkpoint is not at:
                raise _Lost
            mark = CallMark(id=new_call_id(), kind=kind)  # type: ignore[arg-type]
            self.save(run, "executing", cursor=cursor, stage=stage, call=mark)
            run.call, run.state = mark, stage
            return mark

    # Ownership.

    def owns(self, run: LiveRun, call: CallMark) -> bool:
        """Whether a Call may still do anything."""
        with self.lock:
            return self.is_open and run.call is not None and run.call.id == call.id

    def _own(self, run: LiveRun, call: CallMark, *kinds: str) -> None:
        if not self.owns(run, call):
            raise Refused("EXECUTION_OWNERSHIP_LOST", "this Call no longer owns its Run")
        if kinds and call.kind not in kinds:
            raise Refused("STEP_INTERACTION_INVALID", f"a Call of kind {call.kind} may not do that")

    def read_state(self, run: LiveRun, call: CallMark) -> Any:
        with self.lock:
            self._own(run, call)
            held = run.state
            return None if held is UNSET or held.is_cleared else plain_json(held.value)

    def write_state(self, run: LiveRun, call: CallMark, given: Any) -> Any:
        stage = self.workflows[run.checkpoint.run.flow_name].stages[run.checkpoint.cursor.stage_name]
        state = new_state(stage.schema, given)
        with self.lock:
            self._own(run, call, *WORKING, "model", "agent")
            run.state = state
        return plain_json(state.value)

    def clear_state(self, run: LiveRun, call: CallMark) -> None:
        with self.lock:
            self._own(run, call, *WORKING, "model", "agent")
            run.state = StageState()

    def read_storage(self, run: LiveRun, call: CallMark, read: Callable[[Storage], T]) -> T:
        with self.lock:
            self._own(run, call)
            return read(self.storage)

    def commit(self, run: LiveRun, call: CallMark, operations: Sequence[Mapping[str, Any]]) -> Committed:
        """Formal data first, then the reference to it: a crash in between leaves data that no Run claims."""
        with self.lock:
            self._own(run, call, *WORKING)
            done = self.storage.commit(operations, self.time())
            entry = Commit(call_id=call.id, operations=done.operations)
            self.save(run, "executing", stage=run.state, call=call, commits=(*run.checkpoint.commits, entry))
            return done

    # Questions.

    def ask(self, run: LiveRun, call: CallMark, kind: str, request: Any) -> Any:
        """Save the question, show it, wait for its answer, save that work goes on, and only then hand it over."""
        request = plain_json(request, "STEP_INTERACTION_INVALID")
        reason = request_problem(kind, request)
        if reason:
            raise Refused("STEP_INTERACTION_INVALID", f"the question is none: {reason}")
        with self.lock:
            self._own(run, call, *WORKING)
            step = self.workflows[run.checkpoint.run.flow_name].step(run.checkpoint.cursor)
            action = Action(
                id=new_action_id(), kind=kind, request=request, created_at=self.time(),  # type: ignore[arg-type]
                recoverable=step is not None and step.has_recover,
            )  # fmt: skip
            self.save(run, "waiting", stage=run.state, call=call, action=action)
            while self.owns(run, call) and run.checkpoint.boundary == "waiting":
                run.changed.wait()
            self._own(run, call)
            answer = run.checkpoint.answer
            self.save(run, "executing", stage=run.state, call=call)
            return plain_json(answer)

    def accept_answer(self, run: LiveRun, action_id: str, answer: Any) -> None:
        """Save an answer to the open question, once. Raises Refused (`CONFLICT`, `INVALID_REQUEST`)."""
        c = run.checkpoint
        if run.is_over or c.is_paused or c.boundary != "waiting" or c.action is UNSET or c.action.id != action_id:
            raise Refused("CONFLICT", "that question is not open")
        answer = plain_json(answer)
        reason = answer_problem(c.action.kind, c.action.request, answer)
        if reason:
            raise Refused("INVALID_REQUEST", f"the answer does not fit: {reason}")
        self.save(run, "answered", stage=c.stage, call=c.call, action=c.action, answer=answer)
        if run.call is None:  # the Code that asked did not live to see it
            self.launch(run)

    # Moving on.

    def launch(self, run: LiveRun) -> None:
        """Let a Run go on by itself."""
        threading.Thread(target=self._drive, args=(run,), name=f"loom {run.id}", daemon=True).start()

    def _drive(self, run: LiveRun) -> None:
        try:
            while self._advance(run):
                pass
        except (_Lost, Refused):
            pass  # whose Run it is now, or why it ended, is on the Run

    def _advance(self, run: LiveRun) -> bool:
        """One Call, or the end; False where the Run waits or is over."""
        with self.lock:
            c = run.checkpoint
            if run.is_over or c.is_paused:
                return False
            if c.result is not UNSET and c.result.route.kind == "end":
                self.end(run, None)
                return False
        if c.boundary == "ready":
            return self._initialize(run, c, c.cursor) if c.stage is UNSET else self._step(run, c, c.cursor)
        if c.result is not UNSET and c.result.route.cursor is not UNSET:
            route, cursor = c.result.route, c.result.route.cursor
            return self._step(run, c, cursor) if route.kind == "step" else self._initialize(run, c, cursor)
        return self._recover(run, c) if c.boundary == "answered" else False

    def _initialize(self, run: LiveRun, at: Checkpoint, cursor: Cursor) -> bool:
        stage = self.workflows[at.run.flow_name].stages[cursor.stage_name]
        mark = self._begin(run, at, "initializer", cursor, UNSET)

        def finished(given: Any) -> None:
            state = new_state(stage.schema, given)
            with self.lock:
                self._own(run, mark)
                run.call, run.state = None, state
                self.save(run, "ready", stage=state)

        return self._perform(run, mark, stage.start, finished, "RUN_INITIALIZATION_FAILED")

    def _step(self, run: LiveRun, at: Checkpoint, cursor: Cursor) -> bool:
        step = self.workflows[at.run.flow_name].step(cursor)
        assert step is not None  # routes lead to Steps, and a start looks at every cursor
        mark = self._begin(run, at, step.call_kind(at.run.execution), cursor, at.stage)
        work = step.executable
        function = work.function if isinstance(work, Code) else self._agent_function(run, mark, work)
        return self._perform(run, mark, function, self._finish(run, mark), "STEP_EXECUTION_FAILED")

    def _recover(self, run: LiveRun, c: Checkpoint) -> bool:
        step = self.workflows[c.run.flow_name].step(c.cursor)
        assert step is not None and isinstance(step.executable, Code) and c.action is not UNSET
        recover = step.executable.recover_function
        assert recover is not None
        mark = self._begin(run, c, "recovery", c.cursor, c.stage)
        action = {"id": c.action.id, "kind": c.action.kind, "request": plain_json(c.action.request)}
        saved = {"action": action, "answer": plain_json(c.answer)}
        return self._perform(
            run, mark, lambda access: recover(saved, access), self._finish(run, mark), "STEP_EXECUTION_FAILED"
        )

    def _finish(self, run: LiveRun, mark: CallMark) -> Callable[[Any], None]:
        """What becomes of a Step's outcome: its route is checked, then both are saved."""

        def finished(outcome: Any) -> None:
            with self.lock:
                self._own(run, mark)
                if not isinstance(outcome, str) or not outcome:
                    raise Refused("STEP_RESULT_INVALID", "a Step returns the name of its outcome")
                route = self.workflows[run.checkpoint.run.flow_name].route(run.checkpoint.cursor, outcome)
                if route is None:
                    raise Refused("STEP_OUTCOME_NOT_HANDLED", "the outcome leads nowhere")
                run.call = None
                self.save(run, "step_result", stage=run.state, result=StepResult(outcome=outcome, route=route))

        return finished

    def _perform(
        self, run: LiveRun, mark: CallMark, function: Callable[[Any], Any], finished: Callable[[Any], None], code: str
    ) -> bool:
        """Run a function of the Workflow in a Call of its own; whatever it raises ends the Run, if it still owns it."""
        try:
            finished(function(Access(self, run, mark)))
            return True
        except BaseException as no:  # user code: a thread that dies silently would leave the Run running for ever
            if isinstance(no, _Lost):
                raise
            with self.lock:
                if self.owns(run, mark):
                    self.end(run, _end_error(no, code))
            return False

    # Models and Agents.

    def _agent_function(self, run: LiveRun, mark: CallMark, work: AgentWork) -> Callable[[Any], Any]:
        def asked(access: Access) -> Any:
            prompt = work.prompt(access)
            reply = self._delegated(run, mark, work, prompt) if mark.kind == "agent" else self._inferred(prompt)
            return work.read(access, reply)

        return asked

    def _inferred(self, prompt: Any) -> Any:
        if self.provider is None:
            raise Refused("KERNEL_UNAVAILABLE", "this Service has no model provider")
        reply = self.provider.infer(_request(prompt))
        if isinstance(reply, Failure):
            why = f"the model did not answer: {reply.why or reply.kind}"
            raise Refused("STEP_EXECUTION_FAILED", why, reply.transient)
        return reply

    def _delegated(self, run: LiveRun, mark: CallMark, work: AgentWork, prompt: Any) -> Any:
        """Offer the work to the client's Agent and wait."""
        with self.lock:
            self._own(run, mark)
            offered = run.delegated = Delegated(mark.id, work.agent_id, plain_json(prompt))
            run.changed.notify_all()
            while self.owns(run, mark) and not offered.is_over:
                run.changed.wait()
            run.delegated = None
            self._own(run, mark)
            if offered.failure is not None:
                raise Refused(offered.failure.code, offered.failure.message, offered.failure.retryable)
            return offered.reply

    def offered(self) -> list[Delegated]:
        """Work that nobody has claimed."""
        with self.lock:
            return [run.delegated for run in self.runs.values() if run.delegated and run.delegated.token is None]

    def claim(self, call_id: str) -> Delegated:
        """Take delegated work. Raises Refused (`CONFLICT`) where it is taken or over."""
        with self.lock:
            work = next((one for one in self.offered() if one.call_id == call_id), None)
            if work is None:
                raise Refused("CONFLICT", "that work is not to be had")
            work.token = secrets.token_urlsafe(32)
            return work

    def complete(self, call_id: str, token: str, reply: Any = None, failure: EndError | None = None) -> None:
        """Hand in delegated work, or say that it failed. Raises Refused (`CONFLICT`) where the claim does not stand."""
        reply = plain_json(reply)
        with self.lock:
            for run in self.runs.values():
                work = run.delegated
                if work and work.call_id == call_id and work.token and secrets.compare_digest(work.token, token):
                    if not work.is_over:
                        work.reply, work.failure, work.is_over = reply, failure, True
                        run.changed.notify_all()
                        return
            raise Refused("CONFLICT", "that claim does not stand")

    # The end of an instance.

    def suspend(self) -> None:
        """Revoke every Call and write nothing more; the Runs' files stay as they are."""
        with self.lock:
            self.is_open = False
            for run in self.runs.values():
                if not run.is_over:
                    run.failure = _SUSPENDED
                run.call = None
                run.changed.notify_all()


_SUSPENDED = EndError(
    code="RUN_INTERRUPTED", message="The service stopped.", retryable=False, reason="uncertain_execution"
)


def resumed(run: LiveRun) -> dict[str, Any]:
    """What a paused mirror holds, as the next boundary says it again."""
    c = run.checkpoint
    members = {name: getattr(c, name) for name in ("stage", "call", "action", "answer", "result", "commits")}
    return {"run": resumed_head(c.run), **members}


def _request(prompt: Any) -> Request:
    """A text as a request of one message; a request as it is."""
    if isinstance(prompt, Request):
        return prompt
    return Request(system=(), messages=(Message("user", str(prompt)),), tools=(), max_tokens=4096, temperature=0.0)


def _end_error(no: BaseException, code: str) -> EndError:
    if isinstance(no, Refused) and no.code not in ("RUN_INTERRUPTED", "EXECUTION_OWNERSHIP_LOST"):
        return EndError(code=no.code, message=no.message or no.code, retryable=no.retryable)
    text = f"{type(no).__name__}: {no}".encode("utf-8", "replace").decode()
    return EndError(code=code, message=text, retryable=False)
