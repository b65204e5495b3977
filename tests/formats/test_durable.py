"""Files that are replaced, appended to and locked: whole after any crash, refused with one sentence otherwise."""

import errno
import os
import resource
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from recovery_kit.errors import CannotWrite, RunBusy, UnsafeName
from recovery_kit.formats import durable
from recovery_kit.formats.durable import DISK, FAILPOINTS, Durable

OLD, NEW = b"old" * 1000, b"new" * 2000


def test_replaced_file_has_the_bytes_and_the_mode(tmp_path: Path) -> None:
    """A replaced file holds the new bytes, is private, and nothing temporary stays."""
    DISK.replace_file(tmp_path, "meta.json", OLD)
    DISK.replace_file(tmp_path, "meta.json", NEW)
    assert (tmp_path / "meta.json").read_bytes() == NEW
    assert stat.S_IMODE((tmp_path / "meta.json").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["meta.json"]


def test_folders_below_are_made_private(tmp_path: Path) -> None:
    """A name may lead into folders that are not there yet."""
    DISK.replace_file(tmp_path, "stages/0/x.json", b"{}")
    assert stat.S_IMODE((tmp_path / "stages").stat().st_mode) == 0o700
    assert DISK.read_file(tmp_path, "stages/0/x.json") == b"{}"


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "/etc/x", "a//b", "a\0b"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    """A name that is none or leads out of the folder raises UnsafeName before anything is written."""
    with pytest.raises(UnsafeName):
        DISK.replace_file(tmp_path, name, b"x")
    assert os.listdir(tmp_path) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link as the file, as a folder on the way or as the folder itself never leads a write outside."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "victim").write_bytes(b"mine")
    (inside / "file").symlink_to(outside / "victim")
    (inside / "folder").symlink_to(outside)
    (tmp_path / "way").symlink_to(inside)
    with pytest.raises(UnsafeName):
        DISK.append(inside / "file", b"x")
    with pytest.raises(UnsafeName):
        DISK.replace_file(inside, "folder/victim", b"x")
    with pytest.raises(UnsafeName):
        DISK.replace_file(tmp_path / "way", "new", b"x")
    with pytest.raises(UnsafeName):
        DISK.read_file(inside, "file")
    DISK.replace_file(inside, "file", b"x")  # the link itself is replaced, not what it names
    assert (outside / "victim").read_bytes() == b"mine"
    assert os.listdir(outside) == ["victim"]


def test_append_tells_where_it_wrote(tmp_path: Path) -> None:
    """Pieces follow each other, and each append answers with its offset."""
    with DISK.open_append(tmp_path, "run.lvr") as file:
        assert [file.append(b"abc"), file.append(b""), file.append(b"de")] == [0, 3, 3]
        assert file.size == 5
    assert DISK.append(tmp_path / "run.lvr", b"f") == 5
    assert (tmp_path / "run.lvr").read_bytes() == b"abcdef"


def test_append_sees_another_writer(tmp_path: Path) -> None:
    """A file that somebody else has grown is not appended to."""
    with DISK.open_append(tmp_path, "run.lvr") as file:
        file.append(b"abc")
        with open(tmp_path / "run.lvr", "ab") as other:
            other.write(b"!")
        with pytest.raises(RunBusy):
            file.append(b"def")
    assert (tmp_path / "run.lvr").read_bytes() == b"abc!"


def _short_write(kept: int, code: int) -> Callable[[int, memoryview], int]:
    """os.write of a disk that takes `kept` bytes and then fails."""
    real, left = os.write, [kept]

    def write(handle: int, data: memoryview) -> int:
        if left[0] == 0:
            raise OSError(code, os.strerror(code))
        done = real(handle, data[: left[0]])
        left[0] -= done
        return done

    return write


@pytest.mark.parametrize(
    ("code", "sentence"),
    [(errno.ENOSPC, "the disk is full"), (errno.EIO, "input/output error"), (errno.EDQUOT, "quota")],
)
def test_a_partly_written_append_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, sentence: str
) -> None:
    """When the disk gives up in mid-piece the file is as long as before, and the next append works."""
    with DISK.open_append(tmp_path, "run.lvr") as file:
        file.append(b"abc")
        with monkeypatch.context() as broken:
            broken.setattr(durable.os, "write", _short_write(2, code))
            with pytest.raises(CannotWrite, match=sentence) as told:
                file.append(b"defgh")
        assert (told.value.errno, told.value.path) == (code, str(tmp_path / "run.lvr"))
        assert (tmp_path / "run.lvr").read_bytes() == b"abc"
        assert file.append(b"def") == 3


def test_nothing_is_put_behind_torn_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torn bytes cannot be taken back, the file is not appended to again."""
    with DISK.open_append(tmp_path, "run.lvr") as file:
        file.append(b"abc")
        with monkeypatch.context() as broken:
            broken.setattr(durable.os, "write", _short_write(2, errno.ENOSPC))
            broken.setattr(durable.os, "ftruncate", _short_write(0, errno.EIO))
            with pytest.raises(CannotWrite):
                file.append(b"defgh")
        with pytest.raises(CannotWrite, match="nothing is put behind"):
            file.append(b"x")
    assert (tmp_path / "run.lvr").read_bytes() == b"abcde"


def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the old file stays and no temporary one does."""
    DISK.replace_file(tmp_path, "meta.json", OLD)
    monkeypatch.setattr(durable.os, "write", _short_write(100, errno.ENOSPC))
    with pytest.raises(CannotWrite, match="the disk is full"):
        DISK.replace_file(tmp_path, "meta.json", NEW)
    assert (tmp_path / "meta.json").read_bytes() == OLD
    assert os.listdir(tmp_path) == ["meta.json"]


