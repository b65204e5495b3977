"""What the checkpoints of one Run tell, of either format: its moments, its Calls with their certainty, its questions,
and the verdict.

Certainty follows from the saved boundary alone. (intloom-recovery Part 3, Part 4)
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, to_builtins

from recovery_kit.display import Drawn
from recovery_kit.records.loom import Boundary, Checkpoint, Checkpoint1, Commit, Cursor, LoomFinding, StageState

Certain = Literal["done", "unknown", "not_started"]

BOUNDARY_OF_PHASE: dict[str, Boundary] = {
    "stage_pending": "ready",
    "step_ready": "ready",
    "executing": "executing",
    "step_result": "step_result",
    "waiting": "waiting",
    "answered": "answered",
    "terminal": "terminal",
}
KIT_BOUNDARY: dict[Boundary, str] = {
    "ready": "ready",
    "executing": "effect_open",
    "step_result": "effect_done",
    "waiting": "prompt_open",
    "answered": "prompt_answered",
    "terminal": "terminal",
}
"""The shared word for a boundary (intloom-recovery 4.3)."""

STOPPED_UNSURE = frozenset({"RUN_INTERRUPTED", "RUN_STOPPED", "RUN_CHECKPOINT_FAILED"})
"""Ends that came over a Call from outside: what it had done by then, no file tells."""


@dataclass(frozen=True, slots=True)
class Moment(Drawn):
    """One saved boundary, of either format. Texts are raw."""

    index: int
    offset: int
    """The file's number, 1 in format 1: what leads back to the checkpoint."""
    at: int | None
    """Unix seconds."""
    saved_at: str
    boundary: Boundary
    status: str
    cursor: Cursor
    stage: StageState | None
    """None where no Stage is entered."""
    call_id: str | None
    call_kind: str | None
    action: Any
    """The question, None where none stands."""
    answer: Any
    has_answer: bool
    outcome: str | None
    """Of the Step that finished."""
    error_code: str | None
    error: str | None
    reason: str | None
    commits: tuple[Commit, ...]
    instance_id: str | None
    is_paused: bool = False

    @property
    def kit_boundary(self) -> str:
        """The word that both engines share."""
        return "on_hold" if self.is_paused else KIT_BOUNDARY[self.boundary]

    @property
    def status_shared(self) -> str:
        """The status in the word that both engines share (intloom-recovery 4.2)."""
        shared = {"RUN_STOPPED": "cancelled", "RUN_INTERRUPTED": "interrupted"}
        return shared.get(self.error_code or "", self.status) if self.status == "failed" else self.status


@dataclass(frozen=True, slots=True)
class LoomCall:
    """One attempt at something that may change the world or cost money, or one commit that returned."""

    call_id: str | None
    """None in format 1, which saves none but for delegated work."""
    kind: str
    """`initializer`, `code`, `recovery`, `model`, `agent`, `commit`, or `call` where the files do not say which."""
    name: str
    """Stage and Step."""
    offset: int
    """Number of the checkpoint that announces it."""
    started_at: int | None
    ended_at: int | None
    certainty: Certain
    evidence_offset: int
    """Number of the checkpoint that proves the certainty."""
    result: str | None
    why: str

    @property
    def is_unknown(self) -> bool:
        """Whether a person has to look: it may have happened, wholly, partly or not at all."""
        return self.certainty == "unknown"


@dataclass(frozen=True, slots=True)
class LoomPrompt:
    """A question to a person."""

    request_id: str
    kind: str
    request: Any
    stage: str
    """Stage and Step that asks."""
    settlement: Literal["open", "answered", "lost"]
    """`lost`: the Run ended without an answer."""
    answer: Any
    asked_at: int | None
    settled_at: int | None
    offset: int
    recoverable: bool | None
    """None in format 1, which does not save it."""


def moments_of(checkpoints: Sequence[Checkpoint]) -> tuple[Moment, ...]:
    """The boundaries of a history of format 3."""
    return tuple(_moment3(index, checkpoint) for index, checkpoint in enumerate(checkpoints))


def seconds(moment: str | None) -> int | None:
    """A date-time as Unix seconds."""
    try:
        return int(datetime.fromisoformat(moment).timestamp()) if moment else None
    except (ValueError, OverflowError):
        return None


def _moment3(index: int, c: Checkpoint) -> Moment:
    error = c.outcome.error if c.outcome is not UNSET and c.outcome.error is not UNSET else None
    return Moment(
        index=index, offset=c.seq, at=seconds(c.saved_at), saved_at=c.saved_at, boundary=c.boundary, status=c.status,
        cursor=c.cursor, stage=None if c.stage is UNSET else c.stage,
        call_id=None if c.call is UNSET else c.call.id, call_kind=None if c.call is UNSET else c.call.kind,
        action=None if c.action is UNSET else c.action, answer=None if c.answer is UNSET else c.answer,
        has_answer=c.answer is not UNSET, outcome=None if c.result is UNSET else c.result.outcome,
        error_code=error.code if error else None, error=error.message if error else None,
        reason=error.reason if error and error.reason is not UNSET else None, commits=c.commits,
        instance_id=c.instance_id, is_paused=c.is_paused,
    )  # fmt: skip


