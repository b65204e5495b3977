"""The plan of a start: the decision table, the findings of every kind, and the way out of a blocked start."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looms.release_notes import (
    I1,
    IDENTITY,
    RUNTIME,
    A,
    B,
    C,
    D,
    M,
    as_bytes,
    head,
    history_a,
    history_b,
    history_c,
    history_m,
    key,
    named,
    on_disk,
    snapshot,
    whole,
    workflow,
)

from recovery_kit.errors import NotARun
from recovery_kit.recovery.loom_plan import LoomPlan, plan_project


def plan(*histories: list[dict[str, Any]], flows: Any = "default") -> LoomPlan:
    return plan_project(named(*histories), [workflow()] if flows == "default" else flows)


def problems(found: LoomPlan) -> list[str]:
    return [finding.problem for finding in found.findings]


A_ROWS = {
    1: ("launch", None, "running", ["executing"], "not_started"),
    2: ("interrupt", "uncertain_execution", "failed", ["terminal"], "unknown"),
    3: ("launch", None, "running", ["executing"], "not_started"),
    4: ("interrupt", "uncertain_execution", "failed", ["terminal"], "unknown"),
    5: ("apply_result", None, "running", ["executing"], "done"),
    6: ("interrupt", "uncertain_execution", "failed", ["terminal"], "unknown"),
    7: ("apply_result", None, "running", ["executing"], "done"),
    9: ("launch", None, "running", ["executing"], "not_started"),
    11: ("interrupt", "uncertain_execution", "failed", ["terminal"], "unknown"),
    12: ("reopen_prompt", None, "waiting", [], "done"),
    13: ("deliver_answer", None, "running", ["executing"], "not_started"),
    14: ("interrupt", "uncertain_execution", "failed", ["terminal"], "unknown"),
    16: ("apply_result", None, "completed", ["terminal"], "done"),
    17: ("history", None, "completed", [], "closed"),
}


@pytest.mark.parametrize("cut", A_ROWS)
@pytest.mark.parametrize("flows", ["default", None])
def test_every_boundary_has_its_row(cut: int, flows: Any) -> None:
    """The history of the example, cut after every kind of boundary, gets the row of the decision table."""
    found = plan(history_a(cut), flows=flows)
    assert found.start == "ok" and found.workflows_checked == (flows is not None)
    row = found.as_json()["runs"][0]
    assert (row["disposition"], row["reason"], row["status_after"], row["appends"], row["certainty"]) == A_ROWS[cut]


def test_waits_that_cannot_come_back() -> None:
    """Waits without recover and delegated work are interrupted, a mirror holds."""
    found = plan(history_b(), history_c(), history_m())
    rows = {row.run_id: (row.disposition, row.rule.reason, row.status_after) for row in found.runs}
    assert rows == {
        B: ("interrupt", "no_recovery_entry", "failed"),
        C: ("interrupt", "uncertain_execution", "failed"),
        M: ("hold", None, "paused"),
    }


def test_truncated_file_blocks_the_set() -> None:
    """Scenario 12: one file cut short blocks the start, names its path, and holds the other Runs hostage."""
    files = named(history_a(12), history_b())
    path = f"{RUNTIME}/{key(A)}/00000012.json"
    files[path] = files[path][:100]
    found = plan_project(files)
    assert [(f.problem, f.path, f.run_id) for f in found.findings] == [("corrupt", path, A)]
    assert found.hostages == (B,) and found.unblock == (f"{RUNTIME}/{key(A)}",)


def test_format_1_beside_format_3() -> None:
    """Scenario 13: a flat file of format 1 is refused by its number."""
    files = named(history_a(12)) | {f"{RUNTIME}/{key(D)}.json": b'{"version": 1}'}
    found = plan_project(files)
    assert problems(found) == ["version"]
    assert re.search(r"\b1\b.*\b3\b", found.findings[0].detail)
    assert found.unblock == (f"{RUNTIME}/{key(D)}.json",)


@pytest.mark.parametrize(
    ("version", "problem"),
    [("2", "version"), ("4", "version"), ("3.0", "corrupt"), ('"3"', "corrupt"), ("true", "corrupt"), (None, "corrupt"),
     ("0", "corrupt"), ("-1", "corrupt"), ("9" * 5000, "corrupt"), ("9" * 40, "version")],
)  # fmt: skip
def test_odd_versions(version: str | None, problem: str) -> None:
    """Scenario 14: only an integer from 1 other than 3 is another version; anything else is no checkpoint."""
    text = as_bytes(whole([history_a(1)[0]], head(D))[0] | {"version": 777}).decode()
    text = text.replace('"version":777,', "" if version is None else f'"version":{version},')
    assert problems(plan_project({f"{RUNTIME}/{key(D)}/00000001.json": text.encode()})) == [problem]


def test_the_right_version_passes() -> None:
    """The file of the test above, with the version that is supported."""
    files = {f"{RUNTIME}/{key(D)}/00000001.json": as_bytes(whole([history_a(1)[0]], head(D))[0])}
    assert plan_project(files).start == "ok"


def test_version_wins_over_schema() -> None:
    """Scenario 15: a file of another version is looked at no further."""
    assert problems(plan_project({f"{RUNTIME}/{key(D)}/00000001.json": b'{"version":1}'})) == ["version"]


@pytest.mark.parametrize("place", ["file", "folder", "root", "private"])
def test_symbolic_links(tmp_path: Path, place: str) -> None:
    """Scenario 16: a link is refused wherever it stands, and what it points to is untouched."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    on_disk(outside, history_a(12))
    (project / RUNTIME).mkdir(parents=True)
    if place == "file":
        on_disk(project, history_a(11))
        name = f"{RUNTIME}/{key(A)}/00000012.json"
    else:
        name = {"folder": f"{RUNTIME}/{key(A)}", "root": RUNTIME, "private": ".intloom"}[place]
        if place in ("root", "private"):
            (project / RUNTIME).rmdir()
        if place == "private":
            (project / ".intloom").rmdir()
    (project / name).symlink_to(outside / name)
    before = snapshot(outside)
    found = plan_project(project)
    assert [(f.problem, f.path) for f in found.findings] == [("unsafe_path", name)]
    assert found.unblock == (f"{RUNTIME}/{key(A)}" if place == "file" else name,)
    assert snapshot(outside) == before


