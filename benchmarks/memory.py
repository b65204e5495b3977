"""Memory of a timeline: a child process holds one and tells its own anonymous pages, less those of a child without."""

import subprocess
import sys
import tempfile
from pathlib import Path

_CHILD = """
import sys, gc
from recovery_kit.formats.journal import Journal
from recovery_kit.history.fold import walk_points
import mmap
with open(sys.argv[1], "rb") as file:
    data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
gc.disable()
reading = Journal(data).read(verified=False)
held = list(walk_points(reading)) if sys.argv[2] == "timeline" else None
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("RssAnon")))
"""


def per_point(data: bytes, points: int) -> float | None:
    """Kilobytes of anonymous memory a point, pages of the mapped file left out; None where the system does not tell."""
    if not Path("/proc/self/status").exists():
        return None
    with tempfile.NamedTemporaryFile(suffix=".lvr") as file:
        file.write(data)
        file.flush()
        held, base = (_anonymous(file.name, what) for what in ("timeline", "nothing"))
    return (held - base) / points


def _anonymous(path: str, what: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, path, what],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    return int(done.stdout)
