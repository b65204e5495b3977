"""Stage State: the JSON that was given, and what the Stage's schema made of it (intloom-recovery 1.5).

A schema is anything that pydantic makes an adapter of; None takes any JSON as it is.
"""

import json
from typing import Any

from msgspec import UNSET

from recovery_kit.formats.loom_text import parse_text, same_json
from recovery_kit.records.loom import StageState

from .refusals import Refused


def plain_json(value: Any, code: str = "INVALID_REQUEST") -> Any:
    """A copy of a value as strict JSON has it. Raises Refused with `code` for what is none."""
    try:
        return parse_text(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError):
        raise Refused(code, "a value is not JSON") from None


def new_state(schema: Any, given: Any) -> StageState:
    """The State that a schema makes of an input. Raises Refused (`STAGE_STATE_INVALID`)."""
    given = plain_json(given, "STAGE_STATE_INVALID")
    return StageState(input=given, value=_validated(schema, given))


def state_problem(schema: Any, saved: StageState) -> str | None:
    """Why a saved State does not come back; None where it does.

    The schema runs once, on the input; its output has to equal the saved value, which is then used as it is.
    """
    if saved.is_cleared:
        return None
    if saved.input is UNSET or saved.value is UNSET:
        return "only one half of the Stage State is there"
    try:
        again = _validated(schema, saved.input)
    except Refused:
        return "the schema no longer takes the saved input"
    return None if same_json(again, saved.value) else "the schema makes another value of the saved input"


def _validated(schema: Any, given: Any) -> Any:
    if schema is None:
        return given
    from pydantic import TypeAdapter

    adapter = TypeAdapter(schema)
    try:
        return plain_json(adapter.dump_python(adapter.validate_python(given), mode="json"), "STAGE_STATE_INVALID")
    except Refused:
        raise
    except Exception:  # a schema is user code: whatever it raises, the State does not fit it
        raise Refused("STAGE_STATE_INVALID", "the Stage State does not fit its schema") from None