def test_gap() -> None:
    """Scenario 17: the missing number is named."""
    files = named(history_a(12))
    del files[f"{RUNTIME}/{key(A)}/00000007.json"]
    found = plan_project(files)
    assert problems(found) == ["corrupt"] and "7" in found.findings[0].detail
    assert found.findings[0].path == f"{RUNTIME}/{key(A)}"


def test_copied_directory() -> None:
    """Scenario 18: a directory under another Run's key is one finding a file, and no duplicate."""
    files = named(history_a(12))
    copied = {name.replace(key(A), key(D)): data for name, data in files.items()}
    found = plan_project(files | copied)
    assert problems(found) == ["corrupt"] * 12 and all(key(D) in f.path for f in found.findings)
    assert found.hostages == (A,) and found.unblock == (f"{RUNTIME}/{key(D)}",)


def test_duplicate_operation() -> None:
    """Scenario 19: two Runs of one operation; to go on, one of them has to go."""
    found = plan(history_a(12), history_b(op=1))
    assert problems(found) == ["duplicate"] and A in found.findings[0].detail and B in found.findings[0].detail
    assert found.findings[0].path == RUNTIME and found.runs == () and len(found.unblock) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"boundary":', '"boundary":"waiting","boundary":', 1).encode(),
        lambda text: text.replace('"approved":false', '"approved":NaN', 1).encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("2.4", "\\ud800", 1).encode(),
        lambda text: text.replace('"approved":false', '"approved":1e999', 1).encode(),
        lambda text: text.replace("2.4", "\u00ff", 1).encode("latin-1"),
        lambda text: text.replace('"approved":false', '"approved":' + "[" * 1000 + "]" * 1000, 1).encode(),
        lambda text: text.replace('"approved":false', '"approved":' + "1" * 5000, 1).encode(),
        lambda text: text.replace('"boundary"', '"more":null,"boundary"', 1).encode(),
        lambda text: (text + "x").encode(),
        lambda text: text.replace("09:00:12.000Z", "09:60:12.000Z", 1).encode(),
        lambda text: text.replace('"recoverable":true', '"recoverable":1', 1).encode(),
        lambda text: text.replace(',"commits"', ',"answer":null,"commits"', 1).encode(),
    ],
)
def test_bad_text_and_shape(change: Any) -> None:
    """Scenario 20 and its kind: text that Python alone would let pass is corrupt."""
    files = named(history_a(12))
    path = f"{RUNTIME}/{key(A)}/00000012.json"
    files[path] = change(files[path].decode())
    assert [(f.problem, f.path) for f in plan_project(files).findings] == [("corrupt", path)]


