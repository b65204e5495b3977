"""One run restored, on paper: the restore functions given what its files and its manifest say."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from msgspec.structs import replace

from recovery_kit.formats import rundir
from recovery_kit.formats.skim import skim_meta
from recovery_kit.history.fold import Fold
from recovery_kit.history.story import Story
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import Window
from recovery_kit.restore.agent import RestoredAgent, restore_agent
from recovery_kit.restore.batch import RestoredBatch, restore_pending_batch
from recovery_kit.restore.fan_out import RestoredFanOut, restore_fan_out
from recovery_kit.restore.ledger import RestoredLedger, restore_stage_ledger
from recovery_kit.restore.point import RestoredPoint, restore_interaction_point

Reloads = Callable[[str], bool | None]
"""Whether a run of the same folder comes back; None where nobody can be asked."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What the restore functions make of a run."""

    state: Fold | None
    """The fold that decides, None where the JSON pair does."""
    agent: RestoredAgent
    batch: RestoredBatch | None
    point: RestoredPoint | None
    ledger: RestoredLedger
    fan_out: RestoredFanOut | None
    window: Window
    """After the replay of the batch."""


def deciding_fold(story: Story, rules: Engine) -> Fold | None:
    """The fold that a restart goes by. Engines take their own; `kit` reads behind tears, and brings back a batch that
    the fold has dropped."""
    state = story.fold(rules)
    if rules.reads_behind_tears and story.fold_with_salvage is not None:
        state = story.fold_with_salvage
    if rules.replays_hidden_batches and state is not None and state.pending is None and story.hidden_pending:
        state = replace(state, pending=story.hidden_pending)
    return state


def answered_since(story: Story) -> bool:
    """Whether the journal has the answer to the question of `interactions.json`, and a step that goes on from it.

    Between the journal and the file's removal a crash leaves an answered question that looks open (W9). An answer
    without a step behind it has led nowhere: the question stands.
    """
    if story.files.open_point is None:
        return False
    went_on = False
    for event in reversed([event for event in story.events if not event.behind_tear]):
        if event.kind == "Progress":
            if skim_meta(event.record.meta).status == "waiting_input":
                return False
            went_on = True
        if event.kind == "Interaction" and "-point-" in event.record.request_id:
            return went_on
    return False


def restored(story: Story, rules: Engine, blueprint: Blueprint | None, reloads: Reloads) -> Restored | None:
    """The run after a reload; None where `meta.json` does not tell that engine what it is (5.2; 0.5-to-0.6 N19)."""
    meta: RunMeta | None = story.files.parsed(rundir.META, rules).value
    if meta is None:
        return None
    state = deciding_fold(story, rules)
    agent = restore_agent(state, meta, story.files.parsed(rundir.CONTEXT, rules).value, blueprint, rules)
    batch = restore_pending_batch(agent.pending, meta.children, rules)
    asked = None if rules.closes_answered_points and answered_since(story) else story.files.open_point
    point = restore_interaction_point(asked, agent.stage, meta.run_id, rules)
    ledger = restore_stage_ledger(
        blueprint, story.files.parsed(rundir.STAGES, rules).value or (), meta.updated_at, rules
    )
    fan_out = restore_fan_out(story.files.parsed(rundir.FAN_OUT, rules).value, _reloaded(story, reloads), rules)
    window = batch.applied(agent.window, agent.placing, rules).window if batch else agent.window
    return Restored(state, agent, batch, point, ledger, fan_out, window)


def _reloaded(story: Story, reloads: Reloads) -> Collection[str]:
    """Workers that come back; one that nobody can be asked about is taken to."""
    fan_out = story.files.fan_out
    return {run_id for _, run_id in fan_out.active if reloads(run_id) is not False} if fan_out else ()
