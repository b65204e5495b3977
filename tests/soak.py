"""`python -m tests.soak --kills 1000`: kill runs for real, restart them, and count what must never happen."""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "world"))

from crash_driver import soak


def main() -> int:
    """Exit status 1 where a promise was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the runs lie while they are killed")
    wanted = parser.parse_args()
    began = time.monotonic()
    counts = soak(wanted.kills, wanted.seed, wanted.folder)
    told = vars(counts) | {"seconds": round(time.monotonic() - began), "broken": counts.broken}
    print(json.dumps(told, indent=2))
    return 1 if counts.broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
