"""What a stock engine (0.6.4) made of mirrors of the sample runs, recorded: it listed each as paused, resumed it and
finished it; here is the window that it had after the reload, which the kit has to predict.
"""

import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from samples import ROOT, SAMPLES

from recovery_kit.history.windows import window_sha256
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.records.engines import engine
from recovery_kit.recovery.restoring import restored
from recovery_kit.runs.opening import open_run

ROWS: list[dict[str, Any]] = orjson.loads((ROOT / "tests" / "data" / "mirrors" / "engine_answers.json").read_bytes())


def test_the_engine_took_all_of_them() -> None:
    """Every recorded mirror was listed as paused and ended complete."""
    assert len(ROWS) > 150
    assert {row["listed"] for row in ROWS} == {"paused"} and {row["ended"] for row in ROWS} == {"complete"}


@pytest.mark.parametrize("name", sorted({row["run"] for row in ROWS}))
def test_the_engines_window_is_predicted(name: str) -> None:
    """Made again, each mirror is restored to the window and the position that the engine had."""
    run = open_run(SAMPLES / name)
    for row in (row for row in ROWS if row["run"] == name):
        with tempfile.TemporaryDirectory() as folder:
            how = {"batch": row["batch"], "agents": SAMPLES / "agents"}
            mirror = create_mirror(run, row["at"], Path(folder), row["history"], **how)
            if row["edit"]:
                mirror.edit(**row["edit"])
            story = mirror.run.story
            after = restored(story, engine("0.6.4"), story.blueprint, lambda _: False)
            assert after is not None
            assert window_sha256(after.window) == row["window_sha256"], row
            assert (after.agent.stage_index, after.agent.iteration) == (row["stage_index"], row["iteration"])
