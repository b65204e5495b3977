"""Runs killed with SIGKILL, restarted, killed again: what is promised holds at the end."""

import json
import subprocess
import sys
from pathlib import Path

from world.crash_driver import WINDOWS

KILLS = 60


def test_sixty_kills_break_no_promise() -> None:
    """Once in each window of a crash and at random: nothing is run again, lost, or asked after its answer."""
    ask = [sys.executable, "-m", "tests.soak", "--kills", str(KILLS), "--seed", "5"]
    done = subprocess.run(ask, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    told = json.loads(done.stdout)
    assert told["broken"] == 0 and done.returncode == 0, told
    assert told["kills"] == KILLS and told["runs_finished"] == 8 * told["rounds"]
    assert told["effects"] == 12 * told["rounds"] and told["prompts_answered"] >= told["rounds"]
    assert set(WINDOWS.values()) <= set(told["by_moment"])