def moment_of(c: Checkpoint1) -> Moment:
    """The one boundary that format 1 keeps."""
    run, delegated = c.run, c.run.pending_agent_call
    boundary = "executing" if delegated is not UNSET and c.phase == "waiting" else BOUNDARY_OF_PHASE[c.phase]
    kind = "agent" if delegated is not UNSET else "initializer" if c.stage is UNSET else "call"
    action = run.pending_action if run.pending_action is not UNSET else c.answered_action
    error = None if run.last_error is UNSET else run.last_error
    return Moment(
        index=0, offset=1, at=seconds(run.updated_at), saved_at=run.updated_at, boundary=boundary, status=run.status,
        cursor=run.cursor, stage=None if c.stage is UNSET else c.stage,
        call_id=None if delegated is UNSET else delegated.id, call_kind=kind if boundary == "executing" else None,
        action=None if action is UNSET else action, answer=None if c.answer is UNSET else c.answer,
        has_answer=c.answer is not UNSET, outcome=None if c.result is UNSET else c.result.outcome,
        error_code=error.code if error else None, error=error.message if error else None, reason=None, commits=(),
        instance_id=None,
    )  # fmt: skip


def says(moment: Moment) -> str:
    """What a boundary says in short: how it ended, what was answered or asked, the outcome. Raw text."""
    if moment.error_code is not None:
        return f"{moment.error_code}: {moment.error or ''}"
    if moment.has_answer:
        return f"answered {_json(moment.answer)}"
    if moment.action is not None:
        return f"asks {_json(moment.action.request)}"
    return f"outcome {moment.outcome}" if moment.outcome is not None else ""


def _json(value: Any) -> str:
    return json.dumps(to_builtins(value), ensure_ascii=False)


def calls_of(moments: Sequence[Moment]) -> tuple[LoomCall, ...]:
    """The ledger: every Call that the files prove, and every commit, in file order."""
    return tuple(sorted(_calls(moments), key=lambda call: (call.offset, call.kind == "commit")))


_AFTER_A_CALL = ("step_result", "waiting", "answered")


def _calls(moments: Sequence[Moment]) -> Iterator[LoomCall]:
    begun: dict[str | None, int] = {}
    committed = 0
    for place, moment in enumerate(moments):
        for commit in moment.commits[committed:]:
            what = ", ".join(f"{operation.type} {operation.id}" for operation in commit.operations)
            yield LoomCall(
                commit.call_id, "commit", str(moment.cursor), moment.offset, moment.at, moment.at, "done",
                moment.offset, what, "the commit returned before this boundary was saved",
            )  # fmt: skip
        committed = len(moment.commits)
        if moment.call_kind is not None and moment.call_id not in begun:
            begun[moment.call_id] = place
            yield _call(moments, place)
    if len(moments) == 1 and moments[0].call_kind is None and moments[0].boundary in _AFTER_A_CALL:
        yield _lone(moments[0])


def _call(moments: Sequence[Moment], place: int) -> LoomCall:
    """One Call, from the boundary that announces it to the one that ends it."""
    first = moments[place]
    same = place
    while same + 1 < len(moments) and moments[same + 1].call_id == first.call_id and first.call_id is not None:
        same += 1
    last = moments[same]
    after = moments[same + 1] if same + 1 < len(moments) else None
    certainty, evidence, why = _certainty(last, after)
    return LoomCall(
        first.call_id, first.call_kind or "call", str(first.cursor), first.offset, first.at,
        after.at if after else None, certainty, evidence.offset, after.outcome if after else None, why,
    )  # fmt: skip


def _certainty(last: Moment, after: Moment | None) -> tuple[Certain, Moment, str]:
    if last.boundary in ("waiting", "answered"):
        return "done", last, "all of it before the question is done, and nothing after the question has begun"
    if after is None:
        return "unknown", last, "it was about to run when this boundary was saved, and no later one was"
    if after.boundary == "terminal" and after.error_code in STOPPED_UNSURE:
        return "unknown", last, f"it was ended from outside ({after.error_code}), and what it had done is not on record"
    if after.boundary == "terminal":
        return "done", after, f"it failed, and that is on record ({after.error_code})"
    return "done", after, "its result was saved"


def _lone(moment: Moment) -> LoomCall:
    """Format 1 keeps no Call; the boundary proves that there was one."""
    certainty, evidence, why = _certainty(moment, moment)
    return LoomCall(
        None, "call", str(moment.cursor), moment.offset, None, moment.at, certainty, evidence.offset, moment.outcome,
        why,
    )  # fmt: skip


