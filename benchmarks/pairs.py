"""Paired measurement: every operation once a round, in random order, held against the reference of the same round."""

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """Processor time of an operation over that of the reference, in the same round."""

    name: str
    median: float
    low: float
    """First quartile."""
    high: float
    """Third quartile."""


def ratios(operations: Mapping[str, Callable[[], object]], reference: Callable[[], object], rounds: int) -> list[Ratio]:
    """The ratios of all operations over so many rounds, after one round that does not count."""
    found: dict[str, list[float]] = {name: [] for name in operations}
    rng = random.Random(7)
    for number in range(rounds + 1):
        order = [*operations, None]
        rng.shuffle(order)
        took = {name: _spent(reference if name is None else operations[name]) for name in order}
        if number:
            for name in operations:
                found[name].append(took[name] / took[None])
    return [_ratio(name, values) for name, values in found.items()]


def _spent(operation: Callable[[], object]) -> float:
    gc.collect()
    before = time.process_time()
    result = operation()
    spent = time.process_time() - before
    del result
    return spent


def _ratio(name: str, values: list[float]) -> Ratio:
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return Ratio(name, median, low, high)
