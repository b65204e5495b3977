"""Sub-agents: runs that a run starts and looks after (leviath-runtime T13)."""

from collections.abc import Mapping
from dataclasses import dataclass

from recovery_kit.errors import RecoveryKitError

from .answering import answer_text
from .running import Running, is_over

CHILD_TOOLS = frozenset({"spawn_agent", "check_agent", "wait_for_agent", "send_to_agent", "kill_agent"})

NO_ANSWER = "[this agent produced no final output]"
WORDS = {"running": "active", "starting": "active", "waiting_input": "waiting"}
"""The word for a status, where it is not the status itself."""


@dataclass(frozen=True, slots=True)
class ChildAnswer:
    """What such a call answers, or whose end it waits for."""

    text: str = ""
    waits_for: str | None = None


def child_call(run: Running, place: int, name: str, arguments: Mapping[str, object]) -> ChildAnswer:
    """Carry out one call on a child."""
    if name == "spawn_agent":
        return _spawn(run, arguments)
    target = str(arguments["agent_id"])
    child = run.host.find(target)
    if child is None:
        return ChildAnswer(f"[error] no such sub-agent '{target}'")
    if name == "wait_for_agent":
        return ChildAnswer(waits_for=target)
    if name == "check_agent":
        return ChildAnswer(f"Sub-agent '{target}' status: {_word(child)}{_result(child)}")
    if name == "send_to_agent":
        region = arguments.get("target_region")
        child.put(inbox=(*child.agent.inbox, (str(arguments["message"]), region if isinstance(region, str) else None)))
        return ChildAnswer(f"Message sent to '{target}'.")
    for other in run.host.tree(child):
        if other.live:
            other.set_status("cancelled")
            other.snapshot()
    return ChildAnswer(f"Sub-agent '{target}' was cancelled.")


def waited_for(run: Running, target: str) -> str | None:
    """The result of a call that waits for a child; None while that one is not over."""
    child = run.host.find(target)
    if child is None:
        return f"[error] no such sub-agent '{target}'"
    if not is_over(child.agent.meta) or child.stopped:
        return None
    return f"Sub-agent '{target}' finished with status: {_word(child)}{_result(child)}"


def _spawn(run: Running, arguments: Mapping[str, object]) -> ChildAnswer:
    name, meta = str(arguments["blueprint"]), run.agent.meta
    most = run.agent.blueprint.agent.max_child_depth
    if meta.depth + 1 > most:
        return ChildAnswer(f"[error] sub-agents may not go deeper than {most}")
    try:
        blueprint = run.host.blueprint_named(name)
    except RecoveryKitError as no:
        return ChildAnswer(f"[error] {no.sentence}")
    if blueprint is None:
        return ChildAnswer(f"[error] there is no agent '{name}'")
    child = run.host.new_run_id(run, blueprint.name, len(meta.children))
    # Named on disk before it exists: should this process die now, the stand-in of this very call names it.
    run.put_meta(children=(*meta.children, child), max_child_depth=most)
    run.snapshot()
    run.host.start_child(run, child, blueprint, str(arguments["task"]), None)
    if arguments.get("wait"):
        return ChildAnswer(waits_for=child)
    return ChildAnswer(f"Spawned sub-agent '{child}'.")


def _word(child: Running) -> str:
    meta = child.agent.meta
    return f"error: {meta.error}" if meta.status == "error" else WORDS.get(meta.status, meta.status)


def _result(child: Running) -> str:
    if not is_over(child.agent.meta):
        return ""
    text = answer_text(child)
    return f"\n\n{NO_ANSWER}" if text is None else f"\n\n--- final output ---\n{text}"
