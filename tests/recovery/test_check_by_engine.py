"""What depends on the engine asked: whether it can read the files beside the journal at all, and what it then does."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from samples import SAMPLES, files_of, sample

import recovery_kit as rk

FOLDER = sample("07a-paused")
FILES = files_of(FOLDER)


def with_meta(**members: Any) -> dict[str, bytes]:
    files = FILES | {"meta.json": orjson.dumps(orjson.loads(FILES["meta.json"]) | members)}
    return {f"{FOLDER.name}/{name}": data for name, data in files.items()}


ANSWER = {"stage": "work", "submitted_at": 1, "artifacts": [{"name": "a", "path": "a", "mime_type": "text/plain"}]}
BLOCKED = {"reason": "needs_setup", "blocker": "provider_unreachable", "remedy": "look at the network"}


@pytest.mark.parametrize("members", [{"final_output": ANSWER}, {"waiting_on": BLOCKED}])
def test_an_older_engine_does_not_see_a_run_whose_meta_it_cannot_read(members: dict[str, Any]) -> None:
    """Object artifacts and newer blockers make meta.json unparseable before 0.6.2, so the run is invisible there."""
    for engine, seen in (("0.4.0", False), ("0.5.5", False), ("0.6.2", True), ("0.6.4", True)):
        (checked,) = rk.check(with_meta(**members), engine=engine)
        row = checked.as_json()
        assert row["restart"]["resumes"] is seen
        assert row["restart"]["why"] == (None if seen else "meta_unreadable")
        assert ("meta_unreadable" in {finding.kind for finding in checked.findings}) is not seen
        assert rk.plan_recovery(with_meta(**members), engine=engine).as_json()[0]["resumes"] is seen


def test_a_member_that_an_older_engine_does_not_know_does_not_hide_the_run() -> None:
    """A null that is fatal to the engine which knows the member is nothing to one that does not."""
    for engine, seen in (("0.4.0", True), ("0.6.4", False)):
        (checked,) = rk.check(with_meta(stage_models=None), engine=engine)
        assert checked.as_json()["restart"]["resumes"] is seen


def test_nothing_is_added_to_a_run_that_does_not_come_back() -> None:
    """A finished run keeps its open batch: no turn, no results and no fan-out come of it."""
    folder = sample("02a-killed-mid-batch")
    files = files_of(folder)
    files["meta.json"] = orjson.dumps(orjson.loads(files["meta.json"]) | {"status": "complete"})
    (checked,) = rk.check({f"{folder.name}/{name}": data for name, data in files.items()})
    restart = checked.as_json()["restart"]
    assert restart["entries_added_to_window"] == {"assistant_turns": 0, "tool_results": 0}
    assert restart["check_before_repeating"]


def test_a_parent_planned_alone_has_the_workers_of_its_folder() -> None:
    """Planning one run of a folder says the same of its fan-out as checking it, or planning the whole folder."""
    parent = next(path.parent for path in Path(SAMPLES, "08a-fan-out-with-workers").glob("*/fanout.json"))
    alone = rk.plan_recovery(str(parent)).as_json()[0]["fan_out_after"]
    together = {row["run_id"]: row for row in rk.plan_recovery(str(parent.parent)).as_json()}
    assert alone == together[parent.name]["fan_out_after"]
