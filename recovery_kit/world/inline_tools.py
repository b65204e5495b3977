"""Tools that the runtime answers itself: they read and write the run's own window (leviath-runtime T7.2, T5.4).

Each takes the run, the arguments and the call's execution id, changes the window on record, and returns the text.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from recovery_kit.history.windows import text_of, tokens_of
from recovery_kit.records.window import Entry, Region, Window

from .blocks import kind_of
from .keyed import add_item, mark_item, release_index, release_key, upsert
from .part_tools import context_attach, context_export
from .regions import Written, oldest_off, region_of, rewrite
from .running import Running

Arguments = Mapping[str, object]
InlineTool = Callable[[Running, Arguments, str], str]

UNLISTED = "conversation"


def _region(run: Running, arguments: Arguments) -> Region | None:
    return region_of(run.agent.window, str(arguments["region"]))


def unknown_region(window: Window, name: object) -> str:
    """What is said of a region that is not there: the names that would be."""
    names = [r.name for r in window.regions if kind_of(r) != "compact_history" and r.name != UNLISTED]
    return f"[error] Section '{name}' not found. Available sections: {', '.join(names)}"


def _key(arguments: Arguments) -> str | None:
    key = arguments.get("key")
    return key if isinstance(key, str) and key else None


def _entry(arguments: Arguments) -> Entry:
    content = str(arguments["content"])
    return Entry(content, tokens_of(content), key=_key(arguments))


def _commit(run: Running, done: Written, execution: str, added: int | None = None) -> str | None:
    """Put a write on record; the refusal's text if it was refused."""
    region = done.refusal.region if done.refusal else None
    many = None if added is None or region is None else {region: added}
    run.change(done.window, "context_tool", execution, many)
    return f"[error] {done.refusal}" if done.refusal else None


def _needs_key(name: object) -> str:
    return f"[error] Section '{name}' is a hashmap: a key is needed."


def context_write(run: Running, arguments: Arguments, execution: str) -> str:
    """Replace what a region holds, or one entry of a hashmap."""
    region, name, key = _region(run, arguments), arguments["region"], _key(arguments)
    if region is None:
        return unknown_region(run.agent.window, name)
    if kind_of(region) == "hashmap":
        if key is None:
            return _needs_key(name)
        wrong = _upserted(run, region, _entry(arguments), execution, joined=False)
    else:
        spec = run.spec(region.name)
        done = rewrite(run.agent.window, region.name, _entry(arguments), spec, run.agent.rules)
        wrong = _commit(run, done, execution, 0 if done.refusal else None)
    return wrong or f"Stored in '{name}' section" + (f" under key '{key}'." if key else ".")


def context_append(run: Running, arguments: Arguments, execution: str) -> str:
    """Add an entry to a region, or text to an entry of a hashmap."""
    region, name, key = _region(run, arguments), arguments["region"], _key(arguments)
    if region is None:
        return unknown_region(run.agent.window, name)
    if kind_of(region) != "hashmap":
        done = run.append(region.name, _entry(arguments), "context_tool", execution)
        wrong = f"[error] {done.refusal}" if done.refusal else None
        return wrong or f"Appended to '{name}' section" + (f" under key '{key}'." if key else ".")
    if key is None:
        return _needs_key(name)
    known = any(entry.key == key for entry in region.entries)
    wrong = _upserted(run, region, _entry(arguments), execution, joined=True)
    told = f"Appended to '{name}' section" if known else f"Created entry in '{name}' section"
    return wrong or f"{told} under key '{key}'."


def _upserted(run: Running, region: Region, entry: Entry, execution: str, joined: bool) -> str | None:
    written = run.agent.written_at.get(region.name, {})
    done = upsert(run.agent.window, region.name, entry, run.spec(region.name), written, joined)
    if done.accepted:
        run.put(written_at={**run.agent.written_at, region.name: {**written, entry.key: run.now()}})
    return _commit(run, done, execution)


def context_read(run: Running, arguments: Arguments, execution: str) -> str:
    """The texts of a region, of a key, of a place."""
    region, name = _region(run, arguments), arguments["region"]
    if region is None:
        return unknown_region(run.agent.window, name)
    if not region.entries:
        return f"Section '{name}' is empty."
    key, index = _key(arguments), arguments.get("index")
    found: Sequence[Entry] = region.entries
    if key is not None:
        found = [entry for entry in region.entries if entry.key == key]
    elif isinstance(index, int):
        found = region.entries[index : index + 1] if index >= 0 else ()
    elif kind_of(region) == "hashmap":
        return "\n".join(f"{entry.key} ({entry.tokens} tokens)" for entry in region.entries)
    if not found:
        return f"[not found] '{key if key is not None else index}' in '{name}'"
    return "\n\n".join(text_of(entry.content) for entry in found)


