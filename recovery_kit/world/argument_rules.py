"""What arguments the tools of the catalogue take, and what is said of others (leviath-runtime T6.3, T7)."""

from collections.abc import Mapping

import msgspec

RULES: Mapping[str, str] = {
    "context_write": "region* content* key",
    "context_append": "region* content* key",
    "context_read": "region* key index:integer",
    "context_delete": "region* key index:integer oldest:integer",
    "context_list": "region",
    "context_attach": "region* path* key caption type deliver",
    "context_export": "name* path",
    "todo_add": "region* item*",
    "todo_done": "region* id*:integer",
    "todo_note": "region* id*:integer note*",
    "submit_output": "content* artifacts:array",
    "fan_out": "items*:array agent max_workers:integer",
    "read_file": "path*",
    "read_files": "paths*:array",
    "write_file": "path* content* append:boolean",
    "edit_file": "path* old_str* new_str*",
    "list_dir": "path",
    "shell": "command*",
    "bash": "command*",
    "ask_user_text": "prompt*",
    "ask_user_choice": "prompt* options*:array",
    "ask_user_confirm": "prompt*",
    "present_for_review": "title* markdown*",
    "edit_document": "content* prompt",
    "spawn_agent": "blueprint* task* wait:boolean",
    "check_agent": "agent_id*",
    "wait_for_agent": "agent_id*",
    "send_to_agent": "agent_id* message* target_region",
    "kill_agent": "agent_id*",
}
"""By tool: members, `*` for a required one, the type behind a colon (a string where none is named)."""

TYPES: Mapping[str, type | tuple[type, ...]] = {"string": str, "integer": int, "boolean": bool, "array": list}

MOST = 3
"""Findings that are told."""


def misfit(tool: str, arguments: Mapping[str, object]) -> str | None:
    """What is wrong with the arguments of a call, in the engine's words; None where they fit. Unknown members pass."""
    wanted = [_member(word) for word in RULES.get(tool, "").split()]
    wrong = [f'"{name}" is a required property' for name, needed, _ in wanted if needed and name not in arguments]
    wrong += [
        f'{msgspec.json.encode(arguments[name]).decode()} is not of type "{kind}"'
        for name, _, kind in wanted
        if name in arguments and not _is(arguments[name], kind)
    ]
    return f"[error] invalid arguments for '{tool}': {'; '.join(wrong[:MOST])}" if wrong else None


def _member(word: str) -> tuple[str, bool, str]:
    name, _, kind = word.partition(":")
    return name.rstrip("*"), name.endswith("*"), kind or "string"


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    return isinstance(value, TYPES[kind])