def test_a_real_size_limit_is_told_and_taken_back(tmp_path: Path) -> None:
    """With a real limit of the system on file sizes, an append fails with one sentence and leaves no torn bytes."""
    code = f"""
        import resource
        from pathlib import Path
        from recovery_kit.errors import CannotWrite
        from recovery_kit.formats.durable import DISK
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, {resource.RLIM_INFINITY}))
        with DISK.open_append(Path({str(tmp_path)!r}), "run.lvr") as file:
            file.append(b"a" * 4000)
            try:
                file.append(b"b" * 4000)
            except CannotWrite as no:
                print(no.sentence)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout == "the file would grow larger than this process may write\n"
    assert (tmp_path / "run.lvr").read_bytes() == b"a" * 4000


CRASHES = """
    import os, signal
    from pathlib import Path
    from recovery_kit.formats.durable import Durable, FAILPOINTS

    root = Path({root!r})
    OLD, NEW = b"old" * 1000, b"new" * 2000
    for moment in FAILPOINTS:
        folder = root / moment.replace(":", "-")
        folder.mkdir()
        (folder / "file").write_bytes(OLD)
        (folder / "gone").write_bytes(OLD)
        child = os.fork()
        if not child:
            die = lambda reached: os.kill(os.getpid(), signal.SIGKILL) if reached == moment else None
            disk = Durable(die)
            disk.make_folder(folder / "made")
            disk.replace_file(folder, "file", NEW)
            disk.append(folder / "log", NEW)
            disk.remove_file(folder, "gone")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), moment
    print("done")
"""


def test_killed_at_every_moment_files_are_old_or_new(tmp_path: Path) -> None:
    """Killed with kill -9 at each failpoint: a replaced file is the old or the new one, never a part of either."""
    code = textwrap.dedent(CRASHES).format(root=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
    for moment in FAILPOINTS:
        folder = tmp_path / moment.replace(":", "-")
        replaced = (folder / "file").read_bytes()
        late = moment.startswith(("append", "file")) or moment in ("replace:renamed", "replace:done")
        assert replaced == (NEW if late else OLD), moment
        DISK.sweep(folder)
        assert not [name for name in os.listdir(folder) if name.startswith(".")], moment
    log = tmp_path / "append-half" / "log"
    assert log.read_bytes() == NEW[: len(NEW) // 2]


def test_second_holder_is_refused(tmp_path: Path) -> None:
    """A folder has one holder at a time, and the lock puts no file into it."""
    with DISK.lock_folder(tmp_path) as lock:
        assert lock.held
        with pytest.raises(RunBusy, match="another process is writing this folder"):
            DISK.lock_folder(tmp_path)
        assert os.listdir(tmp_path) == []
    DISK.lock_folder(tmp_path).release()


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """A killed holder leaves no lock behind, and another process's lock is seen from here."""
    code = f"""
        import sys
        from pathlib import Path
        from recovery_kit.formats.durable import DISK
        lock = DISK.lock_folder(Path({str(tmp_path)!r}))
        print("held", flush=True)
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(RunBusy):
            DISK.lock_folder(tmp_path)
        holder.kill()
    DISK.lock_folder(tmp_path).release()


def test_other_systems_do_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither Linux nor macOS runs, every write is refused with one sentence."""
    monkeypatch.setattr(durable.sys, "platform", "win32")
    for write in (
        lambda: DISK.replace_file(tmp_path, "x", b""),
        lambda: DISK.open_append(tmp_path, "x"),
        lambda: DISK.make_folder(tmp_path / "new"),
        lambda: DISK.lock_folder(tmp_path),
    ):
        with pytest.raises(CannotWrite, match="writing needs Linux or macOS, this is win32"):
            write()
    assert os.listdir(tmp_path) == []


def test_making_a_folder_twice(tmp_path: Path) -> None:
    """A folder is made once and private; a link to one is no folder."""
    assert [DISK.make_folder(tmp_path / "run"), DISK.make_folder(tmp_path / "run")] == [True, False]
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(UnsafeName):
        DISK.make_folder(tmp_path / "link")
    with pytest.raises(CannotWrite, match="the folder is not there"):
        DISK.make_folder(tmp_path / "no" / "run")


def test_removing(tmp_path: Path) -> None:
    """Taking away a file answers whether there was one."""
    (tmp_path / "x").touch()
    assert [DISK.remove_file(tmp_path, "x"), DISK.remove_file(tmp_path, "x")] == [True, False]
    assert not DISK.remove_file(tmp_path, "no/x")


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """A pipe under a file's name neither blocks nor is written to."""
    os.mkfifo(tmp_path / "run.lvr")
    with pytest.raises((UnsafeName, CannotWrite)):
        DISK.open_append(tmp_path, "run.lvr")
    with pytest.raises(UnsafeName):
        DISK.read_file(tmp_path, "run.lvr")


def test_failpoints_see_every_step(tmp_path: Path) -> None:
    """The hook is told of each moment of the list, in order."""
    seen: list[str] = []
    disk = Durable(seen.append)
    disk.replace_file(tmp_path, "a", b"xx")
    disk.append(tmp_path / "b", b"xx")
    disk.make_folder(tmp_path / "c")
    disk.remove_file(tmp_path, "a")
    assert tuple(seen) == FAILPOINTS
