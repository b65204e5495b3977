"""The engine's own words for what a restart puts in the place of a lost result (0.5-to-0.6 N14).

They are the same in every version, and readers know the stand-in by how it begins; so they are kept to the byte.
"""

from collections.abc import Sequence

INTERRUPTED = (
    "[error] interrupted: the daemon restarted while this tool call was executing and its result was lost. "
    "Verify whether it took effect before re-running side-effecting work."
)
CHILDREN_HEAD = INTERRUPTED + " This run already has child agent runs: "
CHILDREN_TAIL = "; check them with check_agent before spawning again."

SUBAGENT_TOOLS = frozenset({"spawn_agent", "check_agent", "wait_for_agent", "send_to_agent", "kill_agent"})
"""Tools whose stand-in names the children, by their exact names (leviath-run-directory 5.7)."""


def stand_in(tool: str, children: Sequence[str]) -> str:
    """The result of a call that nobody knows the end of."""
    if tool in SUBAGENT_TOOLS and children:
        return CHILDREN_HEAD + ", ".join(children) + CHILDREN_TAIL
    return INTERRUPTED
