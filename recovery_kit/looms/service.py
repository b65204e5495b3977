"""The one process that owns a project: what clients may ask of it, and its life from the lock to the release.

A Service that was opened accepts nothing yet: `recovery.loom_start.restore_runs` brings its Runs back first, all or
none. (intloom-recovery 1.11, 2.8 to 2.10)
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from msgspec import UNSET, structs

from recovery_kit.formats.loom_publish import Publisher
from recovery_kit.formats.loom_set import read_folder
from recovery_kit.formats.loom_shape import run_key
from recovery_kit.formats.loom_tree import FolderTree, is_project
from recovery_kit.records.loom import Checkpoint, EndError, Lineage, Origin, RunHead
from recovery_kit.world.providers import Provider

from .engine import Engine, resumed
from .file_storage import FileStorage
from .live import Delegated, LiveRun, RunView, view_of
from .names import Clock, moment, new_action_id, new_call_id, new_instance_id, new_operation_id, new_run_id, utc_now
from .ownership import Owner
from .receipts import OperationKind, Receipt, Receipts
from .refusals import Refused
from .sqlite_storage import SqliteStorage
from .state import plain_json
from .storage import Storage
from .store import FAILED, CheckpointStore
from .workflow import Workflow

FORMAL = "intloom"
_BACKENDS: dict[str, Callable[[Path], Storage]] = {"sqlite": SqliteStorage, "file": FileStorage}
_HELD_BY_OTHER = {"sqlite": "store.json", "file": "storage.sqlite"}
_BRANCHES = ("ready", "step_result", "waiting", "answered")


def new_project(folder: Path | str) -> Path:
    """A folder as an empty project; what is there already stays as it is."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("intloom.yaml", "version: 1\n"), (".gitignore", "/.intloom/\n/intloom/store.lock\n")):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")
    return folder


