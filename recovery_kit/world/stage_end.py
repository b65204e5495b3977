"""The end of a stage: is it one, what is still owed, which way on (leviath-runtime T8).

Entering the next stage is in `stage_entry`, the questions of a stage in `points`.
"""

from collections.abc import Callable, Sequence

import msgspec

from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import Edge, Gate, Nudge, Stage
from recovery_kit.records.window import Entry, UserMessage

from .agent import READY, ForChildren, Routing
from .asking_model import ask, parked, situation
from .blocks import kind_of, metadata_of
from .points import present
from .providers import Failure
from .regions import region_of
from .request import assemble
from .results import CONVERSATION, turn_entry
from .running import Running, is_over, note_text
from .stage_entry import enter

NUDGE = (
    "You have tools available. Please use them to complete the task. "
    "Start by reading the relevant files in the working directory."
)
MOST_NUDGES = 3
MOST_REMINDERS = 3
DEFAULT_ITERATIONS = 50
"""Per stage visit, where the manifest says nothing (T2.10)."""
ROUTED = "Transitioning to: "
QUESTION = "Which stage should this run go to next?"
CLOSING = "Respond with ONLY the stage name you want to transition to, nothing else."
CLOSING_OR_DONE = "Respond with ONLY the stage name you want to transition to, or with done if nothing is left to do."
NOTES = {
    "output": "This stage owes an answer: call `submit_output` before you end it.",
    "split": "This stage has to hand out its work: call `fan_out` with one item for each piece.",
    "cap": "The stage's limit of {} iterations is reached; it ends here.",
    "stuck": "This stage makes no progress any more; the run leaves it.",
    "region": "The region '{}' has to hold something before this stage ends.",
}
"""What the framework tells the model; the engine words some of these otherwise, and nobody parses them (T19)."""


def tell(run: Running, text: str, region: str = CONVERSATION) -> None:
    """A note of the framework, in the window and on record."""
    note = note_text(text)
    run.append(region, Entry(note, tokens_of(note)), "framework")


# Before a request.


def capped(run: Running) -> bool:
    """End a stage whose visit has had all its iterations (T8.3)."""
    agent, stage = run.agent, run.agent.stage
    most = stage.max_iterations or DEFAULT_ITERATIONS
    if stage.mode == "fan_out" or agent.visit.iterations < most:
        return False
    run.put_flags(max_iterations_hit=agent.meta.flags.max_iterations_hit + 1)
    tell(run, NOTES["cap"].format(most), "error_report" if region_of(agent.window, "error_report") else CONVERSATION)
    edge = _edge(stage, "max_iterations")
    if edge is not None:
        enter(run, edge)
    else:
        move_on(run)
    return True


def stuck(run: Running) -> bool:
    """Leave a stage that is past a threshold of a stuck edge, once per visit (T8.3)."""
    visit = run.agent.visit
    for edge in run.agent.stage.transitions or ():
        if edge.condition != "stuck" or visit.stuck_said:
            continue
        counts = {
            "iterations": visit.iterations, "tool_calls": visit.tool_calls,
            "minutes": (run.now() - visit.entered_at) // 60, "same_file_edits": max(visit.edits.values(), default=0),
        }  # fmt: skip
        if any(counts.get(what, 0) >= most for what, most in edge.stuck.items()):
            run.put_visit(stuck_said=True)
            tell(run, NOTES["stuck"])
            if _open(run, edge):
                enter(run, edge)
                return True
    return False


# After a reply without calls.


def ended(run: Running) -> None:
    """A reply without calls: a reminder, or the end of the stage (T8.1, T8.2)."""
    if _nudged(run) or _owes(run):
        run.snapshot_if_due()
        return
    leave(run)


def leave(run: Running) -> None:
    """Nothing is owed to the framework: the stage's questions, then the way on."""
    if present(run):
        return
    move_on(run)


def _nudged(run: Running) -> bool:
    agent, stage = run.agent, run.agent.stage
    enabled, most, text = _nudge(agent.blueprint.agent.nudge, stage)
    if agent.visit.tool_calls or not enabled or agent.visit.nudges >= most:
        return False
    run.put_visit(nudges=agent.visit.nudges + 1)
    names = ", ".join(region.name for region in agent.window.regions)
    tell(run, text.replace("{stage}", stage.name).replace("{regions}", names))
    return True


def _nudge(agent: Nudge, stage: Stage) -> tuple[bool, int, str]:
    on = not stage.interaction_points
    for layer in (agent, stage.nudge):
        on = on if layer.enabled is None else layer.enabled
    most = next((n.max for n in (stage.nudge, agent) if n.max is not None), MOST_NUDGES)
    return on, most, next((n.text for n in (stage.nudge, agent) if n.text), NUDGE)


def _owes(run: Running) -> bool:
    """What the stage still owes, in the engine's order; True where the run goes on in it."""
    return any(check(run) for check in (_children, _required_regions, _required_output, _required_split))


