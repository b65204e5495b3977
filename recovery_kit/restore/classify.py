"""Which runs a restart loads, and in which order (leviath-run-directory 5.1; 0.5-to-0.6 N13)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import TERMINAL, RunMeta

Priority = Literal["active", "blocked"]

BY_STATUS: dict[str, Priority] = {
    "starting": "active",
    "running": "active",
    "waiting_input": "blocked",
    "complete_interactive": "blocked",
    "paused": "blocked",
}
"""The class of a run by the status in `meta.json`; the journal's status is not asked."""


@dataclass(frozen=True, slots=True)
class RestoreClass:
    """What a restart does with a run at its start."""

    loaded: bool
    priority: Priority | None
    why: str
    """The rule, in words a person can read."""
    why_not: str | None = None
    """`terminal` or `meta_unreadable`."""


def classify_restore(meta: RunMeta | None, has_fan_out: bool = False) -> RestoreClass:
    """Whether and in which class a run is loaded at start-up; a `fanout.json` that is there makes it blocked."""
    if meta is None:
        return RestoreClass(False, None, "its meta.json does not parse, so no engine sees it", "meta_unreadable")
    if meta.status in TERMINAL:
        return RestoreClass(False, None, f"it is over: meta.json says {meta.status}", "terminal")
    if has_fan_out:
        return RestoreClass(True, "blocked", f"meta.json says {meta.status}, and it is parked on a fan-out")
    priority = BY_STATUS[meta.status]
    can = "it can act at once" if priority == "active" else "it waits for something"
    return RestoreClass(True, priority, f"meta.json says {meta.status}: {can}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that a restart finds."""

    run_id: str
    meta: RunMeta | None
    has_fan_out: bool = False


@dataclass(frozen=True, slots=True)
class Triaged:
    """A run in its place of the restore order."""

    candidate: Candidate
    verdict: RestoreClass
    order: int | None
    """0 is restored first; None for one that is not loaded."""
    why: str
    """Why it stands there."""


def triage_restores(candidates: Sequence[Candidate]) -> tuple[Triaged, ...]:
    """Runs in restore order: active before blocked, the newer `updated_at` first in each; then those not loaded, by id.

    The engine leaves ties in the order of its directory listing, which is not specified; here they go by id.
    """
    judged = [(c, classify_restore(c.meta, c.has_fan_out)) for c in sorted(candidates, key=lambda c: c.run_id)]
    loaded = [(c, v) for c, v in judged if v.loaded]
    loaded.sort(key=lambda row: (row[1].priority != "active", -row[0].meta.updated_at if row[0].meta else 0))
    ordered = [
        Triaged(
            c, v, place, f"{v.why}; class {v.priority}, newest first: updated at {c.meta.updated_at if c.meta else 0}"
        )
        for place, (c, v) in enumerate(loaded)
    ]
    return (*ordered, *(Triaged(c, v, None, v.why) for c, v in judged if not v.loaded))


def can_page_in(meta: RunMeta | None, rules: Engine) -> bool:
    """Whether `resume`, `pause` or a message would load the run on demand (5.1; cancelled ones since 0.5.5, N13.3)."""
    if meta is None:
        return False
    return meta.status not in TERMINAL or (meta.status == "cancelled" and rules.pages_cancelled)
