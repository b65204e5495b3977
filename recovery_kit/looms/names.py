"""Names and times that a Service gives out (intloom-recovery 1.1, 2.3)."""

import secrets
import string
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]

_ALPHABET = string.ascii_letters + string.digits + "_-"


def utc_now() -> datetime:
    """This machine's clock, in UTC."""
    return datetime.now(UTC)


def moment(at: datetime) -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    at = at.astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def new_instance_id() -> str:
    """The name of one life of a Service; also what a client names an operation with."""
    return str(uuid.uuid4())


new_operation_id = new_instance_id


def new_run_id(at: datetime) -> str:
    """`RUN-` and its time and 21 random characters."""
    compact = moment(at).translate({ord(mark): None for mark in "-:."})
    return f"RUN-{compact}-{_random()}"


def new_call_id() -> str:
    """`CALL-` and 21 random characters."""
    return f"CALL-{_random()}"


def new_action_id() -> str:
    """`ASK-` and 21 random characters."""
    return f"ASK-{_random()}"


def _random() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(21))
