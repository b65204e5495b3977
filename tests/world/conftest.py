"""A runs folder, and worlds that are closed at the end."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.tools import StubTools


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A runs folder in a data root of its own."""
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


@pytest.fixture
def make(folder: Path) -> Iterator[Callable[..., AgentWorld]]:
    """Worlds with a clock that counts, closed at the end."""
    worlds: list[AgentWorld] = []

    def build(provider: object, tools: object = None, **more: object) -> AgentWorld:
        ticking = count(1_000)
        more = {"folder": folder, "clock": lambda: next(ticking), "sleep": lambda seconds: None, **more}
        worlds.append(AgentWorld(provider, tools or StubTools(), **more))  # type: ignore[arg-type]
        return worlds[-1]

    yield build
    for world in worlds:
        world.close()
