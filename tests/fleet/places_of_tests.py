"""What the tests of many runs have in common: samples that may be spoiled, and tables held side by side."""

import shutil
from pathlib import Path

import pandas as pd
from samples import SAMPLES

STORIES = ("01-finished", "02a-killed-mid-batch", "05a-parked-at-a-question", "07a-paused", "14a-torn-tail",
           "18a-retries-and-failover", "21-older-engine-killed-mid-batch")  # fmt: skip


def shelf(to: Path, stories: tuple[str, ...] = STORIES) -> Path:
    """A folder of runs, one or more a story, all right in it."""
    to.mkdir(parents=True, exist_ok=True)
    for story in stories:
        for run in sorted((SAMPLES / story).iterdir()):
            if run.is_dir():
                shutil.copytree(run, to / run.name)
    return to


def journal(folder: Path, place: int = 0) -> Path:
    """A journal of the folder."""
    return sorted(folder.glob("*/run.lvr"))[place]


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Equal in every cell and dtype."""
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True))
