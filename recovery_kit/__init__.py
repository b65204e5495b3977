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

from .display import Masker, drawn_by

_DOORS: dict[str, str] = {
    "AgentWorld": "world.agent_world",
    "Blueprint": "records.blueprint",
    "LiveProvider": "world.live",
    "LocalTools": "world.local_tools",
    "Mirror": "mirrors.mirror",
    "RecordedProvider": "world.recorded",
    "RecordedTools": "world.recorded",
    "RefusingProvider": "world.providers",
    "ScriptedProvider": "world.providers",
    "StubTools": "world.tools",
    "answer": "widgets",
    "artifacts_df": "frames",
    "attempts_df": "frames",
    "browse": "widgets",
    "calls_df": "frames",
    "catalogue": "fleet.catalogue",
    "certainty": "widgets",
    "changes_df": "frames",
    "check": "recovery.check",
    "classify_restore": "restore.classify",
    "compare": "mirrors.comparing_either",
    "compare_df": "frames",
    "create_mirror": "mirrors.create",
    "create_mirrors": "mirrors.create",
    "failovers_df": "frames",
    "files_df": "frames",
    "findings_df": "frames",
    "incarnations_df": "frames",
    "inferences_df": "frames",
    "lineage": "mirrors.lineage",
    "messages_df": "frames",
    "mirror_panel": "widgets",
    "open_run": "runs.opening",
    "open_runs": "runs.opening",
    "parse_manifest": "formats.manifest",
    "parts_df": "frames",
    "plan_df": "frames",
    "plan_recovery": "recovery.plan",
    "points_df": "frames",
    "prompt_view": "recovery.prompt_view",
    "prompts_df": "frames",
    "records_df": "frames",
    "regions_df": "frames",
    "reload_persisted_agents": "recovery.reload",
    "reload_run": "recovery.reload",
    "report": "reports",
    "restore_agent": "restore.agent",
    "restore_fan_out": "restore.fan_out",
    "restore_interaction_point": "restore.point",
    "restore_pending_batch": "restore.batch",
    "restore_runs": "recovery.carrying_out",
    "restore_stage_ledger": "restore.ledger",
    "resume_mirror": "mirrors.resume",
    "runs_df": "frames",
    "scan": "fleet.scan",
    "stages_df": "frames",
    "time_df": "frames",
    "timeline": "widgets",
    "to_csv": "frames",
    "triage_restores": "restore.classify",
    "unmasked": "display",
    "workbench": "widgets",
}
"""Public name to the module that holds it."""

_ROOMS = ("looms",)
"""Rooms with public names of their own."""

__all__ = sorted([*_DOORS, *_ROOMS])


def _drawn(thing: Any, masker: Masker | None) -> dict[str, str]:
    """Objects show themselves through `pictures`, which is loaded when the first one does."""
    twin: dict[str, str] = import_module("recovery_kit.pictures").mimebundle(thing, masker)
    return twin


drawn_by(_drawn)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_DOORS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
