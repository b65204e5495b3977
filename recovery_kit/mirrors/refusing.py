"""An edited mirror that no provider would accept, found before a byte of it is written.

What a vendor refuses is known in `world.acceptance`; here it is asked of the request that a reload of the mirror sends
first, with every api whose rules are known.
"""

from recovery_kit.errors import CannotMirror
from recovery_kit.history.pairs import PairFault, request_check, tool_pairs
from recovery_kit.recovery.prompt_view import prompt_view
from recovery_kit.runs.run import Run
from recovery_kit.world.acceptance import RULES, Violation


def refuse_unacceptable(before: Run, after: Run) -> None:
    """Raises CannotMirror, naming the entry, where an edit parts a call from its result, or every known vendor would
    refuse the request for something that it did not refuse before."""
    known = {(fault.kind, fault.id) for fault in _faults(before)}
    for fault in _faults(after):
        if (fault.kind, fault.id) not in known:
            what = fault.kind.replace("_", " ")
            raise CannotMirror(before.id, f"no provider would accept it: entry {fault.place} ({what} {fault.id!r})")
    found = {api: _refused(after, api) for api in RULES}
    if not all(found.values()):
        return
    for api, violations in found.items():
        there = {(v.rule, v.id, v.sentence) for v in _refused(before, api)}
        new = [v for v in violations if (v.rule, v.id, v.sentence) not in there]
        if new:
            raise CannotMirror(before.id, f"no provider would accept it: {api} refuses {new[0]}")


def _faults(run: Run) -> tuple[PairFault, ...]:
    """Calls and results of the window that do not belong together, those included that the engine would leave out."""
    window = run.at().window
    return (*tool_pairs(window).faults, *request_check(window).faults)


def _refused(run: Run, api: str) -> list[Violation]:
    return [v for v in prompt_view(run.at(), api, after_restart=True).violations if v.certain]
