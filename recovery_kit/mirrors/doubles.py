"""What stands in for the world outside while a branch goes on: recorded results, stubs, and a recording that is asked
for a turn which is done again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from recovery_kit.history.fold import landed
from recovery_kit.runs.run import Run
from recovery_kit.world.providers import ANY_TURN, Failure, Reply, Turn
from recovery_kit.world.recorded import RecordedProvider, RecordedTools
from recovery_kit.world.request import Request
from recovery_kit.world.tools import NO_CONTEXT, Arguments, ToolAnswer, ToolContext, Tools

from .mirror import Mirror


@dataclass(slots=True)
class BranchTools:
    """Tools of a branch: what is really done only by name, else the recorded result of the same call in the same place,
    else a stub, else a refusal, at which the world stops and somebody can be asked."""

    recorded: Tools | None = None
    stubs: Mapping[str, str] = field(default_factory=dict)
    """Answers by name of tool, for calls that the recording does not have."""
    real: Tools | None = None
    allow: Collection[str] = ()
    """Names of tools that `real` carries out."""

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """Answer a call."""
        if self.real is not None and name in self.allow:
            return self.real.call(name, arguments, context)
        answer = self.recorded.call(name, arguments, context) if self.recorded else ToolAnswer.refuse("no recording")
        if answer.refused and name in self.stubs:
            return ToolAnswer(self.stubs[name])
        return answer


def branch_tools(
    source: Run | None, stubs: Mapping[str, str] | None = None, real: Tools | None = None, allow: Collection[str] = ()
) -> BranchTools:
    """The tools of a branch of `source`; without it nothing is recorded."""
    return BranchTools(RecordedTools(source) if source is not None else None, stubs or {}, real, allow)


class Retold:
    """A recorded provider for a branch: a turn that is done again counts one iteration further than in the recording.

    `shift` is how many iterations further the branch counts. A strict recording says itself whether a request is the
    one of a turn; then both are tried, that which fitted last first.
    """

    def __init__(self, recording: RecordedProvider, shift: int = 0) -> None:
        self.recording = recording
        self._shift = shift

    def infer(self, request: Request, turn: Turn = ANY_TURN) -> Reply | Failure:
        """The recorded answer of that turn, or of the one before it; else why there is none."""
        refused: Failure | None = None
        for shift in dict.fromkeys((self._shift, 0, 1) if self.recording.strict else (self._shift,)):
            if turn.iteration <= shift and turn.iteration:
                continue
            answer = self.recording.infer(request, replace(turn, iteration=max(0, turn.iteration - shift)))
            if isinstance(answer, Reply):
                self._shift = shift
                return answer
            refused = refused or answer
        return refused or self.recording.infer(request, turn)


def iterations_ahead(mirror: Mirror, source: Run) -> int:
    """How many iterations further the next turn of a mirror counts than the same turn of its source: 1 where the batch
    of its iteration was dropped, so that its turn is done again."""
    meta, window = mirror.meta, mirror.run.at().window
    if meta is None or mirror.origin.source != source.id or mirror.origin.batch != "drop":
        return 0
    batches = [e.record for e in source.records if e.kind == "ToolBatch" and e.record.iteration == meta.iteration]
    return int(bool(batches) and not landed(batches[-1], window))
