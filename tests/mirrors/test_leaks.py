"""Nothing of the source gets out through a mirror but the window's own text; where that holds something it is said."""

import json
from pathlib import Path

import pytest
from branching import agents_folder, all_bytes
from samples import CASES, case, files_of, sample

from recovery_kit.formats.framing import LENGTH, PREAMBLE
from recovery_kit.mirrors.comparing import compare
from recovery_kit.mirrors.create import create_mirror
from recovery_kit.mirrors.lineage import lineage
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run

H08 = CASES / "H08-signing-key-in-the-journal"
KILLED = sample("02a-killed-mid-batch")
CANARY = "CANARY-4d1f"
ID = "stranger-1700000001-00000000aaaa"
MEMBERS: dict[str, object] = {
    "callback_url": f"https://hooks.invalid/{CANARY}?token={CANARY}",
    "callback_secret": f"whsec_{CANARY}_9f8e7d6c",
    "parent_run_id": ID,
    "children": [ID],
    "agent_path": f"/srv/{CANARY}/agent.leviath",
    "workdir": f"/srv/{CANARY}/work",
    "error": CANARY,
    "title": CANARY,
    "title_error": CANARY,
    "metadata": {CANARY: CANARY, "mirror.path": f"/srv/{CANARY}"},
    "waiting_on": {"reason": "needs_setup", "blocker": "provider_missing", "remedy": CANARY},
    "yolo_profile": CANARY,
    "stage_models": [{"provider": CANARY, "model": CANARY}],
    "model": f"{CANARY}/m",
}
FILES = ("interactions.json", "fanout.json", "provider-files.json", "taint_audit.json", "stages/0/output.log",
         "stages/0/logs.log", "stages/0/taint_audit.json", ".env", "run.lvr.torn-9", "final_output")  # fmt: skip


def planted() -> Run:
    """A run with a canary in every member of its metadata that may not come along, wherever that is, and in files."""
    files = files_of(KILLED)
    data, place, out = files["run.lvr"], len(PREAMBLE), PREAMBLE
    while place < len(data):
        (size,) = LENGTH.unpack_from(data, place)
        record = json.loads(data[place + 8 : place + 8 + size])
        ((kind, body),) = record.items()
        if "meta" in body:
            body["meta"] |= MEMBERS
            body["meta"]["flags"] |= {"modified_files": [f"/srv/{CANARY}/x"], "broken_scripts": [CANARY]}
        if kind == "Header":
            body["identity"] |= {"machine_id": CANARY, "world_id": CANARY}
        payload = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
        out += LENGTH.pack(len(payload)) + payload
        place += 8 + size
    files["run.lvr"] = out
    files["meta.json"] = json.dumps(json.loads(files["meta.json"]) | MEMBERS).encode()
    files |= {name: CANARY.encode() for name in FILES}
    return open_run({f"{KILLED.name}/{name}": data for name, data in files.items()})


@pytest.mark.parametrize("history", ["none", "full"])
@pytest.mark.parametrize("at", ["0", "record:9", "end"])
def test_canaries_stay_behind(history: str, at: str, tmp_path: Path) -> None:
    """Secrets, callbacks, others' ids and paths of the machine are in no byte of a mirror, its lineage or its diff."""
    run = planted()
    mirror = create_mirror(run, at, tmp_path / "m", history)  # type: ignore[arg-type]
    out = all_bytes(mirror).decode(errors="replace")
    out += repr(lineage(tmp_path / "m")) + json.dumps(compare(run, mirror).as_json())
    assert CANARY not in out and ID not in out
    assert run.id in out


def test_the_signing_key_of_the_field_case(tmp_path: Path) -> None:
    """The key stays behind in metadata; where the window's own text holds it, it comes along, and that is said."""
    run = open_run(next((H08 / "input" / "runs").iterdir()))
    key = run.meta.callback_secret if run.meta else None
    assert key and case("H08-signing-key-in-the-journal")
    for history in ("none", "full"):
        agents = agents_folder(tmp_path / f"{history}-agents", "ledger-clerk")
        mirror = create_mirror(run, "end", tmp_path / history, history, agents=agents)  # type: ignore[arg-type]
        assert key.encode() not in (mirror.path / "meta.json").read_bytes()
        reading = mirror.run.story.reading()
        for record in map(reading.record, reading.frames):
            meta = getattr(record, "meta", None)
            assert meta is None or (meta.callback_secret is None and meta.callback_url is None)
        held = [
            f"{region.name}/{number}"
            for region in mirror.run.at().window.regions
            for number, entry in enumerate(region.entries)
            if key in str(entry.content)
        ]
        said = [sentence for sentence in mirror.said if "holds a secret of the source" in sentence]
        assert [f"entry {place} " in " ".join(said) for place in held] == [True] * len(held)
        assert key not in " ".join(mirror.said)
