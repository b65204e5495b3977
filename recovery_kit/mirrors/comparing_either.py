"""`compare`, of runs of either system."""

from typing import Any

from recovery_kit.runs.loom_run import LoomRun

from .comparing import Comparison
from .comparing import compare as compare_agents
from .comparing_looms import LoomComparison, compare_looms


def compare(a: Any, b: Any, *more: Any) -> Comparison | LoomComparison:
    """Lay branches of one run side by side, each beside the first (verified).

    Each is a `Run`, a `LoomRun`, a `Mirror`, a path, or a pair of one of them and the name of a moment. Raises NotARun,
    UnknownMoment, and OtherRuntime for runs of two systems.
    """
    things = (a, b, *more)
    if any(isinstance(thing[0] if isinstance(thing, tuple) else thing, LoomRun) for thing in things):
        return compare_looms(things)
    return compare_agents(*things)
