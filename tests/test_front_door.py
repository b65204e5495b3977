"""The front door: the public names, and what importing them costs."""

import subprocess
import sys

import pytest

import recovery_kit as rk


def test_every_public_name_is_there() -> None:
    """Each name of the list can be asked for, and the list is sorted."""
    assert rk.__all__ == sorted(rk.__all__)
    for name in rk.__all__:
        assert getattr(rk, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A wrong name fails as usual."""
    with pytest.raises(AttributeError):
        rk.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "command",
    ["import recovery_kit", "import recovery_kit.cli; recovery_kit.cli.main(['--help'], standalone_mode=False)"],
)
def test_nothing_heavy_is_loaded(command: str) -> None:
    """Importing the package, or asking the command line for help, loads no pandas and nothing of Jupyter."""
    heavy = ("pandas", "ipywidgets", "nbconvert", "papermill", "pydantic")
    code = f"{command}\nimport sys; print('HEAVY', [m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout
