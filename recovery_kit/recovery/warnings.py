"""Findings about a restart: what the asked engine will get wrong, lose or repeat with a run (docs/findings.md)."""

from collections.abc import Iterator

from recovery_kit.formats import rundir
from recovery_kit.history.story import Story
from recovery_kit.records.engines import Engine
from recovery_kit.records.findings import Finding
from recovery_kit.records.meta import TERMINAL, TaintGate, ToolApproval, UserPrompt

from .outlook import Outlook
from .restoring import Restored


def restart_findings(story: Story, rules: Engine, ahead: Outlook, after: Restored | None) -> tuple[Finding, ...]:
    """What somebody should know before that engine starts again."""
    found = [*_unseen(story, rules), *_scripts(story, rules)]
    if ahead.resumes and after is not None:
        found += [finding for finder in FINDERS for finding in finder(story, rules, ahead, after)]
    return tuple(found)


def _unseen(story: Story, rules: Engine) -> Iterator[Finding]:
    told = story.files.parsed(rundir.META, rules)
    if told.value is None and story.meta is not None:
        text = (
            f"{rules.name} cannot read what a newer engine wrote into meta.json: {(told.why or '').replace('_', ' ')}"
        )
        yield Finding("meta_unreadable", text, rundir.META, None, "does not see the run at all")


def _scripts(story: Story, rules: Engine) -> Iterator[Finding]:
    facts = story.blueprint_facts(rules)
    if facts.engine_reads == rundir.BLUEPRINT:
        for name in facts.scripts_missing:
            yield Finding("blueprint_script_missing", name, rundir.BLUEPRINT, None, "ends the run as error")


def _finished(story: Story, rules: Engine, ahead: Outlook, after: Restored) -> Iterator[Finding]:
    state = story.fold(rules)
    told = state.skim_meta() if state else None
    if told is not None and told.status in TERMINAL:
        text = (
            f"the journal ends with {told.status}, and meta.json still says {story.meta.status if story.meta else '?'}"
        )
        yield Finding("finished_run_would_resume", text, rundir.META, None, "starts it again")


def _prompts(story: Story, rules: Engine, ahead: Outlook, after: Restored) -> Iterator[Finding]:
    waiting = story.meta.waiting_on if story.meta and story.meta.status in ("waiting_input", "paused") else None
    if isinstance(waiting, (ToolApproval, UserPrompt, TaintGate)):
        text = "a question asked inside a batch stands open, and a restart does not bring it back"
        yield Finding("approval_not_carried_over", text, rundir.META, None, "gives the call up as interrupted")
    if after.point is not None and after.point.prompt_stranded:
        text = f"answering the restored question ({', '.join(after.point.strands_on)}) leaves the run with nothing driving it"
        yield Finding("prompt_stranded", text, rundir.INTERACTIONS, None, "stays running for good")


def _inline(story: Story, rules: Engine, ahead: Outlook, after: Restored) -> Iterator[Finding]:
    batch = next((e for e in reversed(story.events) if e.kind == "ToolBatch" and not e.behind_tear), None)
    if batch is None or not batch.record.calls or any(call.result is None for call in batch.record.calls):
        return
    if after.agent.pending is not None and after.agent.pending.offset == batch.offset:
        text = "the recorded texts are put into the window without what the calls did to it"
        yield Finding("inline_batch_replayed", text, rundir.JOURNAL, batch.offset)
    elif rules.settles_inline and ahead.turn_repeated:
        text = f"turn {batch.record.iteration} is asked for and paid for again"
        yield Finding("inline_batch_reissued", text, rundir.JOURNAL, batch.offset)


def _window(story: Story, rules: Engine, ahead: Outlook, after: Restored) -> Iterator[Finding]:
    lost = [region.name for region in after.agent.lost]
    if lost:
        text = f"regions that the restored window does not have hold entries: {', '.join(lost)}"
        yield Finding("regions_lost_on_reload", text, rundir.JOURNAL, None, "drops them")
    if after.window.max_tokens and after.window.total_tokens > after.window.max_tokens:
        text = f"the restored window holds {after.window.total_tokens} tokens, its ceiling is {after.window.max_tokens}"
        yield Finding("restart_window_larger_than_last_seen", text, rundir.JOURNAL)


def _fan_out(story: Story, rules: Engine, ahead: Outlook, after: Restored) -> Iterator[Finding]:
    fan_out = story.files.fan_out
    if fan_out is None or after.fan_out is None:
        return
    if after.fan_out.dropped:
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


FINDERS = (_finished, _prompts, _inline, _window, _fan_out)
