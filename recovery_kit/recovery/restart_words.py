"""An outlook in plain sentences, and what a person should look at first. The same words on every surface.

Texts are raw: surfaces mask and escape them. No clock, and nothing that the outlook does not say.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from recovery_kit.display import count_text
from recovery_kit.history.verdict import look_for
from recovery_kit.records.findings import Finding
from recovery_kit.records.meta import OVER

from .check import Checked
from .outlook import Outlook


def restart_sentences(checked: Checked) -> tuple[str, ...]:
    """What a restart of the asked engine would do, the most important first; each begins as "A restart would …"."""
    ahead = checked.outlook
    if not ahead.resumes:
        return tuple(_stays(ahead))
    return tuple(_comes_back(ahead, checked))


def _stays(ahead: Outlook) -> Iterator[str]:
    yield f"not bring it back: {ahead.why_text}."
    if ahead.status_after == "error" and ahead.why == "blueprint_script_missing":
        yield "end it as error."
    if ahead.on_demand:
        yield "leave it on disk; a resume, a pause or a message would page it in."


def _comes_back(ahead: Outlook, checked: Checked) -> Iterator[str]:
    first = {"active": " with those that work", "blocked": " after those that work"}.get(ahead.priority or "", "")
    where = f" in stage {ahead.stage_name}" if ahead.stage_name else ""
    turn = f", iteration {ahead.iteration}" if ahead.iteration is not None else ""
    source = "the journal" if ahead.window_source == "journal" else "context.json and meta.json"
    yield f"bring it back as {ahead.status_after}{where}{turn}{first}; its window comes from {source}."
    if ahead.tool_results_added:
        added = (
            f"{count_text(ahead.assistant_turns_added, 'turn')} and {count_text(ahead.tool_results_added, 'result')}"
        )
        yield f"add {added} to the window and run no call again."
    if ahead.interrupted:
        yield f"tell the model to look before it repeats {_listed(ahead.interrupted)}."
    for call, children in ahead.children_named_for.items():
        yield f"name {_listed(children)} to the model as what {call} may have started."
    if ahead.turn_repeated:
        yield "ask for the newest answered turn again, and pay for it again."
    if ahead.prompt_shown_again is not None:
        yield "show the open question again." if ahead.prompt_shown_again else "not show the open question again."
    if ahead.reason_survives is False:
        yield "forget the reason why it waits."
    if ahead.fan_out_after is not None:
        after = ahead.fan_out_after
        counts = f"{len(after.active)} active, {len(after.pending)} pending, {len(after.failed)} failed"
        lost = ", and drop it on the first pass, the workers' results with it" if after.dropped else ""
        yield f"attach its fan-out with {counts}{lost}."
    if checked.run.meta is not None and checked.run.meta.status in OVER:
        yield "take a run up again that listings call over."


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words) if len(words) < 5 else f"{', '.join(words[:4])} and {len(words) - 4} more"


@dataclass(frozen=True, slots=True)
class FirstLook:
    """One thing to look at before anything is started again."""

    what: str
    file: str | None = None
    offset: int | None = None
    arguments: str | None = None
    """Of a call, as handed out."""


_WORST_FIRST = {"error": 0, "warning": 1}


def first_looks(checked: Checked) -> tuple[FirstLook, ...]:
    """What to look at, in order: files that are broken, effects that are unknown, then the warnings."""
    rows = sorted(
        (finding for finding in checked.findings if finding.severity in _WORST_FIRST),
        key=lambda finding: _WORST_FIRST[finding.severity],
    )
    errors = [_of_finding(row) for row in rows if row.severity == "error"]
    warnings = [_of_finding(row) for row in rows if row.severity == "warning"]
    calls = [
        FirstLook(
            f"call {call.call_id} of {call.name}: {look_for(call)}", "run.lvr", call.evidence_offset, call.arguments
        )
        for call in checked.run.story.unknown_effects
    ]
    return (*errors, *calls, *warnings)


def _of_finding(finding: Finding) -> FirstLook:
    does = f"; the engine {finding.engine_does}" if finding.engine_does else ""
    return FirstLook(f"{finding}{does}", finding.file, finding.offset)