def _children(run: Running) -> bool:
    if not run.agent.stage.requires_children:
        return False
    if all(over_or_gone(run, child) for child in run.agent.meta.children):
        return False
    run.put(doing=ForChildren())
    run.set_status("waiting_input")
    return True


def over_or_gone(run: Running, child: str) -> bool:
    """Whether a child is terminal, or none of this world's runs."""
    other = run.host.find(child)
    return other is None or is_over(other.agent.meta)


def children_are_done(run: Running) -> bool:
    """A run parked for its children goes on once all are over."""
    if not all(over_or_gone(run, child) for child in run.agent.meta.children):
        return False
    run.put(doing=READY)
    run.set_status("running")
    leave(run)
    return True


def _reminded(run: Running, what: str, most: int) -> bool:
    """Count one more reminder; False where there have been enough."""
    count = run.agent.visit.owed.get(what, 0)
    if count >= most:
        return False
    run.put_visit(owed={**run.agent.visit.owed, what: count + 1})
    return True


def _required_regions(run: Running) -> bool:
    stage = run.agent.stage
    if not any(tool.startswith(("context_", "@")) for tool in stage.available_tools):
        return False
    named = [spec for spec in run.agent.layout.definitions.values() if spec.required]
    empty = [s for s in named if (r := region_of(run.agent.window, s.name)) is not None and not r.entries]
    if not empty:
        return False
    most = MOST_REMINDERS if stage.max_revisits is None else stage.max_revisits
    if not _reminded(run, "regions", most):
        given_up = (*run.agent.meta.flags.required_regions_abandoned, *(spec.name for spec in empty))
        run.put_flags(required_regions_abandoned=tuple(dict.fromkeys(given_up)))
        return False
    for spec in empty:
        tell(run, spec.required_message or NOTES["region"].format(spec.name))
    return True


def _required_output(run: Running) -> bool:
    if not run.agent.stage.require_output or run.agent.visit.submitted:
        return False
    if not _reminded(run, "output", MOST_REMINDERS):
        run.put_flags(output_forced=run.agent.meta.flags.output_forced + 1)
        return False
    tell(run, NOTES["output"])
    return True


def _required_split(run: Running) -> bool:
    spec = run.agent.stage.fan_out
    if spec is None or run.agent.visit.split:
        return False
    if not _reminded(run, "split", spec.max_attempts or MOST_REMINDERS):
        run.put_flags(splits_degraded=run.agent.meta.flags.splits_degraded + 1)
        return False
    tell(run, NOTES["split"])
    return True


# The way on.


def move_on(run: Running) -> None:
    """Choose the edge (T8.4)."""
    stage = run.agent.stage
    if stage.transitions is None:
        names = run.agent.blueprint.stage_names
        index = names.index(stage.name) + 1
        if index < len(names):
            enter(run, Edge(names[index]))
        else:
            complete(run)
        return
    declared = [edge for edge in stage.transitions if edge.choosable]
    edges = [edge for edge in declared if _open(run, edge)]
    if not declared:
        complete(run)
    elif not edges:
        _dead_end(run, stage)
    elif len(edges) == 1 and not stage.allow_complete:
        take(run, edges[0])
    else:
        _put_question(run, edges)


def _edge(stage: Stage, *conditions: str) -> Edge | None:
    for condition in conditions:
        found = next((edge for edge in stage.transitions or () if edge.condition == condition), None)
        if found is not None:
            return found
    return None


def _open(run: Running, edge: Edge) -> bool:
    """Whether the target may be entered once more."""
    target = run.agent.blueprint.stage(edge.target)
    if target is None:
        return False
    return target.max_revisits is None or run.agent.visits.get(edge.target, 0) <= target.max_revisits


def _dead_end(run: Running, stage: Stage) -> None:
    edge = _edge(stage, "dead_end", "error")
    if edge is not None:
        enter(run, edge)
    else:
        run.fail(f"stage {stage.name} has no way on: every edge is used up")


def complete(run: Running) -> None:
    """The run has ended."""
    run.put(doing=READY)
    if run.agent.meta.flags.output_forced and run.agent.meta.final_output is None:
        run.fail("the run ended without the answer that it owes")
        return
    if run.agent.meta.final_output is None and any(s.require_output for s in run.agent.blueprint.stages):
        run.put_flags(empty_output=True)
    run.set_status("complete")
    run.snapshot()


def failed_stage(run: Running, why: str) -> None:
    """A stage that cannot go on: its error edge, else its dead end, else the run ends in error (T8.4)."""
    run.put(doing=READY)
    edge = _edge(run.agent.stage, "error", "dead_end")
    if edge is None or not _open(run, edge):
        run.fail(why)
        return
    run.log(f"[error] {why}")
    tell(run, why, "error_report" if region_of(run.agent.window, "error_report") else CONVERSATION)
    enter(run, edge)


