"""The one error that a workflow service answers with: `{code, message, retryable}` (intloom-recovery 1.10)."""

from typing import Any

from recovery_kit.errors import RecoveryKitError


class Refused(RecoveryKitError):
    """A request, a Run or a start that is refused. `code` is a word of the public list."""

    def __init__(self, code: str, message: str, retryable: bool = False, path: object = None) -> None:
        super().__init__(path, f"{code}: {message}")
        self.code, self.message, self.retryable = code, message, retryable

    def as_json(self) -> dict[str, Any]:
        """The public shape."""
        return {"code": self.code, "message": self.message, "retryable": self.retryable}
