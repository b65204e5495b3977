"""Asking a TOML table for a typed member. One of the wrong type is not there (leviath-runtime T2.1)."""

from collections.abc import Iterator, Mapping
from typing import Any

from recovery_kit.errors import ManifestUnreadable


class Table:
    """A table with its dotted path. Members of the wrong type count as absent; a negative count raises."""

    __slots__ = ("path", "values")

    def __init__(self, values: Mapping[str, Any], path: str = "") -> None:
        self.values = values
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def at(self, key: str) -> str:
        """The dotted path of a member."""
        return f"{self.path}.{key}" if self.path else key

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def word(self, key: str, default: str) -> str:
        return self.text(key) or default

    def flag(self, key: str) -> bool | None:
        value = self.values.get(key)
        return value if isinstance(value, bool) else None

    def on(self, key: str, default: bool = False) -> bool:
        value = self.flag(key)
        return default if value is None else value

    def count(self, key: str) -> int | None:
        """A number of things. Raises ManifestUnreadable, naming the key, for a negative one."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        if value < 0:
            raise ManifestUnreadable(None, f"{self.at(key)} is negative")
        return value

    def number(self, key: str) -> float | None:
        value = self.values.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def share(self, key: str) -> float | None:
        """`"35%"` as 0.35. Raises ManifestUnreadable for a text that is no share above 0 and up to 100 %."""
        value = self.text(key)
        if value is None:
            return None
        try:
            percent = float(value.strip().removesuffix("%")) if value.strip().endswith("%") else 0.0
        except ValueError:
            percent = 0.0
        if not 0.0 < percent <= 100.0:
            raise ManifestUnreadable(None, f"{self.at(key)} is not a share of the window")
        return percent / 100.0

    def texts(self, *keys: str) -> tuple[str, ...]:
        """The texts of the first of these keys that holds a list."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, list):
                return tuple(item for item in value if isinstance(item, str))
        return ()

    def pairs(self, *keys: str) -> dict[str, str]:
        """Name to text, of the first of these keys that holds a table."""
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, dict):
                return {name: text for name, text in value.items() if isinstance(text, str)}
        return {}

    def counts(self, key: str) -> dict[str, int]:
        inner = self.table(key)
        found = {} if inner is None else {name: inner.count(name) for name in inner}
        return {name: number for name, number in found.items() if number is not None}

    def table(self, key: str) -> "Table | None":
        value = self.values.get(key)
        return Table(value, self.at(key)) if isinstance(value, dict) else None

    def tables(self, key: str) -> dict[str, "Table"]:
        """Name to table, in declared order; members that are no tables are not there."""
        inner = self.table(key)
        found = {} if inner is None else {name: inner.table(name) for name in inner}
        return {name: table for name, table in found.items() if table is not None}

    def rows(self, key: str) -> list["Table"]:
        """An array of tables."""
        value = self.values.get(key)
        if not isinstance(value, list):
            return []
        return [Table(row, f"{self.at(key)}.{n}") for n, row in enumerate(value) if isinstance(row, dict)]
