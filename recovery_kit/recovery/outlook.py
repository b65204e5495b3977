"""What a restart would do with one run, for a named engine: decided from the files, said before anybody starts it.

Rules: leviath-run-directory 5; 0.5-to-0.6 N13 to N15. The manifest's own questions (does the stage present points, which
regions does it declare) are answered from the run's copy where there is one, else taken as the files suggest.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from recovery_kit.formats import rundir
from recovery_kit.history.calls import Call
from recovery_kit.history.fold import Fold
from recovery_kit.history.story import Story
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import TERMINAL, AtInteractionPoint, NeedsSetup, RunMeta
from recovery_kit.restore.classify import Priority, can_page_in, classify_restore
from recovery_kit.restore.fan_out import RestoredFanOut

from .restoring import Reloads, Restored, restored


@dataclass(frozen=True, slots=True)
class Outlook:
    """What becomes of a run when its engine starts again."""

    resumes: bool
    why: str | None
    """Why not: `terminal`, `meta_unreadable`, `blueprint_script_missing`."""
    why_text: str
    priority: Priority | None
    on_demand: bool
    """`resume`, `pause` or a message would page it in."""
    status_after: str | None
    """Right after the reload, before any answer; of a run that does not resume, the one on disk."""
    window_source: str
    """`journal` or `json_pair`."""
    stage_index: int | None
    stage_name: str | None
    iteration: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    turn_repeated: bool | None
    """The newest answered turn is neither in the window nor pending: it is asked for and paid for again."""
    assistant_turns_added: int
    tool_results_added: int
    interrupted: tuple[str, ...]
    """Ids of pending calls that come back verify-first."""
    check_before_repeating: tuple[str, ...]
    """Ids of calls whose effect nobody can tell from the files, those that an earlier restart covered included."""
    children_named_for: Mapping[str, tuple[str, ...]]
    prompt_shown_again: bool | None
    """None where no prompt is open."""
    reason_survives: bool | None
    fan_out_after: RestoredFanOut | None


def outlook(story: Story, rules: Engine, after: Restored | None = None) -> Outlook:
    """The outlook of a run under an engine's rules (verified). `after` is the run restored, where that is known already."""
    after = after or restored(story, rules, story.blueprint, worker_reloads(story))
    meta: RunMeta | None = story.files.parsed(rundir.META, rules).value
    state = after.state if after else story.fold(rules)
    verdict = classify_restore(meta, story.files.parsed(rundir.FAN_OUT).present)
    facts = story.blueprint_facts(rules)
    script_missing = facts.engine_reads == "blueprint.leviath" and bool(facts.scripts_missing)
    resumes = verdict.loaded and not script_missing
    why = verdict.why_not or ("blueprint_script_missing" if script_missing else None)
    why_text = verdict.why
    if script_missing and verdict.loaded:
        why_text = f"its own blueprint.leviath names {', '.join(facts.scripts_missing)}, which lies not beside it"
    told = state.skim_meta() if state else meta
    batch = after.batch if after and resumes else None
    return Outlook(
        resumes=resumes,
        why=why,
        why_text=why_text,
        priority=verdict.priority,
        on_demand=can_page_in(meta, rules),
        status_after=_status_after(after, meta, rules, resumes, why),
        window_source="journal" if state else "json_pair",
        stage_index=told.stage_index if told else None,
        stage_name=_stage_name(story, rules, state, told.current_stage if told else None),
        iteration=told.iteration if told else None,
        prompt_tokens=told.prompt_tokens if told else None,
        completion_tokens=told.completion_tokens if told else None,
        turn_repeated=_turn_repeated(story, state),
        assistant_turns_added=1 if batch else 0,
        tool_results_added=len(batch.calls) if batch else 0,
        interrupted=batch.stood_in if batch else (),
        check_before_repeating=_look_first(story.unknown_effects),
        children_named_for=batch.children_named if batch else {},
        prompt_shown_again=_shown_again(story, story.meta, after),
        reason_survives=_reason_survives(story.meta, rules),
        fan_out_after=after.fan_out if after and resumes else None,
    )


def _look_first(unknown: tuple[Call, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.call_id for call in unknown))


def _stage_name(story: Story, rules: Engine, state: Fold | None, named: str | None) -> str | None:
    if state is not None:
        return state.window.stage_name or named
    context = story.files.parsed(rundir.CONTEXT, rules).value
    return (context.stage_name if context else None) or named


def _status_after(
    after: Restored | None, meta: RunMeta | None, rules: Engine, resumes: bool, why: str | None
) -> str | None:
    if meta is None:
        return None
    if not resumes:
        return "error" if why == "blueprint_script_missing" else meta.status
    if after is not None and after.point is not None and after.point.shown:
        return "waiting_input"
    return "paused" if meta.status == "paused" and rules.restores_paused else "running"


def _shown_again(story: Story, meta: RunMeta | None, after: Restored | None) -> bool | None:
    if meta is None or not any(prompt.settlement == "open" for prompt in story.prompts):
        return None
    shown = after is not None and after.point is not None and after.point.shown
    return shown and (meta.waiting_on is None or isinstance(meta.waiting_on, AtInteractionPoint))


def _reason_survives(meta: RunMeta | None, rules: Engine) -> bool | None:
    return rules.restores_setup_reason if meta and isinstance(meta.waiting_on, NeedsSetup) else None


def _turn_repeated(story: Story, state: Fold | None) -> bool | None:
    if state is None:
        return None
    told = state.skim_meta()
    turns = [e for e in story.events if not e.behind_tear and _answers_a_turn(e.kind, e.record)]
    if not turns or told is None:
        return False
    newest = max(e.record.iteration for e in turns)
    batch = next((e for e in reversed(turns) if e.kind == "ToolBatch" and e.record.iteration == newest), None)
    if batch is None:
        return bool(newest > told.iteration)
    if state.pending is not None and state.pending.offset == batch.offset:
        return False
    return not story.turn_landed(batch, state)


def _answers_a_turn(kind: str, record: object) -> bool:
    return kind == "ToolBatch" or (kind == "InferenceUsage" and getattr(record, "kind", "") == "stage")


def worker_reloads(story: Story) -> Reloads:
    """Whether another run of the folder comes back, by its `meta.json`; None where its folder cannot be asked."""

    def reloads(run_id: str) -> bool | None:
        if story.neighbour is None:
            return None
        meta = story.neighbour(run_id)
        return meta is not None and meta.status not in TERMINAL

    return reloads
