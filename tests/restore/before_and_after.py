"""Runs at the moment of death, and what the real engine made of them: the files of `tests/data/restarts`."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from recovery_kit.formats.journal import Journal
from recovery_kit.formats.judge import judge_value
from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.history.fold import Fold, fold
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import Engine, engine
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.sidecars import FanOut, OpenPoint, StageRecord
from recovery_kit.records.window import Window
from recovery_kit.restore.agent import RestoredAgent, restore_agent
from recovery_kit.restore.batch import RestoredBatch, restore_pending_batch

FOLDER = Path(__file__).parent.parent / "data" / "restarts"
NAMES = sorted(path.name for path in FOLDER.iterdir())


@dataclass(frozen=True)
class Restart:
    """One run before a restart and after it."""

    name: str
    rules_name: str | None = None
    """Another engine than the one that restarted it."""

    @cached_property
    def facts(self) -> dict[str, Any]:
        return json.loads((FOLDER / self.name / "facts.json").read_text(encoding="utf-8"))

    @property
    def rules(self) -> Engine:
        return engine(self.rules_name or self.facts["engine"])

    def _read(self, file: str, kind: Any) -> Any:
        path = FOLDER / self.name / file
        return judge_value(path.read_bytes(), kind, self.rules).record if path.exists() else None

    @property
    def meta(self) -> RunMeta:
        return self._read("meta.json", RunMeta)

    @property
    def open_point(self) -> OpenPoint | None:
        return self._read("interactions.json", OpenPoint)

    @property
    def fan_out(self) -> FanOut | None:
        return self._read("fanout.json", FanOut)

    @property
    def ledger(self) -> tuple[StageRecord, ...]:
        return self._read("stages.json", tuple[StageRecord, ...]) or ()

    @property
    def fold(self) -> Fold | None:
        return fold(Journal((FOLDER / self.name / "run.lvr").read_bytes()).read(self.rules))

    @property
    def blueprint(self) -> Blueprint:
        return parse_manifest((FOLDER / self.name / "agent.leviath").read_bytes())

    @property
    def after(self) -> Window:
        """The window that the engine wrote right after it had reloaded the run."""
        return msgspec.json.decode((FOLDER / self.name / "after-context.json").read_bytes(), type=Window)

    def agent(self) -> RestoredAgent:
        return restore_agent(self.fold, self.meta, None, self.blueprint, self.rules)

    def batch(self) -> RestoredBatch | None:
        return restore_pending_batch(self.agent().pending, self.meta.children, self.rules)

    def window(self) -> Window:
        """Overlay and replay."""
        agent, batch = self.agent(), self.batch()
        return batch.applied(agent.window, agent.placing, self.rules).window if batch else agent.window
