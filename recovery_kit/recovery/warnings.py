"""Findings about a restart: what the asked engine will get wrong, lose or repeat with a run (docs/findings.md)."""

from collections.abc import Iterator

from recovery_kit.formats import rundir
from recovery_kit.history.fold import Fold
from recovery_kit.history.layout import built_window
from recovery_kit.history.story import Story
from recovery_kit.records.engines import Engine
from recovery_kit.records.findings import Finding
from recovery_kit.records.meta import TERMINAL, TaintGate, ToolApproval, UserPrompt

from .outlook import Outlook, point_comes_back


def restart_findings(story: Story, rules: Engine, ahead: Outlook) -> tuple[Finding, ...]:
    """What somebody should know before that engine starts again."""
    return tuple(finding for finder in FINDERS for finding in finder(story, rules, ahead))


def _finished(story: Story, rules: Engine, ahead: Outlook) -> Iterator[Finding]:
    state = story.fold(rules)
    told = state.skim_meta() if state else None
    if ahead.resumes and told is not None and told.status in TERMINAL:
        text = f"the journal ends with {told.status}, and meta.json still says {story.meta.status if story.meta else '?'}"
        yield Finding("finished_run_would_resume", text, rundir.META, None, "starts it again")


def _prompts(story: Story, rules: Engine, ahead: Outlook) -> Iterator[Finding]:
    meta = story.meta
    if not ahead.resumes or meta is None:
        return
    if isinstance(meta.waiting_on, (ToolApproval, UserPrompt, TaintGate)) and meta.status in ("waiting_input", "paused"):
        text = "a question asked inside a batch stands open, and a restart does not bring it back"
        yield Finding("approval_not_carried_over", text, rundir.META, None, "gives the call up as interrupted")
    point = story.files.open_point
    if point is not None and story.blueprint is not None and point_comes_back(story) and rules.name != "kit":
        told = story.fold()
        index = told.skim_meta().stage_index if told and told.meta else meta.stage_index  # type: ignore[union-attr]
        points = story.blueprint.stages[index].interaction_points if index < len(story.blueprint.stages) else ()
        if point.cursor + 1 < len(points) or any(p.edit_options for p in points[point.cursor : point.cursor + 1]):
            text = "an edit, or an approval before further points, leaves the restored run with nothing driving it"
            yield Finding("prompt_stranded", text, rundir.INTERACTIONS, None, "stays running for good")


def _inline(story: Story, rules: Engine, ahead: Outlook) -> Iterator[Finding]:
    batch = next((e for e in reversed(story.events) if e.kind == "ToolBatch" and not e.behind_tear), None)
    if batch is None or not ahead.resumes or not batch.record.calls or any(c.result is None for c in batch.record.calls):
        return
    state = story.fold(rules)
    if state is None:
        return
    if state.pending is not None and state.pending.offset == batch.offset:
        text = "the recorded texts are put into the window without what the calls did to it"
        yield Finding("inline_batch_replayed", text, rundir.JOURNAL, batch.offset)
    elif rules.settles_inline and ahead.turn_repeated:
        text = f"turn {batch.record.iteration} is asked for and paid for again"
        yield Finding("inline_batch_reissued", text, rundir.JOURNAL, batch.offset)


def _regions(story: Story, rules: Engine, ahead: Outlook) -> Iterator[Finding]:
    state = story.fold(rules)
    if not ahead.resumes or state is None:
        return
    if story.blueprint is not None and rules.name != "kit":
        kept = {region.name for region in built_window(story.blueprint, rules=rules).regions}
        lost = [r.name for r in state.window.regions if r.name not in kept and r.entries()]
        if lost:
            text = f"regions that only a later stage declares hold entries: {', '.join(lost)}"
            yield Finding("regions_lost_on_reload", text, rundir.JOURNAL, None, "drops them")
    total = _tokens(state)
    if state.window.max_tokens and total > state.window.max_tokens:
        text = f"the restored window holds {total} tokens, its ceiling is {state.window.max_tokens}"
        yield Finding("restart_window_larger_than_last_seen", text, rundir.JOURNAL)


def _tokens(state: Fold) -> int:
    return sum(entry.tokens for region in state.window.regions for entry in region.entries())


def _fan_out(story: Story, rules: Engine, ahead: Outlook) -> Iterator[Finding]:
    fan_out = story.files.fan_out
    if fan_out is None or not ahead.resumes:
        return
    if ahead.fan_out_after is not None and ahead.fan_out_after.dropped:
        text = "the fan-out is restored and dropped on the first pass, the workers' results with it"
        yield Finding("fan_out_forgotten", text, rundir.FAN_OUT, None, "asks the parent's model again")
    if fan_out.paused:
        yield Finding("fan_out_is_paused", "the fan-out itself is paused", rundir.FAN_OUT)
    for item, run_id in fan_out.active:
        worker = story.neighbour(run_id) if story.neighbour else None
        if worker is None:
            continue
        if worker.status in TERMINAL:
            text = f"the worker of {item} ended ({worker.status}) before its parent took the result"
            yield Finding("finished_worker_will_count_as_failed", text, rundir.FAN_OUT)
        elif worker.status == "paused":
            yield Finding("waits_for_paused_worker", f"the worker of {item} is paused", rundir.FAN_OUT)


def _scripts(story: Story, rules: Engine, ahead: Outlook) -> Iterator[Finding]:
    facts = story.blueprint_facts(rules)
    if facts.engine_reads == rundir.BLUEPRINT:
        for name in facts.scripts_missing:
            yield Finding("blueprint_script_missing", name, rundir.BLUEPRINT, None, "ends the run as error")


FINDERS = (_finished, _prompts, _inline, _regions, _fan_out, _scripts)
