"""Where the time of a run went: one bar, and the same in words and numbers."""

from recovery_kit.display import duration_text, time_text
from recovery_kit.history.clock import TimeAccount

from .markup import Safe, el, join, percent
from .tables import Column, nothing, table_html
from .vocabulary import TIME, block, patterns, swatch

_HEIGHT = 26


def time_svg(account: TimeAccount) -> Safe:
    """The wall clock as one bar, a piece for each use of it; every piece has a weave, a tooltip and, where it is wide
    enough, its word."""
    name = f"time-{account.start}-{account.stop}"
    wall, x, pieces = max(account.wall_seconds, 1), 0.0, []
    for bucket, seconds in account.seconds.items():
        if not seconds:
            continue
        look, share = TIME[bucket], seconds / wall
        shape = block(name, look, "0", 0, "100%", _HEIGHT)
        ink = {"fill": "#fff"} if look.weave == "solid" else {"fill": "currentColor", "class_": "rk-halo"}
        word = el("text", look.word, x=5, y=17, font_size=12, **ink) if share > 0.12 else None
        tip = el("title", f"{look.word}: {duration_text(seconds)}")
        pieces.append(el("svg", tip, shape, word, x=percent(x), y=0, width=percent(share), height=_HEIGHT))
        x += share
    said = "Time of the run: " + ", ".join(
        f"{TIME[b].word} {duration_text(s)}" for b, s in account.seconds.items() if s
    )
    return el(
        "svg",
        el("title", said),
        patterns(name, TIME),
        pieces,
        width="100%",
        height=_HEIGHT,
        role="img",
        aria_label=said,
    )


def time_html(account: TimeAccount | None) -> Safe:
    """The bar and its table; each second of the life is in exactly one row."""
    if account is None:
        return nothing("No record can be read, so nothing tells where the time went.")
    if not account.wall_seconds:
        return nothing(f"All of it within one second: {time_text(account.start)}.")
    rows = sorted(((b, s) for b, s in account.seconds.items() if s), key=lambda row: -row[1])
    columns = [
        Column("went to", lambda row: join([swatch(TIME[row[0]]), " ", TIME[row[0]].word])),
        Column("time", lambda row: duration_text(row[1]), "n"),
        Column("seconds", lambda row: f"{row[1]:,}", "n"),
        Column("share", lambda row: f"{row[1] / account.wall_seconds:.1%}", "n"),
    ]
    return el(
        "figure",
        time_svg(account),
        table_html(f"{duration_text(account.wall_seconds)} in all", columns, rows),
        class_="rk-figure",
    )
