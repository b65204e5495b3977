"""One call of a model for a run: attempts, failover, the bill, and what becomes of a run that gets no answer
(leviath-runtime T16; 0.5-to-0.6 N5.3, N5.6, N5.7)."""

from recovery_kit.records.journal import (
    AttemptFailure,
    Failed,
    InferenceAttempt,
    InferenceFailover,
    InferenceUsage,
    RequestDigest,
)
from recovery_kit.records.meta import ModelRef, NeedsSetup

from .providers import CallKind, Failure, Reply, Turn
from .request import Request
from .running import Running
from .situation import Situation
from .stage_ledger import bill_stage, billed

ATTEMPTS = 4
"""Tries on one model."""
BACKOFF = 1.0
"""Seconds before the second try; doubled for each further one."""
MOST_WAIT = 60.0

PARKS = frozenset({"credits-exhausted", "unreachable"})
"""Reasons that leave a run paused until somebody has set things right; others end its stage."""


def situation(run: Running) -> Situation:
    """What the next request of a run depends on beside its window and manifest."""
    agent = run.agent
    return Situation(
        rules=agent.rules, entered=agent.entered, unattended=agent.meta.yolo, blob=run.keeper.read_blob,
        changed_at=agent.changed_at, cap_raised=agent.stage.name in agent.cap_raised,
    )  # fmt: skip


def candidates(run: Running) -> tuple[ModelRef, ...]:
    """The models of the stage in force, best first; a launch override takes their place."""
    override = run.agent.meta.model_override
    if override:
        provider, _, model = override.rpartition("/")
        return (ModelRef(provider, model),)
    return run.agent.stage.model.candidates or (ModelRef("", ""),)


def ask(run: Running, request: Request, kind: CallKind) -> Reply | Failure:
    """Ask, again where that helps, then the next model; every trip of a stage call is on record."""
    models = candidates(run)
    stage = run.agent.stage.name
    place = min(run.agent.candidate.get(stage, 0), len(models) - 1)
    while True:
        answer = _ask_one(run, request, kind, models[place])
        if isinstance(answer, Reply) or not answer.reason or place + 1 >= len(models):
            return answer
        old, new = models[place], models[place + 1]
        place += 1
        run.put(candidate={**run.agent.candidate, stage: place})
        run.log(f"[failover] {old.provider}/{old.model} -> {new.provider}/{new.model}: {answer.reason}")
        run.note(
            InferenceFailover(
                stage=stage, iteration=run.agent.iteration + 1, from_provider=old.provider, from_model=old.model,
                to_provider=new.provider, to_model=new.model, reason=answer.reason, kind=answer.kind, at=run.now(),
            )
        )  # fmt: skip


def _ask_one(run: Running, request: Request, kind: CallKind, model: ModelRef) -> Reply | Failure:
    backoff = 0.0
    after = run.agent.iteration + (kind == "stage")
    turn = Turn(
        kind=kind, stage=run.agent.stage.name, iteration=after, provider=model.provider, model=model.model
    )  # fmt: skip
    for attempt in range(1, ATTEMPTS + 1):
        answer = run.host.provider.infer(request, turn)
        last = attempt == ATTEMPTS or isinstance(answer, Reply) or not (answer.transient or answer.capacity)
        if kind == "stage":
            run.note(_attempt(run, request, model, attempt, backoff, answer, last))
        if last:
            break
        assert isinstance(answer, Failure)
        backoff = min(MOST_WAIT, answer.retry_after or BACKOFF * 2 ** (attempt - 1))
        run.host.wait(backoff)
    if isinstance(answer, Reply):
        bill(run, answer, kind, model, after)
    return answer


def _attempt(
    run: Running, request: Request, model: ModelRef, number: int, backoff: float, answer: Reply | Failure, last: bool
) -> InferenceAttempt:
    failure = answer if isinstance(answer, Failure) else Failure()
    reply = answer if isinstance(answer, Reply) else Reply()
    failed = AttemptFailure(
        kind=failure.kind, transient=failure.transient, capacity=failure.capacity,
        next="reported" if last else "same_model",
    )  # fmt: skip
    return InferenceAttempt(
        id=run.host.ids.attempt(), stage=run.agent.stage.name, attempt=number, provider=model.provider,
        model=model.model, outcome="succeeded" if reply is answer else Failed(failed),
        finish_reason=reply.finish_reason, stopped_for=reply.stopped_for, duration_ms=reply.duration_ms,
        backoff_ms=int(backoff * 1000),
        digest=RequestDigest(
            request.system_hash, len(request.messages), len(request.tools), request.max_tokens, request.temperature
        ),
        at=run.now(),
    )  # fmt: skip


def bill(run: Running, reply: Reply, kind: CallKind, model: ModelRef, iteration: int) -> None:
    """A bill, on record and on every account of the run."""
    meta = billed(run.agent.meta, reply)
    run.put(meta=meta)
    used = meta.stage_models if model in meta.stage_models else (*meta.stage_models, model)
    run.put_meta(iteration=iteration, stage_models=used)
    run.put(ledger=bill_stage(run.agent.ledger, meta.stage_index, reply, model, kind == "stage"))
    run.log(f"[Tokens: {reply.prompt_tokens} in, {reply.completion_tokens} out]")
    run.note(
        InferenceUsage(
            kind=kind, stage=run.agent.stage.name, iteration=iteration, provider=model.provider, model=model.model,
            prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens,
            cached_tokens=reply.cached_tokens, cache_write_tokens=reply.cache_write_tokens, cost_usd=reply.cost_usd,
            cost_reported_by_provider=reply.cost_reported_by_provider, at=run.now(),
        )
    )  # fmt: skip


def parked(run: Running, failure: Failure) -> bool:
    """Pause a run whose model cannot be asked before a person has done something; False for other failures (T16)."""
    blocker = failure.blocker
    if blocker is None and failure.reason in PARKS:
        blocker = "credits_exhausted" if failure.reason == "credits-exhausted" else "provider_unreachable"
    if blocker is None:
        return False
    run.log(f"[paused] {failure.why}")
    run.put_meta(status="paused", waiting_on=NeedsSetup(blocker, failure.why))
    run.snapshot()
    return True
