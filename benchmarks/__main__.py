"""`python -m benchmarks`: ratios of processor time, paired, with quartiles and goals.

Every figure is held against a reference of the same round on the same bytes, so it says the same on any machine; noise
shows as distance between the quartiles.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from recovery_kit.history.story import Story
from recovery_kit.recovery.plan import plan_recovery
from recovery_kit.runs.opening import open_runs

from . import memory
from .journals import SHAPES, Shape, made
from .loom_start import START, start
from .operations import OPERATIONS, Measured, all_frames, check_truth
from .pairs import Operation, Ratio, ratios

SAMPLES = Path(__file__).parents[1] / "sample_runs"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n\n")[0])
    parser.add_argument("--turns", type=int, default=600, help="turns of each journal (33 kB each)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count")
    parser.add_argument("--loom-runs", type=int, default=1000, help="Runs of the workflow project that is started")
    parser.add_argument("--only", default="", help="operations whose name holds this")
    asked = parser.parse_args()
    chosen = {name: row for name, row in OPERATIONS.items() if asked.only in name}
    print(f"| {'operation':32} | {'journal':8} | {'ratio':>7} | {'quartiles':>15} | {'goal':>5} |")
    print(f"|{'-' * 34}|{'-' * 10}|{'-' * 8}:|{'-' * 16}:|{'-' * 6}:|")
    for shape in SHAPES:
        for line in _of_shape(shape, asked.turns, asked.rounds, chosen):
            print(line, flush=True)
    if asked.only in PLAN:
        print(_line(_plan(asked.rounds), "samples", None))
    if asked.only in START:
        print(_line(start(SAMPLES, asked.loom_runs, asked.rounds), f"{asked.loom_runs} runs", 2.0))


def _of_shape(shape: Shape, turns: int, rounds: int, chosen: dict[str, Measured]) -> Iterator[str]:
    journal = made(shape, turns)
    check_truth(journal)
    operations = {name: row.of(journal.data) for name, row in chosen.items()}
    for found in ratios(operations, Operation(all_frames, lambda: journal.data), rounds):
        goal = chosen[found.name].goal
        yield _line(found, shape, goal.get(shape) if isinstance(goal, dict) else goal)
    held = memory.per_point(journal.data, journal.truth.points)
    if held is not None:
        yield f"| {'timeline, kB a point':32} | {shape:8} | {held:7.2f} | {'':>15} | {2.0:5.2f} |"


PLAN = "plan of a folder / folds of it"


def _plan(rounds: int) -> Ratio:
    """What a plan of all sample runs costs, against folding their journals at seen depth."""
    plan = Operation(lambda _: plan_recovery(SAMPLES))
    skim = Operation(lambda _: [run.ask(Story.fold, seen=True) for run in open_runs(SAMPLES).agent_runs])
    return ratios({PLAN: plan}, skim, rounds)[0]


def _line(found: Ratio, journal: str, goal: float | None) -> str:
    told = "" if goal is None else f"{goal:.2f}"
    spread = f"{found.low:.3f}–{found.high:.3f}"
    return f"| {found.name:32} | {journal:8} | {found.median:7.3f} | {spread:>15} | {told:>5} |"


if __name__ == "__main__":
    main()
