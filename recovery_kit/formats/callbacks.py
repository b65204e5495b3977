"""Callback secrets and addresses as they stand in a file's bytes, whether or not anything around them parses.

A key that an earlier record had, or that stands in a frame nobody can read, has to be masked like the one of now.
"""

import re

import orjson

_TOLD = re.compile(rb'"callback_(secret|url)"\s*:\s*("(?:[^"\\]|\\.)*")')


def callbacks_in(data: bytes | memoryview | None) -> dict[str, list[str]]:
    """Every callback `secret` and `url` of a file, each value once. Inside a text they are escaped, and so none."""
    found: dict[str, list[str]] = {"secret": [], "url": []}
    for what, value in dict.fromkeys(_TOLD.findall(data)) if data is not None else ():
        try:
            found[what.decode()].append(orjson.loads(value))
        except orjson.JSONDecodeError:
            continue
    return found
