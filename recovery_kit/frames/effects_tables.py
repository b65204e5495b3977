"""What was done and asked: `calls_df`, `prompts_df`, `artifacts_df`, `parts_df`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, get_args

from recovery_kit.history.calls import BY_PREFIX, Call, Certainty, Outcome
from recovery_kit.history.places import StageNames
from recovery_kit.history.prompts import Settlement
from recovery_kit.history.stored import BytesState, Where
from recovery_kit.records.journal import Answer, Interaction
from recovery_kit.runs.run import Run

from .columns import AnyRuns, Column, Table, build, words_of
from .runs_table import REASONS

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = get_args(Outcome)
RULES = (*(rule for _, _, rule in BY_PREFIX), "refusal_on_record", "interrupted_text")


class _StagedCall(NamedTuple):
    call: Call
    stage: str | None

    @property
    def result_offset(self) -> int | None:
        return self.call.evidence_offset if self.call.result is not None else None


def _calls(run: Run) -> Iterator[_StagedCall]:
    names = StageNames(run.told.events, run.told.files.stages)
    return (_StagedCall(call, names.name(call.stage_index, call.visit_id)) for call in run.told.calls)


CALLS = Table(
    "calls",
    "one attempt at a tool call",
    _calls,
    (
        Column("point", "point", "call.offset", "the last point before the batch's record"),
        Column("offset", "u64", "call.offset", "of the batch's record"),
        Column("call_id", "text", "call.call_id", "the provider's id; it may come again"),
        Column("execution_id", "text", "call.execution_id", "the engine's own id, where it recorded one"),
        Column("name", "text", "call.name", "the tool"),
        Column("stage", "text", "stage", "by visit id, else by number of the stage"),
        Column("iteration", "u64", "call.iteration", "the turn that asked for it"),
        Column("arguments", "long", "call.arguments", "as handed out", offset="call.offset"),
        Column(
            "result", "long", "call.result", "the tool's answer; a restart's stand-in is none", offset="result_offset"
        ),
        Column("recorded_outcome", "own_word", "call.recorded_outcome", "what the bytes say", OUTCOMES),
        Column("derived_outcome", "own_word", "call.derived_outcome", "what follows by `rule`", OUTCOMES),
        Column("rule", "own_word", "call.rule", "name of that rule", RULES),
        Column("observed_outcome", "own_word", lambda row: None, "what was seen in the world afterwards", OUTCOMES),
        Column("started_at", "time", "call.started_at", "of the batch; it may have waited for a person first"),
        Column("ended_at", "time", "call.ended_at", "of its result or refusal"),
        Column("certainty", "own_word", "call.certainty", "how surely it took effect", get_args(Certainty)),
        Column("evidence_offset", "u64", "call.evidence_offset", "of the record that proves the certainty"),
        Column("stood_in_by", "u64", "call.stood_in_by", "index of the life that made up its result"),
        Column("ambiguous", "flag", "call.ambiguous", "nothing tells which of several calls a result belongs to"),
        Column("behind_tear", "flag", "call.behind_tear", "told by records that no reader of the engine sees"),
        Column("why", "text", "call.why", "the certainty in words"),
    ),
)

_PROMPT_KINDS = words_of(Interaction.__annotations__["kind"])

PROMPTS = Table(
    "prompts",
    "a question to a person: settled, lost or open",
    lambda run: run.told.prompts,
    (
        Column("point", "point", "offset", "the last point before its record"),
        Column("offset", "u64", "offset", "of its record; a gap for one that is lost or open"),
        Column("request_id", "text", "request_id", "its id; several lives may use one"),
        Column("kind", "word", "kind", "what is asked for", _PROMPT_KINDS),
        Column("reason", "word", "reason", "what the wait was called, for one without a record", REASONS),
        Column("tool", "text", "tool", "the tool that waits for approval"),
        Column("stage", "text", "stage", "for an interaction point the name of the point"),
        Column("prompt", "long", "prompt", "the question", offset="offset"),
        Column("settlement", "own_word", "settlement", "how it ended", get_args(Settlement)),
        Column("approved", "flag", "approved", "the answer to an approval"),
        Column("scope", "word", "scope", "how far an approval reaches", words_of(Answer.__annotations__["scope"])),
        Column("choice", "u64", "choice", "index of the choice"),
        Column("answer", "long", "text", "the answer in words", offset="offset"),
        Column("feedback", "long", "feedback", "what was said with it", offset="offset"),
        Column("asked_at", "time", "asked_at", "when it was asked"),
        Column("settled_at", "time", "settled_at", "when it was settled"),
        Column("life", "u64", "life", "index of the life in which it was asked"),
        Column("behind_tear", "flag", "behind_tear", "told by a record that no reader of the engine sees"),
    ),
)

STATES = get_args(BytesState)


class _File(NamedTuple):
    """A produced file, or the answer itself."""

    told_by: str
    offset: int | None
    execution_id: str | None
    name: str | None
    path: str | None
    mime_type: str | None
    size: int | None
    sha256: str | None
    state: str
    superseded: bool | None
    claimed: bool | None
    behind_tear: bool


def _artifacts(run: Run) -> Iterator[_File]:
    for f in run.told.produced_files:
        yield _File(
            "meta" if f.offset is None else "record", f.offset, f.execution_id, f.name, f.path, f.mime_type, f.size,
            f.sha256 or None, f.state, f.superseded, f.claimed, f.behind_tear,
        )  # fmt: skip
    answer = run.told.answer
    if answer is not None:
        size = answer.bytes_in_file if answer.file_present else answer.bytes_described
        state = "present" if answer.file_present else "missing"
        yield _File("answer", None, None, "final_output", "final_output", None, size, None, state, False, None, False)


ARTIFACTS = Table(
    "artifacts",
    "a file that came with an answer, and the answer itself",
    _artifacts,
    (
        Column("point", "point", "offset", "the last point before its record"),
        Column("offset", "u64", "offset", "of its record"),
        Column(
            "told_by",
            "own_word",
            "told_by",
            "a record, the description in `meta.json`, or the answer's own row",
            ("record", "meta", "answer"),
        ),
        Column("execution_id", "text", "execution_id", "the execution that produced it"),
        Column("name", "text", "name", "its name"),
        Column("path", "text", "path", "where the agent wrote it; never opened"),
        Column("mime_type", "text", "mime_type", "as recorded"),
        Column("bytes", "u64", "size", "size as recorded, of the answer as it lies there"),
        Column("sha256", "text", "sha256", "the hash its bytes are stored under"),
        Column("state", "own_word", "state", "whether those bytes are there", STATES),
        Column("superseded", "flag", "superseded", "a later answer stands"),
        Column("claimed", "flag", "claimed", "a call's record names its execution"),
        Column("behind_tear", "flag", "behind_tear", "told by a record that no reader of the engine sees"),
    ),
)

PARTS = Table(
    "parts",
    "a part whose bytes are stored beside the window",
    lambda run: run.told.parts,
    (
        Column("place", "own_word", "where", "what holds it", get_args(Where)),
        Column("region", "text", "region", "of the window"),
        Column("entry", "u64", "entry", "index in that region"),
        Column("call_id", "text", "call_id", "whose held result it belongs to"),
        Column("name", "text", "name", "its name"),
        Column("mime_type", "text", "mime_type", "as recorded"),
        Column("sha256", "text", "sha256", "the hash its bytes are stored under"),
        Column("bytes", "u64", "size", "size as recorded"),
        Column("tokens", "u64", "tokens", "estimate for sending the bytes; no region is charged this"),
        Column("stand_in", "long", "stand_in", "what is shown where the bytes are not", offset=lambda row: None),
        Column("state", "own_word", "state", "whether the bytes are there", STATES),
    ),
)


def calls_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row an attempt at a tool call, with how surely it took effect and what proves it (docs/tables.md)."""
    return build(CALLS, runs, text)


def prompts_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a question to a person; open and lost ones only where the files prove one (docs/tables.md)."""
    return build(PROMPTS, runs, text)


def artifacts_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a file that came with an answer, and one for the answer (docs/tables.md)."""
    return build(ARTIFACTS, runs, text)


def parts_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a stored part of the window now, of held results and of what workers handed up (docs/tables.md)."""
    return build(PARTS, runs, text)
