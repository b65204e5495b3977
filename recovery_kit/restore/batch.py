"""A batch that was handed out and whose turn never reached the window: what a restart says of each call.

No call is ever run again. A result that is held stays; for the rest the model is told to look first. Rules:
leviath-run-directory 5.7, 0.5-to-0.6 N14.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from recovery_kit.formats.exact import read_value
from recovery_kit.formats.tree import Unreadable
from recovery_kit.history.fold import Pending
from recovery_kit.history.lives import INTERRUPTED as BEGINS
from recovery_kit.history.windows import text_of
from recovery_kit.records.engines import Engine
from recovery_kit.records.journal import BatchCall, ToolCallDone
from recovery_kit.records.window import Content, TurnCall, Window
from recovery_kit.world.results import Applied, Placing, apply_batch, turn_entry

from .wording import SUBAGENT_TOOLS, stand_in


@dataclass(frozen=True, slots=True)
class RestoredCall:
    """A call of a replayed batch and the one result that it gets."""

    call: BatchCall
    turn_call: TurnCall
    """As it goes into the turn: arguments as JSON."""
    result: Content
    stood_in: bool
    """The result is this restart's word."""
    arguments_are_json: bool
    children: tuple[str, ...] = ()
    """Runs that the stand-in names."""

    @property
    def id(self) -> str:
        return self.call.id

    @property
    def verify_first(self) -> bool:
        """Whether it may have taken effect unseen: its result is a stand-in, of this restart or an earlier one."""
        return self.stood_in or text_of(self.result).startswith(BEGINS)


@dataclass(frozen=True, slots=True)
class RestoredBatch:
    """A turn and one result for each of its calls."""

    iteration: int
    response: str
    calls: tuple[RestoredCall, ...]
    journals: bool
    """The engine journals its stand-ins before it applies the turn (N14)."""

    @property
    def results(self) -> tuple[tuple[str, Content], ...]:
        """(call id, result) in call order."""
        return tuple((call.id, call.result) for call in self.calls)

    @property
    def stood_in(self) -> tuple[str, ...]:
        """Ids of calls whose result this restart makes up, in call order."""
        return tuple(call.id for call in self.calls if call.stood_in)

    @property
    def verify_first(self) -> tuple[str, ...]:
        """Ids of calls that somebody has to look after before they are done again."""
        return tuple(call.id for call in self.calls if call.verify_first)

    @property
    def children_named(self) -> dict[str, tuple[str, ...]]:
        """The children that a stand-in names, by call id."""
        return {call.id: call.children for call in self.calls if call.children}

    def completions(self, at: int) -> tuple[ToolCallDone, ...]:
        """The records a restart at that second writes for the calls it gives up; none for engines that write none."""
        if not self.journals:
            return ()
        return tuple(
            ToolCallDone(
                iteration=self.iteration, call_id=c.id, execution_id=c.call.execution_id, result=c.result,
                outcome="indeterminate", at=at,
            )
            for c in self.calls
            if c.stood_in
        )  # fmt: skip

    def applied(self, window: Window, placing: Placing, rules: Engine) -> Applied:
        """The window with the turn and its results, by the rules of any batch; the reply's `reasoning` is lost."""
        turn = turn_entry(self.response, [call.turn_call for call in self.calls], placing)
        return apply_batch(window, turn, self.results, placing, rules)


def restore_pending_batch(pending: Pending | None, children: Sequence[str], rules: Engine) -> RestoredBatch | None:
    """What a restart makes of the fold's pending batch; None where nothing is pending or the engine replays none.

    `children` are those of the metadata. The batch's own stage counts for nothing: its results go by the routing of the
    stage that is restored. Blobs of held results are not looked at.
    """
    if pending is None or not rules.replays_batches:
        return None
    calls = tuple(_restored(call, result, tuple(children), rules) for call, result in pending.calls())
    return RestoredBatch(pending.batch.iteration, pending.batch.response, calls, rules.journals_stand_ins)


def _restored(call: BatchCall, held: Content | None, children: tuple[str, ...], rules: Engine) -> RestoredCall:
    arguments, is_json = arguments_of(call.arguments, rules)
    turn_call = TurnCall(call.id, call.name, arguments, call.thought_signature)
    if held is not None:
        return RestoredCall(call, turn_call, held, False, is_json)
    named = children if call.name in SUBAGENT_TOOLS else ()
    return RestoredCall(call, turn_call, stand_in(call.name, children), True, is_json, named)


def arguments_of(text: str, rules: Engine) -> tuple[Raw, bool]:
    """A call's arguments as JSON, and whether they were; what the engine's reader does not take becomes a string."""
    try:
        return read_value(text.encode("utf-8", "surrogatepass"), Raw, rules), True
    except (Unreadable, RecursionError):
        return Raw(msgspec.json.encode(text)), False
