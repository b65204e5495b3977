"""A parent that waits for the workers of a fan-out (leviath-run-directory 5.9; 0.5-to-0.6 N13.4)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from recovery_kit.records.engines import Engine
from recovery_kit.records.scalars import U64_MAX
from recovery_kit.records.sidecars import FanOut, FanOutItem, OriginTool

Failure = Literal["recorded", "worker_did_not_reload"]


@dataclass(frozen=True, slots=True)
class RestoredFanOut:
    """A fan-out as it is attached to its reloaded parent."""

    active: tuple[tuple[str, str], ...]
    """(item id, run id) of workers that came back."""
    pending: tuple[FanOutItem, ...]
    failed: tuple[tuple[str, Failure], ...]
    """(item id, why), those on record first."""
    summaries: tuple[tuple[str, str], ...]
    max_workers: int
    paused: bool
    origin_call: str | None
    """Id of the call that asked for it; None where its stage did."""
    lost_workers: tuple[tuple[str, str], ...] = ()
    """(item id, run id) of workers that did not come back."""
    dropped: bool = False
    """The first pass of the engine forgets all of it: the parent is not waiting, and asks its model again."""

    @property
    def unlimited(self) -> bool:
        return self.max_workers == U64_MAX

    @property
    def outstanding(self) -> int:
        """Items that have neither a summary nor a failure."""
        return len(self.active) + len(self.pending)

    @property
    def results_reach_nobody(self) -> tuple[str, ...]:
        """Workers that come back and whose results nobody collects."""
        return tuple(run_id for _, run_id in self.active) if self.dropped else ()


def restore_fan_out(fan_out: FanOut | None, reloaded: Collection[str], rules: Engine) -> RestoredFanOut | None:
    """The waiting state that a start-up pass attaches; None without a readable `fanout.json`.

    `reloaded` are the ids of the runs that this pass brings back: a worker that is not among them is a failure of its
    item. A reload on demand attaches nothing: do not ask then.
    """
    if fan_out is None:
        return None
    lost = tuple(pair for pair in fan_out.active if pair[1] not in reloaded)
    recorded: list[tuple[str, Failure]] = [(item, "recorded") for item, _ in fan_out.failures]
    return RestoredFanOut(
        active=tuple(pair for pair in fan_out.active if pair[1] in reloaded),
        pending=fan_out.pending,
        failed=(*recorded, *((item, "worker_did_not_reload") for item, _ in lost)),
        summaries=fan_out.summaries,
        max_workers=fan_out.max_workers,
        paused=fan_out.paused,
        origin_call=fan_out.origin.tool.call_id if isinstance(fan_out.origin, OriginTool) else None,
        lost_workers=lost,
        dropped=not rules.keeps_fan_out,
    )
