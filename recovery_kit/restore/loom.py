"""What a restart does with one Run, as data: a table read from top to bottom, and the row that fits a checkpoint.

A pure function of the saved boundary. What the loaded Workflow has to say is in `loom_fit`. (intloom-recovery Part 3)
"""

from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET

from recovery_kit.records.loom import BOUNDARIES, CERTAINTY, Boundary, CallKind, Certainty, Checkpoint

Disposition = Literal["launch", "apply_result", "reopen_prompt", "deliver_answer", "interrupt", "hold", "history"]
DISPOSITIONS: tuple[str, ...] = (
    "launch", "apply_result", "reopen_prompt", "deliver_answer", "interrupt", "hold", "history",
)  # fmt: skip
Reason = Literal["uncertain_execution", "no_recovery_entry"]
RUN_INTERRUPTED = "RUN_INTERRUPTED"
AS_SAVED = "as saved"

ON_UNKNOWN = "interrupt"
"""This system's policy for an effect whose outcome nobody knows."""
SET_POLICY = "all_or_nothing"
"""One finding anywhere keeps every Run back."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. None means that it does not matter."""

    boundary: tuple[Boundary, ...]
    disposition: Disposition
    new_call: str
    replayed: str
    never_replayed: str
    status_after: str
    appends: tuple[Boundary, ...] = ()
    call: tuple[CallKind, ...] | None = None
    recoverable: bool | None = None
    route: Literal["step", "stage", "end"] | None = None
    paused: bool | None = False
    reason: Reason | None = None

    @property
    def error(self) -> str | None:
        """The code that the Run's end is given; only what is interrupted has one."""
        return RUN_INTERRUPTED if self.disposition == "interrupt" else None

    def fits(self, checkpoint: Checkpoint) -> bool:
        """Whether this is the row of a checkpoint, if no row above is."""
        c = checkpoint
        return (
            c.boundary in self.boundary
            and (self.paused is None or self.paused == c.is_paused)
            and (self.call is None or (c.call is not UNSET and c.call.kind in self.call))
            and (self.recoverable is None or (c.action is not UNSET and c.action.recoverable == self.recoverable))
            and (self.route is None or (c.result is not UNSET and c.result.route.kind == self.route))
        )


def _interrupt(
    boundary: Boundary, never: str, reason: Reason, *call: CallKind, recoverable: bool | None = None
) -> Rule:
    return Rule(
        (boundary,), "interrupt", "none", "nothing", never, "failed", ("terminal",), call, recoverable, reason=reason
    )


_WORKING: tuple[CallKind, ...] = ("code", "recovery")
_PREVIOUS = "saved outcome and route"

TABLE: tuple[Rule, ...] = (
    Rule(("terminal",), "history", "none", "nothing", "everything", AS_SAVED, paused=None),
    Rule(
        ("ready", "step_result", "waiting", "answered"), "hold", "none", "nothing", "everything until resume", "paused",
        paused=True,
    ),
    Rule(
        ("ready",), "launch", "now", "saved Stage State, or none before the first initializer", "earlier Steps",
        "running", ("executing",),
    ),
    Rule(
        ("step_result",), "apply_result", "now, for the next Step", _PREVIOUS, "the finished Step", "running",
        ("executing",), route="step",
    ),
    Rule(
        ("step_result",), "apply_result", "now, for the next Stage's initializer", _PREVIOUS, "the finished Step",
        "running", ("executing",), route="stage",
    ),
    Rule(
        ("step_result",), "apply_result", "none", _PREVIOUS, "the finished Step", "completed", ("terminal",),
        route="end",
    ),
    Rule(
        ("waiting",), "reopen_prompt", "when an answer is accepted",
        "the question under its saved action id; Stage State", "Code before the wait", "waiting", (), _WORKING, True,
    ),
    Rule(
        ("answered",), "deliver_answer", "now, kind recovery", "the saved answer, once, into recover; Stage State",
        "Code before the wait; the question", "running", ("executing",), _WORKING, True,
    ),
    _interrupt("waiting", "Code before the wait; the question", "no_recovery_entry", *_WORKING, recoverable=False),
    _interrupt("answered", "Code before the wait; the answer", "no_recovery_entry", *_WORKING, recoverable=False),
    _interrupt("executing", "the initializer", "uncertain_execution", "initializer"),
    _interrupt("executing", "the Code, its effects, an answer already handed over", "uncertain_execution", "code"),
    _interrupt("executing", "recover, the answer", "uncertain_execution", "recovery"),
    _interrupt("executing", "the model request and its tools", "uncertain_execution", "model"),
    _interrupt("executing", "the delegated task, claims, tool calls", "uncertain_execution", "agent"),
)  # fmt: skip
"""Every row of the decision table, in its order."""

_BY_BOUNDARY: dict[str, tuple[Rule, ...]] = {
    boundary: tuple(rule for rule in TABLE if boundary in rule.boundary) for boundary in BOUNDARIES
}

CLOSED: frozenset[str] = frozenset({"interrupt", "history"})
"""What becomes of Runs that do not run again: the Workflow is not asked about them."""

INTERRUPTED_MESSAGES: dict[str, str] = {
    "uncertain_execution": "Execution stopped with an unknown outcome; check committed data before starting new work.",
    "no_recovery_entry": "The question was open when the service ended, and its Code has no entry to recover it.",
}


def rule_of(checkpoint: Checkpoint) -> Rule:
    """The row of the table that a Run's newest checkpoint falls under."""
    return next(rule for rule in _BY_BOUNDARY[checkpoint.boundary] if rule.fits(checkpoint))


def status_after(rule: Rule, checkpoint: Checkpoint) -> str:
    """The status right after the restart."""
    return checkpoint.status if rule.status_after == AS_SAVED else rule.status_after


def certainty_of(checkpoint: Checkpoint) -> Certainty:
    """How sure the saved boundary is of the effect beside it."""
    return CERTAINTY[checkpoint.boundary]
