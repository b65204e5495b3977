"""What a Workflow is made of: Stages with a State, Steps that give an outcome, and where each outcome leads.

Plain values; nothing here runs anything. Names are checked when a Workflow is made, so that a Service meets no
broken one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import UNSET

from recovery_kit.records.loom import Cursor, Execution, Route

from .identity import package_identity, sources_identity
from .refusals import Refused
from .state import state_problem

CodeFunction = Callable[[Any], str]
"""Takes the Call's access, returns an outcome."""
RecoverFunction = Callable[[Any, Any], str]
"""Takes what was saved (`action`, `answer`) and fresh access, returns an outcome."""


@dataclass(slots=True)
class Code:
    """A function that is a Step. `recover` is entered where its wait for a person outlived the process."""

    function: CodeFunction
    recover_function: RecoverFunction | None = None

    def recover(self, function: RecoverFunction) -> RecoverFunction:
        """Decorator: the entry for an answer to a question that the function asked in an earlier life."""
        self.recover_function = function
        return function

    @property
    def has_recover(self) -> bool:
        return self.recover_function is not None


def code(function: CodeFunction) -> Code:
    """Decorator: a function as a Code Step."""
    return Code(function)


@dataclass(frozen=True, slots=True)
class AgentWork:
    """A Step for a model: asked by the Service itself, or delegated to the client's own Agent."""

    prompt: Callable[[Any], Any]
    """Takes the access, returns what is asked: a `Request` of `world`, or a text."""
    read: Callable[[Any, Any], str]
    """Takes the access and the reply (a delegated Agent's is plain JSON), returns an outcome."""
    agent_id: str = "agent"
    has_recover: bool = field(default=False, init=False)


def agent(prompt: Callable[[Any], Any], read: Callable[[Any, Any], str], agent_id: str = "agent") -> AgentWork:
    """A Step that a model does."""
    return AgentWork(prompt, read, agent_id)


@dataclass(frozen=True, slots=True)
class Target:
    """Where an outcome leads, by name."""

    kind: str
    name: str = ""


END = Target("end")
"""The Workflow's end."""


def to_step(name: str) -> Target:
    """A Step of the same Stage."""
    return Target("step", name)


def to_stage(name: str) -> Target:
    """The first Step of another Stage, whose State is made anew."""
    return Target("stage", name)


@dataclass(frozen=True, slots=True)
class Step:
    """One unit of work with its routes."""

    name: str
    work: Code | AgentWork | CodeFunction
    routes: Mapping[str, Target]

    @property
    def executable(self) -> Code | AgentWork:
        return self.work if isinstance(self.work, (Code, AgentWork)) else Code(self.work)

    @property
    def has_recover(self) -> bool:
        return self.executable.has_recover

    def call_kind(self, execution: Execution) -> str:
        """The kind of Call that does it."""
        if isinstance(self.executable, Code):
            return "code"
        return "agent" if execution.agent_executor == "mcp_client" else "model"


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps around one State."""

    name: str
    steps: tuple[Step, ...]
    start: Callable[[Any], Any] = lambda access: {}
    """The initializer: takes the access, returns the State's input."""
    schema: Any = None
    """Anything pydantic makes an adapter of; None for any JSON."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))


class Workflow:
    """A graph of Stages. `flow_name` is what its Runs name.

    `package` is the folder whose bytes are its identity; without one the source files of its functions are. `identity`
    overrides both. `delegates`: whether Agent Steps asked for by `agent_ide` go to the client's own Agent.
    """

    def __init__(
        self,
        flow_name: str,
        stages: Iterable[Stage],
        *,
        version: str = "1",
        package: Path | str | None = None,
        identity: str | None = None,
        exclusive: bool = False,
        delegates: bool = True,
    ) -> None:
        self.flow_name, self.version, self.exclusive, self.delegates = flow_name, version, exclusive, delegates
        self.stages = {stage.name: stage for stage in stages}
        self._refuse_broken()
        if identity is None:
            identity = (
                package_identity(Path(package), flow_name, version)
                if package
                else sources_identity(self._parts(), flow_name, version)
            )
        self.identity = identity

    @property
    def first(self) -> Cursor:
        """Where a new Run begins."""
        return self._entry(next(iter(self.stages)))

    def execution(self, source: str) -> Execution:
        """Who executes for a client of that kind: the executor policy."""
        delegated = self.delegates and source == "agent_ide"
        return Execution(source=source, agent_executor="mcp_client" if delegated else "service")  # type: ignore[arg-type]

    def step(self, cursor: Cursor) -> Step | None:
        """The Step at a cursor, None where there is none."""
        stage = self.stages.get(cursor.stage_name)
        return next((step for step in stage.steps if step.name == cursor.step_name), None) if stage else None

    def route(self, cursor: Cursor, outcome: str) -> Route | None:
        """Where an outcome of a Step leads, None where it leads nowhere."""
        step = self.step(cursor)
        target = step.routes.get(outcome) if step else None
        if target is None:
            return None
        if target.kind == "step":
            return Route(kind="step", cursor=Cursor(stage_name=cursor.stage_name, step_name=target.name))
        return Route(kind="stage", cursor=self._entry(target.name)) if target.kind == "stage" else Route(kind="end")

    def state_problem(self, cursor: Cursor, saved: Any) -> str | None:
        """Why a saved Stage State does not come back."""
        if saved is UNSET:
            return None
        return state_problem(self.stages[cursor.stage_name].schema, saved)

    def _entry(self, stage_name: str) -> Cursor:
        return Cursor(stage_name=stage_name, step_name=self.stages[stage_name].steps[0].name)

    def _parts(self) -> list[Any]:
        parts: list[Any] = []
        for stage in self.stages.values():
            parts += [stage.start, stage.schema]
            for step in stage.steps:
                work = step.executable
                parts += [work.function, work.recover_function] if isinstance(work, Code) else [work.prompt, work.read]
        return [part for part in parts if part is not None]

    def _refuse_broken(self) -> None:
        if not self.flow_name or not self.stages or any(not stage.steps for stage in self.stages.values()):
            raise Refused("INVALID_REQUEST", "a Workflow has a name and Stages, and each Stage has Steps")
        for stage in self.stages.values():
            names = [step.name for step in stage.steps]
            if len(set(names)) != len(names) or not all([stage.name, *names]):
                raise Refused("INVALID_REQUEST", f"Steps of the Stage {stage.name!r} share a name or have none")
            for step in stage.steps:
                for target in step.routes.values():
                    known = {"step": names, "stage": self.stages, "end": ("",)}[target.kind]
                    if target.name not in known:
                        raise Refused("INVALID_TRANSITION", f"{stage.name}/{step.name} leads to {target.name!r}")
