"""May this call run without asking somebody? (leviath-runtime T14)

The installation's word is what the world was made with; a manifest can only tighten it.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from recovery_kit.records.blueprint import Blueprint, Stage

from .results import canonical

Policy = Literal["allow", "ask", "deny"]

STRICTNESS: tuple[Policy, ...] = ("allow", "ask", "deny")

HARMLESS = ("ls", "echo", "date", "git status")
"""Commands that pass even where a shell is asked about: one of these, nothing behind it but plain words."""

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-/=:,+@%")


def policy_of(
    tool: str, arguments: Mapping[str, object], blueprint: Blueprint, stage: Stage, installation: Mapping[str, str]
) -> Policy:
    """The strictest word of installation, manifest and stage. A tool that the installation does not name is allowed:
    whoever made the world chose its tools."""
    name = canonical(tool)
    command = arguments.get("command") if name == "shell" else None
    names = [name] + (["write_file"] if isinstance(command, str) and ">" in command else [])
    tables = (installation, blueprint.tool_permissions, stage.tool_permissions)
    words = [_word(table, n) for table in tables for n in names]
    strictest = max(words, key=STRICTNESS.index)
    return "allow" if strictest == "ask" and isinstance(command, str) and harmless(command) else strictest


def _word(table: Mapping[str, str], name: str) -> Policy:
    word = next((table[key] for key in (name, "bash" if name == "shell" else name) if key in table), "allow")
    return word if word in STRICTNESS else "ask"


def harmless(command: str) -> bool:
    """Whether a command only looks."""
    text = command.strip()
    return set(text) <= PLAIN and any(text == known or text.startswith(f"{known} ") for known in HARMLESS)


def grant_key(tool: str, arguments: str) -> str:
    """What an approval for longer than once is for: the first word of a shell command, else the tool."""
    if canonical(tool) != "shell":
        return tool
    try:
        command = msgspec.json.decode(arguments, type=dict[str, object]).get("command")
    except msgspec.DecodeError:
        command = None
    words = str(command or "").split()
    return f"shell {words[0]}" if words else "shell"
