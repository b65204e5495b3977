"""Hold mirrors against a stock engine: `python tests/fidelity [--build] [--record]`.

Mirrors of every sample run at several points, with and without history, edited and not, are put into the runs folder of
an engine of their own: each has to be listed as paused, to have the window that the kit predicts, to be resumed and to
end.
Runs that the kit's own world wrote are folded by the engine to the kit's state. Exit status 0 if all of that is so.
`--record` writes the engine's answers where the ordinary tests read them.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from engine_home import EngineHome, build_lev, find_lev  # noqa: E402
from model_double import ModelDouble  # noqa: E402
from samples import SAMPLES, run_folders, sample  # noqa: E402

from recovery_kit.formats.judge import judge_value  # noqa: E402
from recovery_kit.history.windows import window_sha256  # noqa: E402
from recovery_kit.mirrors.create import create_mirror  # noqa: E402
from recovery_kit.mirrors.mirror import Mirror  # noqa: E402
from recovery_kit.mirrors.resume import resume_mirror  # noqa: E402
from recovery_kit.records.engines import engine  # noqa: E402
from recovery_kit.records.window import Window  # noqa: E402
from recovery_kit.recovery.restoring import restored  # noqa: E402
from recovery_kit.runs.opening import open_run  # noqa: E402
from recovery_kit.runs.run import Run  # noqa: E402
from recovery_kit.world.agent_world import AgentWorld  # noqa: E402
from recovery_kit.world.recorded import RecordedProvider  # noqa: E402

RULES = engine("0.6.4")
AGENTS = SAMPLES / "agents"
ANSWERS = HERE.parent / "data" / "mirrors" / "engine_answers.json"
Plan = tuple[str, str | None, str, dict[str, Any] | None]
"""Moment, batch, history, edit."""


def plans(run: Run) -> Iterator[Plan]:
    """What is made of a run."""
    middle = str(len(run.points) // 2)
    yield from (("0", None, "none", None), (middle, None, "none", None), ("-1", None, "full", None))
    yield from (("end", None, "none", None), ("end", None, "full", None))
    yield middle, None, "none", {"region": "task", "insert": True, "text": "Think twice."}
    yield middle, None, "full", {"task": "Another task, \u00e9."}
    reachable = Counter(call.call_id for call in run.effects)
    once = [c.call_id for c in run.effects if reachable[c.call_id] == 1 and not c.behind_tear]
    if once:
        yield f"call:{once[-1]}", None, "none", None
    pending = run.at().pending
    if pending is not None:
        yield from (("end", how, "none", None) for how in ("complete", "drop"))
        yield from (("-1", how, "none", None) for how in ("complete", "keep"))
        lost = [call.id for call, result in pending.calls() if result is None]
        if lost:
            yield "end", None, "none", {"call": lost[0], "result": "it happened"}


def make(into: Path) -> Iterator[tuple[str, Plan, Mirror]]:
    """The mirrors of all sample runs that have a manifest."""
    for folder in run_folders():
        run = open_run(folder)
        if run.story.fold() is None or run.story.blueprint is None and "older" not in folder.parent.name:
            continue
        for plan in plans(run):
            at, batch, history, edit = plan
            mirror = create_mirror(run, at, into, history, batch=batch, agents=AGENTS)  # type: ignore[arg-type]
            if edit:
                mirror.edit(**edit)
            yield f"{folder.parent.name}/{folder.name}", plan, mirror


def judged(home: EngineHome, made: list[tuple[str, Plan, Mirror]]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The engine's answer for each mirror, and how many are as they should be."""
    before = {m.id: (m.path / "meta.json").stat().st_mtime_ns for _, _, m in made}
    home.start()
    home.until(lambda: all((m.path / "meta.json").stat().st_mtime_ns != before[m.id] for _, _, m in made), 60)
    listed = home.listed()
    rows, counts = [], Counter[str]()
    for name, (at, batch, history, edit), mirror in made:
        points = home.points(mirror.id)
        known = len(mirror.run.points)
        digest = _digest(points[known]["context"]) if len(points) > known else None
        story, meta = mirror.run.story, home.meta(mirror.id)
        mine = restored(story, RULES, story.blueprint, lambda _: False)
        ended = home.finish(mirror.id)
        rows.append({
            "run": name, "at": at, "batch": batch, "history": history, "edit": edit, "listed": listed.get(mirror.id),
            "window_sha256": digest, "stage_index": meta["stage_index"], "iteration": meta["iteration"], "ended": ended,
        })  # fmt: skip
        equal = mine is not None and digest == window_sha256(mine.window)
        seen = {"made": True, "listed": listed.get(mirror.id) == "paused", "resumed": ended != "not resumed",
                "finished": ended == "complete", "windows equal": equal}  # fmt: skip
        counts.update({what: int(so) for what, so in seen.items()})
        if not all(seen.values()):
            print(f"{name} at {at}, batch {batch}, history {history}: {[w for w, so in seen.items() if not so]}")
    return rows, counts


def _digest(context: Any) -> str | None:
    found = judge_value(json.dumps(context).encode(), Window, RULES).record
    return None if found is None else window_sha256(found)


def written_by_the_kit(home: EngineHome) -> Counter[str]:
    """Runs that the kit's world carried on, as the engine folds them."""
    counts = Counter[str]()
    source = open_run(sample("01-finished"))
    for point in range(3):
        mirror = create_mirror(source, point, home.runs)
        with AgentWorld(RecordedProvider(source)) as world:
            resume_mirror(mirror, world)
        points = home.points(mirror.id)
        same = len(points) == len(mirror.run.points) and _digest(points[-1]["context"]) == mirror.run.at().window_sha256
        counts.update({"written by the kit": 1, "folded alike": int(same)})
    return counts


def main() -> int:
    """Run it all; the exit status."""
    lev = find_lev() or (build_lev() if "--build" in sys.argv else None)
    if lev is None:
        print("not run: no lev in LEV or PATH (--build makes one from the package registry)")
        return 0
    double = ModelDouble()
    with tempfile.TemporaryDirectory() as folder:
        home = EngineHome(lev, Path(folder) / "home", double.url, ("scripted", "backup"))
        counts = written_by_the_kit(home)
        made = list(make(home.runs))
        try:
            rows, more = judged(home, made)
        finally:
            home.stop()
            double.close()
    counts.update(more)
    print(", ".join(f"{what} {count}" for what, count in counts.items()))
    if "--record" in sys.argv:
        ANSWERS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    whole = all(counts[what] == counts["made"] for what in ("listed", "resumed", "finished", "windows equal"))
    return 0 if whole and counts["folded alike"] == counts["written by the kit"] else 1


if __name__ == "__main__":
    sys.exit(main())
