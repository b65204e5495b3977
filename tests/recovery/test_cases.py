"""Small cases made from bug reports of people who keep and examine agent runs, each with the right values."""

import hashlib
import json
from typing import Any

import pytest
from samples import CASES, case_runs

import recovery_kit as rk

WORDED = {"disagreements", "warn"}
"""Wording is ours: of these only the kinds, or whether there is any, are held."""

ROWS = {
    "calls", "executions", "prompts", "attempts", "failovers", "incarnations", "points", "parts", "artifacts", "gaps",
    "unnamed_points",
}  # fmt: skip
PRIVATE = {"by_engine", "note", "secret_occurrences_in_input"}

RUNS = [(name, relative, wanted) for name, relative, wanted in case_runs()]
ENGINES = [(n, r, engine, more) for n, r, w in RUNS for engine, more in (w.get("by_engine") or {}).items()]


def differences(wanted: Any, got: Any, place: str = "") -> list[str]:
    """Where an answer lacks or contradicts what is expected; it may hold more."""
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            return [f"{place}: {got!r}"]
        return [
            gap for key, value in wanted.items() if key not in PRIVATE
            for gap in _member(key, value, got.get(key), f"{place}.{key}")
        ]  # fmt: skip
    return [] if wanted == got else [f"{place}: wanted {wanted!r}, got {got!r}"]


def _member(key: str, wanted: Any, got: Any, place: str) -> list[str]:
    if key == "warn":
        kinds = {text.split(":")[0] for text in got}
        return [f"{place} lacks {text}" for text in wanted if text.split(":")[0] not in kinds]
    if key in WORDED:
        return [] if bool(wanted) == bool(got) else [f"{place}: {got!r}"]
    if key in ROWS and isinstance(wanted, list):
        if len(wanted) != len(got):
            return [f"{place}: {len(wanted)} rows, got {len(got)}"]
        return [
            gap for n, (w, g) in enumerate(zip(wanted, got, strict=True)) for gap in differences(w, g, f"{place}[{n}]")
        ]
    return differences(wanted, got, place)


def answer(name: str, relative: str, engine: str = "0.6.4") -> Any:
    (checked,) = rk.check(CASES / name / "input" / relative, engine)
    return json.loads(json.dumps(checked.as_json()))


@pytest.mark.parametrize(("name", "relative", "wanted"), RUNS, ids=[f"{n[:3]}-{r[-6:]}" for n, r, _ in RUNS])
def test_the_right_values(name: str, relative: str, wanted: dict[str, Any]) -> None:
    """`check` gives every value that the case states."""
    assert differences(wanted, answer(name, relative)) == []


@pytest.mark.parametrize(
    ("name", "relative", "engine", "wanted"), ENGINES, ids=[f"{n[:3]}-{r[-6:]}-{e}" for n, r, e, _ in ENGINES]
)
def test_the_right_values_of_an_engine(name: str, relative: str, engine: str, wanted: dict[str, Any]) -> None:
    """Asked for a named engine, `check` answers as that engine reads and restarts."""
    assert differences(wanted, answer(name, relative, engine)) == []


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir()))
def test_no_input_is_changed(name: str) -> None:
    """Checking a case leaves each of its bytes as it was."""
    expect = json.loads((CASES / name / "expect.json").read_text(encoding="utf-8"))
    for relative in expect.get("runs") or {}:
        answer(name, relative)
    for path, digest in expect["input_sha256"].items():
        assert hashlib.sha256((CASES / name / path).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(("name", "relative", "wanted"), RUNS, ids=[f"{n[:3]}-{r[-6:]}" for n, r, _ in RUNS])
def test_what_does_not_follow_the_engine(name: str, relative: str, wanted: dict[str, Any]) -> None:
    """Only the journal, the fold, the restart and the manifest follow the engine asked for; the kit's reading does not."""
    follows = {"engine", "journal", "unreadable", "fold", "restart", "blueprint", "warn"}
    new, old = answer(name, relative), answer(name, relative, "0.4.0")
    assert {k: v for k, v in new.items() if k not in follows} == {k: v for k, v in old.items() if k not in follows}
