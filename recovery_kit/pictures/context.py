"""The context window: its regions over time as a stack of steps, and what is in it at one moment, entries folded.

Belongs here: pictures of windows. What a window is and how it changes is said in `records` and `history`.
"""

from collections.abc import Sequence

from recovery_kit.display import Masker, count_text
from recovery_kit.history.fold import Pending, Point
from recovery_kit.history.lives import Life
from recovery_kit.history.windows import text_of
from recovery_kit.records.window import AssistantTurn, BlobRef, Content, Entry, Region, ToolResult, UserMessage, Window

from .markup import Child, Pen, Safe, el, join, number, percent
from .tables import fold, left_out, nothing
from .vocabulary import SERIES, Look, legend

MOST_STEPS = 240
MOST_ENTRIES = 200
MOST_TEXT = 4000
_HEIGHT = 150
_MOST_REGIONS = len(SERIES) - 1


# -- over time -------------------------------------------------------------------------------------------------------


def sampled(points: Sequence[Point], most: int = MOST_STEPS) -> list[Point]:
    """At most so many points, evenly taken, the last one among them."""
    if len(points) <= most:
        return list(points)
    return [points[(step + 1) * len(points) // most - 1] for step in range(most)]


def context_svg(points: Sequence[Point], masker: Masker | None = None, lives: Sequence[Life] = ()) -> Safe:
    """Tokens by region at each point, stacked; dashed lines are restarts. One SVG without script."""
    if not points:
        return nothing("The journal has no point, so there is no window over time.")
    pen, steps = Pen(masker), sampled(points)
    series = _series(steps)
    top = max((sum(values[i] for _, values in series) for i in range(len(steps))), default=0) or 1
    floor, areas = [0] * len(steps), []
    for place, (name, values) in enumerate(series):
        ceiling = [low + value for low, value in zip(floor, values, strict=True)]
        tip = el(
            "title",
            pen.line(name, 60),
            f": {count_text(values[-1], 'token')} at the end, {count_text(max(values))} at most",
        )
        colour = SERIES[place % len(SERIES)]
        areas.append(
            el(
                "path",
                tip,
                d=_steps(floor, ceiling, top),
                fill=colour,
                fill_opacity="0.85",
            )
        )
        floor = ceiling
    # The plot alone is stretched; letters and lines around it keep their size.
    plot = el(
        "svg",
        areas,
        viewBox=f"0 0 {len(steps)} {_HEIGHT}",
        preserveAspectRatio="none",
        x=0,
        y=14,
        width="100%",
        height=_HEIGHT,
    )
    words = [
        el("text", f"{count_text(top)} tokens", x=0, y=10, fill="currentColor"),
        el("text", "first point", x=0, y=_HEIGHT + 28, fill="currentColor"),
        el("text", f"point {steps[-1].index}", x="100%", y=_HEIGHT + 28, text_anchor="end", fill="currentColor"),
    ]
    said = f"Tokens of the context window by region, over {count_text(len(points), 'point')}; at most {count_text(top)}"
    return el(
        "svg", el("title", said), plot, [_restart(steps, life) for life in lives[1:]], words,
        width="100%", height=_HEIGHT + 32, role="img", aria_label=said, font_size=11, overflow="visible",
    )  # fmt: skip


def _series(steps: Sequence[Point]) -> list[tuple[str, list[int]]]:
    """Tokens by region, in the order in which regions came; the smallest ones together where there are many."""
    names = dict.fromkeys(region.name for step in steps for region in step.window.regions)
    rows = {name: [0] * len(steps) for name in names}
    for place, step in enumerate(steps):
        for region in step.window.regions:
            rows[region.name][place] += region.current_tokens
    rows = {name: values for name, values in rows.items() if any(values)}
    if len(rows) <= _MOST_REGIONS:
        return list(rows.items())
    kept = sorted(rows, key=lambda name: -max(rows[name]))[: _MOST_REGIONS - 1]
    rest = [sum(column) for column in zip(*(values for name, values in rows.items() if name not in kept), strict=True)]
    return [(name, values) for name, values in rows.items() if name in kept] + [
        (f"{len(rows) - len(kept)} smaller regions", rest)
    ]


def _steps(floor: Sequence[int], ceiling: Sequence[int], top: int) -> str:
    def y(value: int) -> str:
        return number(_HEIGHT - value / top * _HEIGHT)

    over = "".join(f"V{y(value)}H{place + 1}" for place, value in enumerate(ceiling))
    under = "".join(f"V{y(value)}H{place}" for place, value in reversed(list(enumerate(floor))))
    return f"M0 {y(floor[0])}{over}{under}Z"


def _restart(steps: Sequence[Point], life: Life) -> Safe | None:
    place = next(
        (i for i, step in enumerate(steps) if step.offset >= (life.offset or 0) and step.at >= life.began_at), None
    )
    if place is None:
        return None
    x = percent(place / len(steps))
    return el("line", x1=x, x2=x, y1=14, y2=14 + _HEIGHT, stroke="currentColor", stroke_dasharray="3 3")


def context_html(points: Sequence[Point], masker: Masker | None = None, lives: Sequence[Life] = ()) -> Safe:
    """The stack with its legend: regions from the top of the picture down, with their tokens at the end."""
    picture = context_svg(points, masker, lives)
    if not points:
        return picture
    pen, rows = Pen(masker), []
    for place, (name, values) in enumerate(_series(sampled(points))):
        rows.append((Look(pen.plain(name, 40), "", "solid", SERIES[place % len(SERIES)]), count_text(values[-1])))
    how = "Stacked as listed, the first of the list on top. Numbers are tokens at the last point."
    if len(points) > MOST_STEPS:
        how += f" {count_text(MOST_STEPS)} of {count_text(len(points), 'point')} are drawn."
    words = el("figcaption", legend(rows[::-1]), el("small", how, class_="rk-muted"))
    return el("figure", picture, words, class_="rk-figure")


# -- at one moment ---------------------------------------------------------------------------------------------------


def window_html(
    window: Window, masker: Masker | None = None, most: int = MOST_ENTRIES, most_text: int = MOST_TEXT
) -> Safe:
    """A window region by region, each entry behind its beginning.

    `most`: entries shown over all regions, the newest of each; `most_text`: characters of one. What is left out is
    said.
    """
    if not window.regions:
        return nothing("The window has no region.")
    pen, room = Pen(masker), most
    filled = f"{count_text(window.total_tokens)} of {count_text(window.max_tokens, 'token')}"
    head = f"{filled} in {count_text(len(window.regions), 'region')}"
    parts: list[Child] = [
        el("p", head + (", in stage " if window.stage_name else ""), pen.line(window.stage_name, 60, ""), ".")
    ]
    for region in window.regions:
        taken = region.entries[max(len(region.entries) - room, 0) :] if room > 0 else ()
        room -= len(taken)
        parts.append(_region(pen, region, taken, most_text))
    return join(parts)


def _region(pen: Pen, region: Region, taken: Sequence[Entry], most_text: int) -> Safe:
    filled = f"{count_text(region.current_tokens)} of {count_text(region.max_tokens, 'token')}"
    numbers = f"{count_text(len(region.entries), 'entry', 'entries')}, {filled}"
    name = [
        el("strong", pen.line(region.name, 80)),
        " ",
        el("span", f"{region.kind.replace('_', ' ')}, {numbers}", class_="rk-muted"),
    ]
    if not region.entries:
        return el("p", name, class_="rk-fold")
    skipped = len(region.entries) - len(taken)
    earlier = left_out(skipped, "earlier entry", "earlier entries")
    rows = [_entry(pen, number, entry, most_text) for number, entry in enumerate(taken, skipped)]
    return fold(name, earlier, rows)


def _entry(pen: Pen, place: int, entry: Entry, most_text: int) -> Safe:
    text, kind = text_of(entry.content), _kind(pen, entry)
    head = [
        el("strong", f"{place} "),
        kind,
        " ",
        el("span", f"{count_text(entry.tokens, 'token')}: ", class_="rk-muted"),
    ]
    key = [el("code", pen.line(entry.key, 60)), " "] if entry.key else None
    return fold(
        [head, key, pen.line(text, 100)],
        pen.whole(text, most_text),
        _calls(pen, entry, most_text),
        _stored(pen, entry.content),
    )


def _kind(pen: Pen, entry: Entry) -> Safe:
    match entry.kind:
        case AssistantTurn(tool_calls=calls):
            return join(["model", f" with {count_text(len(calls), 'call')}" if calls else ""])
        case ToolResult(tool_name=name, tool_call_id=call_id):
            return join(["result of ", el("code", pen.line(f"{name} {call_id}", 80))])
        case UserMessage():
            return Safe("person")
    return Safe("text")


def _calls(pen: Pen, entry: Entry, most_text: int) -> list[Safe]:
    if not isinstance(entry.kind, AssistantTurn):
        return []
    return [
        el(
            "div",
            el("code", pen.line(f"{call.id} {call.name}", 120)),
            pen.whole(_json(bytes(call.arguments)), most_text),
        )
        for call in entry.kind.tool_calls
    ]


def _json(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _stored(pen: Pen, content: Content) -> list[Safe]:
    """Parts whose bytes are stored: named, never shown."""
    parts = [part for part in content if isinstance(part.body, BlobRef)] if not isinstance(content, str) else []
    return [
        el(
            "div",
            "stored: ",
            pen.line(f"{p.mime_type} {p.name or ''}", 120),
            f", {count_text(p.body.size, 'byte')}",
            class_="rk-muted",
        )
        for p in parts
        if isinstance(p.body, BlobRef)
    ]


def pending_html(pending: Pending | None, masker: Masker | None = None, most_text: int = MOST_TEXT) -> Safe:
    """The batch that was out at a moment, as the engine's fold has it."""
    if pending is None:
        return nothing("No batch is pending.")
    pen = Pen(masker)
    rows = [
        fold(
            [
                el("code", pen.line(f"{call.id} {call.name}", 120)),
                ": ",
                "no result is held" if result is None else "result held",
            ],
            pen.whole(call.arguments, most_text),
            None if result is None else pen.whole(text_of(result), most_text),
        )
        for call, result in pending.calls()
    ]
    said = (
        fold("What the model said with it", pen.whole(pending.batch.response, most_text))
        if pending.batch.response
        else None
    )
    return join([el("p", f"Pending: {count_text(len(rows), 'call')} of turn {pending.batch.iteration}."), said, rows])
