"""Runs that are killed over and over, and what has to be true of them when they are over.

Each life is a process of its own (forked, so that it begins at once). It restores what is on disk, goes on, and is
killed with SIGKILL after a random while or at a named moment. Tools leave a line for every effect in a file that
survives, and what a person was asked and has answered is written down outside the runs as well.
"""

import contextlib
import os
import random
import re
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from recovery_kit.errors import RecoveryKitError
from recovery_kit.formats.durable import Durable
from recovery_kit.recovery.reload import reload_persisted_agents
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import ANY_TURN, Reply, ToolCall, Turn
from recovery_kit.world.request import Request
from recovery_kit.world.tools import NO_CONTEXT, Arguments, ToolAnswer, ToolContext

CLERK = """
[agent]
name = "clerk"
[stages.post]
mode = "interactive_points"
model = { provider = "p", model = "m" }
available_tools = ["shell", "read_file", "context_write", "todo_add", "ask_user_text"]
allow_blocking_tools = true
max_iterations = 400
system_prompt = "Post every job once."
[[stages.post.interaction_points]]
name = "agree"
prompt = "Is everything posted?"
style = "multiple_choice"
options = ["Yes", "Once more"]
[stages.post.interaction_points.directives]
"Once more" = "Look once more."
[stages.post.transitions.close]
[stages.close]
mode = "output"
model = { provider = "p", model = "m" }
max_iterations = 400
system_prompt = "Submit."
[context.regions]
task = { kind = "pinned", max_tokens = 1000 }
notes = { kind = "hashmap", max_tokens = 4000 }
todo = { kind = "checklist", max_tokens = 4000 }
conversation = { kind = "sliding_window", max_items = 2000, max_tokens = 900000 }
"""
SPLITTER = """
[agent]
name = "splitter"
[stages.split]
mode = "fan_out"
model = { provider = "p", model = "m" }
worker_stage = "region"
merge_stage = "merge"
max_workers = 2
results_region = "figures"
[stages.region]
mode = "autonomous"
model = { provider = "p", model = "m" }
available_tools = ["shell", "read_file", "submit_output"]
allow_as_worker = true
max_iterations = 400
[stages.region.transitions]
[stages.merge]
mode = "output"
model = { provider = "p", model = "m" }
max_iterations = 400
[context.regions]
task = { kind = "pinned", max_tokens = 1000 }
figures = { kind = "pinned", max_tokens = 8000 }
conversation = { kind = "sliding_window", max_items = 2000, max_tokens = 900000 }
"""
LEAD = """
[agent]
name = "lead"
[stages.lead]
mode = "autonomous"
model = { provider = "p", model = "m" }
available_tools = ["spawn_agent", "check_agent", "wait_for_agent", "submit_output"]
max_iterations = 400
[context.regions]
task = { kind = "pinned", max_tokens = 1000 }
conversation = { kind = "sliding_window", max_items = 2000, max_tokens = 900000 }
"""
PROBE = """
[agent]
name = "probe"
[stages.probe]
mode = "autonomous"
model = { provider = "p", model = "m" }
available_tools = ["shell", "read_file", "submit_output"]
max_iterations = 400
[context.regions]
task = { kind = "pinned", max_tokens = 1000 }
conversation = { kind = "sliding_window", max_items = 2000, max_tokens = 900000 }
"""
RUNS = {"clerk-1": (CLERK, "six jobs"), "splitter-1": (SPLITTER, "split it"), "lead-1": (LEAD, "lead it")}

DISK_MOMENTS = (
    "replace:begun", "replace:half", "replace:written", "replace:synced", "replace:renamed", "replace:done",
    "append:begun", "append:half", "append:written", "append:done", "folder:made", "file:removed",
)  # fmt: skip
WINDOWS: dict[str, str] = {
    "W0 a folder and nothing in it": "folder:made",
    "W2 the first journal is half there": "replace:half",
    "W3 the journal is newer than all else": "append:done",
    "W4 W5 W6 between two of the other files": "replace:done",
    "W8 W9 a stale file was taken away": "file:removed",
    "W10 answered, and nothing of it on disk": "model:answered",
    "W11 a batch is announced": "append:written",
    "W12 the call has not begun": "tool:before",
    "W13 it took effect, and nothing says so": "tool:after",
    "W14 results are held, not yet applied": "append:begun",
    "W16 a torn tail": "append:half",
    "W18 a question is about to be shown": "replace:begun",
    "W22 in the middle of a handoff": "replace:written",
    "a person has answered": "prompt:answered",
}
"""Windows of leviath-run-directory 9 by the moment that opens them (more than one window may open there)."""
MOMENTS = tuple(dict.fromkeys([*WINDOWS.values(), *DISK_MOMENTS]))

