"""What is damaged, contradictory, lost or suspicious in a run, whichever engine is asked.

One small function a concern, listed in `FINDERS`; the kinds are the closed list of `records.findings`. What depends on
what an engine would do at a restart is found further up, with the restart.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from recovery_kit.display import mask
from recovery_kit.formats import rundir
from recovery_kit.records.findings import Finding
from recovery_kit.records.journal import KINDS
from recovery_kit.records.window import AssistantTurn

from .events import Event
from .fold import landed
from .story import Story
from .windows import NO_WINDOW, WindowView, applied, touched, whole

SAFE_ID = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
"""A run id that readers accept (leviath-run-directory 1.2)."""


def findings(story: Story) -> tuple[Finding, ...]:
    """All findings of a run but those about a restart, by the order of `FINDERS`."""
    return tuple(finding for finder in FINDERS for finding in finder(story))


def _journal_refused(story: Story) -> Iterator[Finding]:
    error = story.journal.error
    said = {
        "empty_file": "run.lvr is empty",
        "short_preamble": "run.lvr ends inside its six-byte preamble",
        "bad_magic": "run.lvr does not begin with LVR1",
        "newer_version": f"run.lvr is of framing version {story.journal.framing.version}, newer than the kit reads",
    }
    if error in said:
        yield Finding(error, said[error], rundir.JOURNAL, 0, "goes by meta.json and context.json")


def _tear(story: Story) -> Iterator[Finding]:
    framing, salvage = story.journal.framing, story.journal.salvage
    if framing.torn_bytes:
        text = f"{framing.torn_bytes} bytes after the last whole frame belong to none ({framing.torn_at})"
        yield Finding("torn_tail", text, rundir.JOURNAL, framing.end, "appends behind them, where no reader looks")
    hidden = len(salvage.frames)
    if hidden and salvage.tear:
        text = f"{hidden} readable frames lie behind a tear at {salvage.tear[0]}: no engine sees them"
        yield Finding("records_hidden_behind_a_tear", text, rundir.JOURNAL, salvage.tear[0], "reads up to the tear")
    for block in salvage.zeros:
        text = f"{block.size} zero bytes, which read as frames of length 0"
        yield Finding("zero_filled", text, rundir.JOURNAL, block.offset, "steps over them if their number divides by 8")


_COMPLETION = re.compile(rb'"(?:call_id|result)"')


def _unreadable(story: Story) -> Iterator[Finding]:
    swallowed = story.journal.salvage.swallowed
    zeros = {block.offset for block in story.journal.salvage.zeros}
    for frame in story.reading().unread:
        if frame.index == swallowed or (frame.size == 0 and zeros):
            continue
        if frame.kind is not None and frame.kind not in KINDS:
            text = f"a record of kind {frame.kind}, which the kit does not know; it is kept as it is"
            yield Finding("unknown_record", text, rundir.JOURNAL, frame.offset, "steps over it")
            continue
        kind = frame.kind or "unknown kind"
        text = f"a whole frame of {frame.size} bytes ({kind}) cannot be read: {frame.why.replace('_', ' ')}"
        yield Finding("unreadable_frame", text, rundir.JOURNAL, frame.offset, "steps over it")
        if frame.kind == "ToolCallDone" or _COMPLETION.search(bytes(story.journal.payload(frame.index))):
            text = "it looks like the completion of a call, which therefore does not count"
            yield Finding("unreadable_frame_holds_a_result", text, rundir.JOURNAL, frame.offset, "gives the call up")


def _unknown_members(story: Story) -> Iterator[Finding]:
    unknown: dict[str, int] = {}
    reading = story.reading()
    for frame, kind in reading:
        for member in story.journal.members(frame) - _MEMBERS[kind]:
            unknown.setdefault(f"{kind}.{member}", reading.offset(frame))
    for name, offset in unknown.items():
        text = f"a member that the kit does not know: {name}; it is kept as it is"
        yield Finding("unknown_record", text, rundir.JOURNAL, offset, "does not look at it")


_MEMBERS = {
    name: frozenset(field.encode_name for field in msgspec.structs.fields(kind.type)) for name, kind in KINDS.items()
}


def _files(story: Story) -> Iterator[Finding]:
    for name, fact in story.files.facts.items():
        if fact.is_link:
            yield Finding("link_refused", "a symbolic link inside a run is not followed", name)
    kinds = {rundir.META: "meta_unreadable", rundir.INTERACTIONS: "interactions_json_unreadable"}
    for name in rundir.READERS:
        parsed = story.files.parsed(name)
        if parsed.unreadable and parsed.why != "link_refused":
            text = f"{name} does not parse: {(parsed.why or '').replace('_', ' ')}"
            yield Finding(kinds.get(name, "sidecar_unreadable"), text, name, None, _WHAT_THEN.get(name, ""))
    for name in sorted(story.files.facts):
        trouble = None if name in rundir.READERS else story.files.trouble(name) if name == rundir.JOURNAL else None
        if trouble and trouble != "link_refused":
            yield Finding("sidecar_unreadable", f"{name} cannot be read ({trouble})", name)


_WHAT_THEN = {
    rundir.META: "does not see the run at all",
    rundir.CONTEXT: "goes by the journal, else by an empty window",
    rundir.STAGES: "starts the ledger from zero",
    rundir.INTERACTIONS: "does not ask the question again",
    rundir.FAN_OUT: "ignores the fan-out",
}


def _agreement(story: Story) -> Iterator[Finding]:
    for row in story.disagreements:
        if row.about != "meta":
            yield Finding("files_disagree", row.sentence, None, None, f"follows {row.engine_follows}")
    state, meta = story.fold(), story.meta
    told = state.skim_meta() if state else None
    if told is not None and meta is not None and meta.iteration > told.iteration:
        text = f"restart goes back from iteration {meta.iteration} to {told.iteration}"
        yield Finding("journal_behind_meta", text, rundir.JOURNAL, None, "goes on from the journal")


def _identity(story: Story) -> Iterator[Finding]:
    meta = story.meta
    if meta is None:
        return
    if meta.run_id != story.run_id:
        text = f"the folder is called {story.run_id}, meta.json says {meta.run_id}"
        yield Finding("run_id_is_not_folder_name", text, rundir.META, None, "opens everything by the id in meta.json")
    linked = [*meta.children, *([meta.parent_run_id] if meta.parent_run_id else [])]
    linked += [run for _, run in story.files.fan_out.active] if story.files.fan_out else []
    for run_id in dict.fromkeys(linked):
        if not SAFE_ID.fullmatch(run_id):
            yield Finding("child_id_unsafe", f"{run_id!r} is no run id", rundir.META, None, "resolves it to nothing")
    if story.neighbour is None:
        return
    if meta.parent_run_id and SAFE_ID.fullmatch(meta.parent_run_id) and story.neighbour(meta.parent_run_id) is None:
        text = f"its parent {meta.parent_run_id} is not in the folder"
        yield Finding("parent_missing", text, rundir.META, None, "leaves it unlinked")
    for child in meta.children:
        if SAFE_ID.fullmatch(child) and story.neighbour(child) is None:
            yield Finding("child_missing", f"its child {child} is not in the folder", rundir.META)


def _call_ids(story: Story) -> Iterator[Finding]:
    newest = next((e for e in reversed(story.events) if e.kind == "ToolBatch" and not e.behind_tear), None)
    told: set[tuple[int, str]] = set()
    for event in story.events:
        if event.kind != "ToolBatch":
            continue
        for call_id, n in Counter(call.id for call in event.record.calls).items():
            if n > 1 and (event.offset, call_id) not in told:
                told.add((event.offset, call_id))
                yield Finding(
                    "call_ids_not_unique",
                    f"{n} calls of one batch share the id {call_id}",
                    rundir.JOURNAL,
                    event.offset,
                )
    if newest is not None and newest.record.calls and _hidden_by_an_older_turn(story, newest):
        text = f"an earlier turn in the window has the id {newest.record.calls[0].id} too"
        yield Finding("call_ids_not_unique", text, rundir.JOURNAL, newest.offset, "takes the batch for landed")


def _hidden_by_an_older_turn(story: Story, batch: Event) -> bool:
    state = story.fold()
    if state is None or not landed(batch.record, state.window):
        return False
    return story.hidden_batch is not None and story.hidden_batch.offset == batch.offset


def _two_answers(story: Story) -> Iterator[Finding]:
    """The engine's fold and its list of executions may give a result to different calls of one id."""
    pending = story.fold() and story.fold().pending  # type: ignore[union-attr]
    if not pending:
        return
    first = sum(len(e.record.calls) for e in story.events if e.kind == "ToolBatch" and e.offset < pending.offset)
    listed = story.executions[first : first + len(pending.batch.calls)]
    for (call, _), offset, row in zip(pending.calls(), pending.result_offsets, listed, strict=False):
        if offset != row.result_offset:
            text = f"the window will show one result under call {call.id}, the list of executions gives it another"
            yield Finding("fold_and_executions_disagree", text, rundir.JOURNAL, offset or row.result_offset)
            return


