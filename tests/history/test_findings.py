"""Each kind of finding can be raised, by the smallest run that deserves it, and a run in order deserves none."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from samples import CASES, files_of, sample

import recovery_kit as rk
from recovery_kit.formats.framing import PREAMBLE, frame, scan
from recovery_kit.formats.journal import Journal
from recovery_kit.formats.writing import frame_of, journal_of
from recovery_kit.records.findings import SEVERITY
from recovery_kit.records.journal import ContextDiff, Header, StatusChanged, ToolBatch, ToolCallDone
from recovery_kit.records.window import Append, Delta, RegionOp

Files = dict[str, bytes]
BASE = files_of(sample("02a-killed-mid-batch"))
PARKED = files_of(sample("05a-parked-at-a-question"))
ID = sample("02a-killed-mid-batch").name


def records(files: Files) -> list[Any]:
    reading = Journal(files["run.lvr"]).read()
    return [reading.record(index) for index, _ in reading]


def with_journal(data: bytes) -> Files:
    return BASE | {"run.lvr": data}


def with_meta(**members: Any) -> Files:
    return BASE | {"meta.json": orjson.dumps(orjson.loads(BASE["meta.json"]) | members)}


def kinds(files: Files, run_id: str = ID) -> set[str]:
    (checked,) = rk.check({f"{run_id}/{name}": data for name, data in files.items()})
    return {finding.kind for finding in checked.findings}


def _stages(**members: Any) -> Files:
    return BASE | {"stages.json": orjson.dumps([row | members for row in orjson.loads(BASE["stages.json"])])}


def _late_completion() -> bytes:
    """A journal that begins after a turn: the completion is there, its batch is not."""
    first, *rest = [r for r in records(BASE) if not isinstance(r, ToolBatch)]
    assert isinstance(first, Header)
    return journal_of([Header(first.identity, replace(first.meta, iteration=1)), *rest])


def _applied() -> bytes:
    """The pending batch again, its first call renamed: the engine takes it for new, and the window has its turn."""
    reading = records(BASE)
    batch = next(r for r in reading if isinstance(r, ToolBatch) and r.iteration == 1)
    odd = replace(
        batch, iteration=2, calls=(replace(batch.calls[0], id="new", result=None), replace(batch.calls[0], result=None))
    )
    return journal_of([*reading, odd])


def _diff(region: str) -> bytes:
    change = RegionOp(append=Append(region, (), 1))
    return BASE["run.lvr"] + frame_of(ContextDiff(Delta("close", 1, 1, (change,)), 1))


RAISED: dict[str, Callable[[], Files]] = {
    "torn_tail": lambda: with_journal(BASE["run.lvr"][:-5]),
    "records_hidden_behind_a_tear": lambda: with_journal(
        BASE["run.lvr"][:-5] + frame_of(StatusChanged("running", 2)) + frame_of(StatusChanged("paused", 3))
    ),
    "journal_behind_meta": lambda: with_meta(iteration=9),
    "files_disagree": lambda: with_meta(status="paused"),
    "unreadable_frame": lambda: with_journal(BASE["run.lvr"] + frame(b'{"StatusChanged":{"status":"odd","at":1}}')),
    "unreadable_frame_holds_a_result": lambda: with_journal(
        BASE["run.lvr"] + frame(b'{"ToolCallDone":{"iteration":2.0,"call_id":"b2","result":"x","at":1}}')
    ),
    "unknown_record": lambda: with_journal(
        BASE["run.lvr"] + frame(b'{"StatusChanged":{"status":"running","at":1,"new":3}}')
    ),
    "zero_filled": lambda: with_journal(BASE["run.lvr"] + bytes(16)),
    "newer_version": lambda: with_journal(b"LVR1\0\7" + BASE["run.lvr"][6:]),
    "bad_magic": lambda: with_journal(b"LVR9" + BASE["run.lvr"][4:]),
    "short_preamble": lambda: with_journal(PREAMBLE[:5]),
    "empty_file": lambda: with_journal(b""),
    "meta_unreadable": lambda: BASE | {"meta.json": BASE["meta.json"][:-9]},
    "interactions_json_unreadable": lambda: PARKED | {"interactions.json": b'{"cursor":0'},
    "sidecar_unreadable": lambda: BASE | {"stages.json": b"[{}]"},
    "run_id_is_not_folder_name": lambda: with_meta(run_id="other-1-0"),
    "child_id_unsafe": lambda: with_meta(children=["../../etc"]),
    "finished_run_would_resume": lambda: with_journal(BASE["run.lvr"] + frame_of(StatusChanged("complete", 2))),
    "approval_not_carried_over": lambda: with_meta(status="waiting_input", waiting_on={"reason": "tool_approval"}),
    "prompt_stranded": lambda: PARKED,
    "change_to_unknown_region": lambda: with_journal(_diff("nowhere")),
    "first_batch_not_journaled": lambda: with_journal(_late_completion()),
    "journal_starts_late": lambda: with_journal(_late_completion()),
    "pending_batch_already_applied": lambda: with_journal(_applied()),
    "final_output_missing": lambda: with_meta(final_output={"stage": "close", "submitted_at": 1}),
    "stage_ledger_zeroed": lambda: _stages(prompt_tokens=0, completion_tokens=0, entered=False),
    "stage_complete_but_never_entered": lambda: _stages(
        prompt_tokens=0, completion_tokens=0, entered=False, status="complete"
    ),
    "secret_in_run": lambda: with_meta(callback_secret="s3cr3t-s3cr3t"),
}
"""Kind to the files that raise it. The others have field cases, or need a folder."""


@pytest.mark.parametrize("kind", sorted(RAISED))
def test_what_raises_it(kind: str) -> None:
    """The smallest change of a run in order that deserves the finding raises it, and the run in order does not."""
    assert kind in kinds(RAISED[kind]())
    assert kind == "prompt_stranded" or kind not in kinds(BASE)


def test_a_link_is_refused(tmp_path: Path) -> None:
    """A symbolic link inside a run is named and not followed, the journal's own included."""
    target = tmp_path / "elsewhere"
    target.write_bytes(BASE["run.lvr"])
    folder = tmp_path / ID
    folder.mkdir()
    for name, data in BASE.items():
        if name != "run.lvr" and "/" not in name:
            (folder / name).write_bytes(data)
    os.symlink(target, folder / "run.lvr")
    (checked,) = rk.check(folder)
    assert "link_refused" in {finding.kind for finding in checked.findings}
    assert checked.as_json()["journal"]["error_class"] == "link_outside"
    assert checked.as_json()["fold"] is None


