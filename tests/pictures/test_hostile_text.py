"""Text of a run is data on every picture: no tag, attribute, handler or address in one comes from a run."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from recovery_kit import pictures
from recovery_kit.pictures.markup import ATTRIBUTES, TAGS
from recovery_kit.records.engines import NEWEST, engine
from recovery_kit.recovery.outlook import outlook
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.run import Run

HERE = Path(__file__).parents[1]
CASES = HERE / "data" / "cases"
SAMPLES = HERE.parent / "sample_runs"


def every_picture(run: Run) -> dict[str, str]:
    """All that the room draws of one run."""
    story, masker, end = run.story, run.masker, run.at()
    drawn = {
        "heading": pictures.heading(run),
        "answer": pictures.answer_html(story.answer, story.produced_files, masker),
        "verdict": pictures.verdict_html(run.verdict, masker),
        "restart": pictures.restart_html(outlook(story, engine(NEWEST)), NEWEST, masker),
        "timeline": pictures.timeline_html(story, masker),
        "time": pictures.time_html(story.time_account),
        "effects": pictures.effects_html(story, masker),
        "attempts": pictures.attempts_html(story.trips, masker),
        "spending": pictures.spending_html(story.trips, story.cost, masker),
        "context": pictures.context_html(run.points, masker, story.lives),
        "window": pictures.window_html(end.window, masker),
        "pending": pictures.pending_html(end.pending, masker),
        "prompts": pictures.prompts_html(run.prompts, masker),
        "findings": pictures.findings_html(run.findings, masker),
        "evidence": pictures.evidence_html(run.evidence, masker),
        "run": pictures.run_html(run),
        "state": pictures.state_html(end, masker),
    }
    points = {f"point {point.index}": pictures.point_html(point, masker) for point in run.points}
    return {name: str(picture) for name, picture in (drawn | points).items()}


class Reader(HTMLParser):
    """Collects the tags and attributes of a page, and its text as a person reads it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for name, value in attrs if name not in ("aria-label",)]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def runs_of(folder: Path) -> list[Run]:
    return list(open_runs(folder).values())


HOSTILE = [
    CASES / "H09-markup-in-names" / "input",
    CASES / "H03-text-that-breaks" / "input",
    SAMPLES / "16a-hostile-text",
]


@pytest.mark.parametrize("folder", HOSTILE, ids=lambda folder: folder.parent.name + "/" + folder.name)
def test_only_our_own_tags_and_attributes(folder: Path) -> None:
    """Whatever a run says, a picture holds the tags and attributes of our lists and nothing that loads."""
    tags, attributes = {tag.lower() for tag in TAGS}, {name.lower() for name in ATTRIBUTES}
    for run in runs_of(folder):
        for name, page in every_picture(run).items():
            seen = read(page)
            assert seen.tags <= tags, name
            assert seen.attributes <= attributes, name
            assert not any("javascript:" in value or "http" in value or "//" in value for value in seen.values), name
            assert "<script" not in page and "\x1b" not in page and "\0" not in page, name
            page.encode("utf-8")


def test_the_reader_sees_what_the_journal_says() -> None:
    """Payloads of the case stand on the page as text, character by character."""
    text = "".join(read(page).text for run in runs_of(HOSTILE[0]) for page in every_picture(run).values())
    for payload in (
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(2)</script>",
        "&lt;already escaped&gt;",
        "{{ 7*7 }}",
        '"><svg/onload=alert(4)>',
        "<u>c1</u>",
    ):
        assert payload in text, payload


def test_twins_keep_hostile_text_as_text() -> None:
    """The styles that a twin puts inline never land in what a run says, even if it spells one of our classes."""
    picture = pictures.el("p", 'class="rk-bad" x', class_="rk-good")
    assert pictures.twin(picture).count("style=") == 1
    assert picture in pictures.bare(pictures.twin(picture))


def test_no_piece_of_a_secret() -> None:
    """Neither a whole signing key nor its beginning nor a token of the address stands on any picture, and that one is
    set does."""
    (run,) = runs_of(CASES / "H08-signing-key-in-the-journal" / "input")
    pages = every_picture(run)
    for secret in ("whsec_DEMO_0000_not_a_real_key_7f3a", "whsec_DEMO_0000_not_a_re", "DEMO-QUERY-TOKEN"):
        assert not [name for name, page in pages.items() if secret in page]
    assert "hooks.example.test" in pages["heading"] and "a signing key is set" in pages["heading"]


def test_every_svg_is_well_formed() -> None:
    """Timelines, windows over time and time bars are XML on their own, hostile names included."""
    for folder in (
        HOSTILE[0],
        HOSTILE[2],
        SAMPLES / "18a-retries-and-failover",
        SAMPLES / "02e-killed-twice-and-finished",
    ):
        for run in runs_of(folder):
            drawn = [
                pictures.timeline_svg(run.story, run.masker),
                pictures.context_svg(run.points, run.masker, run.story.lives),
            ]
            if run.story.time_account:
                drawn.append(pictures.time_svg(run.story.time_account))
            for svg in drawn:
                root = ET.fromstring(svg)
                assert root.tag == "svg" and root.get("role") == "img" and root.get("aria-label")
