"""Branching on the command line: mirror, edit, resume, diff, lineage."""

import json
from pathlib import Path

from command_line import FINISHED, KILLED, Kit, digests


def made(kit: Kit, into: Path, *words: str) -> str:
    """A new mirror's path."""
    result = kit("mirror", *words, "--into", into)
    assert result.exit_code == 0, result.stderr
    return result.stdout.strip()


def test_mirror_prints_its_path(kit: Kit, tmp_path: Path) -> None:
    """One line on stdout; what follows from the cut and what is not rolled back on stderr."""
    before = digests(KILLED)
    result = kit("mirror", KILLED, "--at", "record:14", "--into", tmp_path)
    assert Path(result.stdout.strip()).parent == tmp_path and result.stdout.count("\n") == 1
    assert "call b1 (shell) is pending: a reload tells the model that it was interrupted, although" in result.stderr
    assert "not rolled back: calls that ended after the cut: b1 (shell)" in result.stderr
    assert digests(KILLED) == before


def test_mirror_as_json(kit: Kit, tmp_path: Path) -> None:
    """The cut, its calls and what the source did after it."""
    told = json.loads(kit("mirror", KILLED, "--at", "1", "--batch", "complete", "--into", tmp_path, "--json").stdout)
    assert told["source"] == KILLED.name and told["batch"] == "complete" and told["open_calls"] == []
    assert told["source_did_after_cut"]["sent_out"] == ["b2", "b3", "b4"]


def test_edit_undo_and_list(kit: Kit, tmp_path: Path) -> None:
    """An edit, its row, its end; what does not fit is trouble and names the place."""
    path = made(kit, tmp_path, str(KILLED))
    before = digests(Path(path))
    assert kit("edit", path).stdout == "no edits\n"
    who = ("--author", "A", "--reason", "why not")
    result = kit("edit", path, "--region", "task", "--entry", "0", "--text", "Other.", *who)
    assert result.stdout == "2 /window/task/0/content by A: why not\n"
    assert kit("edit", path, "--undo-all").stdout == "2 (undone) /window/task/0/content by A: why not\n"
    assert digests(Path(path)) == before
    refused = kit("edit", path, "--region", "conversation", "--entry", "-1", "--remove")
    assert refused.exit_code == 2 and "entry conversation/0" in refused.stderr and refused.stderr.count("\n") == 1
    patch = tmp_path / "patch.json"
    patch.write_text('[{"op": "replace", "path": "/task", "value": "By patch."}]')
    assert json.loads(kit("edit", path, "--patch", patch, "--json").stdout)[-1]["patch"][0]["value"] == "By patch."
    patch.write_text("{}")
    assert kit("edit", path, "--patch", patch).exit_code == 2
    assert kit("edit", path, "--patch", patch, "--task", "x").exit_code == 2
    assert kit("edit", KILLED, "--task", "x").exit_code == 2


def test_replay_of_edits(kit: Kit, tmp_path: Path) -> None:
    """Edits of one mirror made on another."""
    first, second = made(kit, tmp_path, str(KILLED)), made(kit, tmp_path, str(KILLED))
    kit("edit", first, "--task", "Other.")
    assert kit("edit", second, "--replay", first).exit_code == 0
    assert kit("edit", second, "--replay", first).exit_code == 2


def test_resume_asks_first(kit: Kit, tmp_path: Path) -> None:
    """1 while something is unanswered; then it goes on as far as the recording reaches."""
    path = made(kit, tmp_path, str(KILLED))
    unanswered = kit("resume", path, "--effect", "b2=happened:a=b")
    assert unanswered.exit_code == 1 and unanswered.stdout.endswith("b3, b4\n")
    assert kit("resume", path, "--effect", "b9=skip").exit_code == 2
    assert kit("resume", path, "--effect", "b2").exit_code == 2
    words = ["--effect", "b2=happened:a=b", "--effect", "b3=did-not", "--effect", "b4=skip"]
    assert kit("resume", path, *words, "--provider", "magic").exit_code == 2
    done = kit("resume", path, *words, "--provider", "refusing")
    assert done.exit_code == 0 and "paused" in done.stdout
    assert "/results/b2: effect of b2: happened" in kit("edit", path).stdout


def test_resume_with_a_recording(kit: Kit, tmp_path: Path) -> None:
    """The source's own answers and results, up to a limit."""
    path = made(kit, tmp_path, str(FINISHED), "--at", "0")
    told = json.loads(kit("resume", path, "--source", FINISHED, "--max-turns", "2", "--json").stdout)
    assert (told["ended"], told["turns"], told["status"]) == ("budget", 2, "paused")
    missing = kit("resume", path, "--root", tmp_path)
    assert missing.exit_code == 2 and "--source" in missing.stderr


def test_diff_and_lineage(kit: Kit, tmp_path: Path) -> None:
    """0 and 1 as diff has it, moments of runs included; the tree with what is gone."""
    path = made(kit, tmp_path, str(KILLED), "--at", "1")
    assert kit("diff", KILLED, KILLED).exit_code == 0
    found = kit("diff", KILLED, path)
    assert found.exit_code == 1 and "are one up to record 9" in found.stdout
    assert kit("diff", f"{KILLED}@0", f"{KILLED}@end").exit_code == 1
    assert json.loads(kit("diff", KILLED, path, "--json").stdout)["pairs"][0]["why"] == "ended"
    assert kit("diff", KILLED, "nothing-there").exit_code == 2
    tree = kit("lineage", tmp_path)
    assert tree.exit_code == 0 and tree.stdout.startswith(f"{KILLED.name} (gone from here)\n  ")
    assert json.loads(kit("lineage", path, "--json").stdout)[1]["mirror_of"] == KILLED.name
