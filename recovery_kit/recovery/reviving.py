"""A planned run as a run at work: the agent that the restore functions made, and the records of the handoff
(leviath-run-directory 5.2, 5.8 to 5.10; 0.5-to-0.6 N9, N14)."""

from collections.abc import Sequence

from msgspec.structs import replace

from recovery_kit.formats import rundir
from recovery_kit.history.layout import NEWEST_RULES, built_window
from recovery_kit.history.windows import text_of
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import Engine
from recovery_kit.records.journal import ContextTransaction, RegionCommit
from recovery_kit.records.meta import FinalOutput, NeedsSetup, RunMeta, Status
from recovery_kit.records.sidecars import FanOut
from recovery_kit.records.window import Region, Window
from recovery_kit.restore.agent import RestoredAgent
from recovery_kit.restore.ledger import closed
from recovery_kit.runs.run import Run
from recovery_kit.world import fan_out
from recovery_kit.world.agent import READY, Agent, AtPoint, Doing, Splitting, Visit
from recovery_kit.world.deltas import Names
from recovery_kit.world.points import prompt_of
from recovery_kit.world.regions import region_of
from recovery_kit.world.running import Running

from .plan import PlannedRun
from .restoring import Restored

TOTALS = (
    "prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens", "tool_calls", "cost_priced_usd",
    "unpriced_calls", "cost_is_exact",
)  # fmt: skip


def revived(row: PlannedRun, blueprint: Blueprint, children: Sequence[Run]) -> Agent:
    """The agent right after the overlay, before the replay of its batch: where `handoff` starts from.

    `children` are the runs of its folder that are below it, those that its own files do not know yet included.
    """
    after, meta = row.after, row.run.meta
    assert after is not None and meta is not None
    parts = after.agent
    waiting = meta.status in ("waiting_input", "paused") and after.point is None
    split = _split(row.run.files.fan_out, after, children) if waiting else None
    stage = parts.stage or blueprint.stages[0]
    index = blueprint.stage_index(stage.name) or 0
    totals = {name: getattr(parts.totals, name) for name in TOTALS}
    meta = replace(
        meta, status=_status(row, meta, split), stage_index=index, current_stage=stage.name,
        num_stages=len(blueprint.stages), iteration=_iteration(row, after), children=_below(meta, children), error=None,
        pid=0, final_output=answer_of(row)[0],
        cost_usd=None if totals["unpriced_calls"] else totals["cost_priced_usd"],
        active=closed(meta.active, meta.updated_at), waiting_on=_waits(meta),
        agent_path=_manifest_path(row, meta),
        blueprint_digest=meta.blueprint_digest or blueprint.sha256, **totals,
    )  # fmt: skip
    said = after.point.body if after.point is not None and after.point.shown else ""
    return Agent(
        meta, parts.window, blueprint, row.engine, after.ledger.records, parts.entered,
        _visit(row, after, stage.name), {blueprint.stages[0].name: 1}, said=said, cap_raised=after.ledger.cap_raised,
        doing=Splitting(split) if split is not None else READY,
    )  # fmt: skip


def _iteration(row: PlannedRun, after: Restored) -> int:
    """As saved, or that of the newest batch whose turn the window tells: a step may be missing behind it."""
    batches = [e for e in row.run.story.events if e.kind == "ToolBatch" and not e.behind_tear]
    told = batches and row.run.story.turn_landed(batches[-1], after.state)
    return max(
        after.agent.iteration, after.batch.iteration if after.batch else 0,
        batches[-1].record.iteration if told else 0,
    )  # fmt: skip


def _manifest_path(row: PlannedRun, meta: RunMeta) -> str:
    """The run's own copy, once it was read (0.5-to-0.6 N10)."""
    folder, own = row.run.folder, row.run.files.blueprint_text is not None
    return str(folder.absolute() / rundir.BLUEPRINT) if own and folder is not None else meta.agent_path


def _waits(meta: RunMeta) -> NeedsSetup | None:
    return meta.waiting_on if isinstance(meta.waiting_on, NeedsSetup) and meta.status == "paused" else None


def _status(row: PlannedRun, meta: RunMeta, split: FanOut | None) -> Status:
    assert row.after is not None
    if row.after.point is not None and row.after.point.shown:
        return "waiting_input"
    if meta.status == "paused" and row.engine.restores_paused:
        return "paused"
    return "waiting_input" if split is not None else "running"


def _below(meta: RunMeta, children: Sequence[Run]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*meta.children, *sorted(child.id for child in children)]))


