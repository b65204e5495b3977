"""Text of a run is data on every surface: secrets stay hidden, markup and control characters are shown, nothing breaks."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from samples import CASES, sample

import recovery_kit as rk
from recovery_kit.frames import TABLES
from recovery_kit.frames.columns import build

SECRETS = CASES / "H08-signing-key-in-the-journal/input/runs"
MARKUP = CASES / "H09-markup-in-names/input/runs"
BREAKING = CASES / "H03-text-that-breaks/input/runs"
HIDDEN = ("whsec_DEMO_0000_not_a_real_key_7f3a", "whsec_DEMO_0000_not_a_re", "DEMO-QUERY-TOKEN")


def surfaces(place) -> Iterator[str]:
    """What leaves a run without being asked for raw values: reprs, tables as CSV and JSON, check, plan, search."""
    runs = rk.open_runs(place)
    for run in runs.values():
        yield from run._repr_mimebundle_().values()
        yield from run.at()._repr_mimebundle_().values()
        yield repr(run.verdict)
        yield str([hit.excerpt for hit in run.search("e")])
        for table in TABLES:
            frame = build(table, run, text=True)
            yield frame.to_csv()
            yield frame.to_json(date_format="iso")
            yield frame.to_html()
            yield repr(frame)
    yield json.dumps([checked.as_json() for checked in rk.check(runs)])
    yield json.dumps(rk.plan_recovery(runs).as_json())
    yield rk.plan_df(rk.plan_recovery(runs)).to_csv()


def test_a_secret_is_nowhere() -> None:
    """Neither the signing key, nor its beginning, nor the token of the callback's address is on any surface."""
    for text in surfaces(SECRETS):
        assert not [secret for secret in HIDDEN if secret in text]


def test_that_a_key_is_set_is_shown() -> None:
    """That there is a key is told, and the one switch shows it."""
    (checked,) = rk.check(SECRETS)
    assert checked.as_json()["has_signing_key"]
    run = checked.run
    assert run.meta is not None and run.meta.callback_secret == HIDDEN[0]
    with rk.unmasked():
        assert HIDDEN[0] in json.dumps([c.as_json() for c in rk.check(SECRETS)]) + str(list(run.search("whsec")))
    assert not list(run.search("whsec_DEMO"))


@pytest.mark.parametrize("place", [MARKUP, BREAKING, sample("16a-hostile-text")], ids=["markup", "breaking", "hostile"])
def test_every_surface_takes_any_text(place) -> None:
    """Half an emoji, NUL, escapes and markup go through every export, and UTF-8 can be written of each."""
    for text in surfaces(place):
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8").write(text)


@pytest.mark.parametrize("command", ["why", "show", "check", "ls"])
def test_a_terminal_gets_no_control_character(command: str) -> None:
    """No ESC, NUL or other control character of a run reaches a terminal."""
    place = sample("16a-hostile-text")
    done = subprocess.run(
        [sys.executable, "-c", "import recovery_kit.cli as c; c.main()", command, str(place)], capture_output=True
    )
    assert done.returncode in (0, 1)
    assert not {byte for byte in done.stdout if byte < 32 and byte != 10}
    assert b"\x1b" not in done.stderr
