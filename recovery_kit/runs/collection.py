"""Several runs: a mapping by id, of whatever agent systems they are."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from recovery_kit.display import Drawn
from recovery_kit.errors import OtherRuntime, UnknownMoment

from .loom_run import LoomRun, Project
from .run import Run

AnyRun = Run | LoomRun
"""A run of either system: `run.runtime` says which."""


class Opened(dict[str, AnyRun]):
    """Runs by relative path, and the projects that were found, those without a Run included."""

    projects: tuple[Project, ...] = ()


class Runs(Drawn, Mapping[str, AnyRun]):
    """Runs by id; a unique prefix of an id is enough for `[]`.

    An id that stands more than once is no key: asking for it raises and names the relative paths, which are keys too.
    """

    def __init__(self, find: Callable[[], Mapping[str, AnyRun]], label: str = "") -> None:
        self.label = label
        """What was opened."""
        self._find = find
        self._take(find())

    def _take(self, found: Mapping[str, AnyRun]) -> None:
        self._by_path: dict[str, AnyRun] = dict(found)
        self.__dict__.pop("_by_key", None)
        self.projects = found.projects if isinstance(found, Opened) else ()
        """IntLoom projects among what was opened."""

    @property
    def agent_runs(self) -> tuple[Run, ...]:
        """Those of agents: run directories."""
        return tuple(run for run in self._by_path.values() if isinstance(run, Run))

    @property
    def loom_runs(self) -> tuple[LoomRun, ...]:
        """Those of workflows, out of IntLoom projects."""
        return tuple(run for run in self._by_path.values() if isinstance(run, LoomRun))

    @cached_property
    def _by_key(self) -> dict[str, AnyRun]:
        ids = Counter(run.id for run in self._by_path.values())
        return {run.id if ids[run.id] == 1 else path: run for path, run in self._by_path.items()}

    def __getitem__(self, key: str) -> AnyRun:
        """The run of that id, relative path or unique prefix of an id. Raises UnknownMoment, a LookupError."""
        keys = self._by_key
        if key in keys:
            return keys[key]
        if key in self._by_path:
            return self._by_path[key]
        same = [path for path, run in self._by_path.items() if run.id == key]
        if same:
            raise UnknownMoment(self.label, f"several runs have the id {key}: {', '.join(same)}")
        begun = [name for name in keys if key and name.startswith(key)]
        if len(begun) == 1:
            return keys[begun[0]]
        raise UnknownMoment(self.label, f"{len(begun)} runs have an id that begins with {key!r}")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key in self._by_key or key in self._by_path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_path)

    def refresh(self) -> tuple[str, ...]:
        """Look again; the keys of runs that came since. Runs that are held keep what they know."""
        now, held = self._find(), self._by_path
        self._take(now)
        self._by_path = {path: held.get(path, run) for path, run in now.items()}
        self.__dict__.pop("_by_key", None)
        return tuple(path for path in now if path not in held)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<Runs of {self.label}: {len(self)}>"


def agent_run(run: AnyRun, why: str) -> Run:
    """The run as one of an agent. Raises OtherRuntime for a Run of a workflow, saying `why` that will not do."""
    if isinstance(run, LoomRun):
        raise OtherRuntime(run.id, f"it is a Run of a workflow: {why}")
    return run