def test_what_a_folder_tells_of_relations(tmp_path: Path) -> None:
    """Parents, children and workers are looked for beside the run, by their ids alone."""
    meta = orjson.loads(BASE["meta.json"])
    fan_out = {
        "config": {}, "max_workers": 2, "pending": [], "summaries": [], "failures": [], "paused": True,
        "active": [["a", "done-1-0"], ["b", "paused-1-0"]],
    }  # fmt: skip
    rows = {
        ID: meta | {"parent_run_id": "gone-1-0", "children": ["gone-1-1"]},
        "done-1-0": meta | {"run_id": "done-1-0", "status": "complete"},
        "paused-1-0": meta | {"run_id": "paused-1-0", "status": "paused"},
    }
    for run_id, row in rows.items():
        (tmp_path / run_id).mkdir()
        (tmp_path / run_id / "meta.json").write_bytes(orjson.dumps(row))
    (tmp_path / ID / "fanout.json").write_bytes(orjson.dumps(fan_out))
    checked = {c.run.id: {f.kind for f in c.findings} for c in rk.check(tmp_path)}
    assert checked[ID] >= {
        "parent_missing", "child_missing", "finished_worker_will_count_as_failed", "waits_for_paused_worker",
        "fan_out_is_paused", "fan_out_forgotten",
    }  # fmt: skip


def test_regions_that_only_a_later_stage_has() -> None:
    """A region that the restored window lacks, by the run's own manifest, is announced as lost."""
    window = orjson.loads(BASE["context.json"])
    window["regions"].append(
        {
            "name": "papers",
            "kind": "pinned",
            "current_tokens": 900_000,
            "max_tokens": 9,
            "entries": [{"content": "x", "tokens": 900_000}],
        }
    )
    files = BASE | {"context.json": orjson.dumps(window)}
    del files["run.lvr"]
    assert "regions_lost_on_reload" in kinds(files)
    task = window["regions"][0]
    task["entries"][0]["tokens"] = 900_000
    assert "restart_window_larger_than_last_seen" in kinds(files | {"context.json": orjson.dumps(window)})


def test_every_kind_has_an_example() -> None:
    """No kind of the closed list is without an example, here or among the field cases."""
    here = set(RAISED) | {
        "link_refused", "parent_missing", "child_missing", "finished_worker_will_count_as_failed", "waits_for_paused_worker",
        "fan_out_is_paused", "fan_out_forgotten", "regions_lost_on_reload", "restart_window_larger_than_last_seen",
    }  # fmt: skip
    cases = {
        text.split(":")[0]
        for path in CASES.glob("*/expect.json")
        for run in (orjson.loads(path.read_bytes()).get("runs") or {}).values()
        for rows in (run, *(run.get("by_engine") or {}).values())
        for text in rows.get("warn", ())
    }
    assert set(SEVERITY) == here | cases


def test_a_run_in_order() -> None:
    """A finished run in order has nothing to look at."""
    (checked,) = rk.check(sample("01-finished"))
    assert not checked.needs_a_look


def test_a_scan_of_the_base() -> None:
    """The run that the examples are made of is whole."""
    assert scan(BASE["run.lvr"]).torn_at is None
    assert any(isinstance(record, ToolCallDone) for record in records(BASE))
