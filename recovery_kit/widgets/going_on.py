"""A mirror that goes on beside the cells: on a thread of its own, held when somebody says stop.

Belongs here: the thread, and the lock around what it shares with clicks. What a mirror may do is said by whoever starts
it.
"""

from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

from recovery_kit.errors import CannotMirror
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.mirrors.resume import Budget, Resumed, resume_mirror
from recovery_kit.runs.run import Run
from recovery_kit.world.agent_world import AgentWorld


class GoingOn:
    """One mirror at work in one world."""

    def __init__(self, mirror: Mirror, world: AgentWorld, source: Run | None, chosen: tuple[str, str]) -> None:
        self.mirror, self.world, self.source = mirror, world, source
        self.chosen = chosen
        """Names of its provider and its tools."""
        self._halt = Event()
        self._lock = Lock()
        self._thread: Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether it is at work now."""
        return self._thread is not None and self._thread.is_alive()

    def start(
        self, answers: Mapping[str, str], budget: Budget, ended: Callable[[Resumed | Exception], None], author: str = ""
    ) -> None:
        """Go on; `ended` is told on that thread how it went. Raises CannotMirror while it is at work already."""
        with self._lock:
            if self.busy:
                raise CannotMirror(self.mirror.path, "it is going on already")
            self._halt.clear()
            self._thread = Thread(target=self._work, args=(answers, budget, ended, author), name="mirror", daemon=True)
            self._thread.start()

    def _work(
        self, answers: Mapping[str, str], budget: Budget, ended: Callable[[Resumed | Exception], None], author: str
    ) -> None:
        try:
            done = resume_mirror(
                self.mirror, self.world, answers=answers, source=self.source, budget=budget,
                stop=lambda _: self._halt.is_set(), author=author,
            )  # fmt: skip
        except Exception as error:
            ended(error)
        else:
            ended(done)

    def stop(self) -> None:
        """Hold it after the step that it is in; returns at once."""
        self._halt.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it rests; whether it does. For scripts and tests: a cell has no need to wait."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.busy

    def close(self) -> None:
        """Stop, and let go of the run directory once it rests."""
        self.stop()
        if self.busy:
            Thread(target=self._let_go, name="mirror-end", daemon=True).start()
        else:
            self.world.close()

    def _let_go(self) -> None:
        self.wait()
        self.world.close()
