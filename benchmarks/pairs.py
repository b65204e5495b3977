"""Paired measurement: every operation once a round, in random order, held against the reference of the same round."""

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ratio:
    """Processor time of an operation over that of the reference, in the same round."""

    name: str
    median: float
    low: float
    """First quartile."""
    high: float
    """Third quartile."""


def nothing() -> None:
    """Of an operation that needs no preparation."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What is measured: `run` on what `prepare` gave, whose time does not count."""

    run: Callable[[Any], object]
    prepare: Callable[[], Any] = nothing


def ratios(operations: Mapping[str, Operation], reference: Operation, rounds: int) -> list[Ratio]:
    """The ratios of all operations over so many rounds, after one round that does not count."""
    found: dict[str, list[float]] = {name: [] for name in operations}
    rng = random.Random(7)
    for number in range(rounds + 1):
        order: list[str | None] = [*operations, None]
        rng.shuffle(order)
        took = {name: _spent(reference if name is None else operations[name]) for name in order}
        if number:
            for name in operations:
                found[name].append(took[name] / took[None])
    return [_ratio(name, values) for name, values in found.items()]


def _spent(operation: Operation) -> float:
    prepared = operation.prepare()
    gc.collect()
    before = time.process_time()
    result = operation.run(prepared)
    spent = time.process_time() - before
    del result, prepared
    return spent


def _ratio(name: str, values: list[float]) -> Ratio:
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    return Ratio(name, median, low, high)
