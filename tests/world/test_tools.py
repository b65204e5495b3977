"""Who carries out calls: stubs, recordings, and tools on this machine that stay in their work directory."""

import json
import os
import stat
from pathlib import Path

import pytest
from samples import sample

from recovery_kit.errors import UnsafeName
from recovery_kit.runs.opening import open_run
from recovery_kit.world.local_tools import LocalTools, inside
from recovery_kit.world.recorded import RecordedTools
from recovery_kit.world.tools import StubTools, ToolAnswer, ToolContext

# Doubles.


def test_stubs_answer_by_name() -> None:
    """Texts, answers and functions by name; the rest says done, or is refused if nothing else was said."""
    tools = StubTools({"a": "one", "b": lambda arguments: f"got {arguments['x']}", "c": ToolAnswer.error("no")})
    assert [tools.call(name, {"x": 1}).content for name in "abcd"] == ["one", "got 1", "[error] no", "done"]
    assert tools.called == [(name, {"x": 1}) for name in "abcd"]
    assert StubTools(otherwise=None).call("a", {}).refused


def test_an_answer_tells_whether_it_failed() -> None:
    """Failure is told from the text's beginning; a lone surrogate, which no journal holds, is replaced."""
    told = [ToolAnswer(text).failed for text in ("ok", "[error] x", "[denied]", "[blocked] x")]
    assert told == [False, True, True, True]
    assert ToolAnswer("a\udc00b").content == "a?b"


# Recordings.


def test_a_recording_answers_each_call() -> None:
    """Each call of a finished run is answered with its own result."""
    run = open_run(sample("01-finished"))
    tools = RecordedTools(run)
    for call in run.effects:
        context = ToolContext(iteration=call.iteration, call_id=call.call_id)
        answer = tools.call(call.name, _arguments(call.arguments), context)
        assert (answer.text, answer.refused) == (call.result, False)


def _arguments(text: str) -> dict[str, object]:
    return dict(json.loads(text))


def test_a_recording_finds_calls_that_got_new_ids() -> None:
    """In a branch the model's ids may differ: equal name and arguments are then answered in their order."""
    run = open_run(sample("01-finished"))
    tools = RecordedTools(run)
    first = run.effects[0]
    same = [call for call in run.effects if (call.name, call.arguments) == (first.name, first.arguments)]
    for call in same:
        assert tools.call(call.name, _arguments(call.arguments)).text == call.result
    assert tools.call(first.name, _arguments(first.arguments)).refused


def test_a_lost_result_is_not_made_up() -> None:
    """A call that a crash cut off, and one that never was, are refused; a restart's stand-in is no result."""
    run = open_run(sample("02a-killed-mid-batch"))
    tools = RecordedTools(run)
    unknown = [call for call in run.effects if call.is_unknown]
    assert unknown
    for call in unknown:
        context = ToolContext(iteration=call.iteration, call_id=call.call_id)
        answer = tools.call(call.name, _arguments(call.arguments), context)
        assert answer.refused and "holds no result" in answer.text
    assert tools.call("shell", {"command": "never asked"}).refused


# On this machine.


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work directory with something outside it to be kept safe."""
    (tmp_path / "secret").write_text("secret")
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "a.txt").write_text("text\n")
    (work / "out").symlink_to(tmp_path)
    (work / "link").symlink_to(tmp_path / "secret")
    return work


def test_files_are_read_listed_and_written(work: Path) -> None:
    """The three file tools, with the engine's words."""
    tools = LocalTools(work)
    assert tools.call("read_file", {"path": "a.txt"}).text == "text\n"
    assert tools.call("read_file", {"path": str(work / "sub/../a.txt")}).text == "text\n"
    written = tools.call("write_file", {"path": "new/b.txt", "content": "äb"})
    assert written.text == "Successfully wrote 3 bytes to 'new/b.txt'"
    again = tools.call("write_file", {"path": "new/b.txt", "content": "c", "append": True})
    assert again.text == "Successfully appended 1 bytes to 'new/b.txt'"
    assert (work / "new/b.txt").read_text() == "äbc"
    assert tools.call("list_dir", {"path": "new"}).text == "b.txt (4B)"
    assert tools.call("list_dir", {"path": "sub"}).text == "(empty directory: sub)"
    assert tools.call("list_dir", {}).text.splitlines()[0] == "a.txt (5B)"
    assert tools.call("read_file", {"path": "no"}).text == "[error] Failed to read 'no': No such file or directory"
    assert tools.call("read_file", {"path": "new"}).text.endswith("It holds:\nb.txt")
    missing = tools.call("read_file", {})
    assert missing.text == "[error] invalid arguments for 'read_file': \"path\" is a required property"
    assert tools.call("read_file", {"path": 3}).failed


