"""Forensics, restart recovery and branching of long-running agent and workflow runs.

    import recovery_kit as rk
    runs = rk.open_runs("sample_runs")
    run = runs["ledger-close-1796050230-4d968334fc28"]
    run.verdict

The names below are the front door, kept by hand. Each is loaded when it is first asked for: importing the package
loads neither pandas nor anything of Jupyter.
"""

from importlib import import_module
from typing import Any

_DOORS: dict[str, str] = {
    "check": "recovery.check",
    "classify_restore": "restore.classify",
    "open_run": "runs.opening",
    "open_runs": "runs.opening",
    "triage_restores": "restore.classify",
    "unmasked": "display",
}
"""Public name to the module that holds it."""

__all__ = sorted(_DOORS)


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_DOORS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
