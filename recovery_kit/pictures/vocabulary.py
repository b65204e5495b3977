"""How closed words look: a sign, a colour, a pattern and the word itself. Nothing is told by colour alone.

Belongs here: tables from a word of the kit to its look. Words of a run are not here; they are text.
"""

from typing import NamedTuple

from recovery_kit.display import Tone

from .markup import Child, Safe, el

Weave = str
"""`solid`, `rising` and `falling` strokes, `crossed`, `dots`, `open` (an outline alone)."""


class Look(NamedTuple):
    """How one word is drawn."""

    word: str
    """As people read it."""
    sign: str
    weave: Weave
    colour: str
    """Readable on white and on black."""
    tone: Tone = "plain"


GREEN, RED, AMBER, VIOLET, BLUE, GREY, TEAL = (
    "#2e8b57",
    "#d1453b",
    "#b7791f",
    "#8e63ce",
    "#3b82c4",
    "#7d8590",
    "#1f9aa0",
)

CERTAINTY: dict[str, Look] = {
    "done": Look("done", "●", "solid", GREEN, "good"),
    "unknown": Look("unknown", "?", "rising", RED, "bad"),
    "stood_in": Look("stood in", "≈", "crossed", VIOLET, "bad"),
    "not_started": Look("not started", "○", "open", GREY, "muted"),
}
"""Certainty of a call. Order is that of legends: a person looks at the second and third."""

TRIP: dict[str, Look] = {
    "answered": Look("answered", "●", "solid", BLUE),
    "failed": Look("failed", "×", "rising", RED, "attention"),
    "bill": Look("billed", "$", "open", BLUE),
}

SETTLEMENT: dict[str, Look] = {
    "answered": Look("answered", "●", "solid", TEAL, "good"),
    "timed_out": Look("timed out", "×", "falling", AMBER, "attention"),
    "cancelled": Look("cancelled", "×", "falling", AMBER, "attention"),
    "refused": Look("refused", "×", "falling", AMBER, "attention"),
    "open": Look("open", "?", "dots", AMBER, "attention"),
    "lost": Look("lost", "≈", "crossed", RED, "bad"),
}

STATUS: dict[str, Look] = {
    "starting": Look("starting", "▷", "open", GREY),
    "running": Look("running", "▶", "solid", GREEN),
    "waiting_input": Look("waiting", "?", "dots", AMBER, "attention"),
    "paused": Look("paused", "‖", "falling", VIOLET, "attention"),
    "complete": Look("complete", "●", "open", GREEN, "good"),
    "complete_interactive": Look("complete, open for talk", "●", "open", GREEN, "good"),
    "error": Look("error", "×", "crossed", RED, "bad"),
    "cancelled": Look("cancelled", "×", "falling", GREY, "muted"),
}

LOOM_STATUS: dict[str, Look] = {
    "running": STATUS["running"],
    "waiting": STATUS["waiting_input"],
    "paused": Look("on hold", "‖", "falling", VIOLET, "attention"),
    "completed": STATUS["complete"],
    "failed": Look("failed", "×", "crossed", RED, "bad"),
}
"""Of a workflow's Run."""

TIME: dict[str, Look] = {
    "model": Look("model", "M", "solid", BLUE),
    "backoff": Look("waiting to try again", "B", "rising", AMBER),
    "tool": Look("tools", "T", "solid", GREEN),
    "person": Look("a person", "P", "dots", TEAL),
    "children": Look("child runs", "C", "falling", TEAL),
    "paused": Look("paused", "‖", "falling", VIOLET),
    "no_process": Look("no process", "–", "open", GREY),
    "unknown": Look("not known", "?", "crossed", GREY),
}

SEVERITY: dict[str, Look] = {
    "error": Look("error", "×", "solid", RED, "bad"),
    "warning": Look("warning", "!", "solid", AMBER, "attention"),
    "info": Look("info", "i", "solid", GREY, "muted"),
}

SERIES = (BLUE, AMBER, TEAL, VIOLET, GREEN, RED, GREY, "#b5588d", "#6b8e23", "#4a6fa5")
"""Colours of things that have names and no meaning of their own; told apart by order and number in the legend."""


def badge(look: Look, note: str = "") -> Safe:
    """The word with its sign, and a number where there is one."""
    return el("span", f"{look.sign} {look.word}{' ' + note if note else ''}", class_=f"rk-badge rk-{look.tone}")


_STROKES: dict[Weave, str] = {
    "rising": "M0 7L7 0M-1 1L1 -1M6 8L8 6",
    "falling": "M0 0L7 7M-1 6L1 8M6 -1L8 1",
    "crossed": "M0 7L7 0M0 0L7 7",
}


def pattern(prefix: str, look: Look) -> Safe | None:
    """The definition of a weave, for an SVG's `defs`; None for those that need none."""
    if look.weave in ("solid", "open"):
        return None
    ground = el("rect", width=7, height=7, fill=look.colour, fill_opacity="0.18")
    if look.weave == "dots":
        drawn = el("circle", cx=3.5, cy=3.5, r=1.6, fill=look.colour)
    else:
        drawn = el("path", d=_STROKES[look.weave], stroke=look.colour, stroke_width=1.6, fill="none")
    name = _pattern_id(prefix, look)
    return el("pattern", ground, drawn, id=name, width=7, height=7, patternUnits="userSpaceOnUse")


def _pattern_id(prefix: str, look: Look) -> str:
    return f"rk-{prefix}-{look.weave}-{look.colour.lstrip('#')}"


def patterns(prefix: str, *tables: dict[str, Look]) -> Safe:
    """`defs` with every weave of some tables.

    `prefix` keeps the ids of two pictures on one page apart: a browser does not draw from a definition that lies in a
    closed fold, and takes the first of two with one id.
    """
    looks = {_pattern_id(prefix, look): look for table in tables for look in table.values()}
    return el("defs", [pattern(prefix, look) for look in looks.values()])


def block(prefix: str, look: Look, x: str, y: float, width: str, height: float, *inside: Child) -> Safe:
    """A rectangle of a look. `inside` is its tooltip."""
    fill = {"solid": look.colour, "open": "none"}.get(look.weave, f"url(#{_pattern_id(prefix, look)})")
    return el(
        "rect", *inside, x=x, y=y, width=width, height=height, fill=fill, stroke=look.colour,
        stroke_width=None if look.weave == "solid" else 1,
    )  # fmt: skip


_SWATCH: dict[Weave, str] = {
    "rising": "M1 6L6 1M3 11L13 1M9 11L15 5",
    "falling": "M1 6L6 11M3 1L13 11M9 1L15 7",
    "crossed": "M1 6L6 1M3 11L13 1M9 11L15 5M1 6L6 11M3 1L13 11M9 1L15 7",
    "dots": "M4 4h1.6M9 4h1.6M4 8h1.6M9 8h1.6",
}


def swatch(look: Look) -> Safe:
    """The look as a small square, for legends; it needs no definition."""
    solid, strokes = look.weave == "solid", _SWATCH.get(look.weave)
    ground = el("rect", x=1, y=1, width=14, height=10, fill=look.colour if solid else "none", stroke=look.colour)
    woven = el("path", d=strokes, stroke=look.colour, stroke_width=1.6, fill="none") if strokes else None
    return el("svg", ground, woven, width=16, height=12, aria_hidden="true", class_="rk-swatch")


def legend(rows: list[tuple[Look, str]]) -> Safe:
    """A list of looks with a number each."""
    items = [el("li", swatch(look), f" {look.word} {text}".rstrip(), class_="rk-key") for look, text in rows]
    return el("ul", items, class_="rk-legend")
