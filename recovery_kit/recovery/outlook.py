"""What a restart would do with one run, for a named engine: decided from the files, said before anybody starts it.

Rules: leviath-run-directory 5; 0.5-to-0.6 N13 to N15. The manifest's own questions (does the stage present points, which
regions does it declare) are answered from the run's copy where there is one, else taken as the files suggest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from recovery_kit.history.calls import Call
from recovery_kit.history.fold import Fold
from recovery_kit.history.story import Story
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import TERMINAL, AtInteractionPoint, NeedsSetup, RunMeta
from recovery_kit.restore.classify import Priority, can_page_in, classify_restore

WindowSource = Literal["journal", "json_pair"]

SUBAGENT_TOOLS = frozenset({"spawn_agent", "check_agent", "wait_for_agent", "send_to_agent", "kill_agent"})
"""Calls whose stand-in names the children that exist (5.7). By exact name."""


@dataclass(frozen=True, slots=True)
class FanOutAfter:
    """A fan-out as restore attaches it: item ids."""

    active: tuple[str, ...]
    pending: tuple[str, ...]
    failed: Mapping[str, str]
    """Item id to `recorded` or `worker_did_not_reload`."""
    summaries: tuple[str, ...]
    dropped: bool
    """That engine drops it again on its first pass, the workers' results with it."""


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
    window_source: WindowSource
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
    fan_out_after: FanOutAfter | None


def outlook(story: Story, rules: Engine) -> Outlook:
    """The outlook of a run under an engine's rules (verified)."""
    meta, state = story.meta, story.fold(rules)
    verdict = classify_restore(meta, story.files.parsed("fanout.json").present)
    facts = story.blueprint_facts(rules)
    script_missing = facts.engine_reads == "blueprint.leviath" and bool(facts.scripts_missing)
    resumes = verdict.loaded and not script_missing
    why = verdict.why_not or ("blueprint_script_missing" if script_missing else None)
    why_text = verdict.why
    if script_missing and verdict.loaded:
        why_text = f"its own blueprint.leviath names {', '.join(facts.scripts_missing)}, which lies not beside it"
    told = state.skim_meta() if state else meta
    pending = state.pending if state else None
    interrupted = tuple(call.id for call, result in pending.calls() if result is None) if pending else ()
    return Outlook(
        resumes=resumes,
        why=why,
        why_text=why_text,
        priority=verdict.priority,
        on_demand=can_page_in(meta, rules),
        status_after=_status_after(story, meta, rules, resumes, why),
        window_source="journal" if state else "json_pair",
        stage_index=told.stage_index if told else None,
        stage_name=_stage_name(story, state, told.current_stage if told else None),
        iteration=told.iteration if told else None,
        prompt_tokens=told.prompt_tokens if told else None,
        completion_tokens=told.completion_tokens if told else None,
        turn_repeated=_turn_repeated(story, state),
        assistant_turns_added=1 if pending and rules.replays_batches else 0,
        tool_results_added=len(pending.batch.calls) if pending and rules.replays_batches else 0,
        interrupted=interrupted,
        check_before_repeating=_look_first(story.unknown_effects),
        children_named_for=_children(meta, state, interrupted),
        prompt_shown_again=_shown_again(story, meta),
        reason_survives=rules.restores_setup_reason if meta and isinstance(meta.waiting_on, NeedsSetup) else None,
        fan_out_after=_fan_out(story, rules),
    )


def _look_first(unknown: tuple[Call, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.call_id for call in unknown))


def _stage_name(story: Story, state: Fold | None, named: str | None) -> str | None:
    if state is not None:
        return state.window.stage_name or named
    return (story.files.context.stage_name if story.files.context else None) or named


def _status_after(story: Story, meta: RunMeta | None, rules: Engine, resumes: bool, why: str | None) -> str | None:
    if meta is None:
        return None
    if not resumes:
        return "error" if why == "blueprint_script_missing" else meta.status
    if point_comes_back(story):
        return "waiting_input"
    return "paused" if meta.status == "paused" and rules.restores_paused else "running"


def point_comes_back(story: Story, blueprint: Blueprint | None = None) -> bool:
    """Whether an interaction point is presented again: `interactions.json` parses, and the restored stage has that
    point (5.8). Without a manifest at hand the stage is taken to have it."""
    point = story.files.open_point
    if point is None:
        return False
    blueprint = blueprint or story.blueprint
    state = story.fold()
    told = state.skim_meta() if state else story.meta
    if blueprint is None or told is None or told.stage_index >= len(blueprint.stages):
        return True
    stage = blueprint.stages[told.stage_index]
    return stage.mode == "interactive_points" and point.cursor < len(stage.interaction_points)


def _shown_again(story: Story, meta: RunMeta | None) -> bool | None:
    if meta is None or not any(prompt.settlement == "open" for prompt in story.prompts):
        return None
    return isinstance(meta.waiting_on, AtInteractionPoint) and point_comes_back(story)


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
        return newest > told.iteration
    if state.pending is not None and state.pending.offset == batch.offset:
        return False
    return not story.turn_told(batch, state)


def _answers_a_turn(kind: str, record: object) -> bool:
    return kind == "ToolBatch" or (kind == "InferenceUsage" and getattr(record, "kind", "") == "stage")


def _children(meta: RunMeta | None, state: Fold | None, interrupted: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if meta is None or not meta.children or state is None or state.pending is None:
        return {}
    calls = [call for call, result in state.pending.calls() if result is None]
    return {call.id: meta.children for call in calls if call.name in SUBAGENT_TOOLS}


def _fan_out(story: Story, rules: Engine) -> FanOutAfter | None:
    fan_out = story.files.fan_out
    if fan_out is None:
        return None
    lives = {item: _reloads(story, run) for item, run in fan_out.active}
    failed = {item: "recorded" for item, _ in fan_out.failures}
    failed |= {item: "worker_did_not_reload" for item, reloads in lives.items() if reloads is False}
    return FanOutAfter(
        tuple(item for item, reloads in lives.items() if reloads is not False),
        tuple(item.id for item in fan_out.pending),
        failed,
        tuple(item for item, _ in fan_out.summaries),
        not rules.keeps_fan_out,
    )


def _reloads(story: Story, run_id: str) -> bool | None:
    """Whether a worker comes back; None where its folder cannot be asked."""
    if story.neighbour is None:
        return None
    meta = story.neighbour(run_id)
    return meta is not None and meta.status not in TERMINAL
