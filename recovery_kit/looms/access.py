"""What a Call may do, for as long as it owns its Run; afterwards each of these refuses and writes nothing."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recovery_kit.records.loom import CallMark

from .live import LiveRun
from .storage import Artifact, Committed, Record

if TYPE_CHECKING:
    from .engine import Engine


class Access:
    """The capabilities of one Call. Every method raises Refused (`EXECUTION_OWNERSHIP_LOST`) once it is revoked."""

    def __init__(self, engine: "Engine", run: LiveRun, call: CallMark) -> None:
        self._engine, self._run, self._call = engine, run, call
        self.run_id = run.id
        self.flow_name = run.checkpoint.run.flow_name
        self.intent = run.checkpoint.run.intent
        self.call_id = call.id

    @property
    def is_owner(self) -> bool:
        """Whether it still may do anything."""
        return self._engine.owns(self._run, self._call)

    @property
    def state(self) -> Any:
        """A copy of the Stage State as its schema returned it; None where it is cleared or not made yet."""
        return self._engine.read_state(self._run, self._call)

    def write_state(self, given: Any) -> Any:
        """Give the State anew; the schema's value of it. It is saved with the next boundary."""
        return self._engine.write_state(self._run, self._call, given)

    def clear_state(self) -> None:
        """Leave the Stage without a State."""
        self._engine.clear_state(self._run, self._call)

    def artifacts(self) -> list[Artifact]:
        """Formal data as it is now."""
        return self._engine.read_storage(self._run, self._call, lambda storage: storage.artifacts())

    def records(self) -> list[Record]:
        """Formal data as it is now."""
        return self._engine.read_storage(self._run, self._call, lambda storage: storage.records())

    def commit(self, operations: Sequence[Mapping[str, Any]]) -> Committed:
        """Change formal data, all or nothing; the Run's history then refers to it. Only Code may."""
        return self._engine.commit(self._run, self._call, operations)

    def ask_confirmation(self, context: str) -> Any:
        """Ask a person yes or no; waits. The answer is `{isConfirmed, feedback?}`. Only Code may."""
        return self._engine.ask(self._run, self._call, "user_ask_confirmation", {"context": context})

    def ask_questions(self, questions: Sequence[Mapping[str, Any]]) -> Any:
        """Ask a person; waits. One answer for each question. Only Code may."""
        return self._engine.ask(self._run, self._call, "user_ask_questions", [dict(row) for row in questions])
