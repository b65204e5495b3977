"""What a start of a workflow project costs: everything validated and planned, against parsing its files."""

import tempfile
import uuid
from collections.abc import Iterable
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from recovery_kit.formats.loom_tree import RUNTIME
from recovery_kit.formats.loom_v3 import parse_checkpoint
from recovery_kit.recovery.loom_plan import plan_project
from recovery_kit.runs.loom_run import LoomRun, open_loom_runs

from .pairs import Operation, Ratio, ratios

START = "loom start / parse of its files"


def start(samples: Path, runs: int, rounds: int) -> Ratio:
    """The ratio, for a project of so many Runs, which are the sample project's over and over under other ids."""
    with tempfile.TemporaryDirectory(prefix="recovery-kit-bench-") as folder:
        project = Path(folder)
        originals = open_loom_runs(samples / "22-workflow-killed-at-every-boundary").values()
        numbered = enumerate(islice(cycle(originals), runs))
        paths = [path for number, run in numbered for path in _copied(run, number, project)]

        def parsed(_: object) -> None:
            for path in paths:
                parse_checkpoint(path.read_bytes())

        def planned(_: object) -> None:
            assert len(plan_project(project).runs) == runs

        return ratios({START: Operation(planned)}, Operation(parsed), rounds)[0]


def _copied(run: LoomRun, number: int, project: Path) -> Iterable[Path]:
    """The checkpoints of a Run, under an id and an operation of its own."""
    assert run.folder is not None
    new_id = f"{run.id[:-8]}{number:08}"
    names = {run.id: new_id, run.meta.origin.operation_id: str(uuid.UUID(int=number, version=4))}
    folder = project / RUNTIME / sha256(new_id.encode()).hexdigest()
    folder.mkdir(parents=True)
    for file in run.evidence:
        data = (run.folder / file.name).read_bytes()
        for old, new in names.items():
            data = data.replace(old.encode(), new.encode())
        path = folder / Path(file.name).name
        path.write_bytes(data)
        yield path
