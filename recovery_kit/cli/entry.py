"""The entry: finds the command in the table, and is the one place where trouble becomes a sentence and an exit status.

Statuses: what the command returns (0, or 1 as the command's help says), 2 for trouble of any kind, 130 for Ctrl-C,
141 where the reader of a pipe has gone.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from recovery_kit.errors import RecoveryKitError

from .registry import COMMANDS, attribute_of
from .trouble import say_trouble, say_usage, unexpected

TROUBLE, CTRL_C, PIPE_GONE = 2, 130, 141


class _PipeGone(Exception):
    """Whoever read the output has had enough."""


class Entry(click.Group):
    """The group of all commands, each loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        found = getattr(import_module(f"{__package__}.{row.module}"), attribute_of(cmd_name))
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands out of the table, without loading one of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.line) for name, row in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
            return status
        except BrokenPipeError:  # click would exit with 1, which means something else here
            raise _PipeGone from None

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> int:
        """Run one command; its exit status, which is also the process's unless `standalone_mode` is off."""
        _write_anything()
        try:
            status = super().main(args, prog_name or "recovery-kit", complete_var, standalone_mode=False, **extra) or 0
        except click.ClickException as wrong:
            say_usage(wrong)
            status = TROUBLE
        except (click.Abort, KeyboardInterrupt):
            status = CTRL_C
        except _PipeGone:
            _forget_output()
            status = PIPE_GONE
        except (RecoveryKitError, OSError) as trouble:
            say_trouble(trouble)
            status = TROUBLE
        except Exception as flaw:
            unexpected(flaw)
            status = TROUBLE
        if standalone_mode:
            sys.exit(status)
        return status


def _write_anything() -> None:
    """A terminal that cannot show a character shows its code; nothing stops at it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """What is still buffered for the pipe goes nowhere, so that Python does not complain at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass


@click.group(
    cls=Entry, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="recovery-kit", prog_name="recovery-kit")
def main() -> None:
    """Say what happened to persisted agent runs and how surely, and what a restart would do.

    RUN is a path, else an id or the beginning of one in --root (default: $LEVIATH_RUNS_DIR, else
    ${LEVIATH_HOME:-~}/.leviath/runs). Exit status 2 is trouble: wrong usage, or something that cannot be read.
    """
