"""What an address gives away: which pieces of a callback URL are secret, and the one piece that may be shown.

Belongs here: taking a URL apart. What is done with its secrets is in `masking.py`.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

_OPEN_PARAMETERS = frozenset("run run_id agent env environment source event events type format version lang".split())
"""Query parameters whose values are names of things, not keys: hiding them would hide the run's own id everywhere."""
_TOKEN_IN_PATH = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_.~%+-]{16,}")


def secrets_of_url(url: str) -> tuple[str, ...]:
    """What must not be shown of `url`: user and password, query values, the fragment, token-like path segments; as
    spelled and decoded.

    An address that cannot be taken apart is secret as a whole. For `Masker(secrets_of_url(meta.callback_url))`,
    which leaves out those that are too short to hide by value.
    """
    try:
        parts = urlsplit(url)
        userinfo = parts.netloc.rpartition("@")[0]
    except ValueError:
        return (url,) if url else ()
    found = [*userinfo.split(":", 1), userinfo.partition(":")[2]]
    found += [segment for segment in parts.path.split("/") if _TOKEN_IN_PATH.fullmatch(segment)]
    for half in (parts.query, parts.fragment):
        found += _values(half)
    if "=" not in parts.fragment:
        found.append(parts.fragment)
    spelled = [spelling for value in found for spelling in (value, unquote(value), unquote(value.replace("+", " ")))]
    return tuple(dict.fromkeys(spelling for spelling in spelled if spelling))


def _values(query: str) -> Iterator[str]:
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        if unquote(name).lower() not in _OPEN_PARAMETERS:
            yield value if equals else name


def url_host(url: str) -> str | None:
    """The host of `url`, the only part that may be shown; none where there is none or it cannot be told. Text of a run:
    escape it."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