def _batches(story: Story) -> Iterator[Finding]:
    hidden = story.hidden_batch
    if hidden is not None:
        names = ", ".join(call.call_id for call in hidden.calls)
        text = f"open calls of turn {hidden.iteration} ({names}): their effects may have landed and nobody will say so"
        yield Finding(
            "engine_will_not_mention_this_batch_to_the_model",
            text,
            rundir.JOURNAL,
            hidden.offset,
            "asks the model again",
        )
    invented = [call for call in story.calls if call.certainty == "stood_in"]
    if invented:
        text = ", ".join(call.call_id for call in invented)
        yield Finding("result_invented_by_a_restart", text, rundir.JOURNAL, invented[0].evidence_offset)
    state = story.fold()
    if state is not None and state.pending is not None:
        ids = {call.id for call in state.pending.batch.calls}
        turns = (e for r in state.window.regions for e in r.entries() if isinstance(e.kind, AssistantTurn))
        if any(ids & {call.id for call in turn.kind.tool_calls} for turn in turns):  # type: ignore[union-attr]
            text = f"the batch of turn {state.pending.batch.iteration} counts as pending, and its turn is in the window"
            yield Finding(
                "pending_batch_already_applied", text, rundir.JOURNAL, state.pending.offset, "applies it again"
            )


