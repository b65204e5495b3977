"""An error as one sentence on stderr: the file, what is wrong, the byte offset if there is one. Never a traceback."""

import os
from pathlib import Path

import click
from click.exceptions import NoArgsIsHelpError

from recovery_kit.display import shown
from recovery_kit.errors import RecoveryKitError

DEBUG = "RECOVERY_KIT_DEBUG"
"""Set to anything, a flaw of the kit itself shows its traceback."""


def say_trouble(error: RecoveryKitError | OSError) -> None:
    """Write the sentence."""
    click.echo(f"recovery-kit: {shown(_sentence(error))}", err=True)


def _sentence(error: RecoveryKitError | OSError) -> str:
    if isinstance(error, RecoveryKitError):
        return error.args[0] if error.args else type(error).__name__
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return where + (error.strerror or type(error).__name__)


def say_usage(wrong: click.ClickException) -> None:
    """Wrong usage, and where the right one is written."""
    context = getattr(wrong, "ctx", None)
    if isinstance(wrong, NoArgsIsHelpError):
        wrong.show()
        return
    path = context.command_path if context is not None else "recovery-kit"
    click.echo(f"recovery-kit: {shown(wrong.format_message())} ({path} --help tells more)", err=True)


def unexpected(flaw: Exception) -> None:
    """A flaw of the kit: its kind and place, but not its text, which may be text of a run."""
    if os.environ.get(DEBUG):
        raise flaw
    place = flaw.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
    click.echo(f"recovery-kit: a flaw of the kit itself ({type(flaw).__name__}{where}); {DEBUG}=1 shows more", err=True)
