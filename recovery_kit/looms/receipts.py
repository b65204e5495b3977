"""What became of a request, as the instance that took it remembers: found, missing, or another instance now.

In memory only: when the instance ends, the honest answer is "changed", and `run.origin` still leads to the Run.
(intloom-recovery 2.8)
"""

from dataclasses import dataclass
from typing import Any, Literal

from .refusals import Refused

OperationKind = Literal["create", "answer", "cancel", "mirror", "resume"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """An operation that had, or may have had, an effect."""

    operation_id: str
    instance_id: str
    kind: OperationKind
    run_id: str
    seq: int | None
    """The checkpoint that it wrote; None for a Run whose files were deleted."""
    error: dict[str, Any] | None = None
    """Where its checkpoint could not be saved: the bytes may or may not have reached the disk."""

    def as_json(self) -> dict[str, Any]:
        """In the words of the query."""
        told = {
            "receipt": "found", "operationId": self.operation_id, "instanceId": self.instance_id, "kind": self.kind,
            "runId": self.run_id, "seq": self.seq,
        }  # fmt: skip
        return told if self.error is None else told | {"error": self.error}


class Receipts:
    """The receipts of one instance, each with what was asked."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Any, Receipt]] = {}

    def earlier(self, operation_id: str, content: Any) -> Receipt | None:
        """The receipt of the same operation. Raises Refused (`CONFLICT`) where it asked for something else."""
        held = self._held.get(operation_id)
        if held is None:
            return None
        if held[0] != content:
            raise Refused("CONFLICT", "that operation was about something else")
        return held[1]

    def keep(self, content: Any, receipt: Receipt) -> Receipt:
        """Remember a receipt."""
        self._held[receipt.operation_id] = (content, receipt)
        return receipt

    def get(self, operation_id: str) -> Receipt | None:
        held = self._held.get(operation_id)
        return held[1] if held else None