def _split(saved: FanOut | None, after: Restored, children: Sequence[Run]) -> FanOut | None:
    """The fan-out that the run goes on waiting for. A worker that is over is still asked for its result; an item whose
    worker is there, though the parent's file does not know it yet, is not handed out again."""
    found = after.fan_out
    if saved is None or found is None or found.dropped:
        return None
    tasks = {child.id: child.meta.task for child in children if child.meta is not None}
    return fan_out.restored(saved, tasks, after.agent.window)


def answer_of(row: PlannedRun) -> tuple[FinalOutput | None, bytes | None]:
    """The answer that the run has given, and its bytes where the file of them is not there.

    The journal is written first, so its metadata may know an answer that `meta.json` does not; the window mirrors it. A
    description without any bytes is no answer (2.4).
    """
    after, meta = row.after, row.run.meta
    assert after is not None and meta is not None
    told = after.state.read_meta() if after.state is not None else None
    newer = told.final_output if told is not None and told.updated_at >= meta.updated_at else None
    found = newer or meta.final_output
    if found is None or (found == meta.final_output and row.run.files.raw(rundir.FINAL_OUTPUT) is not None):
        return found, None
    region = region_of(after.window, rundir.FINAL_OUTPUT)
    if region is None or not region.entries:
        return None, None
    return found, text_of(region.entries[0].content).encode("utf-8", "replace")


def _visit(row: PlannedRun, after: Restored, stage: str) -> Visit:
    record = next((r for r in after.ledger.records if r.name == stage), None)
    begun = record.visits[-1] if record is not None and record.visits else None
    point = after.point
    cursor, round = (point.cursor, point.round) if point is not None and point.shown else (0, 0)
    open_visit = begun is not None and begun.left_at is None
    entered_at = begun.entered_at if begun is not None else 0
    answer, _ = answer_of(row)
    given = answer is not None and answer.stage == stage and answer.submitted_at >= entered_at
    return Visit(
        id=begun.id if begun is not None and open_visit else "", entered_at=entered_at, cursor=cursor, round=round,
        submitted=given,
    )  # fmt: skip


def handoff(run: Running, row: PlannedRun) -> None:
    """Put the handoff on record: the overlay, the stand-ins, the replay, and then the whole window."""
    after = row.after
    assert after is not None
    made = overlay(run.agent.blueprint, after.agent, row.engine, run.agent.meta, run.now(), run.names)
    if made is not None:
        run.note(made)
    if after.batch is not None:
        run.note(*after.batch.completions(run.now()))
        for step in after.batch.applied(after.agent.window, after.agent.placing, row.engine).steps:
            run.change(step.window, step.cause)
    if after.point is not None and after.point.shown:
        run.put(doing=_at_point(run, after))
    _, answer = answer_of(row)
    if answer is not None:
        run.answer_with(answer)
    run.snapshot()
    if run.agent.iteration != after.agent.iteration:
        run.snapshot()  # the fold's metadata has to learn that the dropped batch's turn is told


def _at_point(run: Running, after: Restored) -> Doing:
    found = after.point
    assert found is not None
    point = found.point or run.agent.stage.interaction_points[found.cursor]
    return AtPoint(point, found.body, prompt_of(run, point, found.body))


def overlay(
    blueprint: Blueprint, agent: RestoredAgent, rules: Engine, meta: RunMeta, at: int, names: Names
) -> ContextTransaction | None:
    """The record of laying the saved window over the built one: every saved region, whether it changed or not (N14)."""
    built = built_window(blueprint, rules=rules, asked=meta.output_request)
    window = agent.window
    olds = {r.name: region_of(built, r.name) or Region(r.name, r.kind, 0, r.max_tokens) for r in window.regions}
    regions = tuple(olds[region.name] for region in window.regions)
    before = Window(built.stage_name, built.total_tokens, window.max_tokens, regions)
    commits = [
        RegionCommit(
            r.name, names.region(olds[r.name]), names.region(r), olds[r.name].current_tokens, r.current_tokens,
            len(olds[r.name].entries), len(r.entries), len(r.entries),
        )
        for r in window.regions
        if r.name not in agent.built
    ]  # fmt: skip
    first, last = names.window(before), names.window(window)
    if first == last:
        return None
    return ContextTransaction(
        revision_before=first, revision_after=last, cause="resume", regions=tuple(commits), at=at
    )  # fmt: skip


def finished_agent(run: Run, meta: RunMeta, blueprint: Blueprint) -> Agent:
    """A run that is over, as its files leave it: for whoever wants its result."""
    return Agent(meta, run.at().window, blueprint, NEWEST_RULES, run.files.stages)
