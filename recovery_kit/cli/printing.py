"""What goes to stdout: a run's text made fit for a terminal, or ASCII JSON; and the progress bar on stderr.

All text of a run passes `shown` here: masked, shortened, escaped. Colour and wrapping are for terminals only.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import click

from recovery_kit.display import Cell, Masker, Tone, coloured, shown, table_text, terminal, wrapped

T = TypeVar("T")

LONGEST = 4000
"""Characters of one sentence."""

EXCERPT = 160
"""Characters of a text that is shown by its beginning."""


def on_terminal() -> bool:
    """Whether somebody looks at stdout."""
    return sys.stdout.isatty()


class Page:
    """Stdout for the text of one run, or of several when `masker` hides shapes only."""

    def __init__(self, masker: Masker | None = None) -> None:
        self.masker = masker
        looked_at = on_terminal()
        self.colour = looked_at and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.width = max(shutil.get_terminal_size().columns, 40) if looked_at else None

    def say(self, text: str, tone: Tone = "plain", indent: int = 0, limit: int | None = LONGEST) -> None:
        """A sentence, on one line where nobody looks, else wrapped."""
        fit = shown(text, self.masker, limit)
        lines = wrapped(fit, self.width - indent) if self.width else [fit]
        for line in lines or [""]:
            click.echo(" " * indent + coloured(line, tone, self.colour))

    def text(self, text: str, indent: int = 0) -> None:
        """All of a text, line by line."""
        whole = shown(text, self.masker, None, partial(terminal, multiline=True))
        for line in whole.split("\n"):
            click.echo(" " * indent + line)

    def headed(self, head: str, text: str, full: bool, indent: int = 0) -> None:
        """A text behind its heading: its beginning on the same line, or all of it on lines of its own if `full`."""
        if full:
            self.say(f"{head}:", "muted", indent)
            self.text(text, indent + 4)
        else:
            self.say(f"{head}: {self.excerpt(text)}", indent=indent)

    def excerpt(self, text: str, limit: int = EXCERPT) -> str:
        """The beginning of a text on one line, masked before it is cut; to be said as part of a sentence."""
        return shown(text, self.masker, limit, escape=str)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Cell | str | int | float | None]]) -> None:
        """Aligned columns, as wide as they are where nobody looks."""
        click.echo(table_text(headers, rows, self.masker, self.width, limit=200, colour=self.colour))

    def blank(self) -> None:
        click.echo()


def print_json(value: Any) -> None:
    """One value, as ASCII."""
    click.echo(json.dumps(value, indent=2))


def print_json_rows(rows: Iterable[Any]) -> None:
    """A list, a row a line, each written when it is there."""
    before = "[\n"
    for row in rows:
        click.echo(before + json.dumps(row), nl=False)
        before = ",\n"
    click.echo("\n]" if before != "[\n" else "[]")


BAR_AFTER = 1.0
"""Seconds of work before a bar is drawn."""
_BAR = 30


def progress(things: Sequence[T], label: str, prints: bool = False) -> Iterator[T]:
    """The same things, with a bar on stderr where somebody looks and the work takes its time.

    `prints`: each thing prints its own lines, so that on one terminal with them a bar would be in the way.
    """
    with bar(label, prints) as drawn:
        for done, thing in enumerate(things):
            drawn(done, len(things))
            yield thing


@contextmanager
def bar(label: str, prints: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar to be called with what is done and what there is in all; drawn and wiped as `progress` does."""
    began, drawn = time.monotonic(), False
    looked_at = sys.stderr.isatty() and not (prints and on_terminal())

    def draw(done: int, all_of_it: int) -> None:
        nonlocal drawn
        if looked_at and all_of_it and time.monotonic() - began > BAR_AFTER:
            drawn = True
            filled = "#" * (_BAR * done // all_of_it)
            click.echo(f"\r{label} [{filled:<{_BAR}}] {done} of {all_of_it}", err=True, nl=False)

    try:
        yield draw
    finally:
        if drawn:
            click.echo("\r" + " " * 79 + "\r", err=True, nl=False)
