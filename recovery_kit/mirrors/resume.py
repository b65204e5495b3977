"""Letting a mirror go on, in a world of the kit: through the same reload as any restart, with nothing done for real
unless it was named, and nothing unknown left unanswered.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from recovery_kit.errors import CannotMirror
from recovery_kit.records.meta import NeedsSetup
from recovery_kit.recovery.reload import reload_run
from recovery_kit.runs.run import Run
from recovery_kit.world.agent import Agent
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.recorded import RecordedProvider
from recovery_kit.world.tools import StubTools

from .doubles import Retold, branch_tools, iterations_ahead
from .mirror import Mirror

DID_NOT = "[error] this call did not happen: somebody looked, and it had no effect"
"""The result of a call that is known not to have happened."""

HAPPENED, DID_NOT_WORD, SKIP = "happened", "did-not", "skip"
_NOTE = "effect of {}: {}"

Ended = Literal["over", "waiting", "budget", "stop", "stopped", "ticks"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What a mirror may use before it is held again. None is no limit; a turn that has begun is finished."""

    tokens: int | None = None
    """Prompt and completion together."""
    usd: float | None = None
    """Of what has a price; calls without one count for nothing."""
    turns: int | None = None


NO_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class Resumed:
    """How far a mirror went."""

    run_id: str
    ended: Ended
    """`over`; `waiting` for a person or for nothing that moves; held for its `budget` or a `stop` condition; `stopped`
    by its world, see `why`; `ticks` used up."""
    why: str
    tokens: int
    usd: float
    turns: int
    status: str


def resume_mirror(
    mirror: Mirror,
    world: AgentWorld,
    *,
    answers: Mapping[str, str] | None = None,
    source: Run | None = None,
    budget: Budget = NO_BUDGET,
    stop: Callable[[Agent], bool] | None = None,
    max_ticks: int = 10_000,
    author: str = "",
) -> Resumed:
    """Let a mirror go on in a world until it is over, waits, or is held.

    `answers`: by call id, for each call that is pending without a result: `happened:TEXT`, `did-not`, or `skip`, which
    leaves it to the restart's word. Each is recorded as an edit. `stop` is asked after every step. A world that was
    given no tools gets `BranchTools` of `source`, by default the run that the mirror was just cut from. The run stays
    in the world and can be answered or resumed there.

    Raises CannotMirror while a call is unanswered, naming it, and whatever `reload_run` raises.
    """
    if mirror.id not in world.agents:
        answer_effects(mirror, answers or {}, author)
        _give_doubles(mirror, world, source or (mirror.cut.run if mirror.cut else None))
        reload_run(world, mirror.path, mirror.id)
    world.resume(mirror.id)
    try:
        return _carried_on(mirror.id, world, budget, stop, max_ticks)
    finally:
        mirror.refresh()


def answer_effects(mirror: Mirror, answers: Mapping[str, str], author: str = "") -> tuple[str, ...]:
    """Record what is known of open calls, and return the ids that were skipped.

    Raises CannotMirror, before anything is recorded, for an answer that is none, for a call that is not open, and
    where a call stays unanswered.
    """
    open_calls, left = mirror.open_calls, unanswered(mirror, answers)
    if left:
        names = ", ".join(left)
        raise CannotMirror(mirror.path, f"nobody said yet whether it happened (happened:TEXT, did-not, skip): {names}")
    for call, answer in answers.items():
        word, reason = _word(answer), _NOTE.format(call, _word(answer))
        if word == SKIP:
            mirror.note(reason, author)
        else:
            text = answer.partition(":")[2] if word == HAPPENED else DID_NOT
            mirror.edit(call=call, result=text, author=author, reason=reason)
    return tuple(call for call in open_calls if _word(answers.get(call, SKIP)) == SKIP)


def unanswered(mirror: Mirror, answers: Mapping[str, str]) -> tuple[str, ...]:
    """Open calls that neither these answers nor an earlier `skip` speak of.

    Raises CannotMirror for an answer that is none, and for one about a call that is not open.
    """
    open_calls = mirror.open_calls
    strange = [c for c in answers if c not in open_calls]
    wrong = [c for c, answer in answers.items() if _word(answer) is None]
    if strange:
        raise CannotMirror(mirror.path, f"no call {strange[0]!r} is open")
    if wrong:
        raise CannotMirror(mirror.path, f"the answer for {wrong[0]!r} is happened:TEXT, did-not or skip")
    skipped = {edit.reason for edit in mirror.edits if not edit.undone}
    return tuple(c for c in open_calls if c not in answers and _NOTE.format(c, SKIP) not in skipped)


def _word(answer: str) -> str | None:
    word, colon, _ = answer.partition(":")
    fits = (word == HAPPENED) if colon else word in (DID_NOT_WORD, SKIP)
    return word if fits else None


def _give_doubles(mirror: Mirror, world: AgentWorld, source: Run | None) -> None:
    """A world without tools gets those of a branch; a recording is asked for the turns that are done again too."""
    tools = world.tools
    if isinstance(tools, StubTools) and tools.otherwise is None and not tools.answers:
        world.tools = branch_tools(source)
    if isinstance(world.provider, RecordedProvider):
        world.provider = Retold(world.provider, iterations_ahead(mirror, world.provider.run))


def _carried_on(
    run_id: str, world: AgentWorld, budget: Budget, stop: Callable[[Agent], bool] | None, max_ticks: int
) -> Resumed:
    first = world[run_id]

    def told(ended: Ended, why: str = "") -> Resumed:
        now = world[run_id]
        return Resumed(run_id, ended, why, _tokens(now) - _tokens(first), _usd(now) - _usd(first),
                       now.meta.iteration - first.meta.iteration, now.meta.status)  # fmt: skip

    for _ in range(max_ticks):
        agent = world[run_id]
        if agent.over:
            return told("over", agent.meta.error or "")
        if world.why_stopped(run_id):
            return told("stopped", world.why_stopped(run_id))
        spent = _spent(first, agent, budget)
        if spent or (stop is not None and stop(agent)):
            world.pause(run_id)
            return told("budget" if spent else "stop", spent)
        if not world.tick():
            agent = world[run_id]
            stopped = world.why_stopped(run_id)
            ended: Ended = "over" if agent.over else "stopped" if stopped else "waiting"
            return told(ended, stopped or agent.meta.error or _waits_for(agent))
    world.pause(run_id)
    return told("ticks")


def _waits_for(agent: Agent) -> str:
    if agent.prompt is not None:
        return f"the question {agent.prompt.id} stands open"
    waits = agent.meta.waiting_on
    return waits.remedy if isinstance(waits, NeedsSetup) else ""


def _spent(first: Agent, now: Agent, budget: Budget) -> str:
    """Which limit is reached, in words."""
    used = {
        "tokens": (_tokens(now) - _tokens(first), budget.tokens),
        "usd": (_usd(now) - _usd(first), budget.usd),
        "turns": (now.meta.iteration - first.meta.iteration, budget.turns),
    }
    limits = [(what, spent, limit) for what, (spent, limit) in used.items() if limit is not None]
    return ", ".join(f"{spent} of {limit} {what}" for what, spent, limit in limits if spent >= limit)


def _tokens(agent: Agent) -> int:
    return agent.meta.prompt_tokens + agent.meta.completion_tokens


def _usd(agent: Agent) -> float:
    return agent.meta.cost_priced_usd
