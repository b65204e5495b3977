"""Any prefix of a journal, any of the other files gone: a restart answers, and a second one finds the same."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import SAMPLES, run_folders

from recovery_kit.errors import RecoveryKitError
from recovery_kit.recovery.plan import plan_recovery
from recovery_kit.recovery.reload import reload_persisted_agents
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import ScriptedProvider
from recovery_kit.world.tools import NO_CONTEXT, Arguments, ToolAnswer, ToolContext

FOLDERS = run_folders()
SIDECARS = ("context.json", "stages.json", "final_output", "fanout.json", "interactions.json", "blueprint.leviath")


class Once:
    """Tools that refuse to carry out a call whose result the journal held."""

    def __init__(self, held: set[str]) -> None:
        self.held = held

    def call(self, name: str, arguments: Arguments, context: ToolContext = NO_CONTEXT) -> ToolAnswer:
        """Done, if it was not."""
        assert context.execution_id not in self.held or not context.execution_id
        return ToolAnswer("done")


def held_in(runs: Path) -> set[str]:
    """Executions with a result on record."""
    records = [e.record for path in runs.iterdir() for e in open_run(path).records if e.kind == "ToolCallDone"]
    return {record.execution_id for record in records}


@settings(max_examples=60)
@given(st.data())
def test_whatever_is_left_of_a_run(data: st.DataObject) -> None:
    """No exception but the kit's own, in the answer; windows of a first and a second restart agree."""
    source = data.draw(st.sampled_from(FOLDERS))
    journal = (source / "run.lvr").read_bytes()
    cut = data.draw(st.one_of(st.just(len(journal)), st.integers(0, len(journal))))
    gone = data.draw(st.sets(st.sampled_from(SIDECARS)))
    status = data.draw(st.sampled_from((None, b'"running"', b'"paused"', b'"waiting_input"')))
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name) / "root" / "runs"
        shutil.copytree(source, runs / source.name)
        (runs / source.name / "run.lvr").write_bytes(journal[:cut])
        for sidecar in gone:
            (runs / source.name / sidecar).unlink(missing_ok=True)
        if status is not None:
            _with_status(runs / source.name / "meta.json", status)
        windows = [_restart(runs, ticks) for ticks in (0, 0, 3)]
        assert windows[0] == windows[1] == windows[2]


def _with_status(path: Path, status: bytes) -> None:
    text = path.read_bytes()
    for word in (b'"complete"', b'"running"', b'"paused"', b'"waiting_input"', b'"cancelled"', b'"error"'):
        text = text.replace(b'"status": ' + word, b'"status": ' + status, 1)
    path.write_bytes(text)


def _restart(runs: Path, ticks: int) -> dict[str, str | None]:
    """The windows that a restart built."""
    plan = plan_recovery(runs, "kit", SAMPLES / "agents")
    with AgentWorld(ScriptedProvider(["On it.", "Done."] * 5), Once(held_in(runs)), folder=runs) as world:
        done = reload_persisted_agents(world, plan)
        assert all(isinstance(no, RecoveryKitError) for no in done.failed.values())
        world.run(ticks)
        return {row.run_id: row.window_sha256 for row in plan.resumes if row.run_id in done.restored}
