"""The table of commands: what each is called, where it lives, and its line in `--help`.

A command's module is loaded when that command is asked for, so `--help` costs nothing. The module `why` holds
`why_command`, a click command whose help begins with the line below.
"""

from typing import NamedTuple


class Command(NamedTuple):
    """A row of the table."""

    module: str
    """Inside `recovery_kit.cli`."""
    line: str
    """What it does, in one line."""


COMMANDS: dict[str, Command] = {
    "ls": Command("ls", "A line a run: status, what it waits on, since when, unknown effects, cost."),
    "why": Command("why", "The verdict of a run, then what a restart would do."),
    "show": Command("show", "The state of a run at a point, or what the model is sent from there."),
    "check": Command("check", "What is damaged or disagrees, and where."),
    "plan": Command("plan", "What a restart would do with each run, in its order."),
    "reload": Command("reload", "Bring the runs of a folder back in the kit's own world, and let them go on."),
    "answer": Command("reload", "Answer an open question of a run, and let it go on."),
    "mirror": Command("mirror", "Branch a run at a moment: a new run directory, paused."),
    "resume": Command("resume", "Answer what is unknown of a mirror, then let it go on."),
    "edit": Command("edit", "Change a paused mirror; each change is recorded and undoable."),
    "diff": Command("diff", "Where two branches of a run part, and what each did then."),
    "lineage": Command("lineage", "The tree of runs and mirrors, sources that are gone included."),
    "report": Command("report", "An executed notebook and one offline HTML file."),
    "tail": Command("tail", "The last records of a run, and those that come."),
    "search": Command("search", "Where a text stands, in one run or many."),
    "stats": Command("stats", "Many runs by agent, model, stage or outcome; what stands still, what failed alike."),
    "watch": Command("watch", "What happens to the runs of a folder, as it happens."),
    "loom": Command("loom", "IntLoom projects: plan a start, list, serve, branch, and clean up after a dead service."),
    "lab": Command("lab", "Open JupyterLab on the tour."),
}
"""In the order of `--help`."""


def attribute_of(name: str) -> str:
    """The name of a command's object in its module."""
    return name.replace("-", "_") + "_command"