class Service:
    """One instance. Every operation names the instance that the client believes it talks to, or takes this one.

    All methods raise Refused. A Service is a context manager; leaving it suspends its Runs.
    """

    def __init__(
        self,
        project: Path | str,
        workflows: Iterable[Workflow],
        *,
        provider: Provider | None = None,
        storage: Literal["sqlite", "file"] = "sqlite",
        instance_id: str | None = None,
        now: Clock = utc_now,
        disk: Publisher | None = None,
    ) -> None:
        self.project = Path(project)
        if not is_project(FolderTree(self.project)):
            raise Refused("NOT_FOUND", "there is no IntLoom project: neither intloom.yaml nor .intloom", path=project)
        self.instance_id = instance_id or new_instance_id()
        self.workflows: Mapping[str, Workflow] = {workflow.flow_name: workflow for workflow in workflows}
        self.phase: Literal["opened", "restoring", "serving", "closed"] = "opened"
        disk = disk or Publisher()
        self._owner = Owner(self.project, self.instance_id, storage, disk)
        self._owner.acquire()
        try:
            formal = self.project / FORMAL
            if (formal / _HELD_BY_OTHER[storage]).exists():
                raise Refused("CLI_STORAGE_CONFLICT", "the other Storage backend has data already", path=formal)
            self.storage = _BACKENDS[storage](formal)
        except BaseException:
            self._owner.release()
            raise
        self.store = CheckpointStore(self.project, disk)
        self.engine = Engine(self.store, self.storage, self.workflows, self.instance_id, now, provider)
        self.receipts = Receipts()
        self.connection: dict[str, Any] = {}
        """Port and token for the HTTP face, once it serves."""

    # Life.

    def begin_restore(self) -> None:
        """Once, before requests are accepted. Raises Refused (`CONFLICT`) the second time."""
        if self.phase != "opened":
            raise Refused("CONFLICT", "the Runs of this Service were restored already")
        self.phase = "restoring"

    def adopt(self, trail: Sequence[Checkpoint]) -> LiveRun:
        """Take a Run's history into memory; nothing is launched."""
        with self.engine.lock:
            run = self.engine.runs[trail[-1].run.id] = LiveRun(trail, self.engine.lock)
            return run

    def serve(self) -> dict[str, Any]:
        """Announce the Service and accept requests; what `connection.json` holds."""
        self.connection = self._owner.announce(self.engine.time())
        self.phase = "serving"
        return self.connection

    def stop(self) -> None:
        """Suspend every Run, write nothing more for any of them, and let go of the project."""
        if self.phase == "closed":
            return
        self.phase = "closed"
        self.engine.suspend()
        self.storage.close()
        self._owner.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Looking.

    def runs(self, operation_id: str | None = None, origin_instance: str | None = None) -> tuple[RunView, ...]:
        """All Runs, ended and held ones too; with both ids, the one that this operation created."""
        if (operation_id is None) != (origin_instance is None):
            raise Refused("INVALID_REQUEST", "an operation is asked for together with the instance it was sent to")
        with self.engine.lock:
            views = sorted(map(view_of, self.engine.runs.values()), key=lambda view: view.id)
        wanted = {"operationId": operation_id, "instanceId": origin_instance}
        return tuple(view for view in views if operation_id is None or view.origin == wanted)

    def run(self, run_id: str) -> RunView:
        """One Run."""
        with self.engine.lock:
            return view_of(self._known(run_id))

    def wait(self, run_id: str, timeout: float | None = None) -> RunView:
        """The Run once it does not move by itself any more: it waits, is held or has ended. Seconds at most."""
        with self.engine.lock:
            run = self._known(run_id)
            run.changed.wait_for(lambda: run.status != "running", timeout)
            return view_of(run)

    def receipt(self, operation_id: str, instance_id: str) -> dict[str, Any]:
        """What became of a request: `found`, `missing`, or `changed_instance`."""
        with self.engine.lock:
            if instance_id != self.instance_id:
                told: dict[str, Any] = {"receipt": "changed_instance", "currentInstanceId": self.instance_id}
                made = self.runs(operation_id, instance_id)
                return told | ({"runId": made[0].id} if made else {})
            found = self.receipts.get(operation_id)
            return found.as_json() if found else {"receipt": "missing"}

    # Asking for changes.

    def create(
        self,
        flow_name: str,
        intent: str,
        *,
        source: Literal["cli", "studio", "agent_ide"] = "cli",
        operation_id: str | None = None,
        instance_id: str | None = None,
    ) -> Receipt:
        """A new Run. Its first checkpoint is saved before this returns."""

        def act(operation: str) -> LiveRun:
            workflow = self.workflows.get(flow_name)
            if workflow is None:
                raise Refused("NOT_FOUND", "there is no such Workflow")
            if not intent or source not in ("cli", "studio", "agent_ide"):
                raise Refused("INVALID_REQUEST", "a Run has an intent and a known source")
            self._refuse_second(workflow)
            at = self.engine.now()
            head = RunHead(
                id=new_run_id(at), flow_name=flow_name, intent=intent, execution=workflow.execution(source),
                created_at=moment(at), origin=Origin(operation_id=operation, instance_id=self.instance_id),
            )  # fmt: skip
            return self._admit(self._first(head, workflow.identity, "ready", cursor=workflow.first))

        return self._operate("create", [flow_name, intent, source], act, operation_id, instance_id)

    def answer(
        self,
        run_id: str,
        action_id: str,
        answer: Any,
        *,
        operation_id: str | None = None,
        instance_id: str | None = None,
    ) -> Receipt:
        """An answer to an open question. It is saved before this returns, and delivered once."""

        def act(_: str) -> LiveRun:
            run = self._known(run_id)
            self.engine.accept_answer(run, action_id, answer)
            return run

        return self._operate("answer", [run_id, action_id, answer], act, operation_id, instance_id)

    def cancel(self, run_id: str, *, operation_id: str | None = None, instance_id: str | None = None) -> Receipt:
        """End a Run for good. An ended one stays as it is."""

        def act(_: str) -> LiveRun:
            run = self._known(run_id)
            if not run.is_over:
                self.engine.end(run, EndError(code="RUN_STOPPED", message="The Run was cancelled.", retryable=False))
            return run

        return self._operate("cancel", [run_id], act, operation_id, instance_id)

    def mirror(
        self, run_id: str, seq: int, *, operation_id: str | None = None, instance_id: str | None = None
    ) -> Receipt:
        """A new Run that branches from a saved boundary of any Run, on hold until it is resumed."""

        def act(operation: str) -> LiveRun:
            origin = self.checkpoint(run_id, seq)
            workflow = self.workflows.get(origin.run.flow_name)
            if origin.boundary not in _BRANCHES:
                why = "nothing is left to do there" if origin.boundary == "terminal" else "what ran there is not known"
                raise Refused("CONFLICT", f"no branch begins at {origin.boundary}: {why}")
            if origin.action is not UNSET and not origin.action.recoverable:
                raise Refused("CONFLICT", "no branch begins at a question that cannot be recovered")
            if workflow is None or workflow.identity != origin.workflow_identity:
                raise Refused("CONFLICT", "the installed Workflow is not the one that the Run was in")
            return self._admit(self._branch(origin, operation), launch=False)

        return self._operate("mirror", [run_id, seq], act, operation_id, instance_id)

    def resume(self, run_id: str, *, operation_id: str | None = None, instance_id: str | None = None) -> Receipt:
        """Let a mirror on hold go on, as a restart would from that boundary."""

        def act(_: str) -> LiveRun:
            run = self._known(run_id)
            if run.is_over or not run.checkpoint.is_paused:
                raise Refused("CONFLICT", "that Run is not on hold")
            self._refuse_second(self.workflows[run.checkpoint.run.flow_name])
            self.engine.save(run, run.checkpoint.boundary, **resumed(run))
            self.engine.launch(run)
            return run

        return self._operate("resume", [run_id], act, operation_id, instance_id)

    def checkpoint(self, run_id: str, seq: int) -> Checkpoint:
        """One saved boundary, of the file. Raises Refused (`CHECKPOINT_UNUSABLE`, `NOT_FOUND`)."""
        folder = read_folder(FolderTree(self.project), run_key(run_id))
        for finding in folder.findings:
            if finding.path.endswith(f"/{seq:08d}.json"):
                raise Refused("CHECKPOINT_UNUSABLE", f"{finding.problem}: {finding.detail}", path=finding.path)
        found = next((one for one in folder.checkpoints if one.seq == seq), None)
        if found is None:
            raise Refused("NOT_FOUND", "there is no such checkpoint")
        return found

    # Work for a client's Agent.

    def offered_work(self) -> list[Delegated]:
        """Delegated work that nobody has claimed."""
        return self.engine.offered()

    def claim_work(self, call_id: str) -> Delegated:
        """Take delegated work; the token in it is needed to hand it in."""
        return self.engine.claim(call_id)

    def complete_work(self, call_id: str, token: str, reply: Any) -> None:
        """Hand in delegated work."""
        self.engine.complete(call_id, token, reply)

    def fail_work(self, call_id: str, token: str, message: str) -> None:
        """Say that delegated work failed."""
        failure = EndError(code="STEP_EXECUTION_FAILED", message=message or "The Agent failed.", retryable=False)
        self.engine.complete(call_id, token, failure=failure)

    # Inside.

    def _operate(
        self,
        kind: OperationKind,
        content: list[Any],
        act: Callable[[str], LiveRun],
        operation_id: str | None,
        instance_id: str | None,
    ) -> Receipt:
        """The same operation again gets its first receipt; one meant for another instance is never carried out."""
        asked = json.dumps([kind, plain_json(content)], sort_keys=True)
        operation = operation_id or new_operation_id()
        with self.engine.lock:
            if self.phase != "serving":
                raise Refused("CLI_SERVICE_CLOSING", "the Service does not accept requests", retryable=True)
            if instance_id is not None and instance_id != self.instance_id:
                raise Refused("INSTANCE_CHANGED", "the request was meant for another instance; nothing was done")
            earlier = self.receipts.earlier(operation, asked)
            if earlier is not None:
                return earlier
            self._attempted: LiveRun | None = None
            try:
                run = act(operation)
            except Refused as no:
                if no.code == FAILED:
                    run_id = self._attempted.id if self._attempted else content[0]
                    receipt = Receipt(operation, self.instance_id, kind, run_id, None, no.as_json())
                    self.receipts.keep(asked, receipt)
                raise
            return self.receipts.keep(asked, Receipt(operation, self.instance_id, kind, run.id, run.seq))

    def _known(self, run_id: str) -> LiveRun:
        run = self.engine.runs.get(run_id)
        if run is None:
            raise Refused("NOT_FOUND", "there is no such Run")
        return run

    def _refuse_second(self, workflow: Workflow) -> None:
        others = [run for run in self.engine.runs.values() if run.checkpoint.run.flow_name == workflow.flow_name]
        if workflow.exclusive and any(not run.is_over and not run.checkpoint.is_paused for run in others):
            raise Refused("BUSY", "another Run of this Workflow is active", retryable=True)

    def _first(self, head: RunHead, identity: str, boundary: Any, **members: Any) -> Checkpoint:
        return Checkpoint(
            version=3, seq=1, saved_at=self.engine.time(), instance_id=self.instance_id,
            workflow_identity=identity, boundary=boundary, run=head, commits=(), **members,
        )  # fmt: skip

    def _admit(self, first: Checkpoint, launch: bool = True) -> LiveRun:
        run = self._attempted = LiveRun([first], self.engine.lock)
        self.store.write(first)
        self.engine.runs[run.id] = run
        if launch:
            self.engine.launch(run)
        return run

    def _branch(self, origin: Checkpoint, operation: str) -> Checkpoint:
        """The first checkpoint of a mirror (intloom-recovery 2.9)."""
        at = self.engine.now()
        head = structs.replace(
            origin.run, id=new_run_id(at), created_at=moment(at),
            origin=Origin(operation_id=operation, instance_id=self.instance_id),
            lineage=Lineage(run_id=origin.run.id, seq=origin.seq, paused=True),
        )  # fmt: skip
        members = {name: getattr(origin, name) for name in ("cursor", "stage", "result", "answer")}
        if origin.call is not UNSET:
            members["call"] = structs.replace(origin.call, id=new_call_id())
        if origin.action is not UNSET:
            members["action"] = structs.replace(origin.action, id=new_action_id(), created_at=moment(at))
        return self._first(head, origin.workflow_identity, origin.boundary, **members)
