"""A state of a run as text: where it stands, its window, what is pending."""

from recovery_kit.display import count_text, time_text
from recovery_kit.history.fold import Pending
from recovery_kit.history.windows import text_of
from recovery_kit.records.window import AssistantTurn, Entry, Region, Window
from recovery_kit.runs.moment import State

from .printing import Page


def print_state(page: Page, state: State, named: str, full: bool) -> None:
    """All of it; entries by their beginning, or whole if `full`. `named`: what somebody called that moment."""
    _print_position(page, state, named)
    _print_window(page, state.window, full)
    if state.pending is not None:
        _print_pending(page, state.pending, full)


def _print_position(page: Page, state: State, named: str) -> None:
    offset = "" if state.offset is None else f", after the record at byte {state.offset}"
    at = "" if state.at is None else f", {time_text(state.at)}"
    page.say(f"{state.run_id} at {named}{offset}{at}")
    index = "" if state.stage_index is None else f" ({state.stage_index})"
    iteration = "unknown" if state.iteration is None else state.iteration
    page.say(f"{state.status or 'status unknown'}, stage {state.stage or '(none)'}{index}, iteration {iteration}")
    if state.source != "journal":
        page.say("from context.json and meta.json, for no journal folds", "attention")
    if state.totals is not None:
        tokens = f"{state.totals.prompt_tokens:,} prompt and {state.totals.completion_tokens:,} completion tokens"
        page.say(f"{tokens}, {count_text(state.totals.tool_calls, 'tool call')} so far")
    page.say(f"window {state.revision or 'without a revision'}, sha256 {state.window_sha256}", "muted")


def _print_window(page: Page, window: Window, full: bool) -> None:
    page.say(f"{window.total_tokens:,} of {window.max_tokens:,} tokens, {count_text(len(window.regions), 'region')}")
    rows = [(r.name, r.kind, len(r.entries), r.current_tokens, r.max_tokens) for r in window.regions]
    page.table(("region", "kind", "entries", "tokens", "ceiling"), rows)
    for region in window.regions:
        for index, entry in enumerate(region.entries):
            _print_entry(page, region, index, entry, full)


def _print_entry(page: Page, region: Region, index: int, entry: Entry, full: bool) -> None:
    key = f" {entry.key}" if entry.key else ""
    head = f"{region.name}/{index} {type(entry.kind).__name__}{key}, {count_text(entry.tokens, 'token')}"
    page.headed(head, text_of(entry.content), full)
    for call in entry.kind.tool_calls if isinstance(entry.kind, AssistantTurn) else ():
        page.headed(f"calls {call.id} {call.name}", bytes(call.arguments).decode("utf-8", "replace"), full, indent=4)


def _print_pending(page: Page, pending: Pending, full: bool) -> None:
    batch = pending.batch
    calls = count_text(len(batch.calls), "call")
    page.blank()
    page.say(f"pending: turn {batch.iteration} handed out {calls} (record at byte {pending.offset})")
    for call, result in pending.calls():
        page.headed(f"{call.id} {call.name}", call.arguments, full, indent=2)
        if result is None:
            page.say("no result is held: it may have happened, wholly, partly or not at all", "attention", indent=6)
        else:
            page.headed("result", text_of(result), full, indent=6)
