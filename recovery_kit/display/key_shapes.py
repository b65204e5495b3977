"""What looks like a key to anybody: tokens of known form, private keys, passwords in addresses, values behind a telling
name.

Belongs here: one line a shape, in a table, and the few that need more than a pattern. Secrets known by value are in
`masking.py`.

A mask says nothing about what it hides, not even its length. Every rule reads a text from left to right and never comes
back, so that a megabyte made to be slow is not; a rule is tried only on a text that holds its needle, so clean text
costs a few searches. A rule also knows the beginning of a secret whose end is cut off, so that masking the first part
of a text is as good as masking it all.
"""

import re
from dataclasses import dataclass

MASK = "•••masked•••"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Keys that can be told by how they look. Group 1 of the pattern, where there is one, is what may stay in front of
    the mask."""

    needles: tuple[str, ...]
    """Lower case; a text that holds none of them, whatever its case, holds no such key."""
    pattern: re.Pattern[str]

    def masked(self, text: str) -> str:
        kept = r"\1" if self.pattern.groups else ""
        return self.pattern.sub(kept + MASK, text)


_SECRET_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?(?:access)?[_-]?key)?|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|signing[_-]?key|auth[_-]?key|credentials?"
)
# The start of a word, also where the letter in front belongs to an escape of JSON or of a terminal colour.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=[0-9;\[]m))"
_PROSE_AFTER_BEARER = r"(?:auth|authentication|authorization|tokens?|scheme|header|format|credentials?)"

_SHAPES = (
    _Shape(
        ("-----begin",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?!-----END)[A-Za-z0-9+/=\s\\:,.•-])*+(?:-----END [A-Z0-9 ]{0,60}-----)?"
        ),
    ),
    _Shape(("akia", "asia"), re.compile(r"A[KS]IA[A-Z0-9]{16,}")),
    _Shape(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(r"gh[pousr]_[A-Za-z0-9_]{16,}")),
    _Shape(("github_pat_",), re.compile(r"github_pat_[A-Za-z0-9_]{10,}")),
    _Shape(("glpat-",), re.compile(r"glpat-[A-Za-z0-9_.-]{16,}")),
    _Shape(("xox",), re.compile(r"xox[abeprs]-[A-Za-z0-9-]{8,}")),
    _Shape(("sk-",), re.compile(r"sk-(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{6,}")),
    _Shape(("sk-",), re.compile(_START + r"sk-[A-Za-z0-9_-]{16,}")),
    _Shape(("k_live_", "k_test_"), re.compile(r"[rsp]k_(?:live|test)_[A-Za-z0-9]{8,}")),
    _Shape(("whsec_",), re.compile(r"whsec_[A-Za-z0-9_+/=-]{2,}")),
    _Shape(("aiza",), re.compile(r"AIza[A-Za-z0-9_-]{30,}")),
    _Shape(("hf_",), re.compile(_START + r"hf_[A-Za-z0-9]{20,}")),
    # scheme://user:password@ (the password may hold any sign but a slash; the scheme is not looked at: that would be
    # slow)
    _Shape(("@",), re.compile(r"""(:(?:\\?/){2}[^\s/?#@:"'<>\\]*:)[^\s/"'<>\\]+(?=@)""")),
    _Shape(
        ("bearer",),
        re.compile(
            r"(bearer(?:[ \t]{1,8}|%20))(?!" + _PROSE_AFTER_BEARER + r"(?:[\s,;:)]|\.\s|\.?$))[A-Za-z0-9._~+/=:•-]{6,}",
            re.IGNORECASE | re.ASCII,
        ),
    ),
    _Shape(
        ("authorization",),
        re.compile(
            r"""(authorization(?:\\*+["'])?[ \t]{0,8}[:=][ \t]{0,8}(?:\\*+["'])?"""
            r"""(?:(?:basic|bearer|token|digest|apikey|negotiate)[ \t]{1,8})?)[^\s"'\\,;]{3,}""",
            re.IGNORECASE | re.ASCII,
        ),
    ),
    _Shape(
        ("--",),
        re.compile(
            r"(--(?:[a-z]{1,15}-){0,3}(?:" + _SECRET_WORDS + r")[ \t]{1,4}(?:\\*+[\"'])?)(?![-\"'\\])[^\s\"'\\]+",
            re.IGNORECASE | re.ASCII,
        ),
    ),
)

_TOKEN_PARTS = re.compile(r"eyJ[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]*+)*+")


def mask_shapes(text: str) -> str:
    """`text` with everything replaced by `MASK` that looks like a key, whoever it belongs to."""
    return mask_suspect(text) if may_hold_a_key(text) else text


def mask_suspect(text: str) -> str:
    """The same, without the quick look that lets nearly every text pass."""
    low = _aligned_lower(text)
    held = {needle for needle in _NEEDLES if needle in low}
    for shape in _SHAPES:
        if not held.isdisjoint(shape.needles):
            text = shape.masked(text)
    if "eyJ" in text:
        text = _TOKEN_PARTS.sub(_web_token, text)
    return _mask_assigned(text)


def may_hold_a_key(text: str) -> bool:
    """False only for a text that no shape fits: what clean text costs.

    A look for one sign is nearly free and one for a word is not, so words are looked for where a sign allows them: a
    telling name is followed by one of `:=%`, most keys have a `_` or `-` within.
    """
    if "AKIA" in text or "ASIA" in text or "AIza" in text or "eyJ" in text:
        return True
    if text.isascii():
        low = text.lower()
    elif any(sign in text for sign in _LOWER_IS_ASCII):
        return True
    else:  # of anything else beyond ASCII the lower case is in no needle
        low = text.encode("ascii", "replace").lower().decode("ascii")
    if "bearer" in low or ("@" in low and "/" in low):
        return True
    if "_" in low and ("k_live_" in low or "k_test_" in low or _ends_a_piece(low, "_", _BEFORE_UNDERSCORE)):
        return True
    if "-" in low and ("--" in low or "xox" in low or _ends_a_piece(low, "-", _BEFORE_HYPHEN)):
        return True
    if "%3" in low:
        low = low.replace("%3", "=")
    if "=" in low:
        low = low.replace("=", ":")
    return ":" in low and _names_a_value(low)


def _ends_a_piece(text: str, sign: str, ends: tuple[str, ...]) -> bool:
    for piece in text.split(sign):  # half the time of any()
        if piece.endswith(ends):
            return True
    return False


def _names_a_value(text: str) -> bool:
    for piece in text.split(":"):
        if piece.rstrip(_BETWEEN_NAME_AND_SIGN).endswith(_NAME_ENDS):
            return True
    return False


def _web_token(found: re.Match[str]) -> str:
    """A JSON web token has three parts or more; of one that was cut off, the second part is known by its start."""
    parts = found[0].split(".")
    is_token = len(parts[0]) >= 8 and (len(parts) >= 3 or (len(parts) == 2 and parts[1].startswith("eyJ")))
    return MASK if is_token else found[0]


def _aligned_lower(text: str) -> str:
    """Lower case, character by character at the same index. The dotted capital I is the only one whose lower case is
    longer."""
    return (text if text.isascii() else text.replace("İ", "i")).lower()


# -- by the name in front: password=…, "api_key": "…" --

_ASSIGNING = re.compile(
    r"""(?P<name>"""
    + _SECRET_WORDS
    + r""")(?:\\*+["'`])?[ \t]{0,8}(?:[:=]=?>?|%3[ad])[ \t]{0,8}(?P<quote>\\*+["'`])?"""
)
_NAME_STARTS = (
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "api",
    "access",
    "private",
    "signing",
    "auth",
    "credential",
)
"""What a telling name begins with. Twelve plain searches and a look at each place are much faster than one search for
the pattern."""
_LOWER_IS_ASCII = ("İ", "\N{KELVIN SIGN}")
"""The only signs beyond ASCII whose lower case is within."""


_NEEDLES = tuple(dict.fromkeys(needle for shape in _SHAPES for needle in shape.needles))

# For the quick look: how what stands before a sign ends, of every shape above.
_BEFORE_UNDERSCORE = ("ghp", "gho", "ghu", "ghs", "ghr", "pat", "whsec", "hf")
_BEFORE_HYPHEN = ("sk", "glpat")
_NAME_ENDS = ("word", "wd", "phrase", "code", "secret", "token", "key", "credential", "credentials", "authorization")
_BETWEEN_NAME_AND_SIGN = " \t\\\"'`"
_BARE_VALUE = re.compile(r"""(?:[^\s"'`&<>\\;,)}\]]|[,)}\]](?![\s"'`\\]|$)|\\(?![nrtbfux"'`\\]))+""")
_QUOTE_MARKS = re.compile(r"""\\++["'`]?|["'`]|\n""")
_STRUCTURE_ONLY = re.compile(r"[\s,:;}\])\\]*")
_NOT_A_SECRET = frozenset(
    "none null nil undefined true false yes no set unset not missing str string int bool bytes".split()
)


def _mask_assigned(text: str) -> str:
    """Values behind a telling name, quoted (also inside JSON inside JSON) or bare."""
    low = _aligned_lower(text)
    pieces, at, passed = [], 0, 0
    for place in _places(low):
        found = _ASSIGNING.match(low, place) if place >= passed else None
        if found is None:
            continue
        start, opening = found.end(), found["quote"]
        end = _quoted_end(text, start, opening) if opening else _bare_end(text, start)
        if _is_plain(found["name"], text[start:end], bool(opening)):
            passed = start
            continue
        pieces += [text[at:start], MASK]
        at = passed = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _places(text: str) -> list[int]:
    """Where a telling name may begin, in order."""
    found = []
    for start in _NAME_STARTS:
        at = text.find(start)
        while at >= 0:
            found.append(at)
            at = text.find(start, at + len(start))
    return sorted(found)


def _bare_end(text: str, start: int) -> int:
    value = _BARE_VALUE.match(text, start)
    return value.end() if value else start


def _quoted_end(text: str, start: int, opening: str) -> int:
    """Where the string ends that `opening` (a quote sign and the backslashes before it) began; a line's end, where it
    never does.

    In a JSON string inside k strings the closing quote has exactly 2^k - 1 backslashes of its own, and each backslash
    of the value before it counts 2^(k+1); fewer backslashes close a string further out.
    """
    own, sign = len(opening) - 1, opening[-1]
    for mark in _QUOTE_MARKS.finditer(text, start):
        if mark[0] == "\n":
            return mark.start()
        slashes = mark[0].count("\\")
        if mark[0][-1] == sign and (slashes < own or slashes % (2 * (own + 1)) == own):
            return mark.end() - 1 - min(own, slashes)
    return len(text)


def _is_plain(name: str, value: str, quoted: bool) -> bool:
    if not value or value.lower() in _NOT_A_SECRET:
        return True
    if name == "token" and value.isdigit() and len(value) < 6:
        return True  # a count of tokens
    if name == "pwd" and value.startswith("/"):
        return True  # the shell's working directory
    return quoted and len(value) < 200 and _STRUCTURE_ONLY.fullmatch(value) is not None
