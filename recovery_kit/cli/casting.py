"""Who answers and who acts when a run goes on: the provider and the tools that a command line names.

Belongs here: the words of `--provider` and `--tools`. `recorded` needs the run whose recording it is.
"""

from pathlib import Path

import click

from recovery_kit.runs.run import Run
from recovery_kit.world.live import LiveProvider
from recovery_kit.world.local_tools import LocalTools
from recovery_kit.world.providers import Provider, RefusingProvider, ScriptedProvider
from recovery_kit.world.recorded import RecordedProvider, RecordedTools
from recovery_kit.world.tools import StubTools, Tools

provider_option = click.option(
    "--provider",
    "provider_word",
    default="recorded",
    show_default=True,
    metavar="P",
    help="recorded (what the source's journal holds), scripted:FILE, refusing, or live:MODEL.",
)

tools_option = click.option(
    "--tools",
    "tools_word",
    metavar="T",
    help="recorded (results of the same calls), stub, or local:DIR (real file tools in that folder, no shell).",
)


def provider_named(word: str, recording: Run | None) -> Provider:
    """The provider of a word. Raises a usage error for another word, or where a recording is missing."""
    name, _, rest = word.partition(":")
    if name == "recorded" and not rest:
        return RecordedProvider(_recorded(recording))
    if name == "refusing" and not rest:
        return RefusingProvider()
    if name == "scripted" and rest:
        return ScriptedProvider.from_file(Path(rest))
    if name == "live" and rest:
        return LiveProvider(rest)
    raise click.UsageError("--provider is recorded, scripted:FILE, refusing or live:MODEL")


def tools_named(word: str | None, recording: Run | None) -> Tools | None:
    """The tools of a word; None where none was said. Raises a usage error as `provider_named`."""
    if word is None:
        return None
    name, _, rest = word.partition(":")
    if name == "recorded" and not rest:
        return RecordedTools(_recorded(recording))
    if name == "stub" and not rest:
        return StubTools()
    if name == "local" and rest:
        return LocalTools(rest)
    raise click.UsageError("--tools is recorded, stub or local:DIR")


def _recorded(recording: Run | None) -> Run:
    if recording is None:
        raise click.UsageError("the source of the recording is not at hand: say --source RUN")
    return recording