def take(run: Running, edge: Edge) -> None:
    """Take an edge, if its gate lets it (T2.5)."""
    gate, visit = edge.gate, run.agent.visit
    unmet = None if gate is None else _unmet(run, gate)
    if gate is not None and unmet is not None:
        count = visit.gates.get(edge.target, 0)
        if count < gate.max_attempts:
            run.put_visit(gates={**visit.gates, edge.target: count + 1})
            run.put(doing=READY)
            tell(run, gate.message or unmet)
            run.snapshot_if_due()
            return
        run.put_flags(gates_forced=run.agent.meta.flags.gates_forced + 1)
    enter(run, edge)


def _unmet(run: Running, gate: Gate) -> str | None:
    """The first condition of a gate that does not hold, in words."""
    return next((said for test in _GATES if (said := test(run, gate)) is not None), None)


def _updated(run: Running, gate: Gate) -> str | None:
    name = gate.require_region_updated
    region = region_of(run.agent.window, name) if name else None
    same = region is not None and run.names.region(region) == run.agent.visit.at_entry.get(region.name)
    return f"Update the region '{name}' first." if same else None


def _entries(run: Running, gate: Gate) -> str | None:
    if gate.require_region_entries is None:
        return None
    name, least = gate.require_region_entries
    region = region_of(run.agent.window, name)
    return f"The region '{name}' needs {least} entries." if region is None or len(region.entries) < least else None


def _no_open_items(run: Running, gate: Gate) -> str | None:
    region = region_of(run.agent.window, gate.require_no_open_items) if gate.require_no_open_items else None
    if region is None or kind_of(region) != "checklist":
        return None
    left = [entry for entry in region.entries if metadata_of(entry).get("checklist_done") is not True]
    return f"{len(left)} items of '{region.name}' are open." if left else None


def _not_empty(run: Running, gate: Gate) -> str | None:
    found = {r.name: r for r in run.agent.window.regions}
    empty = [n for n in gate.require_regions if n not in found or not found[n].entries]
    return f"These regions are empty: {', '.join(empty)}." if empty else None


def _modifications(run: Running, gate: Gate) -> str | None:
    region = region_of(run.agent.window, gate.region) if gate.region else None
    if not gate.require_modifications or run.agent.visit.modified or (region is not None and region.entries):
        return None
    return "Nothing has been changed in this stage yet."


_GATES: Sequence[Callable[[Running, Gate], str | None]] = (
    _updated, _entries, _no_open_items, _not_empty, _modifications,
)  # fmt: skip


# The routing call.


def _put_question(run: Running, edges: Sequence[Edge]) -> None:
    stage = run.agent.stage
    rows = [f"- {edge.target}: {edge.hint}" if edge.hint else f"- {edge.target}" for edge in edges]
    closing = CLOSING_OR_DONE if stage.allow_complete else CLOSING
    listed = "Available transitions:\n" + "\n".join(rows)
    text = "\n\n".join([stage.transition_prompt or QUESTION, listed, closing])
    run.append(CONVERSATION, Entry(text, tokens_of(text), UserMessage()), "framework")
    run.put(doing=Routing(tuple(edges)))
    run.snapshot()


def route(run: Running) -> bool:
    """The call that chooses the next stage, and the way there."""
    doing, agent = run.agent.doing, run.agent
    assert isinstance(doing, Routing)
    request = assemble(agent.window, agent.blueprint, agent.stage.name, situation(run), routing=True)
    answer = ask(run, request, "routing")
    if isinstance(answer, Failure):
        if not parked(run, answer):
            failed_stage(run, answer.why or "the model gave no answer")
        return True
    entry = turn_entry(f"{ROUTED}{answer.text}", (), agent.placing, answer.reasoning)
    # Only the choice is charged, not the fixed words before it (T4).
    run.append(CONVERSATION, msgspec.structs.replace(entry, tokens=tokens_of(answer.text)), "framework")
    run.put(doing=READY)
    edge = chosen(answer.text, doing.edges, agent.stage.allow_complete)
    if edge is None:
        complete(run)
    else:
        take(run, edge)
    return True


def chosen(reply: str, edges: Sequence[Edge], may_end: bool) -> Edge | None:
    """The edge that a reply names; None ends the run. A reply that names none takes the first in declared order: the
    engine's map has no order that could be followed."""
    lines = [line for line in reply.splitlines() if line.strip()]
    words = lines[0].split() if lines else []
    if len(lines) > 1 and len(lines[-1].split()) <= 3:
        words += lines[-1].split()
    by_name = {edge.target.lower(): edge for edge in edges}
    for word in words:
        name = word.strip("`'\"*.,:;!").lower()
        if name in by_name:
            return by_name[name]
        if name == "done" and may_end:
            return None
    return None if may_end else edges[0]