JOBS = 12
"""Of a round: six of the clerk, one of each of four workers, two of the child."""
INTERRUPTED = "[error] interrupted"


@dataclass
class Effects:
    """Tools that leave a line for every effect, synced before the call returns."""

    path: Path
    reached: Callable[[str], None]

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """Post one job, or list what was posted."""
        if name == "read_file":
            rows = [row.split() for row in read(self.path).splitlines()]
            return ToolAnswer("posted so far: " + " ".join(job for run, _, job in rows if run == context.run_id) + " .")
        self.reached("tool:before")
        job = str(arguments["command"]).split()[1]
        append(self.path, f"{context.run_id} {context.execution_id} {job}\n")
        self.reached("tool:after")
        return ToolAnswer(f"posted so far: {job} .")


@dataclass
class Model:
    """A model that looks before it repeats: it decides by what the request shows it, and by nothing else."""

    reached: Callable[[str], None] = lambda moment: None

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Reply:
        """The next turn of a run."""
        said = [block for message in request.messages for block, _ in message.blocks()]
        texts = [text_of_block(block) for block in said]
        reply = getattr(self, turn.stage)(turn, texts)
        self.reached("model:answered")
        return msgspec.structs.replace(reply, prompt_tokens=10, completion_tokens=1, cost_usd=0.0)

    def post(self, turn: Turn, texts: list[str]) -> Reply:
        """Six jobs in batches of two, a question between them."""
        return self._posting(turn, texts, 6, "post")

    def region(self, turn: Turn, texts: list[str]) -> Reply:
        """One job, then the answer."""
        return self._posting(turn, texts, 1, "submit")

    def probe(self, turn: Turn, texts: list[str]) -> Reply:
        """Two jobs, then the answer."""
        return self._posting(turn, texts, 2, "submit")

    def _posting(self, turn: Turn, texts: list[str], jobs: int, end: str) -> Reply:
        looked = max((n for n, text in enumerate(texts) if text.startswith("posted so far:")), default=-1)
        lost = max((n for n, text in enumerate(texts) if text.startswith(INTERRUPTED)), default=-1)
        if lost > looked or (lost >= 0 and not self._has_looked(texts, lost)):
            return call(turn, ("read_file", {"path": "effects"}))
        known = {job for text in texts if text.startswith("posted so far:") for job in text[14:].split()}
        left = [f"job{n}" for n in range(jobs) if f"job{n}" not in known]
        if not left:
            return self._ending(turn, texts) if end == "submit" else Reply(text="All posted.", finish_reason="complete")
        if turn.stage == "post" and len(left) <= 4 and not any(t.startswith("the person said") for t in texts):
            return call(turn, ("ask_user_text", {"prompt": f"May I go on, iteration {turn.iteration}?"}))
        batch = [("shell", {"command": f"post {job}"}) for job in left[:2]]
        inline = [("context_write", {"region": "notes", "key": left[0], "content": "handed out"})]
        return call(turn, *batch, *(inline if turn.stage == "post" else []))

    def _has_looked(self, texts: list[str], lost: int) -> bool:
        return any(text.startswith("posted so far:") and " ." in text for text in texts[lost + 1 :])

    def _ending(self, turn: Turn, texts: list[str]) -> Reply:
        done = any(text.startswith("Recorded as") for text in texts)
        if done:
            return Reply(text="Done.", finish_reason="complete")
        return call(turn, ("submit_output", {"content": f"finished in {turn.stage}"}))

    close = merge = _ending

    def split(self, turn: Turn, texts: list[str]) -> Reply:
        """Four items for workers."""
        items = [{"id": f"item{n}", "context": {"n": n}} for n in range(4)]
        return call(turn, ("fan_out", {"items": items}))

    def lead(self, turn: Turn, texts: list[str]) -> Reply:
        """One child, waited for; after an interruption the children that are named are asked first."""
        named = [name for text in texts for name in re.findall(r"probe-\d+-[0-9a-f]{12}", text)]
        gone = {name for name in named if any(f"no such sub-agent '{name}'" in text for text in texts)}
        over = [name for name in named if any(f"'{name}' finished" in text for text in texts)]
        alive = [name for name in dict.fromkeys(named) if name not in gone]
        if over:
            return self._ending(turn, texts)
        if alive:
            return call(turn, ("wait_for_agent", {"agent_id": alive[-1]}))
        return call(turn, ("spawn_agent", {"blueprint": "probe", "task": "two jobs"}))


