"""Trips to providers and what they cost: `attempts_df`, `failovers_df`, `inferences_df`. A trip is not a bill."""

from typing import TYPE_CHECKING, get_args

from recovery_kit.history.trips import Attempt, Bill, JoinConfidence
from recovery_kit.records.journal import AttemptFailure, InferenceAttempt, InferenceFailover, InferenceUsage

from .columns import AnyRuns, Column, Table, build, or_none, words_of

if TYPE_CHECKING:
    import pandas as pd


def _outcome(row: Attempt) -> str:
    return "succeeded" if row.succeeded else "failed"


def _failure(member: str):  # type: ignore[no-untyped-def]
    def cell(row: Attempt) -> bool | None:
        return None if isinstance(row.record.outcome, str) else getattr(row.record.outcome.failed, member)

    return cell


def _input(row: Attempt) -> str | None:
    return row.record.model_input.capture_status if row.record.model_input else None


def _digest(row: Attempt) -> str | None:
    given = row.record.model_input
    return (given.source_context_digest or None) if given else None


ATTEMPTS = Table(
    "attempts",
    "a trip to a provider",
    lambda run: run.told.trips.attempts,
    (
        Column("point", "point", "offset", "the last point before its record"),
        Column("offset", "u64", "offset", "of its record"),
        Column("at", "time", "record.at", "when it ended"),
        Column("attempt_id", "text", or_none("record.id"), "its id"),
        Column("stage", "text", "record.stage", "the stage that asked"),
        Column("attempt", "u64", "record.attempt", "which try of one call, from 1"),
        Column("provider", "text", "record.provider", "asked provider"),
        Column("model", "text", "record.model", "asked model"),
        Column("outcome", "own_word", _outcome, "whether it was answered", ("succeeded", "failed")),
        Column("failure_kind", "text", or_none("failure_kind"), "class of the failure, where the engine knew one"),
        Column("transient", "flag", _failure("transient"), "whether the failure may pass by itself"),
        Column("capacity", "flag", _failure("capacity"), "whether the provider was full"),
        Column("next", "word", "next", "what the engine did then", words_of(AttemptFailure.__annotations__["next"])),
        Column("duration_ms", "u64", "record.duration_ms", "of the trip"),
        Column("backoff_ms", "u64", "record.backoff_ms", "waited before it"),
        Column(
            "finish_reason",
            "word",
            or_none("record.finish_reason"),
            "why the reply ended",
            words_of(InferenceAttempt.__annotations__["finish_reason"]),
        ),
        Column("stopped_for", "text", "record.stopped_for", "the provider's word, where the engine does not know it"),
        Column("system_hash", "u64", "record.digest.system_hash", "hash of the system text: a full 64-bit number"),
        Column("messages", "u64", "record.digest.messages", "messages that were sent"),
        Column("tools", "u64", "record.digest.tools", "tools that were offered"),
        Column("max_tokens", "u64", "record.digest.max_tokens", "ceiling of the reply"),
        Column("temperature", "usd", "record.digest.temperature", "as sent"),
        Column(
            "input_captured",
            "word",
            _input,
            "whether the request was kept",
            ("retained", "not_captured", "redacted", "expired"),
        ),
        Column("context_digest", "text", _digest, "revision of the window it was made from"),
        Column("usage_offset", "u64", "usage_offset", "of the bill that follows it, if one does"),
        Column("behind_tear", "flag", "behind_tear", "told by a record that no reader of the engine sees"),
    ),
)

FAILOVERS = Table(
    "failovers",
    "a model given up for the next one",
    lambda run: run.told.trips.failovers,
    (
        Column("point", "point", "offset", "the last point before its record"),
        Column("offset", "u64", "offset", "of its record"),
        Column("at", "time", "record.at", "when"),
        Column("stage", "text", "record.stage", "the stage that asked"),
        Column("iteration", "u64", "record.iteration", "its turn"),
        Column("from_provider", "text", "record.from_provider", "given up"),
        Column("from_model", "text", "record.from_model", "given up"),
        Column("to_provider", "text", "record.to_provider", "taken instead"),
        Column("to_model", "text", "record.to_model", "taken instead"),
        Column("reason", "word", "record.reason", "why", words_of(InferenceFailover.__annotations__["reason"])),
        Column("failure_kind", "text", or_none("record.kind"), "class of the failure"),
        Column("attempt_offset", "u64", "attempt_offset", "of the nearest earlier trip with its stage and pair"),
        Column("behind_tear", "flag", "behind_tear", "told by a record that no reader of the engine sees"),
    ),
)


def _figure(row: Bill) -> str:
    if row.record.cost_usd is None:
        return "none"
    return "provider" if row.record.cost_reported_by_provider else "rates"


INFERENCES = Table(
    "inferences",
    "a billed call",
    lambda run: run.told.trips.bills,
    (
        Column("point", "point", "offset", "the last point before its record"),
        Column("offset", "u64", "offset", "of its record"),
        Column("at", "time", "record.at", "when"),
        Column(
            "kind", "word", "record.kind", "what the call was for", words_of(InferenceUsage.__annotations__["kind"])
        ),
        Column("stage", "text", "record.stage", "the stage that asked"),
        Column("iteration", "u64", "record.iteration", "its turn"),
        Column("provider", "text", "record.provider", "who answered"),
        Column("model", "text", "record.model", "who answered"),
        Column("prompt_tokens", "u64", "record.prompt_tokens", "as billed"),
        Column("completion_tokens", "u64", "record.completion_tokens", "as billed"),
        Column("cached_tokens", "u64", "record.cached_tokens", "read from the provider's cache"),
        Column("cache_write_tokens", "u64", "record.cache_write_tokens", "written to the provider's cache"),
        Column("cost_usd", "usd", "record.cost_usd", "a gap is unknown, 0.0 is free"),
        Column("figure_by", "own_word", _figure, "whose figure the cost is", ("provider", "rates", "none")),
        Column("attempt_offset", "u64", "attempt_offset", "of the trip it is the bill of"),
        Column(
            "join_confidence", "own_word", "join_confidence", "how surely: they share no id", get_args(JoinConfidence)
        ),
        Column("behind_tear", "flag", "behind_tear", "told by a record that no reader of the engine sees"),
    ),
)


def attempts_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a trip to a provider, answered or not (docs/tables.md)."""
    return build(ATTEMPTS, runs, text)


def failovers_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a model given up, joined to the trip that failed where one is found (docs/tables.md)."""
    return build(FAILOVERS, runs, text)


def inferences_df(runs: AnyRuns, *, text: bool = False) -> "pd.DataFrame":
    """A row a billed call, joined to its trip by order, with how surely (docs/tables.md)."""
    return build(INFERENCES, runs, text)