def prompts_of(moments: Sequence[Moment]) -> tuple[LoomPrompt, ...]:
    """Every question, in the order in which it was asked."""
    found: dict[str, LoomPrompt] = {}
    for moment in moments:
        action = moment.action
        if action is None:
            continue
        earlier = found.get(action.id)
        answered = moment.boundary == "answered" or moment.has_answer
        found[action.id] = LoomPrompt(
            request_id=action.id, kind=action.kind, request=action.request, stage=str(moment.cursor),
            settlement="answered" if answered else "open", answer=moment.answer,
            asked_at=seconds(action.created_at), settled_at=moment.at if answered else None,
            offset=earlier.offset if earlier else moment.offset,
            recoverable=getattr(action, "recoverable", None),
        )  # fmt: skip
    over = bool(moments) and moments[-1].boundary == "terminal"
    return tuple(_lost(prompt) if over and prompt.settlement == "open" else prompt for prompt in found.values())


def _lost(prompt: LoomPrompt) -> LoomPrompt:
    return replace(prompt, settlement="lost")


@dataclass(frozen=True, slots=True)
class LoomVerdict(Drawn):
    """What can be said of a Run. Texts are raw: surfaces mask and escape them."""

    run_id: str
    agent: str | None
    """The Workflow's name."""
    task: str | None
    """The intent."""
    status: str | None
    """None where no checkpoint can be read."""
    terminal: bool | None
    stage: str | None
    """Stage and Step."""
    boundary: str | None
    moved_at: int | None
    """When the newest boundary was saved (Unix seconds)."""
    prompt: LoomPrompt | None
    """The question that is open."""
    unknown: tuple[LoomCall, ...]
    last_certain: LoomCall | None
    commits: int
    lives: int
    """Instances of the service that wrote of it."""
    error: str | None
    damage: tuple[LoomFinding, ...]

    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, the most important first."""
        said = (_stands(self), _waits(self), *_unknown(self), _last(self), _commits(self), _damaged(self))
        return tuple(sentence for sentence in said if sentence)

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def verdict_of(
    run_id: str, flow: str | None, intent: str | None, moments: Sequence[Moment], damage: tuple[LoomFinding, ...]
) -> LoomVerdict:
    """The verdict of a Run (verified)."""
    last = moments[-1] if moments else None
    calls = calls_of(moments)
    done = [call for call in calls if call.certainty == "done"]
    prompt = next((prompt for prompt in prompts_of(moments) if prompt.settlement == "open"), None)
    return LoomVerdict(
        run_id=run_id, agent=flow, task=intent, status=last.status if last else None,
        terminal=last.boundary == "terminal" if last else None, stage=str(last.cursor) if last else None,
        boundary=last.boundary if last else None, moved_at=last.at if last else None, prompt=prompt,
        unknown=tuple(call for call in calls if call.is_unknown),
        last_certain=max(done, key=lambda call: call.evidence_offset, default=None),
        commits=len(last.commits) if last else 0,
        lives=len({moment.instance_id for moment in moments if moment.instance_id}),
        error=(last.error or last.error_code) if last else None, damage=damage,
    )  # fmt: skip


def _stands(v: LoomVerdict) -> str:
    if v.status is None:
        return "Nothing tells how the Run stands: none of its checkpoints can be read."
    error = f": {v.error}" if v.error else ""
    return f"Its files say {v.status}, at the boundary {v.boundary} of {v.stage}{error}."


def _waits(v: LoomVerdict) -> str:
    if v.status == "paused":
        return "It is a mirror on hold: it moves once somebody resumes it."
    if v.prompt is None:
        return ""
    return f"It waits for a person to answer {v.prompt.request_id}{_LASTING[v.prompt.recoverable]}."


_LASTING: dict[bool | None, str] = {
    True: "",
    False: ", which no restart can ask again",
    None: ", which a restart asks again if its Code can recover it",
}


def _unknown(v: LoomVerdict) -> list[str]:
    if not v.unknown:
        return ["No effect is unknown: every Call that began has an end on record."]
    n = len(v.unknown)
    head = f"{n} Call{'' if n == 1 else 's'} of unknown outcome. Look before anything of it is done again."
    return [head, *(f"  {call.call_id or '(no id)'} {call.kind} at {call.name}: {call.why}" for call in v.unknown)]


def _last(v: LoomVerdict) -> str:
    if v.last_certain is None:
        return "Nothing is certain but that the Run was created." if v.status else ""
    what = f"{v.last_certain.kind} at {v.last_certain.name}"
    return f"The last thing that is certain: {what}, by checkpoint {v.last_certain.evidence_offset}."


def _commits(v: LoomVerdict) -> str:
    return f"{v.commits} commit{'' if v.commits == 1 else 's'} of formal data on record." if v.commits else ""


def _damaged(v: LoomVerdict) -> str:
    if not v.damage:
        return "Nothing in its files is damaged or contradictory."
    kinds = dict.fromkeys(finding.problem for finding in v.damage)
    return f"{len(v.damage)} finding{'' if len(v.damage) == 1 else 's'} to look at: {', '.join(kinds)}."
