"""What a run did, as a list of steps that can be laid beside another run's: turns of the model and its calls.

A step is told by meaning: a call by its name and arguments, a text by its words. Which steps lie before a cut is told
by the mirror's own lineage.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from recovery_kit.history.windows import text_of
from recovery_kit.records.journal import Checkpoint
from recovery_kit.runs.moment import State
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.points_named import moment, point_name, records_until
from recovery_kit.runs.run import Run
from recovery_kit.world.recorded import recorded_turns

from .cutting import batch_out
from .mirror import Mirror
from .origin import Origin, read_origin

StepKind = Literal["text", "call"]


@dataclass(frozen=True, slots=True)
class Step:
    """Something the model said, or a call it asked for, with what came of it. Texts are raw."""

    kind: StepKind
    name: str
    """Of the tool; empty for a text."""
    text: str
    """What was said, or the call's arguments as JSON with sorted keys."""
    result: str | None
    certainty: str | None
    """Of a call."""
    iteration: int
    offset: int
    """Of its record."""
    model: str = ""

    @property
    def meaning(self) -> tuple[str, str, str]:
        """Steps of equal meaning are the same step."""
        return self.kind, self.name, self.text.strip()


@dataclass(frozen=True)
class Branch:
    """A run, up to some moment, as one side of a comparison."""

    run: Run
    label: str
    state: State
    """How it stands at the end that was asked for."""
    origin: Origin | None
    steps: tuple[Step, ...]
    """All of its own journal up to there."""
    begins: int
    """Byte from which its journal tells of this branch alone; 0 for a run that is no mirror."""
    mirror: Mirror | None

    def after(self, offset: int) -> tuple[Step, ...]:
        """Steps whose record begins at or behind a byte."""
        return tuple(step for step in self.steps if step.offset >= offset)


def branch(thing: Any) -> Branch:
    """One side: a run, a mirror, a path, or a pair of one of them and a moment's name."""
    what, at = thing if isinstance(thing, tuple) else (thing, "end")
    run = what.run if isinstance(what, Mirror) else what if isinstance(what, Run) else open_run(what)
    state = moment(run, at)
    origin = read_origin(run.meta.metadata) if run.meta else None
    name = point_name(at)
    limit = None if name.naming == "end" else _end_of(run, records_until(run, name))
    steps = tuple(step for step in steps_of(run) if limit is None or step.offset < limit)
    label = run.id if name.naming == "end" else f"{run.id}@{name}"
    mirror = what if isinstance(what, Mirror) else Mirror(run.folder) if origin and run.folder else None
    return Branch(run, label, state, origin, steps, _begins(run, origin), mirror)


def _end_of(run: Run, records: int) -> int:
    reading = run.story.reading()
    last = reading.frames[records - 1]
    return reading.offset(last) + 8 + run.journal.framing.lengths[last]


def _begins(run: Run, origin: Origin | None) -> int:
    """Behind the records that were copied with the history, from a batch that was out on."""
    if origin is None:
        return 0
    reading = run.story.reading()
    for place, (number, kind) in enumerate(reading, 1):
        if kind == "Checkpoint":
            record = reading.record(number)
            here = read_origin(record.meta.metadata) if isinstance(record, Checkpoint) else None
            if here is not None and here.journal_sha256 == origin.journal_sha256:
                out = batch_out(run, place)
                return reading.offset(number) if out is None else out
    return 0


def steps_of(run: Run) -> tuple[Step, ...]:
    """Every turn and call that the journal holds, in file order; those behind a tear are left out."""
    steps: list[Step] = []
    models = {}
    for turn in recorded_turns(run):
        models[turn.usage.iteration] = f"{turn.usage.provider}/{turn.usage.model}"
        if turn.batch is None and turn.entry is not None:
            usage, text = turn.usage, text_of(turn.entry.content)
            steps.append(Step("text", "", text, None, None, usage.iteration, turn.offset, models[usage.iteration]))
    for event in run.records:
        if event.kind == "ToolBatch" and not event.behind_tear and event.record.response.strip():
            batch = event.record
            model = models.get(batch.iteration, "")
            steps.append(Step("text", "", batch.response, None, None, batch.iteration, event.offset, model))
    for call in run.effects:
        if not call.behind_tear:
            steps.append(
                Step(
                    "call", call.name, sorted_arguments(call.arguments), call.result, call.certainty, call.iteration,
                    call.offset, models.get(call.iteration, ""),
                )
            )  # fmt: skip
    return tuple(sorted(steps, key=lambda step: step.offset))


def sorted_arguments(text: str) -> str:
    """Arguments in one spelling; what is no JSON as it stands."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