def text_of_block(block: dict[str, object]) -> str:
    """What a block of a request says."""
    text = block.get("text", block.get("content", ""))
    return text if isinstance(text, str) else ""


def call(turn: Turn, *wanted: tuple[str, dict[str, object]]) -> Reply:
    """A reply with these calls."""
    calls = tuple(
        ToolCall(f"{turn.stage}-{turn.iteration}-{n}", name, msgspec.json.encode(arguments, order="sorted").decode())
        for n, (name, arguments) in enumerate(wanted)
    )
    return Reply(text="On it.", tool_calls=calls, finish_reason="tool_call")


def read(path: Path) -> str:
    """A file's text; nothing where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def append(path: Path, line: str) -> None:
    """A line, on the disk when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, line.encode())
    os.fsync(handle)
    os.close(handle)


# One life.


@dataclass
class Trap:
    """Kills this process when a moment has been reached so often; a moment of None counts every one."""

    moment: str | None = None
    after: int = 0
    count: int = 0

    def __call__(self, moment: str) -> None:
        if self.after and self.moment in (None, moment):
            self.count += 1
            if self.count >= self.after:
                os.kill(os.getpid(), signal.SIGKILL)


def life(root: Path, seed: int, trap: Trap) -> None:
    """Restore, start what is not there, go on to the end; answer people's questions now and then."""
    runs, log = root / "runs", root / "person.log"
    rng = random.Random(seed)
    disk = Durable(trap if trap.after else None)
    agents = root / "agents"
    with AgentWorld(
        Model(trap), Effects(root / "effects", trap), folder=runs, agents=agents, disk=disk, sleep=lambda s: None
    ) as world:  # fmt: skip
        if any(runs.glob("*/meta.json")):
            done = reload_persisted_agents(world, runs)
            for run_id, why in done.failed.items():
                append(root / "trouble", f"not restored {run_id}: {why}\n")
        for run_id, (manifest, task) in RUNS.items():
            if not (runs / run_id / "meta.json").exists():
                world.spawn(manifest, task, run_id=run_id)
        for prompt in world.prompts:
            append(log, f"asked-again {prompt.id}\n")
        append(root / "lives", "".join(f"{p.id} " for p in world.prompts) + "\n")
        while True:
            moved = world.tick()
            for prompt in world.prompts:
                if rng.random() < 0.5:
                    continue
                if prompt.kind == "multiple_choice":
                    world.answer(prompt, choice=0)
                else:
                    world.answer(prompt, text=f"the person said yes to {prompt.text}")
                append(log, f"answered {prompt.id} {prompt.text}\n")
                trap("prompt:answered")
                moved = True
            if not moved and not world.prompts:
                break
        for agent in world.agents.values():
            if not agent.over or agent.status != "complete":
                append(root / "trouble", f"{agent!r}: {agent.meta.error or world.why_stopped(agent.id)}\n")


# Many lives.


@dataclass
class Counts:
    """What was counted over many kills."""

    kills: int = 0
    lives: int = 0
    rounds: int = 0
    """How often everything came to its end and was begun anew."""
    calls_completed: int = 0
    effects: int = 0
    completed_calls_run_again: int = 0
    calls_handed_out_twice: int = 0
    jobs_done_twice: int = 0
    jobs_not_done: int = 0
    results_lost: int = 0
    runs_finished: int = 0
    runs_lost: int = 0
    prompts_answered: int = 0
    prompts_asked_after_their_answer: int = 0
    open_points_not_asked_again: int = 0
    trouble: list[str] = field(default_factory=list)
    by_moment: Counter[str] = field(default_factory=Counter)

    @property
    def broken(self) -> int:
        """Promises that were not kept."""
        return (
            self.completed_calls_run_again + self.calls_handed_out_twice + self.jobs_done_twice + self.jobs_not_done
            + self.results_lost + self.runs_lost + self.prompts_asked_after_their_answer
            + self.open_points_not_asked_again + len(self.trouble)
        )  # fmt: skip


def soak(kills: int, seed: int, folder: Path | None = None) -> Counts:
    """Kill until there were so many kills; each round goes on until all of its runs are over."""
    rng, counts = random.Random(seed), Counts()
    while counts.kills < kills:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            root = Path(name) / "root"
            (root / "runs").mkdir(parents=True)
            (root / "agents" / "probe").mkdir(parents=True)
            (root / "agents" / "probe" / "agent.leviath").write_text(PROBE, encoding="utf-8")
            _round(root, rng, counts, kills)
            _count(root, counts)
            counts.rounds += 1
    return counts


