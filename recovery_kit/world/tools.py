"""What carries out a tool call: one method, its answer as a value, and the doubles that touch nothing.

Tools that touch the world are in `local_tools`, answers from a recording in `recorded`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

from recovery_kit.history.windows import text_of
from recovery_kit.records.window import Content

from .providers import well_formed

Arguments = dict[str, object]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Which call it is. A tool needs none of it to do its work, except where it works."""

    run_id: str = ""
    stage: str = ""
    iteration: int = 0
    call_id: str = ""
    execution_id: str = ""
    workdir: str = ""
    """The run's work directory, as its metadata names it."""


NO_CONTEXT = ToolContext()

FAILED = ("[error]", "[denied]", "[blocked]", "[unavailable]")
"""How a text begins that tells of a call without effect (leviath-runtime T6.5)."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call answered: a text, or parts."""

    content: Content
    refused: bool = False
    """Nobody tried: these tools do not have such a call. The world had better stop than go on with this text."""

    def __post_init__(self) -> None:
        if isinstance(self.content, str):
            object.__setattr__(self, "content", well_formed(self.content))

    @classmethod
    def refuse(cls, why: str) -> Self:
        """An answer of who does not carry out the call."""
        return cls(f"[unavailable] {why}", refused=True)

    @classmethod
    def error(cls, why: str) -> Self:
        """An answer of a call that failed."""
        return cls(f"[error] {why}")

    @property
    def text(self) -> str:
        return text_of(self.content)

    @property
    def failed(self) -> bool:
        """Whether the text says that the call had no effect."""
        return self.text.startswith(FAILED)


class Tools(Protocol):
    """Whoever carries out calls."""

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """Carry out one call and answer. What a tool cannot do is an answer too; what is raised is a defect."""


Stub = str | ToolAnswer | Callable[[Arguments], str | ToolAnswer]


@dataclass(slots=True)
class StubTools:
    """Answers by name, from texts or functions, and does nothing."""

    answers: Mapping[str, Stub] = field(default_factory=dict)
    otherwise: str | None = "done"
    """Answer of every other tool; None refuses them."""
    called: list[tuple[str, Arguments]] = field(default_factory=list)
    """Every call, for tests to look at."""

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """The answer that was given for this name."""
        self.called.append((name, arguments))
        answer: Stub | None = self.answers.get(name, self.otherwise)
        if answer is None:
            return ToolAnswer.refuse(f"no answer was given for {name}")
        made = answer(arguments) if callable(answer) else answer
        return ToolAnswer(made) if isinstance(made, str) else made