def test_odd_but_sound_text() -> None:
    """Blank space, escapes, 200 levels and huge integers are read exactly."""
    history = history_a(12)
    deep: Any = 10**400
    for _ in range(190):
        deep = [deep]
    for row in history[8:]:
        row["stage"] = {"input": deep, "value": deep}
    files = named(history)
    files |= {
        name: json.dumps(json.loads(data), indent=1).encode() for name, data in files.items() if name.endswith(".json")
    }
    assert plan_project(files).start == "ok"


def after_the_end() -> list[dict[str, Any]]:
    more = history_a(9)[8] | {"seq": 18, "commits": history_a()[16]["commits"]}
    return [*history_a(), more]


def reused_question() -> list[dict[str, Any]]:
    base = history_a(13)
    back = base[10] | {"seq": 14}
    return [*base, back, base[11] | {"seq": 15}]


def jumped_cursor() -> list[dict[str, Any]]:
    rows = history_a(10)
    rows[9]["cursor"] = {"stageName": "publish", "stepName": "other"}
    return rows


def foreign_commit() -> list[dict[str, Any]]:
    rows = history_a(11)
    rows[10]["commits"][0]["callId"] = "CALL-x"
    return rows


def born_committed() -> list[dict[str, Any]]:
    rows = history_a(1)
    rows[0]["commits"] = history_a(11)[10]["commits"]
    return rows


def other_intent() -> list[dict[str, Any]]:
    rows = history_a(5)
    rows[4]["run"]["intent"] = "Another"
    return rows


def half_resumed() -> list[dict[str, Any]]:
    first = history_m()[0]
    second = json.loads(as_bytes(first)) | {"seq": 2}
    second["run"]["lineage"]["paused"] = False
    second["action"]["id"] = "ASK-other"
    return [first, second]


@pytest.mark.parametrize(
    "history",
    [after_the_end, reused_question, jumped_cursor, foreign_commit, born_committed, other_intent, half_resumed],
)
def test_illegal_histories(history: Any) -> None:
    """Scenarios 21, 22 and their kind: whole files that cannot follow one another name the Run's directory."""
    found = plan(history(), flows=None)
    assert problems(found) == ["corrupt"] and found.findings[0].path.count("/") == 2


def test_resumed_mirror_is_a_history() -> None:
    """A mirror that went on holds what it held, and no longer waits for a word."""
    first = history_m()[0]
    second = json.loads(as_bytes(first)) | {"seq": 2, "instanceId": I1, "savedAt": "2027-01-17T10:00:00.000Z"}
    second["run"]["lineage"]["paused"] = False
    found = plan([first, second])
    assert found.start == "ok" and found.runs[0].disposition == "reopen_prompt"


def test_several_at_once() -> None:
    """Scenario 23: every problem is collected."""
    files = named(history_a(12), history_b(op=2), history_c(op=2)) | {f"{RUNTIME}/{key(D)}.json": b'{"version": 1}'}
    path = f"{RUNTIME}/{key(A)}/00000012.json"
    files[path] = files[path][:100]
    found = plan_project(files)
    assert sorted(problems(found)) == ["corrupt", "duplicate", "version"]
    assert len(found.unblock) == 3 and found.runs == ()


def test_empty_directory_is_no_run(tmp_path: Path) -> None:
    """Scenario 28: a Run without a first checkpoint was never there."""
    project = on_disk(tmp_path)
    (project / RUNTIME / key(D)).mkdir()
    (project / RUNTIME / ".x.tmp").symlink_to("nowhere")
    found = plan_project(project)
    assert found.start == "ok" and found.runs == ()


def test_changed_identity() -> None:
    """Scenario 35: another identity blocks what would run, and leaves what is interrupted alone."""
    other = [workflow(identity="4a" * 32)]
    assert problems(plan(history_a(12), flows=other)) == ["workflow_changed"]
    assert plan(history_a(11), flows=other).runs[0].disposition == "interrupt"
    assert problems(plan(history_m(), flows=other)) == ["workflow_changed"]


