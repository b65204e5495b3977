"""Journals to measure on, made up: three shapes of one long run, with what a correct reader has to find in each.

What is to be found comes from the generator's own state, never from reading the file. The same arguments give the same
bytes. The shapes: `compact` (a whole checkpoint now and then, a full window is summed up), `daemon` (what the engine
itself writes: one whole window at the start and one after each restart), `slide` (a full window that slides: the whole
region is set anew each turn). All hold what engine 0.6.4 writes.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

import orjson
from msgspec import Raw

from recovery_kit.formats.writing import journal_of, json_of
from recovery_kit.records.journal import (
    BatchCall,
    Checkpoint,
    ContextCheckpoint,
    ContextTransaction,
    Header,
    Identity,
    InferenceAttempt,
    InferenceUsage,
    Message,
    OwnershipChanged,
    Progress,
    Record,
    RegionCommit,
    RequestDigest,
    RequestMessage,
    StatusChanged,
    ToolBatch,
    ToolCallDone,
)
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import (
    Append,
    AssistantTurn,
    Delta,
    Entry,
    Region,
    RegionOp,
    ToolResult,
    TurnCall,
    UserMessage,
    Window,
)

Shape = Literal["compact", "daemon", "slide"]
SHAPES: tuple[Shape, ...] = get_args(Shape)

CALLS = 3
"""Calls of a turn."""
FULL = 400
"""Entries at which the conversation is full; a sliding one holds a tenth."""
CHECKPOINT_EVERY = 50
RESTART_EVERY = 300
START = 1_750_000_000
WORDS = (
    "the a of in to and for with file line test value index buffer stream window record frame read write open close "
    "path name error check retry parse build import return class self result order total count"
).split()
WIDE = ("café", "naïve", "“quoted”", "→", "λ")


@dataclass
class Truth:
    """What a correct reader finds."""

    records: int = 0
    points: int = 0
    tool_calls: int = 0
    usages: int = 0
    messages: int = 0
    iteration: int = 0
    window_sha256: str = ""


@dataclass
class Made:
    """A journal and the truth about it."""

    data: bytes = field(repr=False)
    truth: Truth


def made(shape: Shape, turns: int, seed: int = 7) -> Made:
    """A journal of so many turns: about 33 kB a turn, with a sliding window twice that."""
    truth = Truth()
    writer = _Writer(shape, random.Random(seed), truth)
    records = list(writer.records(turns))
    truth.records = len(records)
    truth.window_sha256 = hashlib.sha256(
        orjson.dumps(orjson.loads(json_of(writer.window())), option=orjson.OPT_SORT_KEYS)
    ).hexdigest()
    return Made(journal_of(records), truth)


def json_text(value: object) -> str:
    return orjson.dumps(value).decode()


class _Writer:
    def __init__(self, shape: Shape, rng: random.Random, truth: Truth) -> None:
        self.shape, self.rng, self.truth = shape, rng, truth
        self.at = START
        self.entries: list[Entry] = [self.entry(UserMessage(), 600)]
        self.pinned = (Entry(self.text(1200), 300),)
        self.lives = 0
        self.made_names = 0

    def records(self, turns: int) -> Iterator[Record]:
        yield Header(Identity("bench-1-0", "machine-a", self.world(), START), self.meta("starting"))
        yield self.whole()
        for turn in range(1, turns + 1):
            self.at += self.rng.randrange(2, 40)
            if self.shape == "daemon" and turn % RESTART_EVERY == 0:
                self.lives += 1
                yield OwnershipChanged("machine-a", self.world(), self.at)
                yield self.whole()
            yield from self.turn(turn)
            if self.shape == "compact" and turn % CHECKPOINT_EVERY == 0:
                self.truth.points += 1
                yield Checkpoint(self.meta("running"), self.window(), self.at)

    def world(self) -> str:
        return f"world-{self.lives}"

    def whole(self) -> ContextCheckpoint:
        self.truth.points += 1
        return ContextCheckpoint(self.window(), self.at)

    def turn(self, turn: int) -> Iterator[Record]:
        truth, rng, visit = self.truth, self.rng, f"v{self.lives}"
        truth.iteration, truth.usages = turn, truth.usages + 1
        prompt = 4000 + 30 * len(self.entries)
        digest = RequestDigest(rng.randrange(2**64), len(self.entries), 9, 4096, 0.2)
        yield InferenceAttempt(
            id=f"a-{turn:08x}", stage="work", attempt=1, provider="lab", model="lab-large", outcome="succeeded",
            finish_reason="tool_call", duration_ms=rng.randrange(900, 9000), backoff_ms=0, digest=digest, at=self.at,
        )  # fmt: skip
        yield InferenceUsage(
            stage="work", iteration=turn, provider="lab", model="lab-large", prompt_tokens=prompt,
            completion_tokens=400, cached_tokens=prompt // 2, cache_write_tokens=90, cost_usd=prompt * 3e-6,
            cost_reported_by_provider=True,
            at=self.at,
        )  # fmt: skip
        calls = tuple(
            BatchCall(
                id=f"c{turn}-{n}",
                execution_id=f"x-{turn:08x}-{n}",
                name=rng.choice(("read_file", "bash", "web_fetch")),
                arguments=json_text({"path": f"/srv/src/mod_{rng.randrange(900)}.py", "text": self.text(500)}),
            )
            for n in range(CALLS)
        )  # fmt: skip
        reply = self.text(900)
        truth.tool_calls += CALLS
        yield self.transaction("model_reply", 1)
        yield ToolBatch(
            calls=calls, at=self.at, iteration=turn, visit_id=visit, requested_by=f"a-{turn:08x}", response=reply
        )
        turn_calls = tuple(TurnCall(c.id, c.name, Raw(c.arguments.encode())) for c in calls)
        new = [self.entry(AssistantTurn(turn_calls), reply)]
        for call in calls:
            self.at += rng.randrange(3)
            result = self.text(rng.choice((300, 2500, 6000)))
            new.append(self.entry(ToolResult(call.id, call.name, False), result))
            yield ToolCallDone(
                iteration=turn, call_id=call.id, execution_id=call.execution_id, result=result, outcome="succeeded",
                at=self.at,
            )  # fmt: skip
        yield self.transaction("tool_result", CALLS)
        truth.points, truth.messages = truth.points + 1, truth.messages + 1
        yield Progress(self.meta("running"), self.delta(new), self.at)
        yield Message(RequestMessage("assistant", self.text(300)), self.at)
        yield StatusChanged("running", self.at)

    def delta(self, new: list[Entry]) -> Delta:
        self.entries += new
        full = FULL // 10 if self.shape == "slide" else FULL
        if len(self.entries) <= full:
            op = RegionOp(append=Append("conversation", tuple(new), self.held()))
        else:
            slides = self.shape == "slide"
            self.entries = self.entries[-full:] if slides else [self.entry(UserMessage(), 2000), *self.entries[-20:]]
            op = RegionOp(set=self.conversation())
        return Delta("work", self.held() + 300, 200_000, (op,))

    def window(self) -> Window:
        return Window("work", self.held() + 300, 200_000, (self.system(), self.conversation()))

    def system(self) -> Region:
        return Region("system", "pinned", 300, 4000, self.pinned)

    def conversation(self) -> Region:
        return Region("conversation", "sliding_window", self.held(), 190_000, tuple(self.entries))

    def held(self) -> int:
        return sum(entry.tokens for entry in self.entries)

    def entry(self, kind: UserMessage | AssistantTurn | ToolResult, text: str | int) -> Entry:
        content = self.text(text) if isinstance(text, int) else text
        return Entry(content, -(-len(content.encode()) // 4), kind)

    def transaction(self, cause: Literal["model_reply", "tool_result"], added: int) -> ContextTransaction:
        before, after = f"cw1-{self.made_names:032x}", f"cw1-{self.made_names + 1:032x}"
        self.made_names += 1
        n, held = len(self.entries), self.held()
        commit = RegionCommit("conversation", f"rg1-{n:032x}", f"rg1-{n + added:032x}", held, held, n, n + added, added)
        return ContextTransaction(
            revision_before=before, revision_after=after, cause=cause, regions=(commit,), at=self.at
        )

    def meta(self, status: Literal["starting", "running"]) -> RunMeta:
        t = self.truth
        return RunMeta(
            run_id="bench-1-0", agent_name="bench", agent_path="/srv/agents/bench.leviath", task=self.task, pid=4242,
            status=status, current_stage="work", stage_index=0, num_stages=1, iteration=t.iteration,
            prompt_tokens=5000 * t.iteration, completion_tokens=400 * t.iteration, tool_calls=t.tool_calls,
            workdir="/srv/project", started_at=START, updated_at=self.at, last_progress_at=self.at,
        )  # fmt: skip

    @property
    def task(self) -> str:
        return "Read the project and write down what its tests do not cover. " * 12

    def text(self, size: int) -> str:
        """Prose and lines of code, a quarter of the texts with signs beyond ASCII."""
        rng = self.rng
        words = [*WORDS, *WIDE] if rng.random() < 0.25 else WORDS
        found, length = [], 0
        while length < size:
            line = " ".join(rng.choices(words, k=12))
            found.append(f'{line}\n    {rng.choice(WORDS)} = f("{rng.choice(WORDS)}", {rng.randrange(10**6)})\n')
            length += len(found[-1])
        return "".join(found)[:size]
