"""Several runs: a mapping by id."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from recovery_kit.display import Drawn
from recovery_kit.errors import UnknownMoment

from .run import Run


class Runs(Drawn, Mapping[str, Run]):
    """Runs by id; a unique prefix of an id is enough for `[]`.

    An id that stands more than once is no key: asking for it raises and names the relative paths, which are keys too.
    """

    def __init__(self, find: Callable[[], Mapping[str, Run]], label: str = "") -> None:
        self.label = label
        """What was opened."""
        self._find = find
        self._by_path: dict[str, Run] = dict(find())

    def _keys(self) -> dict[str, Run]:
        ids = Counter(run.id for run in self._by_path.values())
        return {run.id if ids[run.id] == 1 else path: run for path, run in self._by_path.items()}

    def __getitem__(self, key: str) -> Run:
        """The run of that id, relative path or unique prefix of an id. Raises UnknownMoment, a LookupError."""
        keys = self._keys()
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
        return isinstance(key, str) and (key in self._keys() or key in self._by_path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._by_path)

    def refresh(self) -> tuple[str, ...]:
        """Look again; the keys of runs that came since. Runs that are held keep what they know."""
        now = self._find()
        new = [path for path in now if path not in self._by_path]
        self._by_path = {path: self._by_path.get(path, run) for path, run in now.items()}
        return tuple(new)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<Runs of {self.label}: {len(self)}>"
