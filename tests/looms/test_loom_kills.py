"""What survives SIGKILL: sixty lives of a Service ended at moments of writing and after random whiles."""

import json
import subprocess
import sys
from pathlib import Path

KILLS = 60


def test_sixty_kills() -> None:
    """No finished Step runs again, no answer is lost or doubled, no commit is doubled, no checkpoint changes."""
    soak = Path(__file__).with_name("kill_soak.py")
    done = subprocess.run([sys.executable, str(soak), str(KILLS), "11"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout)
    assert counts["kills"] == KILLS and counts["checkpoints"] > KILLS
