"""Format 1, as it was published: one file a Run, replaced in place. Read only; nothing here writes.

Belongs here: one file's bytes to a `Checkpoint1`, and a whole folder of them. The first bad file keeps the system from
reading any; all are looked at here, so that a person sees every one. (intloom-recovery 1.2 to 1.6)
"""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import UNSET

from recovery_kit.records.loom import Checkpoint1, LoomFinding

from .loom_shape import BadShape, BadText, parse_text, refuse_no_day, run_key, shaped, version_of
from .loom_tree import RUNTIME, EntryKind, NotPlain, Tree, shown_path

SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class File1:
    """One checkpoint file."""

    path: str
    """Relative to the project."""
    checkpoint: Checkpoint1 | None
    """None where the file is not read."""
    finding: LoomFinding | None
    """Why not, or why a restore would stop at it."""

    @property
    def is_valid(self) -> bool:
        """Whether the system's own reader takes it."""
        return self.checkpoint is not None


@dataclass(frozen=True, slots=True)
class Store1:
    """The runtime folder of a project of format 1."""

    root_finding: LoomFinding | None
    files: tuple[File1, ...]
    """In the order of their names."""
    ignored: tuple[str, ...]
    """Names that no reader looks at."""

    @property
    def is_readable(self) -> bool:
        return self.root_finding is None and all(file.is_valid for file in self.files)

    @property
    def blocked_by(self) -> str | None:
        """The path at which the system stops: first whatever cannot be read, then whatever cannot be restored."""
        if self.root_finding:
            return self.root_finding.path
        unread = [file.path for file in self.files if not file.is_valid]
        return next(iter([*unread, *(file.path for file in self.files if file.finding)]), None)

    @property
    def findings(self) -> tuple[LoomFinding, ...]:
        own = (self.root_finding, *(file.finding for file in self.files))
        return tuple(finding for finding in own if finding is not None)


def read_store1(tree: Tree) -> Store1:
    """Everything in the runtime folder (verified)."""
    kind = tree.kind(RUNTIME)
    if kind is None:
        return Store1(None, (), ())
    if kind != "folder":
        bad = LoomFinding(problem="unsafe_path", path=RUNTIME, detail="it is not a real directory")
        return Store1(bad, (), ())
    try:
        rows = tree.names(RUNTIME)
    except OSError as no:
        return Store1(LoomFinding(problem="corrupt", path=RUNTIME, detail=_unreadable(no)), (), ())
    files = tuple(_read(tree, name, kind) for name, kind in rows if name.endswith(SUFFIX))
    return Store1(None, files, tuple(shown_path(name) for name, _ in rows if not name.endswith(SUFFIX)))


def parse_checkpoint1(data: bytes) -> Checkpoint1:
    """One file's bytes as a checkpoint. Raises BadText, BadShape; for another format its number is in the reason."""
    return _shaped1(parse_text(data))


def _shaped1(value: object) -> Checkpoint1:
    checkpoint = shaped(value, Checkpoint1)
    run = checkpoint.run
    moments = [run.created_at, run.updated_at]
    moments += [asked.created_at for asked in (run.pending_action, checkpoint.answered_action) if asked is not UNSET]
    refuse_no_day(*moments, *([run.pending_agent_call.created_at] if run.pending_agent_call is not UNSET else []))
    if run.execution.agent_executor == "mcp_client" and run.execution.source != "agent_ide":
        raise BadShape("mcp_client goes with agent_ide only")
    return checkpoint


def _read(tree: Tree, name: str, kind: EntryKind) -> File1:
    path = f"{RUNTIME}/{name}"

    def bad(problem: str, detail: str, run_id: str | None = None) -> File1:
        finding = LoomFinding(problem=problem, path=shown_path(path), run_id=run_id, detail=detail)  # type: ignore[arg-type]
        return File1(shown_path(path), None, finding)

    if kind != "file":
        return bad("unsafe_path", "it is a symbolic link" if kind == "link" else "it is not a regular file")
    try:
        value = parse_text(tree.read(path))
        version = version_of(value)
        if version != 1:
            return bad("version", f"it is of format {version}; this reader knows format 1 and left it unchanged")
        checkpoint = _shaped1(value)
    except NotPlain:
        return bad("unsafe_path", "it is not a regular file")
    except OSError as no:
        return bad("corrupt", _unreadable(no))
    except (BadText, BadShape) as no:
        return bad("corrupt", str(no))
    if name != run_key(checkpoint.run.id) + SUFFIX:
        return bad("corrupt", "its name is not the hash of its Run's id")
    return File1(path, checkpoint, _unrestorable(path, checkpoint))


def _unreadable(no: OSError) -> str:
    return f"it cannot be read ({type(no).__name__})"


def _unrestorable(path: str, checkpoint: Checkpoint1) -> LoomFinding | None:
    """What the file alone proves that a restore would stop at; ended Runs are not loaded (intloom-recovery 1.6)."""
    if checkpoint.phase == "terminal":
        return None
    broken = next(_broken(checkpoint), None)
    if broken is None:
        return None
    return LoomFinding(problem="state_invalid", path=path, run_id=checkpoint.run.id, detail=broken)


def _broken(checkpoint: Checkpoint1) -> Iterator[str]:
    """The rules of a Run that is to go on, in the order in which restore looks at them."""
    run, phase, stage = checkpoint.run, checkpoint.phase, checkpoint.stage
    asked, delegated = run.pending_action, run.pending_agent_call
    if run.last_error is not UNSET:
        yield "it has an error, and has not ended"
    if run.status in ("completed", "failed"):
        yield "its status says that it ended, its phase does not"
    if (run.status == "waiting") != ((asked is not UNSET) != (delegated is not UNSET)):
        yield "what it waits on does not fit its status"
    if asked is not UNSET and delegated is not UNSET:
        yield "it waits on a person and on an Agent at once"
    if asked is not UNSET and (asked.flow_name, asked.cursor) != (run.flow_name, run.cursor):
        yield "its question belongs to another Workflow or Step"
    if delegated is not UNSET and run.execution.agent_executor != "mcp_client":
        yield "it delegated to a client's Agent without having one"
    if (phase == "waiting") != (run.status == "waiting"):
        yield "its phase and its status disagree"
    if stage is UNSET and phase not in ("executing", "stage_pending"):
        yield "it has no Stage State"
    if stage is not UNSET and phase == "stage_pending":
        yield "it has the State of a Stage that was not initialized"
    if stage is not UNSET and (stage.input is UNSET) != (stage.value is UNSET):
        yield "only one half of its Stage State is there"
    if phase == "answered":
        action = checkpoint.answered_action
        if checkpoint.answer is UNSET or action is UNSET:
            yield "it has no answer, or not the question that it answers"
        elif (action.flow_name, action.cursor) != (run.flow_name, run.cursor):
            yield "its answer belongs to another Workflow or Step"
    if phase == "step_result" and checkpoint.result is UNSET:
        yield "it has no result"
