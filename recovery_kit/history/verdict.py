"""The verdict: what happened to a run and how surely, in one frozen value and the few sentences that say it.

Never stronger than the bytes; no clock. Surfaces add how long ago that is, from a `now` they are given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from recovery_kit.display import SHAPES_ONLY, Drawn, Masker, duration_text, shown, time_text
from recovery_kit.records.findings import Finding

from .calls import Call
from .clock import Bucket
from .events import Event
from .findings import findings
from .story import Story
from .trips import Cost, Tokens, usage_totals
from .waits import Wait, is_terminal, wait_of


@dataclass(frozen=True, slots=True)
class Certain:
    """The last thing that is certain."""

    what: str
    at: int | None
    """Unix seconds."""
    offset: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Drawn):
    """What can be said of a run. Texts are raw: surfaces mask and escape them."""

    run_id: str
    agent: str | None
    task: str | None
    status: str | None
    """None where neither meta.json nor the journal tells it."""
    terminal: bool | None
    stage: str | None
    iteration: int | None
    moved_at: int | None
    """When iteration, stage or status last changed (Unix seconds); a heartbeat is not a move."""
    heartbeat_at: int | None
    wait: Wait
    last_certain: Certain | None
    unknown: tuple[Call, ...]
    """Calls that may have taken effect, wholly, partly or not at all."""
    tokens: Tokens
    cost: Cost
    seconds: Mapping[Bucket, int]
    """The time account; empty where no record is readable."""
    wall_seconds: int | None
    lives: int
    records: int
    """Readable records, those behind a tear included."""
    error: str | None
    damage: tuple[Finding, ...]
    """Findings of warning or worse."""
    masker: Masker = field(default=SHAPES_ONLY, compare=False)
    """Masks the run's own secrets on every surface."""

    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, the most important first."""
        said = [_status(self), _waits(self), *_unknown(self), _certain(self), _spent(self), _time(self), _damage(self)]
        return tuple(sentence for sentence in said if sentence)

    def __str__(self) -> str:
        return "\n".join(shown(sentence, self.masker) for sentence in self.sentences())

    __repr__ = __str__


def verdict(story: Story, masker: Masker = SHAPES_ONLY) -> Verdict:
    """The verdict of a run (verified)."""
    meta, state = story.best_meta, story.fold()
    told = state.skim_meta() if state else None
    account = story.time_account
    rows = findings(story)
    return Verdict(
        run_id=story.run_id,
        agent=meta.agent_name if meta else None,
        task=meta.task if meta else None,
        status=meta.status if meta else None,
        terminal=is_terminal(meta),
        stage=(state.window.stage_name if state else None) or (meta.current_stage if meta else None),
        iteration=told.iteration if told else meta.iteration if meta else None,
        moved_at=meta.last_progress_at if meta else None,
        heartbeat_at=meta.updated_at if meta else None,
        wait=wait_of(story.meta, story.files.fan_out, story.files.open_point),
        last_certain=last_certain(story),
        unknown=story.unknown_effects,
        tokens=usage_totals(story.trips),
        cost=story.cost,
        seconds=account.seconds if account else {},
        wall_seconds=account.wall_seconds if account else None,
        lives=len(story.lives),
        records=len(story.events),
        error=meta.error if meta else None,
        damage=tuple(row for row in rows if row.severity != "info"),
        masker=masker,
    )


def last_certain(story: Story) -> Certain | None:
    """The newest record that proves something was done, asked or answered; else the newest of all."""
    for event in reversed(story.events):
        what = _WHAT.get(event.kind)
        if what is not None:
            return Certain(what(event), event.at, event.offset)
    return Certain("the run was created", story.events[0].at, story.events[0].offset) if story.events else None


_WHAT = {
    "ToolCallDone": lambda e: (
        f"call {e.record.call_id} of turn {e.record.iteration} ended"
        if e.record.outcome != "indeterminate"
        else f"a restart gave call {e.record.call_id} of turn {e.record.iteration} up"
    ),
    "ToolBatch": lambda e: f"turn {e.record.iteration} handed out {_count(len(e.record.calls), 'call')}",
    "InferenceUsage": lambda e: f"{e.record.provider}/{e.record.model} answered turn {e.record.iteration}",
    "Interaction": lambda e: f"the question {e.record.request_id} was settled",
    "InferenceAttempt": lambda e: f"trip {e.record.attempt} to {e.record.provider}/{e.record.model} {_came(e)}",
    "StatusChanged": lambda e: f"the status became {e.record.status}",
    "Progress": lambda e: f"turn {e.meta.iteration} stood in stage {e.meta.current_stage or '(none)'}",
}


def _came(event: Event) -> str:
    return "was answered" if event.record.outcome == "succeeded" else "failed"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _status(v: Verdict) -> str:
    if v.status is None:
        return "Nothing tells how the run stands: meta.json and the journal cannot be read."
    where = f" in stage {v.stage}, iteration {v.iteration}" if v.stage else ""
    moved = f"; it last moved at {time_text(v.moved_at)}" if v.moved_at is not None else ""
    error = f": {v.error}" if v.error else ""
    return f"Its files say {v.status}{where}{moved}{error}."


def _waits(v: Verdict) -> str:
    if v.wait.reason is None:
        return "It waits for somebody to resume it." if v.status == "paused" else ""
    who = {True: "a person is needed", False: "no person is needed", None: "whether a person is needed is not said"}
    more = f" ({v.wait.blocker}: {v.wait.remedy})" if v.wait.blocker else ""
    more = f" ({v.wait.outstanding} outstanding)" if v.wait.outstanding is not None else more
    return f"It waits on {v.wait.reason.replace('_', ' ')}{more}; {who[v.wait.needs_person]}."


def _unknown(v: Verdict) -> list[str]:
    if not v.unknown and not v.records:
        return ["Whether an effect is unknown nobody can say: no record can be read."]
    if not v.unknown:
        return ["No effect is unknown: every call that was handed out has a result or a refusal on record."]
    n = len(v.unknown)
    head = f"{_count(n, 'effect')} unknown: handed out, no result held. Look before {'it is' if n == 1 else 'they are'} done again."
    return [head, *(f"  {c.call_id} {c.name}: {look_for(c)}" for c in v.unknown)]


LOOK_AT: dict[str, str] = {
    "shell": "what its command would have changed",
    "write_file": "whether the file is there with this content",
    "edit_file": "whether the file has the edit",
    "spawn_agent": "whether a child run exists already",
    "http_post": "whether the other side has it",
}
"""What to check in the world before a tool is used again."""


def look_for(call: Call) -> str:
    """Where a person should look, by the tool."""
    what = LOOK_AT.get(call.name, "whether it took effect")
    by = f", which restart {call.stood_in_by} covered with a text of its own" if call.stood_in_by is not None else ""
    return f"check {what}{by}"


def _certain(v: Verdict) -> str:
    if v.last_certain is None:
        return "Nothing is certain: no record can be read."
    at = f" at {time_text(v.last_certain.at)}" if v.last_certain.at is not None else ""
    return f"The last thing that is certain: {v.last_certain.what}{at}."


def _spent(v: Verdict) -> str:
    if not v.tokens.calls:
        return ""
    t, c = v.tokens, v.cost
    if c.total_usd is None:
        money = f"{c.priced_usd:.4f} USD known, {_count(c.unpriced_calls, 'bill')} without a figure"
    else:
        money = f"{c.total_usd:.4f} USD{'' if c.exact else ', not exact'}"
    return f"{_count(t.calls, 'bill')}: {t.prompt_tokens} prompt and {t.completion_tokens} completion tokens; {money}."


def _time(v: Verdict) -> str:
    if v.wall_seconds is None:
        return ""
    if v.wall_seconds == 0:
        return "All of it lies within one second."
    spent = ", ".join(f"{b.replace('_', ' ')} {duration_text(s)}" for b, s in v.seconds.items() if s)
    lives = f" in {_count(v.lives, 'life')}".replace("lifes", "lives") if v.lives > 1 else ""
    return f"Its {duration_text(v.wall_seconds)}{lives} went to: {spent or 'nothing'}."


def _damage(v: Verdict) -> str:
    if not v.damage:
        return "Nothing in its files is damaged or contradictory."
    kinds = dict.fromkeys(row.kind for row in v.damage)
    return f"{_count(len(v.damage), 'finding')} to look at: {', '.join(kinds)}."