def test_recover_entry_removed() -> None:
    """Scenario 36: a question that could be recovered needs Code that still can."""
    assert problems(plan(history_a(12), flows=[workflow(recover=False)])) == ["workflow_changed"]


def test_state_no_longer_matches() -> None:
    """Scenario 37: the schema has to make the saved value of the saved input again."""
    from typing import Annotated

    from pydantic import BaseModel, BeforeValidator

    class Shouting(BaseModel):
        draftId: str
        approved: Annotated[str, BeforeValidator(str.upper)]

    assert problems(plan(history_a(12), flows=[workflow(schema=Shouting)])) == ["state_invalid"]


def test_missing_workflow_and_ended_runs() -> None:
    """Scenario 9: an ended Run needs no Workflow."""
    assert plan(history_a(17), flows=[]).start == "ok"
    assert problems(plan(history_a(12), flows=[])) == ["workflow_changed"]


def test_a_question_that_is_none_is_found_without_workflows() -> None:
    """What the files alone can prove is always checked."""
    history = history_a(12)
    history[11]["action"]["request"] = {"message": "?"}
    assert problems(plan(history, flows=None)) == ["state_invalid"]


def test_odd_entries_cost_no_run(tmp_path: Path) -> None:
    """A stray file beside checkpoints is named itself; the Run is not given up for it."""
    project = on_disk(tmp_path, history_a(12))
    stray = project / RUNTIME / key(A) / "notes.txt"
    stray.write_text("x")
    found = plan_project(project)
    assert problems(found) == ["unsafe_path"] and found.unblock == (f"{RUNTIME}/{key(A)}/notes.txt",)
    stray.unlink()
    assert plan_project(project).start == "ok"


def test_unblock_is_enough() -> None:
    """Without the paths that are advised the start goes ahead, and an odd entry that hides a duplicate is seen."""
    files = named(history_a(12), history_b(op=1)) | {f"{RUNTIME}/{key(B)}/odd": b""}
    found = plan_project(files)
    assert problems(found) == ["unsafe_path"] and found.unblock == (f"{RUNTIME}/{key(B)}",)
    left = {name: data for name, data in files.items() if not name.startswith(found.unblock)}
    assert plan_project(left).start == "ok"


def test_no_project_is_refused(tmp_path: Path) -> None:
    """A folder with neither mark is no project."""
    with pytest.raises(NotARun):
        plan_project(tmp_path)


@settings(max_examples=150)
@given(st.integers(1, 17), st.data())
def test_any_mutation_is_an_answer(cut: int, data: st.DataObject) -> None:
    """Any byte of any checkpoint changed: a plan comes back, and nothing is ever launched twice because of it."""
    files = named(history_a(cut))
    path = data.draw(st.sampled_from(sorted(name for name in files if name.endswith(".json"))))
    place = data.draw(st.integers(0, len(files[path]) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = files[path][:place] + bytes([byte]) + files[path][place + 1 :]
    found = plan_project(files | {path: changed})
    assert json.dumps(found.as_json())
    if found.runs:
        assert found.runs[0].seq == cut


def test_table_is_the_documents() -> None:
    """The decision table in code, row by row, against the published one."""
    from recovery_kit.restore.loom import TABLE

    rows = json.loads((Path(__file__).parents[1] / "data" / "loom_decisions.json").read_text())
    assert len(rows) == len(TABLE)
    for row, rule in zip(rows, TABLE, strict=True):
        boundary = row["boundary"] if isinstance(row["boundary"], list) else [row["boundary"]]
        assert (boundary, row["call"]) == (list(rule.boundary), None if rule.call is None else list(rule.call))
        assert row["appends"] == list(rule.appends)
        for name in ("recoverable", "route", "paused", "disposition", "new_call", "replayed", "never_replayed", "error",
                     "reason", "status_after"):  # fmt: skip
            assert row[name] == getattr(rule, name), (row, name)


def test_identity_is_constant() -> None:
    """The example's keys are those of the document."""
    assert key(A) == "f4edf0303cf2670a108a617599929254aa905a0708b3bef17a5efb3ed29d854a" and len(IDENTITY) == 64
