"""What the tests of the world share: a small manifest, replies, and what a run left behind."""

from pathlib import Path

import msgspec

from recovery_kit.records.window import ToolResult
from recovery_kit.runs.opening import open_run
from recovery_kit.world.agent_world import AgentWorld
from recovery_kit.world.providers import Failure, Reply, ToolCall

REGIONS = """
[context.regions]
task = { kind = "pinned", max_tokens = 1000 }
notes = { kind = "hashmap", max_entries = 20, max_tokens = 2000 }
todo = { kind = "checklist", max_tokens = 500 }
figures = { kind = "pinned", max_tokens = 4000 }
conversation = { kind = "sliding_window", max_items = 60, max_tokens = 12000 }
"""


MODEL = 'model = { provider = "p", model = "m" }'


CLERK = f"""
[agent]
name = "clerk"
[stages.work]
{MODEL}
available_tools = ["shell", "write_file", "context_write", "todo_add", "todo_done", "submit_output"]
system_prompt = "Do the task."
{REGIONS}"""


def said(text: str, *calls: tuple[str, dict[str, object]], first: int = 0, **members: object) -> Reply:
    """A reply with calls whose ids count on."""
    made = tuple(
        ToolCall(f"c{first + n}", name, msgspec.json.encode(arguments, order="sorted").decode())
        for n, (name, arguments) in enumerate(calls)
    )
    return Reply(text=text, tool_calls=made, prompt_tokens=10, completion_tokens=2, **members)  # type: ignore[arg-type]


def shell(command: str) -> tuple[str, dict[str, object]]:
    return "shell", {"command": command}


class Scripts:
    """Each run its own script, found by its task."""

    def __init__(self, **scripts: list[object]) -> None:
        self.scripts = {task: iter(replies) for task, replies in scripts.items()}

    def infer(self, request, turn):  # type: ignore[no-untyped-def]
        """The next answer of the run whose task the system prompt holds."""
        text = " ".join(block.text for block in request.system)
        task = next(task for task in self.scripts if task in text)
        answer = next(self.scripts[task], None)
        return answer if answer is not None else Failure(why="the script is over")


def kinds(folder: Path) -> list[str]:
    """Kinds of a run's records; a change of the window with its cause."""
    run = open_run(folder)
    return [f"tx {e.record.cause}" if e.kind == "ContextTransaction" else e.kind for e in run.records]


def results(world: AgentWorld, run_id: str) -> list[str]:
    """Texts of the results in a run's conversation."""
    entries = next(r.entries for r in world[run_id].window.regions if r.name == "conversation")
    return [str(entry.content) for entry in entries if isinstance(entry.kind, ToolResult)]
