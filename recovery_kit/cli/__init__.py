"""The command line: parse, one call of the library, print. `main` is the console script's entry."""

from .entry import main

__all__ = ["main"]
