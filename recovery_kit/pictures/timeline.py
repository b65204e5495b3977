"""The timeline of a run: lanes for its processes, status, stages, the model, tools and people.

Belongs here: the drawing. Coordinates across are per cent, down are pixels: the picture fits any width and its letters
keep their size. What is marked is said in `lanes.py`.
"""

import hashlib
from collections import Counter

from recovery_kit.display import Masker, count_text, duration_text, time_text
from recovery_kit.history.story import Story

from .axis import Axis, Gap
from .lanes import MOST_MARKS, Lane, Mark, condensed, lanes
from .markup import Pen, Safe, el, percent
from .tables import nothing
from .vocabulary import CERTAINTY, GREY, SETTLEMENT, STATUS, TRIP, Look, block, legend, patterns

NAMES = 62
"""Pixels left of the plot for the names of the lanes: the padding of class `rk-lanes`, so that per cents are of the
rest."""
_APART = 7
_NARROWEST = 0.002


def timeline_svg(story: Story, masker: Masker | None = None, columns: int = MOST_MARKS, part: str = "") -> Safe:
    """The timeline as one SVG: no script, tooltips in `title`, summary in `aria-label`. Under 300 kB whatever the run.

    `columns`: marks a lane before they are put together. `part`: a word of ours that tells two pictures of one run on
    one page apart.
    """
    if not story.events:
        return nothing("No record can be read, so there is no timeline.")
    pen, drawn, top = Pen(masker), list[Safe](), 4
    name = f"timeline{part}-{hashlib.sha256(story.run_id.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    all_lanes = [condensed(lane, columns) for lane in lanes(story)]
    bottom = top + sum(lane.whole_height + _APART for lane in all_lanes)
    axis = Axis(story.events)
    drawn += [_gap(gap, bottom) for gap in axis.gaps]
    drawn += [_restart(axis.left(life.first), bottom) for life in story.lives[1:]]
    names = []
    for lane in all_lanes:
        names.append(el("text", lane.name, x=-NAMES, y=top + lane.whole_height / 2 + 4, fill="currentColor"))
        drawn += [_mark(pen, name, mark, lane, top) for mark in lane.marks]
        top += lane.whole_height + _APART
    drawn.append(_axis(story, axis, bottom))
    return el(
        "svg", el("title", _summary(story)), patterns(name, CERTAINTY, TRIP, STATUS, SETTLEMENT), names, drawn,
        width="100%", height=bottom + 34, role="img", aria_label=_summary(story), class_="rk-lanes", font_size=12,
    )  # fmt: skip


def _mark(pen: Pen, name: str, mark: Mark, lane: Lane, top: int) -> Safe:
    width = max(mark.right - mark.left, _NARROWEST)
    x, y, height = percent(mark.left), top + mark.row * lane.height, lane.height - 2
    tip = el("title", pen.line(mark.text, 120))
    word = mark.label if width > 0.04 else ""
    if mark.look.word in _SIGNED and width > 0.012:
        word = f"{mark.look.sign} {word}".rstrip()
    if not word:
        return block(name, mark.look, x, y, percent(width), height, tip)
    on = {"fill": "#fff"} if mark.look.weave == "solid" else {"fill": "currentColor", "class_": "rk-halo"}
    # An SVG of its own cuts a word that is too long for its mark.
    shape = block(name, mark.look, "0", 0, "100%", height)
    inside = el("text", pen.line(word, 40), x=4, y=height - 3, font_size=11, **on)
    return el("svg", tip, shape, inside, x=x, y=y, width=percent(width), height=height)


_SIGNED = frozenset({"unknown", "stood in", "not started", "failed", "lost", "open"})
"""Words whose sign is drawn on the mark."""


def _gap(gap: Gap, bottom: int) -> Safe:
    tip, width = el("title", f"no record for {duration_text(gap.seconds)}"), percent(gap.right - gap.left)
    return el("rect", tip, x=percent(gap.left), y=0, width=width, height=bottom, fill=GREY, fill_opacity="0.16")


def _restart(share: float, bottom: int) -> Safe:
    place = percent(share)
    return el(
        "line", x1=place, x2=place, y1=0, y2=bottom, stroke="currentColor", stroke_dasharray="3 3", stroke_width=1
    )


def _axis(story: Story, axis: Axis, bottom: int) -> Safe:
    """Beginning and end in words, and the length of each silence that is marked."""
    y, events, taken, words = bottom + 12, story.events, 0.0, []
    for gap in axis.gaps:
        middle = (gap.left + gap.right) / 2
        if 0.1 <= middle <= 0.92 and middle - taken >= 0.16:
            words.append(
                el(
                    "text",
                    duration_text(gap.seconds),
                    x=percent(middle),
                    y=y,
                    text_anchor="middle",
                    fill="currentColor",
                    font_size=11,
                )
            )
            taken = middle
    newest = max(event.at for event in events)
    begun = el("text", time_text(events[0].at), x=0, y=bottom + 28, fill="currentColor", font_size=11)
    ended = el(
        "text",
        _end(events[0].at, newest),
        x="100%",
        y=bottom + 28,
        text_anchor="end",
        fill="currentColor",
        font_size=11,
    )
    return el("g", words, begun, ended)


def _end(start: int, stop: int) -> str:
    same_day = start // 86400 == stop // 86400
    return time_text(stop)[11 if same_day else 0 :]


def _summary(story: Story) -> str:
    counts = Counter[str](call.certainty for call in story.calls)
    calls = ", ".join(f"{counts[word]} {CERTAINTY[word].word}" for word in CERTAINTY if counts[word]) or "none"
    failed = sum(not trip.succeeded for trip in story.trips.attempts)
    size = f"{count_text(len(story.events), 'record')} in {count_text(len(story.lives), 'life', 'lives')}"
    return (
        f"Timeline of {size}; tool calls: {calls}; "
        f"trips to models: {len(story.trips.attempts)}, {failed} failed; questions to people: {len(story.prompts)}"
    )


def timeline_html(story: Story, masker: Masker | None = None, columns: int = MOST_MARKS) -> Safe:
    """The timeline with its legend and how to read it."""
    picture = timeline_svg(story, masker, columns)
    if not story.events:
        return picture
    how = (
        "Records stand in the order of the file and carry whole seconds; longer waits are wider, up to a bound. "
        "A grey band is a silence with its length below it, a dashed line a restart. Point at a mark for its words."
    )
    words = el("figcaption", legend(_keys(story)), el("small", how, class_="rk-muted"))
    return el("figure", picture, words, class_="rk-figure")


def _keys(story: Story) -> list[tuple[Look, str]]:
    """What the picture has, with how many of it."""
    calls = Counter[str](call.certainty for call in story.calls)
    failed = sum(not trip.succeeded for trip in story.trips.attempts)
    trips = {"answered": len(story.trips.attempts) - failed, "failed": failed, "bill": len(story.trips.bills)}
    asked = Counter[str](prompt.settlement for prompt in story.prompts)
    groups = (("calls", CERTAINTY, calls), ("trips", TRIP, trips), ("questions", SETTLEMENT, asked))
    return [
        (look._replace(word=f"{what}: {look.word}"), str(counts[word]))
        for what, looks, counts in groups
        for word, look in looks.items()
        if counts[word]
    ]
