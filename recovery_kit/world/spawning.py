"""The first moment of a run: its window with the task in it, its metadata, its first stage (leviath-runtime T3)."""

from collections.abc import Mapping

from msgspec.structs import replace

from recovery_kit.errors import CannotRestore
from recovery_kit.history.layout import INSTRUCTIONS, built_window, layout_after, stage_prompt
from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import Blueprint, Stage
from recovery_kit.records.engines import Engine
from recovery_kit.records.meta import Clock, RunMeta
from recovery_kit.records.sidecars import StageRecord
from recovery_kit.records.window import Entry, Window

from .agent import Agent, Visit
from .blocks import kind_of
from .ids import Ids
from .regions import holding, placed, region_of, retotalled
from .stage_entry import relaid
from .stage_ledger import enter_stage, new_ledger

Ledger = tuple[StageRecord, ...]

CUT = "\n[...truncated]"


def first_window(blueprint: Blueprint, task: str, rules: Engine) -> Window:
    """The built window with the task in it. Raises CannotRestore where no region takes a task (T3)."""
    window = built_window(blueprint, rules=rules)
    seeded = [s.name for s in blueprint.regions if s.name == "task" or (s.seed is not None and s.seed.of_task)]
    if not seeded and task:
        raise CannotRestore(None, "no region of the manifest takes the task")
    own = region_of(window, "task")
    pinned = [r.name for r in window.regions if kind_of(r) == "pinned"]
    name = "task" if own is not None and kind_of(own) == "pinned" else pinned[0] if pinned else ""
    region = region_of(window, name)
    if region is None or not task:
        return window
    most = max(0, region.max_tokens - 1) * 4
    text = task if len(task.encode()) <= most else task.encode()[:most].decode("utf-8", "ignore") + CUT
    window = placed(window, holding(region, (Entry(text, tokens_of(text)), *region.entries)))
    return retotalled(window)


def first_agent(
    blueprint: Blueprint,
    task: str,
    rules: Engine,
    ids: Ids,
    at: int,
    *,
    run_id: str,
    agent_path: str,
    workdir: str,
    stage: int = 0,
    members: Mapping[str, object] | None = None,
) -> Agent:
    """A run that has not begun, in its first stage; `stage` is another one for workers of a fan-out."""
    where = blueprint.stages[stage]
    window = first_window(blueprint, task, rules)
    entered: tuple[str, ...] = ()
    ledger = enter_stage(new_ledger(blueprint), 0, ids.visit(), at)
    if stage:
        window, entered, ledger = _forced(blueprint, window, where, ledger, ids, at, rules)
    first = where.model.candidates[0] if where.model.candidates else None
    meta = RunMeta(
        run_id=run_id, agent_name=blueprint.name, agent_path=agent_path, task=task,
        model=f"{first.provider}/{first.model}" if first else None, status="running", current_stage=where.name,
        stage_index=stage, num_stages=len(blueprint.stages), iteration=0, prompt_tokens=0, completion_tokens=0,
        cost_usd=0.0, cost_is_exact=True, workdir=workdir, started_at=at, updated_at=at, active=Clock(0, at),
        blueprint_digest=blueprint.sha256 or None, **(members or {}),  # type: ignore[arg-type]
    )  # fmt: skip
    visit = Visit(id=ledger[stage].visits[-1].id, entered_at=at)
    return Agent(
        meta, window, blueprint, rules, ledger, entered, visit, {blueprint.stages[0].name: 1, where.name: 1}
    )  # fmt: skip


def _forced(
    blueprint: Blueprint, window: Window, where: Stage, ledger: Ledger, ids: Ids, at: int, rules: Engine
) -> tuple[Window, tuple[str, ...], Ledger]:
    """A worker is built in the first stage and then put into its own (T12)."""
    if where.regions is not None:
        window = relaid(window, where.regions, layout_after(blueprint, (where.name,), rules).sorted, rules)
    text, region = stage_prompt(blueprint, where), region_of(window, INSTRUCTIONS)
    if region is not None:
        window = placed(window, holding(region, (Entry(text, tokens_of(text)),) if text else ()))
    window = retotalled(replace(window, stage_name=where.name))
    return window, (where.name,), enter_stage(ledger, blueprint.stages.index(where), ids.visit(), at)