@pytest.mark.parametrize(
    "path", ["../secret", "sub/../../secret", "/etc/passwd", "out/secret", "link", "out", "sub/\0x", "..", "/"]
)
def test_nothing_outside_is_touched(work: Path, path: str) -> None:
    """Dots, absolute paths and links never lead out of the work directory, for reading, listing or writing."""
    tools = LocalTools(work)
    before = {p: p.lstat().st_mtime_ns for p in work.parent.rglob("*")}
    for name, more in (("read_file", {}), ("list_dir", {}), ("write_file", {"content": "x"})):
        answer = tools.call(name, {"path": path, **more})
        assert answer.failed and "secret" not in answer.text.replace(path, ""), name
    assert {p: p.lstat().st_mtime_ns for p in work.parent.rglob("*")} == before


def test_a_replaced_file_keeps_its_mode_and_its_other_names(work: Path) -> None:
    """A script stays executable, and a hard link that leads outside keeps its bytes."""
    (work / "run.sh").write_text("old")
    (work / "run.sh").chmod(0o755)
    os.link(work / "run.sh", work.parent / "other-name")
    LocalTools(work).call("write_file", {"path": "run.sh", "content": "new"})
    assert (work / "run.sh").read_text() == "new" and (work.parent / "other-name").read_text() == "old"
    assert stat.S_IMODE((work / "run.sh").stat().st_mode) == 0o755


def test_what_is_no_file_is_not_read(work: Path) -> None:
    """A pipe does not block the reader, and large and odd bytes are cut and replaced."""
    os.mkfifo(work / "pipe")
    (work / "big").write_bytes(b"a" * 300_000)
    (work / "odd").write_bytes(b"\xff!")
    tools = LocalTools(work)
    assert tools.call("read_file", {"path": "pipe"}).failed
    assert tools.call("read_file", {"path": "big"}).text == "a" * 262_144 + "\n[...truncated]"
    assert tools.call("read_file", {"path": "odd"}).text == "\ufffd!"


def test_only_what_is_allowed_is_done(work: Path) -> None:
    """The shell is off unless it is named, and so is everything that is not."""
    assert LocalTools(work).call("shell", {"command": "touch x"}).refused
    assert LocalTools(work, allow=("read_file",)).call("write_file", {"path": "x", "content": ""}).refused
    assert LocalTools(work).call("frobnicate", {}).refused
    assert not (work / "x").exists()
    with pytest.raises(ValueError, match="no such local tool: teleport"):
        LocalTools(work, allow=("teleport",))
    with pytest.raises(UnsafeName):
        LocalTools(work / "missing")


def test_without_a_place_nothing_is_done(work: Path) -> None:
    """The work directory is the given one, else the call's own; where there is none the call is refused."""
    tools = LocalTools()
    assert tools.call("read_file", {"path": "a.txt"}).refused
    assert tools.call("read_file", {"path": "a.txt"}, ToolContext(workdir="/no/such/place")).refused
    assert tools.call("read_file", {"path": "a.txt"}, ToolContext(workdir=str(work))).text == "text\n"


def test_the_shell_answers_in_the_engines_words(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output, silence, failure and death by a signal; keys in the environment stay out of it."""
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    tools = LocalTools(work, allow=("shell",))

    def said(command: str) -> str:
        return tools.call("shell", {"command": command}).text

    assert said("cat a.txt; echo no >&2") == "text\n"
    assert said("true") == "(command succeeded with no output)"
    assert said("echo a; echo b >&2; exit 3") == "[exit code 3]\nstdout:\na\n\nstderr:\nb\n"
    assert said("exit 4") == "[exit code 4]\n"
    assert said("kill -9 $$") == "[exit code -1]\n"
    assert said("echo [$SOME_API_KEY]") == "[]\n"
    assert tools.call("bash", {"command": "pwd -P"}).text == f"{os.path.realpath(work)}\n"


def test_a_long_command_is_ended_with_all_its_children(work: Path) -> None:
    """After its time a command is killed, children in the background too; a stream they hold open blocks nobody."""
    tools = LocalTools(work, allow=("shell",), seconds=0.3)
    answer = tools.call("shell", {"command": "sleep 50 & echo $! > child; sleep 60"})
    assert answer.text == "[timed out] Command exceeded 0.3s: sleep 50 & echo $! > child; sleep 60"
    patient = LocalTools(work, allow=("shell",), seconds=5)
    assert patient.call("shell", {"command": "sleep 60 & echo started"}).text == "started\n"
    assert patient.call("shell", {"command": "yes | head -c 2000000"}).text.endswith("\n[...truncated]")


def test_paths_are_resolved_by_their_text(tmp_path: Path) -> None:
    """What is inside is told by the text of a path alone."""
    assert inside(tmp_path, "a/./b/../c") == ("a", "c")
    assert inside(tmp_path, ".") == ()
    assert inside(tmp_path, str(tmp_path / "x")) == ("x",)
    for path in ("..", "a/../..", "/", "x\0y"):
        with pytest.raises(UnsafeName):
            inside(tmp_path, path)
