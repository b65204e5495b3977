"""`python -m recovery_kit.cli`: the same as the console script."""

from .entry import main

main()
