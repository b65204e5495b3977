"""What the model is sent from a moment of a run, by the process that was there or right after a restart.

Belongs here: putting together what the request depends on (window, stage, what that process had entered and sent).
How a window becomes a request is in `world.request`, what a restart makes of a window in `restore`.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from recovery_kit.history.events import Event
from recovery_kit.history.fold import Fold, Point, fold
from recovery_kit.history.layout import stages_entered
from recovery_kit.history.story import Story
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import NEWEST, Engine, engine
from recovery_kit.records.window import Window
from recovery_kit.restore.agent import restore_agent
from recovery_kit.restore.batch import restore_pending_batch
from recovery_kit.runs.moment import State
from recovery_kit.world.acceptance import Violation, violations
from recovery_kit.world.request import Request, assemble
from recovery_kit.world.situation import Situation


@dataclass(frozen=True, slots=True)
class PromptView:
    """A request, whether a vendor would take it, and what it assumes. Texts are raw."""

    request: Request
    api: str | None
    """The vendor's API that was asked about; None if none was."""
    violations: tuple[Violation, ...]
    """What that vendor would refuse; empty if nothing is known against it."""
    assumes: tuple[str, ...]
    """What the files do not say, a sentence each."""

    def as_json(self) -> dict[str, Any]:
        """`system`, `messages`, tools and limits in the engine's neutral form, and the rest."""
        refused = [_violation_json(violation) for violation in self.violations]
        request = self.request.as_json(whole=True)
        return request | {"api": self.api, "violations": refused, "assumes": list(self.assumes)}


def _violation_json(violation: Violation) -> dict[str, Any]:
    return {
        "rule": violation.rule,
        "sentence": violation.sentence,
        "entry": str(violation.place) if violation.place.region else None,
        "id": violation.id or None,
        "certain": violation.certain,
    }


def prompt_view(
    state: State,
    api: str | None = None,
    blueprint: Blueprint | None = None,
    after_restart: bool = False,
    rules: Engine | None = None,
) -> PromptView:
    """The request that goes out next from a state of a run (verified; leviath-requests).

    `api`: `anthropic` or `openai`, whose refusals are wanted. `blueprint`: by default the run's own copy.
    `after_restart`: of a process that has just restored the run there, stand-ins and all; else of the process that
    wrote that moment. Raises ValueError for another api.
    """
    story = state.story
    if story is None:
        raise ValueError("a state that was made by hand has no run to ask")
    rules = rules or engine(NEWEST)
    blueprint = blueprint or story.blueprint
    window, stage, situation, assumes = (_restored if after_restart else _as_it_was)(story, state, blueprint, rules)
    request = assemble(window, blueprint, stage, situation)
    refused = violations(request, api) if api is not None else ()
    return PromptView(request, api, refused, (*request.unknown, *assumes))


_Situated = tuple[Window, str, Situation, tuple[str, ...]]


def _as_it_was(story: Story, state: State, blueprint: Blueprint | None, rules: Engine) -> _Situated:
    blob = _blob(story)
    assumes = []
    if state.pending is not None:
        assumes.append("a batch is out: the request really goes out when its results are in the window")
    mine = _of_that_life(story, state)
    if blueprint is None or mine is None:
        return state.window, state.stage, Situation(rules=rules, blob=blob), tuple(assumes)
    events, restarted = mine
    points = [point for point in story.points if point.offset in events]
    changed = {name: point.at for point in points for name in _changed(point.changed, point.window.regions)}
    trips = [event for event in events.values() if event.kind == "InferenceAttempt"]
    situation = Situation(
        rules=rules,
        entered=stages_entered(blueprint, [point.window.stage_name for point in points], restarted),
        blob=blob,
        changed_at=changed,
        previous_hash=trips[-1].record.digest.system_hash if trips else None,
        shortfall=_shortfall(list(events.values()), points),
    )
    return state.window, state.stage, situation, tuple(assumes)


def _shortfall(events: list[Event], points: list[Point]) -> int:
    """How much more a prompt was billed than the window before it counts, at most (R11.1). Parts sent as bytes, which
    the engine takes off, are not looked at."""
    held, most = {point.offset: point.window.total_tokens for point in points}, 0
    counted: int | None = None
    for event in events:
        counted = held.get(event.offset, counted)
        if event.kind == "ContextTransaction" and counted is not None:
            counted += sum(region.tokens_after - region.tokens_before for region in event.record.regions)
        if event.kind == "InferenceUsage" and event.record.kind == "stage" and counted is not None:
            most = max(most, event.record.prompt_tokens - counted)
    return most


def _changed(names: tuple[str, ...] | None, regions: Any) -> tuple[str, ...]:
    return tuple(region.name for region in regions) if names is None else names


def _of_that_life(story: Story, state: State) -> tuple[dict[int, Event], bool] | None:
    """The records, by offset, that the life which wrote a state had written by then; whether it took the run over."""
    if state.offset is None:
        return None
    until = state.offset
    before = takewhile(lambda event: not event.behind_tear and event.offset <= until, story.events)
    life = story.life_of(until)
    return {event.offset: event for event in before if story.life_of(event.offset) is life}, life.index > 0


def _restored(story: Story, state: State, blueprint: Blueprint | None, rules: Engine) -> _Situated:
    meta = state.meta or story.best_meta
    if meta is None:
        return (
            state.window,
            state.stage,
            Situation(rules=rules, blob=_blob(story)),
            ("nothing tells how the run stood",),
        )
    restored = restore_agent(_fold_until(story, state, rules), meta, story.files.context, blueprint, rules)
    batch = restore_pending_batch(restored.pending, meta.children, rules)
    window = restored.window if batch is None else batch.applied(restored.window, restored.placing, rules).window
    stage = restored.stage.name if restored.stage else restored.stage_name
    return window, stage, Situation(rules=rules, entered=restored.entered, blob=_blob(story)), restored.assumes


def _fold_until(story: Story, state: State, rules: Engine) -> Fold | None:
    """What that engine folds of the records up to a state."""
    if state.offset is None:
        return None
    reading = story.reading(rules)
    count = sum(1 for frame in reading.frames if reading.offset(frame) <= state.offset)
    return fold(reading, count)


def _blob(story: Story) -> Any:
    def blob(sha256: str) -> bytes | None:
        data = story.files.blob(sha256)
        return None if data is None else bytes(data)

    return blob