def _beginning(story: Story) -> Iterator[Finding]:
    header = next((e for e in story.events if e.kind == "Header"), None)
    if header is None or header.meta is None:
        return
    bills = [bill.record for bill in story.trips.bills if not bill.behind_tear]
    if header.meta.iteration:
        told = story.fold()
        total = told.skim_meta().prompt_tokens if told and told.meta else 0  # type: ignore[union-attr]
        held = sum(bill.prompt_tokens for bill in bills)
        yield Finding(
            "journal_starts_late", f"usage records hold {held} of {total} prompt tokens", rundir.JOURNAL, header.offset
        )
    orphan = _completion_without_a_batch(story)
    if orphan is not None:
        call = f"call {orphan.record.call_id} of turn {orphan.record.iteration}"
        text = f"{call} ended, and the batch that handed it out is in no record"
        yield Finding(
            "first_batch_not_journaled", text, rundir.JOURNAL, orphan.offset, "asks the model from the beginning"
        )
    elif header.meta.tool_calls and not _turn_calls(story):
        text = f"{header.meta.tool_calls} calls had been handed out when the journal began, and no record has them"
        yield Finding("first_batch_not_journaled", text, rundir.JOURNAL, header.offset)


def _completion_without_a_batch(story: Story) -> Event | None:
    handed = {(e.record.iteration, c.id) for e in story.events if e.kind == "ToolBatch" for c in e.record.calls}
    done = (e for e in story.events if e.kind == "ToolCallDone")
    header = next((e.meta.iteration for e in story.events if e.kind == "Header" and e.meta), 0)
    lost = (e for e in done if (e.record.iteration, e.record.call_id) not in handed)
    return next((e for e in lost if e.record.iteration <= max(header, 1)), None)


def _turn_calls(story: Story) -> int:
    """Calls of the turns that the first window of the journal holds already."""
    for event in story.events:
        window = _whole_window(event)
        if window is not None:
            entries = (e for r in window.regions for e in r.entries())
            return sum(len(e.kind.tool_calls) for e in entries if isinstance(e.kind, AssistantTurn))
    return 0


def _whole_window(event: Event) -> WindowView | None:
    if event.kind == "ContextCheckpoint":
        return whole(event.record.snapshot)
    return whole(event.record.context) if event.kind == "Checkpoint" else None


def _unknown_regions(story: Story) -> Iterator[Finding]:
    window = NO_WINDOW
    for event in story.events:
        if event.behind_tear:
            return
        delta = getattr(event.record, "delta", None)
        if delta is not None:
            names = {region.name for region in window.regions}
            for change, name in touched(delta):
                if change == "set":
                    names.add(name)
                elif name not in names:
                    text = f"a change ({change}) names the region {name}, which the window does not hold"
                    yield Finding("change_to_unknown_region", text, rundir.JOURNAL, event.offset, "ignores it")
            window = applied(window, delta)
        else:
            window = _whole_window(event) or window


def _chain(story: Story) -> Iterator[Finding]:
    for gap in story.chain.gaps:
        if gap.explained_by is None:
            text = "a change does not begin where the last one ended, and neither a restart nor a change of stage explains it"
            yield Finding("chain_gap_unexplained", text, rundir.JOURNAL, gap.offset)
    for point in story.chain.unnamed_points:
        text = f"the window of point {point.index} is {point.revision}, a name that no change gives"
        yield Finding("window_not_named_by_chain", text, rundir.JOURNAL, point.offset)