def context_delete(run: Running, arguments: Arguments, execution: str) -> str:
    """Let entries of a region go: by key, by place, or the oldest."""
    region, name = _region(run, arguments), str(arguments["region"])
    if region is None:
        return unknown_region(run.agent.window, name)
    key, index, oldest = _key(arguments), arguments.get("index"), arguments.get("oldest")
    window = run.agent.window
    if key is not None:
        done, told = release_key(window, name, key), f"Released '{key}' from '{name}'."
    elif isinstance(index, int):
        done, told = release_index(window, name, index), f"Released entry {index} from '{name}'."
    elif isinstance(oldest, int):
        many = min(max(0, oldest), len(region.entries))
        done, told = oldest_off(window, name, many), f"Released the {many} oldest entries from '{name}'."
    else:
        return "[error] context_delete needs one of key, index, oldest"
    if not done.let_go and not isinstance(oldest, int):
        return f"[not found] '{key if key is not None else index}' in '{name}'"
    run.change(done.window, "context_tool", execution)
    return told


def context_list(run: Running, arguments: Arguments, execution: str) -> str:
    """The regions with their sizes, or the entries of one."""
    window = run.agent.window
    if "region" not in arguments:
        return "\n".join(
            f"{r.name}: {len(r.entries)} entries, {r.current_tokens}/{r.max_tokens} tokens" for r in window.regions
        )
    region = _region(run, arguments)
    if region is None:
        return unknown_region(window, arguments["region"])
    rows = [f"[{n}] {entry.key or ''} ({entry.tokens} tokens)" for n, entry in enumerate(region.entries)]
    head = f"Region '{region.name}' ({len(region.entries)} entries, {region.current_tokens} tokens):"
    return "\n".join([head, *rows])


def _checklist(run: Running, arguments: Arguments) -> str | None:
    region = _region(run, arguments)
    if region is None:
        return unknown_region(run.agent.window, arguments["region"])
    return None if kind_of(region) == "checklist" else f"[error] '{region.name}' is not a checklist"


def todo_add(run: Running, arguments: Arguments, execution: str) -> str:
    """A new open item."""
    wrong = _checklist(run, arguments)
    if wrong is not None:
        return wrong
    done, number = add_item(run.agent.window, str(arguments["region"]), str(arguments["item"]))
    return _commit(run, done, execution) or f"[ok] added item {number}"


def todo_done(run: Running, arguments: Arguments, execution: str) -> str:
    """An item is done."""
    return _marked(run, arguments, execution, done=True)


def todo_note(run: Running, arguments: Arguments, execution: str) -> str:
    """A note on an item."""
    return _marked(run, arguments, execution, note=str(arguments["note"]))


def _marked(
    run: Running, arguments: Arguments, execution: str, done: bool | None = None, note: str | None = None
) -> str:
    wrong = _checklist(run, arguments)
    if wrong is not None:
        return wrong
    name, number = str(arguments["region"]), arguments["id"]
    assert isinstance(number, int)
    window = mark_item(run.agent.window, name, number, done, note)
    if window is None:
        return f"[error] no item {number} in '{name}'"
    run.change(window, "context_tool", execution)
    return f"[ok] item {number} updated"


def runtime_info(run: Running, arguments: Arguments, execution: str) -> str:
    """What the run may know of its own runtime."""
    agent = run.agent
    told = {
        "agent": agent.meta.agent_name, "run_id": agent.id, "stage": agent.stage.name, "iteration": agent.iteration,
        "max_iterations": agent.stage.max_iterations, "tools": list(agent.stage.available_tools),
        "window": {"used": agent.window.total_tokens, "max": agent.window.max_tokens},
    }  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


INLINE: Mapping[str, InlineTool] = {
    "context_write": context_write,
    "context_append": context_append,
    "context_read": context_read,
    "context_delete": context_delete,
    "context_list": context_list,
    "todo_add": todo_add,
    "todo_done": todo_done,
    "todo_note": todo_note,
    "runtime_info": runtime_info,
    "context_attach": context_attach,
    "context_export": context_export,
}
"""Tools that answer at once, by name."""
