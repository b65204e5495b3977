"""Makes the sample project whose Runs stand at every boundary: `python tests/looms/make_sample.py FOLDER`.

Each Run is written by a Service of its own, a forked process that is killed with SIGKILL right after one of its
checkpoints. Nobody restarts it in between, so that each Run stands where its process died.
"""

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from recovery_kit.formats.loom_publish import Publisher
from recovery_kit.looms import Service, new_project
from recovery_kit.looms.loading import load_workflows
from recovery_kit.runs.loom_run import open_loom_runs
from recovery_kit.world.providers import ScriptedProvider

WORKFLOWS = Path(__file__).parents[2] / "sample_runs" / "workflows" / "release_notes.py"
OWNERS = ("service.lock", "service.json", "connection.json")
STOPS: tuple[tuple[int, str, str], ...] = (
    (1, "cli", "killed before its first Stage"),
    (2, "cli", "killed in an initializer"),
    (3, "cli", "killed before its first Step"),
    (4, "cli", "killed while Code ran"),
    (5, "cli", "killed when a Step had finished"),
    (6, "cli", "killed while a model was asked"),
    (6, "agent_ide", "killed while a client's Agent was at work"),
    (7, "cli", "killed between two Stages"),
    (11, "cli", "killed right after a commit"),
    (12, "cli", "killed while a person was asked"),
    (13, "cli", "killed when the answer was accepted"),
    (14, "cli", "killed while the answer was used"),
    (16, "cli", "killed when all that was left was to end"),
    (17, "cli", "finished"),
)
"""After which checkpoint, asked for by whom, and the intent that says so."""


def one_life(project: Path, stop: int, source: Any, intent: str) -> None:
    """A Service that dies right after a checkpoint of its one Run."""
    written = 0

    def failpoint(moment: str) -> None:
        nonlocal written
        written += moment == "publish:done"
        if written == stop + OWNED:
            os.kill(os.getpid(), signal.SIGKILL)

    service = Service(
        project, load_workflows(str(WORKFLOWS)), provider=ScriptedProvider(["Notes."]), disk=Publisher(failpoint)
    )
    service.begin_restore()  # without restoring: the other Runs are to stay where they are
    service.store.prepare()
    service.serve()
    run = service.create("release_notes", intent, source=source).run_id
    view = service.wait(run, 20)
    assert view.prompt is not None
    service.answer(run, view.prompt["id"], {"isConfirmed": True})
    service.wait(run, 20)
    os._exit(1)


OWNED = 2
"""Files that a Service publishes before any checkpoint: its connection and its lock."""


def make(folder: Path) -> None:
    """The project; what names this machine or lets somebody in is left out."""
    shutil.rmtree(folder, ignore_errors=True)
    project = new_project(folder)
    (project / ".gitignore").unlink()
    for stop, source, intent in STOPS:
        pid = os.fork()
        if pid == 0:
            one_life(project, stop, source, intent)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status), (intent, status)
        for name in OWNERS:
            (project / ".intloom" / name).unlink(missing_ok=True)
    add_mirror(project)


def add_mirror(project: Path) -> None:
    """A mirror of the Run that waits, on hold."""
    asked = next(run for run in open_loom_runs(project).values() if run.verdict.prompt and run.points[-1].offset == 12)
    service = Service(project, load_workflows(str(WORKFLOWS)))
    service.begin_restore()
    service.serve()
    service.mirror(asked.id, 12)
    service.stop()
    (project / ".intloom" / "connection.json").unlink()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
