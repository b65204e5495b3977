"""Reading a great deal at once: the collector of cycles is switched off meanwhile.

It goes through everything that was read so far again and again, which doubles the time, and decoded records hold no
cycles.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """No collection of cycles inside the `with` block; afterwards it is as it was."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
