"""JSON values fit for a surface: every text in them masked."""

from collections.abc import Mapping
from typing import Any

from recovery_kit.display import Masker


def masked(value: Any, masker: Masker) -> Any:
    """A JSON value with every text in it masked, names of members included."""
    if isinstance(value, str):
        return masker(value)
    if isinstance(value, Mapping):
        return {masker(str(key)): masked(member, masker) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(member, masker) for member in value]
    return value
