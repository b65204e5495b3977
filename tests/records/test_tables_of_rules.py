"""The tables of rules: engines, kinds of records, kinds of findings."""

import re

import pytest
from samples import ROOT

from recovery_kit.records.engines import ENGINES, NEWEST, engine, version
from recovery_kit.records.findings import SEVERITY
from recovery_kit.records.journal import KINDS


def test_the_page_of_findings_is_the_list() -> None:
    """Every kind stands on the page with its severity, and no other does."""
    page = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `([a-z_]+)` \| (error|warning|info) \|", page, re.M)) == SEVERITY


def test_versions_compare_as_numbers() -> None:
    """0.3.10 came after 0.3.9."""
    assert version("0.3.10") > version("0.3.9")
    assert [name for name in ENGINES if name != "kit"] == sorted((n for n in ENGINES if n != "kit"), key=version)


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ("replays_batches", "0.1.2"), ("restores_paused", "0.1.2"), ("caps_frames", "0.3.6"), ("restores_ledger", "0.3.7"),
        ("restores_setup_reason", "0.3.9"), ("steps_over_unreadable", "0.4.0"), ("refuses_newer_version", "0.4.0"),
        ("pages_cancelled", "0.5.5"), ("reads_parts", "0.6.2"), ("settles_inline", "0.6.4"), ("reads_blueprint", "0.6.4"),
    ],
)  # fmt: skip
def test_what_each_version_brought(rule: str, first: str) -> None:
    """A rule holds from the version that brought it on, and not before."""
    for name, rules in ENGINES.items():
        assert getattr(rules, rule) == (name == "kit" or version(name) >= version(first)), name


def test_kit_corrects_and_nothing_else_does() -> None:
    """`kit` is the newest engine's rules but for the corrections, which no engine has."""
    newest, kit = engine(NEWEST), engine("kit")
    corrections = {
        "closes_answered_points", "extends_torn_tail", "keeps_fan_out", "keeps_later_regions", "presents_without_response",
        "reads_behind_tears", "replays_hidden_batches",
    }  # fmt: skip
    assert {f for f in newest.__slots__ if getattr(newest, f) != getattr(kit, f)} == {"name", *corrections}
    for name, rules in ENGINES.items():
        if name != "kit":
            assert [getattr(rules, f) for f in sorted(corrections)] == [getattr(newest, f) for f in sorted(corrections)]


def test_kinds_that_make_a_point() -> None:
    """Four kinds change the window, and only they make a moment that can be rebuilt."""
    assert {name for name, kind in KINDS.items() if kind.makes_point} == {
        "ContextCheckpoint", "ContextDiff", "Checkpoint", "Progress",
    }  # fmt: skip
