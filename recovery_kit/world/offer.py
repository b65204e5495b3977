"""Which tools a stage is offered, in which order (leviath-requests R10)."""

from recovery_kit.records.blueprint import Stage

from .situation import Situation

ALIASES = {"bash": "shell", "install_tool": "install_global_tool"}

ASKING = frozenset({"present_for_review", "ask_user_text", "ask_user_choice", "ask_user_confirm", "edit_document"})
"""Tools that put a question to a person."""

SUBAGENT = ("spawn_agent", "check_agent", "wait_for_agent", "send_to_agent", "kill_agent")

BUILTIN = tuple(
    """read_file write_file edit_file list_dir read_files shell present_for_review ask_user_text ask_user_choice
    ask_user_confirm edit_document context_write context_attach context_export todo_add todo_done todo_note
    context_append context_read context_delete context_list submit_output fan_out current_time system_info locale_info
    environment_info which_command runtime_info install_self_tool install_global_tool""".split()
)
"""The catalogue's order, which is the order of the offer."""

SINCE_055 = frozenset(
    """context_attach context_export fan_out current_time system_info locale_info environment_info which_command
    runtime_info install_self_tool install_global_tool""".split()
)
"""What 0.4.0 does not have (R10)."""

UNGROUPED = frozenset({"submit_output", "fan_out"})
"""Never granted by a group."""

BY_MODE = {"output": "submit_output", "fan_out": "fan_out"}


def offered(stage: Stage | None, situation: Situation) -> tuple[str, ...]:
    """Names of the tools that a request of the stage offers. A host that lacks a tool's means may leave it out."""
    if stage is None:
        return ()
    older = situation.rules.version < (0, 5, 5)
    wanted = {ALIASES.get(name, name) for name in (*stage.available_tools, BY_MODE.get(stage.mode, ""))}
    kept = {ALIASES.get(name, name) for name in stage.required_tools}
    catalogue = [tool for tool in BUILTIN if not (older and tool in SINCE_055)]
    chosen = [tool for tool in (*catalogue, *SUBAGENT, *situation.extra_tools) if _granted(tool, wanted, stage)]
    return tuple(tool for tool in chosen if not situation.unattended or tool not in ASKING or tool in kept)


def _granted(tool: str, wanted: set[str], stage: Stage) -> bool:
    server, _, name = tool.rpartition("__")
    by_group = tool not in UNGROUPED and bool(wanted & {"@all", _group(tool)})
    by_server = bool(server) and (server in stage.available_connectors or (name in wanted and name not in BUILTIN))
    return tool in wanted or by_group or by_server


def _group(tool: str) -> str:
    if tool in SUBAGENT:
        return "@subagent"
    if tool in BUILTIN:
        return "@builtin"
    return "@mcp" if "__" in tool else "@scripts"
