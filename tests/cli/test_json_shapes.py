"""The JSON of each command that reads."""

import json
from pathlib import Path

import pytest
from command_line import CASES, KILLED, SAMPLES, TORN, Kit

CHECK_KEYS = """
run_id source runtime written_by engine journal fold restart waits_on needs_person blocker remedy outstanding
open_point last_moved terminal fan_out workers drift tool_pairs request_check disagreements unreadable
records_after_tear zero_filled has_signing_key arguments_raw arguments_parse_for_engine log_lines usage_kinds
warn calls n_unknown_effects executions hidden_batch prompts attempts failovers cost usage_totals
usage_by_kind points chain incarnations time_account parts content_text content_tokens artifacts final_output
blueprint tear records_before_tear fold_with_salvage
""".split()


def test_check(kit: Kit) -> None:
    """A list, an object a run, with every member that is promised."""
    rows = json.loads(kit("check", "--json", SAMPLES / "08a-fan-out-with-workers").stdout)
    assert len(rows) == 5
    for row in rows:
        assert not set(CHECK_KEYS) - set(row)


def test_check_follows_the_engine(kit: Kit) -> None:
    """`--engine` is said and obeyed."""
    (row,) = json.loads(kit("check", "--json", "--engine", "0.4.0", KILLED).stdout)
    assert row["engine"] == "0.4.0"


@pytest.mark.parametrize("case", ["H03-text-that-breaks", "H08-signing-key-in-the-journal"])
def test_check_of_field_cases(kit: Kit, case: str) -> None:
    """The journal's figures are those of the case."""
    folder = CASES / case
    for path, want in json.loads((folder / "expect.json").read_text())["runs"].items():
        (row,) = json.loads(kit("check", "--json", folder / "input" / path).stdout)
        assert {key: row["journal"][key] for key in want["journal"]} == want["journal"]


def test_ls(kit: Kit, shelf: Path) -> None:
    """A list, newest move first, with the words of `check`."""
    rows = json.loads(kit("ls", "--json", shelf).stdout)
    moved = [row["last_moved"] for row in rows]
    assert len(rows) == 8 and moved == sorted(moved, reverse=True)
    assert {"run_id", "source", "status", "waits_on", "needs_person", "n_unknown_effects", "cost_usd"} <= set(rows[0])


def test_why(kit: Kit) -> None:
    """The verdict, what a restart would do, and what to look at first."""
    row = json.loads(kit("why", "--json", KILLED).stdout)
    assert [call["call_id"] for call in row["verdict"]["unknown"]] == ["b2", "b3", "b4"]
    assert row["restart"]["resumes"] is True and row["restart_sentences"][0].startswith("bring it back as running")
    assert [look["offset"] for look in row["look_first"]] == [7637, 7637, 7637]


def test_show(kit: Kit) -> None:
    """Position, totals, window and the pending batch, with arguments as handed out."""
    row = json.loads(kit("show", "--json", KILLED).stdout)
    assert (row["status"], row["stage"], row["iteration"], row["totals"]["tool_calls"]) == ("running", "close", 2, 6)
    assert [call["state"] for call in row["pending"]["calls"]] == ["completed", *["interrupted"] * 3, "completed"]
    assert row["window"]["regions"][0]["entries"][0]["content"] == "Close the ledger of 26 November."


def test_show_request(kit: Kit) -> None:
    """The request in the neutral form, what it assumes, and what the vendor would refuse."""
    row = json.loads(kit("show", "--request", "--api", "anthropic", "--after-restart", "--json", KILLED).stdout)
    assert [block["region"] for block in row["system"]] == ["task", "stage_instructions", "notes"]
    assert [violation["rule"] for violation in row["violations"]] == ["first_is_assistant"]


def test_show_request_with_a_folder_of_agents(kit: Kit) -> None:
    """A run without a manifest of its own takes it from the folder; without one the request says what it assumes."""
    run = SAMPLES / "21-older-engine-killed-mid-batch"
    alone = json.loads(kit("show", "--request", "--json", run).stdout)
    helped = json.loads(kit("show", "--request", "--json", "--agents", SAMPLES / "agents", run).stdout)
    assert alone["tools"] == [] and any("manifest" in sentence for sentence in alone["assumes"])
    assert "shell" in helped["tools"]


def test_tail(kit: Kit) -> None:
    """An object a line, the last ones of the file, those behind a tear marked."""
    rows = [json.loads(line) for line in kit("tail", "--json", "-n", "3", TORN).stdout.splitlines()]
    assert [set(row) for row in rows] == [{"offset", "at", "kind", "what", "behind_tear"}] * 3
    assert all(row["behind_tear"] for row in rows)


def test_search(kit: Kit) -> None:
    """Each hit with file, offset, kind and the text around it; an empty list and status 1 where there is none."""
    rows = json.loads(kit("search", "JE-302", "--json", KILLED).stdout)
    assert {row["file"] for row in rows} >= {"run.lvr", "context.json"}
    none = kit("search", "nowhere at all", "--json", KILLED)
    assert (json.loads(none.stdout), none.exit_code) == ([], 1)