def _stored(story: Story) -> Iterator[Finding]:
    rows = [(p.name or p.mime_type, p.sha256, p.state) for p in story.parts]
    rows += [(f.path, f.sha256, f.state) for f in story.produced_files if f.claimed and not f.superseded]
    for name, sha256, state in dict.fromkeys(rows):
        if state in ("missing", "altered"):
            verb = "are gone" if state == "missing" else "hash to something else"
            text = f"the bytes of {name} {verb}"
            yield Finding(f"blob_{state}", text, f"{rundir.BLOBS}/{sha256}", None, "sends the stand-in text")
    for file in story.produced_files:
        if not file.claimed:
            yield Finding(
                "artifact_without_a_call", f"no call's record claims {file.path}", rundir.JOURNAL, file.offset
            )
    if story.answer is not None and story.answer.missing:
        text = "meta.json describes an answer whose file is not there"
        yield Finding("final_output_missing", text, rundir.FINAL_OUTPUT, None, "has no answer")


def _money(story: Story) -> Iterator[Finding]:
    for trip in story.trips.unbilled:
        text = "answered, and no bill follows: the answer was lost, and the turn is paid for again if it is asked again"
        yield Finding("attempt_without_usage", text, rundir.JOURNAL, trip.offset)
    if (story.trips.bills or story.trips.unbilled) and not story.cost.exact:
        c = story.cost
        unbilled = len(story.trips.unbilled)
        why = f"{c.unpriced_calls} without a figure, {c.computed_calls} worked out from rates"
        why += f", {unbilled} answered without a bill"
        yield Finding("cost_not_exact", f"the sum of {c.priced_usd:g} USD is not the whole bill: {why}", rundir.JOURNAL)


def _prompts(story: Story) -> Iterator[Finding]:
    seen: set[str] = set()
    for prompt in story.prompts:
        if prompt.request_id in seen:
            text = f"the prompt id {prompt.request_id} stands for several questions, one in each life of the process"
            yield Finding("request_id_reused", text, rundir.JOURNAL, prompt.offset)
        if prompt.request_id:
            seen.add(prompt.request_id)


def _ledger(story: Story) -> Iterator[Finding]:
    stages, meta = story.files.stages, story.meta
    if not stages:
        return
    visits = {visit.id for stage in stages for visit in stage.visits}
    missing = next((c for c in story.calls if c.visit_id and c.visit_id not in visits), None)
    if missing is not None:
        text = f"a batch names the visit {missing.visit_id}, which stages.json does not hold"
        yield Finding("visit_id_unknown", text, rundir.STAGES, missing.offset)
    if meta and meta.prompt_tokens and not any(s.prompt_tokens or s.completion_tokens or s.entered for s in stages):
        text = f"every stage of stages.json is at zero, the run at {meta.prompt_tokens} prompt tokens"
        yield Finding("stage_ledger_zeroed", text, rundir.STAGES)
    for stage in stages:
        if stage.status == "complete" and not stage.entered and not (stage.prompt_tokens or stage.completion_tokens):
            yield Finding("stage_complete_but_never_entered", f"the stage {stage.name}", rundir.STAGES)


def _blueprint(story: Story) -> Iterator[Finding]:
    facts = story.blueprint_facts()
    if facts.digest_matches is False:
        text = "blueprint.leviath is not the manifest that ran, by its recorded digest"
        yield Finding("blueprint_digest_mismatch", text, rundir.BLUEPRINT, None, "reads it all the same")
    if facts.agent_path_in_run not in (None, story.run_id) and not facts.snapshot_present:
        text = f"its manifest lies in the folder of {facts.agent_path_in_run}"
        yield Finding("agent_path_in_another_run", text, rundir.META, None, "depends on that folder")


def _secrets(story: Story) -> Iterator[Finding]:
    meta = story.best_meta
    if meta is not None and meta.callback_secret:
        yield Finding("secret_in_run", "a callback secret is set; it stands in every record with metadata", rundir.META)
    for name in (rundir.META, rundir.CONTEXT, rundir.FINAL_OUTPUT, rundir.JOURNAL):
        data = story.files.raw(name)
        if data is not None:
            text = bytes(data).decode("utf-8", "replace")
            if mask(text) != text:
                yield Finding("secret_in_run", f"text in {name} has the shape of a key", name)


Finder = Callable[[Story], Iterator[Finding]]

FINDERS: tuple[Finder, ...] = (
    _journal_refused, _tear, _unreadable, _unknown_members, _files, _agreement, _identity, _call_ids, _two_answers,
    _batches, _beginning, _unknown_regions, _chain, _stored, _money, _prompts, _ledger, _blueprint, _secrets,
)  # fmt: skip
