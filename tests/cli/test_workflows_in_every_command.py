"""The commands for runs, given Runs of workflows: they answer, or say in one sentence what has no meaning there."""

import json
from pathlib import Path

import pytest
from command_line import SAMPLES, Kit, digests

import recovery_kit as rk

PROJECT = SAMPLES / "22-workflow-killed-at-every-boundary"
RUNS = rk.open_runs(PROJECT).loom_runs
ASKED = next(run for run in RUNS if run.meta.intent == "killed while a person was asked")
UNSURE = next(run for run in RUNS if run.verdict.unknown)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("ls", SAMPLES), 0, "user ask confirmation"),
        (("ls", SAMPLES, "--json"), 0, '"status": "completed"'),
        (("check", SAMPLES), 1, "(IntLoom project, format 1)"),
        (("check", SAMPLES, "--json"), 1, '"runtime": "intloom"'),
        (("plan", SAMPLES), 1, "reopen prompt"),
        (("plan", PROJECT), 1, "(IntLoom project)"),
        (("plan", PROJECT, "--json", "--workflows", SAMPLES / "workflows/release_notes.py"), 1, '"workflows_checked": true'),
        (("why", ASKED.id, "--root", PROJECT), 0, "ask the same question again"),
        (("why", ASKED.id, "--root", PROJECT, "--json"), 0, '"disposition": "reopen_prompt"'),
        (("why", UNSURE.id, "--root", PROJECT), 1, "RUN_INTERRUPTED"),
        (("why", PROJECT / UNSURE.path), 1, "Look first at"),
        (("show", ASKED.id, "--root", PROJECT), 0, "Publish the notes?"),
        (("show", ASKED.id, "--root", PROJECT, "--at", "0", "--json"), 0, '"boundary": "ready"'),
        (("tail", ASKED.id, "--root", PROJECT, "-n", "2"), 0, "asks {"),
        (("tail", ASKED.id, "--root", PROJECT, "--json"), 0, '"kind": "waiting"'),
        (("search", "while a person was asked", PROJECT), 0, "run.intent"),
        (("diff", ASKED.id, UNSURE.id, "--root", PROJECT), 1, "they part in"),
        (("diff", ASKED.id, ASKED.id, "--root", PROJECT, "--json"), 0, '"same": true'),
    ],
    ids=lambda value: " ".join(str(word)[-12:] for word in value) if isinstance(value, tuple) else None,
)  # fmt: skip
def test_it_answers(kit: Kit, words: tuple[object, ...], status: int, said: str) -> None:
    """The same words as for any run, and the project is only read."""
    before = digests(PROJECT)
    result = kit(*words)
    assert (result.exit_code, said in result.output) == (status, True), result.output[-2000:]
    assert digests(PROJECT) == before
    if "--json" in words and words[0] != "tail":
        json.loads(result.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "RUN", "--request"), "no file tells what its model Steps send"),
        (("show", "RUN", "--at", "iteration:2"), "it has no iterations"),
        (("mirror", "RUN", "--into", "x"), "recovery-kit loom mirror"),
        (("edit", "RUN"), "is not edited"),
        (("resume", "RUN", "--provider", "recorded"), "recovery-kit loom resume"),
        (("answer", "RUN", "x", "--approve", "--provider", "recorded"), "recovery-kit loom serve"),
        (("lineage", "RUN"), "in `parent`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_it_says_why_not(kit: Kit, words: tuple[str, ...], said: str) -> None:
    """One sentence and status 2."""
    result = kit(*(ASKED.id if word == "RUN" else word for word in words), "--root", PROJECT)
    assert result.exit_code == 2 and said in result.output and len(result.stderr.splitlines()) == 1


def test_what_nobody_let_us_read_is_trouble(kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that the disk does not give: status 2, its path named."""
    from recovery_kit.formats.loom_tree import FolderTree

    there = FolderTree.read

    def read(tree: FolderTree, path: str) -> bytes:
        if path.endswith("00000004.json"):
            raise PermissionError(13, "no")
        return there(tree, path)

    monkeypatch.setattr(FolderTree, "read", read)
    for words in (("ls", PROJECT), ("check", PROJECT)):
        result = kit(*words)
        assert result.exit_code == 2 and "it cannot be read (PermissionError)" in result.stderr
