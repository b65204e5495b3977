"""Format 3: one checkpoint's bytes to a value and back. What several files prove together is not decided here.

(intloom-recovery 2.3)
"""

from collections.abc import Callable
from itertools import product

import msgspec
from msgspec import UNSET

from recovery_kit.records.loom import FORMAT, KEYS, REVISED, Checkpoint

from .loom_shape import BadShape, parse_text, refuse_no_day, run_key, shaped, version_of
from .loom_text import DEEPEST

_DECODER = msgspec.json.Decoder(Checkpoint)
_ENCODER = msgspec.json.Encoder()


class OtherFormat(ValueError):
    """A checkpoint of another format; nothing else was looked at."""

    def __init__(self, found: int) -> None:
        super().__init__(f"it is of format {found}; format {FORMAT} is supported, and the file was left unchanged")
        self.found = found


def parse_checkpoint(data: bytes) -> Checkpoint:
    """A checkpoint of its bytes, alone. Raises BadText, BadShape, OtherFormat, in the order of intloom-recovery 2.7."""
    checkpoint = _as_written(data)
    if checkpoint is None:
        value = parse_text(data)
        version = version_of(value)
        if version != FORMAT:
            raise OtherFormat(version)
        checkpoint = shaped(value, Checkpoint)
    for rule in _RULES:
        reason = rule(checkpoint)
        if reason:
            raise BadShape(reason)
    refuse_no_day(checkpoint.saved_at, checkpoint.run.created_at)
    if checkpoint.action is not UNSET:
        refuse_no_day(checkpoint.action.created_at)
    return checkpoint


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Compact JSON without a final newline. Raises BadText for what no strict reader would take back."""
    data = _ENCODER.encode(checkpoint)
    parse_checkpoint(data)
    return data


def misplaced(checkpoint: Checkpoint, key: str, number: int) -> str | None:
    """Why a checkpoint cannot stand in the file of that number below that folder; None where it can."""
    if checkpoint.seq != number:
        return f"its seq is not the number {number} of its name"
    if run_key(checkpoint.run.id) != key:
        return "its Run's id does not match the directory"
    return None


def _as_written(data: bytes) -> Checkpoint | None:
    """The short way for files that this kit or its like wrote: what encodes to the very same bytes again has no key
    twice, no odd number and no odd text in it. None where only a closer look can tell."""
    if data.count(b"[") + data.count(b"{") > DEEPEST:
        return None
    try:
        checkpoint = _DECODER.decode(data)
        return checkpoint if _ENCODER.encode(checkpoint) == data else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        return None


def _keys(c: Checkpoint) -> str | None:
    there = (
        c.stage is not UNSET, c.call is not UNSET, c.action is not UNSET, c.answer is not UNSET, c.result is not UNSET,
        c.outcome is not UNSET,
    )  # fmt: skip
    initializing = c.boundary == "executing" and c.call is not UNSET and c.call.kind == "initializer"
    if there in (_INITIALIZING if initializing else _ALLOWED[c.boundary]):
        return None
    for (key, presence), is_there in zip(KEYS[c.boundary].items(), there, strict=True):
        if is_there and (presence == "forbidden" or (initializing and key == "stage")):
            return f"{c.boundary} has no {key}"
        if not is_there and presence == "required":
            return f"{c.boundary} needs {key}"
    return "its keys are not those of its boundary"


_CHOICES = {"required": (True,), "optional": (True, False), "forbidden": (False,)}
_ALLOWED = {boundary: set(product(*(_CHOICES[p] for p in keys.values()))) for boundary, keys in KEYS.items()}
_INITIALIZING = {(False, True, False, False, False, False)}


def _stage(c: Checkpoint) -> str | None:
    if c.stage is not UNSET and (c.stage.input is UNSET) != (c.stage.value is UNSET):
        return "a stage has both input and value, or neither"
    return None


def _call(c: Checkpoint) -> str | None:
    if c.call is UNSET:
        return None
    if c.boundary in ("waiting", "answered") and c.call.kind not in ("code", "recovery"):
        return f"{c.boundary} belongs to a Call of kind code or recovery"
    needs = {"model": "service", "agent": "mcp_client"}.get(c.call.kind)
    if needs and c.run.execution.agent_executor != needs:
        return f"a Call of kind {c.call.kind} needs the executor {needs}"
    return None


def _execution(c: Checkpoint) -> str | None:
    if c.run.execution.agent_executor == "mcp_client" and c.run.execution.source != "agent_ide":
        return "mcp_client goes with agent_ide only"
    return None


def _route(c: Checkpoint) -> str | None:
    if c.result is not UNSET and (c.result.route.kind == "end") != (c.result.route.cursor is UNSET):
        return "a route has a cursor, unless it is of kind end"
    return None


def _commits(c: Checkpoint) -> str | None:
    for commit in c.commits:
        for operation in commit.operations:
            if (operation.type in REVISED) != (operation.revision is not UNSET):
                return "a revision stands exactly with created and replaced Artifacts"
    return None


def _outcome(c: Checkpoint) -> str | None:
    if c.outcome is UNSET:
        return None
    if (c.outcome.status == "failed") != (c.outcome.error is not UNSET):
        return "an error stands exactly with the status failed"
    error = c.outcome.error
    if error is not UNSET and (error.code == "RUN_INTERRUPTED") != (error.reason is not UNSET):
        return "a reason stands exactly with RUN_INTERRUPTED"
    return None


def _origin(c: Checkpoint) -> str | None:
    if c.seq == 1 and c.run.origin.instance_id != c.instance_id:
        return "the first checkpoint is not of the instance that the Run was created in"
    return None


_RULES: tuple[Callable[[Checkpoint], str | None], ...] = (
    _keys, _stage, _call, _execution, _route, _commits, _outcome, _origin,
)  # fmt: skip
"""What a file has to satisfy beyond the types of its members; the first that fails is the reason."""