def _round(root: Path, rng: random.Random, counts: Counts, kills: int) -> None:
    spared = False
    for _ in range(500):
        spared = spared or counts.kills >= kills
        trap, wait = (Trap(), None) if spared else _fate(rng, counts)
        points = _open_points(root / "runs")
        if _lived(root, rng.randrange(1 << 30), trap, wait):
            _look(root, counts, points)
            return
        counts.kills += 1
        counts.by_moment[trap.moment or ("any moment" if trap.after else "any time")] += 1
        _look(root, counts, points)
    counts.trouble.append("a round does not come to its end")


def _fate(rng: random.Random, counts: Counts) -> tuple[Trap, float | None]:
    """How the next life ends: first once in each named window, then after a while, at the n-th moment of any kind, or
    of one kind."""
    left = [moment for moment in WINDOWS.values() if not counts.by_moment[moment]]
    if left:
        return Trap(left[0], rng.choice((1, 1, 2, 3))), None
    kind = rng.random()
    if kind < 0.3:
        return Trap(), rng.uniform(0.0, 0.25)
    if kind < 0.6:
        return Trap(None, rng.randint(1, 900)), None
    return Trap(rng.choice(MOMENTS), rng.choice((1, 1, 2, 3, 5, 8, 20))), None


def _lived(root: Path, seed: int, trap: Trap, wait: float | None) -> bool:
    """Whether a life came to its own end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            life(root, seed, trap)
            code = 0
        except BaseException:
            append(root / "trouble", traceback.format_exc())
        finally:
            os._exit(code)
    if wait is not None:
        time.sleep(wait)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return not os.WIFSIGNALED(status)


def _open_points(runs: Path) -> set[str]:
    """Questions at the end of a stage that stand open on disk."""
    found = set()
    for folder in runs.glob("*"):
        with contextlib.suppress(RecoveryKitError):
            run = open_run(folder)
            meta, point = run.files.meta, run.files.open_point
            if meta is not None and point is not None and meta.status == "waiting_input":
                # An answer without a step behind it has led nowhere: the person was not told that it was taken.
                steps = max((e.offset for e in run.records if e.kind == "Progress"), default=0)
                settled = {e.record.request_id for e in run.records if e.kind == "Interaction" and e.offset < steps}
                found |= {f"{meta.run_id}-point-agree-{point.round}"} - settled
    return found


def _look(root: Path, counts: Counts, points: set[str]) -> None:
    """After each life: were the questions that stood open asked again?"""
    counts.lives += 1
    lives = read(root / "lives").splitlines()
    (root / "lives").unlink(missing_ok=True)
    if lives:
        counts.open_points_not_asked_again += len(points - set(lives[-1].split()))


def _count(root: Path, counts: Counts) -> None:
    """At the end of a round: what the files, the effects and the person's log say."""
    rows = [row.split() for row in read(root / "effects").splitlines()]
    counts.effects += len(rows)
    counts.calls_handed_out_twice += sum(n - 1 for n in Counter(row[1] for row in rows).values())
    counts.jobs_done_twice += sum(n - 1 for n in Counter((row[0], row[2]) for row in rows).values())
    counts.jobs_not_done += JOBS - len({(row[0], row[2]) for row in rows})
    answered: set[str] = set()
    for line in read(root / "person.log").splitlines():
        word, prompt = line.split()[:2]
        if word == "answered" and "-point-" in prompt:
            answered.add(prompt)
        counts.prompts_answered += word == "answered"
        counts.prompts_asked_after_their_answer += word == "asked-again" and prompt in answered
    if (root / "trouble").exists():
        counts.trouble += read(root / "trouble").splitlines()
    for run_id in RUNS:
        if not (root / "runs" / run_id / "meta.json").exists():
            counts.runs_lost += 1
    for folder in (root / "runs").iterdir():
        if (folder / "meta.json").exists():
            _count_run(folder, counts)


def _count_run(folder: Path, counts: Counts) -> None:
    run = open_run(folder)
    over = run.meta is not None and run.meta.status == "complete"
    counts.runs_finished += over
    counts.runs_lost += not over
    shown = [
        (entry.kind.tool_call_id, entry.content)
        for region in run.at().window.regions
        for entry in region.entries
        if type(entry.kind).__name__ == "ToolResult"
    ]
    done: dict[str, str] = {}
    for event in run.records:
        if event.kind != "ToolCallDone" or event.record.outcome == "indeterminate":
            continue
        counts.calls_completed += 1
        if (event.record.call_id, event.record.result) not in shown:
            counts.results_lost += 1
        if event.record.execution_id in done:
            counts.completed_calls_run_again += 1
        done[event.record.execution_id] = event.record.call_id
