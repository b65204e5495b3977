"""The questions that a stage puts to a person at its end, and what an answer leads to (leviath-run-directory 7)."""

from collections.abc import Sequence
from typing import Literal

from recovery_kit.history.windows import tokens_of
from recovery_kit.records.blueprint import InteractionPoint
from recovery_kit.records.journal import Answer
from recovery_kit.records.window import Entry

from .agent import READY, AtPoint
from .asked import Prompt, PromptKind
from .regions import region_of, rewrite
from .results import CONVERSATION
from .running import Running

ROUNDS = 4
"""Revisions of one point after which the run goes on."""
KINDS: dict[str, PromptKind] = {"free_text": "free_text", "multiple_choice": "multiple_choice", "confirm": "confirm"}
REVISED = "[The user revised this text; keep the changes.]\n"
"""In front of a document that a person edited."""
APPROVED_REVISION = (
    "The plan above was revised before you approved it. Work from the approved text as written - any conclusion you "
    "reached from the earlier version, including that something is already done, may no longer hold and should be "
    "re-checked against the plan rather than assumed."
)
EDITED = "edited the output directly. Adopt this exact text as the authoritative version and re-present it:\n"
DASHES = dict.fromkeys(map(ord, "\u2014\u2013\u2212\u2015"), "-")

Verdict = Literal["proceed", "infer", "waits", "over"]
"""What an answer leads to: on from the stage, another request in it, another question, nothing."""


def present(run: Running, body: str | None = None, edited: bool = False) -> bool:
    """Put the stage's next question; False where none is left. A question that may pass unattended is passed."""
    points = run.agent.stage.interaction_points
    while run.agent.visit.cursor < len(points):
        point = points[run.agent.visit.cursor]
        if not (run.agent.meta.yolo and point.unattended == "auto_approve"):
            _put(run, point, run.agent.said if body is None else body, edited)
            return True
        run.put_visit(cursor=run.agent.visit.cursor + 1, round=0)
    return False


def _put(run: Running, point: InteractionPoint, body: str, edited: bool) -> None:
    if point.document_region and body.strip():
        text = f"{REVISED}{body}" if edited else body
        spec = run.spec(point.document_region)
        if region_of(run.agent.window, point.document_region) is not None:
            entry = Entry(text, tokens_of(text))
            done = rewrite(run.agent.window, point.document_region, entry, spec, run.agent.rules)
            run.change(done.window, "interaction")
    run.put(doing=AtPoint(point, body if body.strip() else "", prompt_of(run, point, body)))
    run.set_status("waiting_input")
    run.snapshot()


def prompt_of(run: Running, point: InteractionPoint, body: str) -> Prompt:
    """The question as people see it. Its id names the round, so that a restart asks the same one."""
    return Prompt(
        id=f"{run.id}-point-{point.name}-{run.agent.visit.round}", run_id=run.id, kind=KINDS[point.style],
        text=point.prompt, stage=point.name, asked_at=run.now(), options=point.options,
        body=body if body.strip() else "",
    )  # fmt: skip


def answered(run: Running, answer: Answer) -> Verdict:
    """A person's word. What it changes is gathered; whoever asked writes it with the next step."""
    doing = run.agent.doing
    assert isinstance(doing, AtPoint)
    point, at = doing.point, run.now()
    run.note(doing.prompt.settled(answer, at))
    if doing.editing:
        return _edited(run, point, answer.text or "")
    text = _text(point, answer)
    run.set_status("running")
    silent = answer.approved is None and answer.choice is None and not (answer.text or "").strip()
    if point.unattended == "ask" and silent:
        run.put(doing=READY)
        run.fail(f"the question {point.name} went unanswered")
        return "over"
    if _one_of(text, point.abort_options):
        run.put(doing=READY)
        run.set_status("cancelled")
        run.snapshot()
        return "over"
    if _one_of(text, point.edit_options):
        return _ask_for_text(run, doing, text)
    directive = next((told for label, told in point.directives.items() if _same(text, label)), None)
    if directive is not None:
        return _directed(run, point, text, directive)
    return _approved(run, point, text)


def _text(point: InteractionPoint, answer: Answer) -> str:
    """The answer as the routing looks at it; whether it approves is not looked at."""
    if answer.choice is not None and answer.choice < len(point.options):
        return point.options[answer.choice]
    return answer.text or answer.feedback or ""


def _say(run: Running, point: InteractionPoint, text: str) -> None:
    if text:
        told = f"User [{point.name}] {text}"
        run.append(CONVERSATION, Entry(told, tokens_of(told)), "interaction")


def _ask_for_text(run: Running, doing: AtPoint, label: str) -> Verdict:
    point, first = doing.point, doing.prompt
    prompt = Prompt(
        id=f"{first.id}-edit", run_id=run.id, kind="edit_text", text=point.prompt, stage=point.name, asked_at=run.now(),
        body=doing.body,
    )  # fmt: skip
    run.put(doing=AtPoint(point, doing.body, prompt, editing=True))
    run.set_status("waiting_input")
    run.snapshot()
    return "waits"


def _edited(run: Running, point: InteractionPoint, text: str) -> Verdict:
    run.set_status("running")
    _say(run, point, point.edit_options[0] if point.edit_options else "")
    round = run.agent.visit.round
    if round + 1 >= ROUNDS:
        return "proceed"
    if text:
        _say(run, point, f"{EDITED}{text}")
        run.speak(f"## Edited\n{text}")
    run.put_visit(round=round + 1)
    present(run, text or run.agent.said, edited=bool(text))
    return "waits"


def _directed(run: Running, point: InteractionPoint, label: str, directive: str) -> Verdict:
    _say(run, point, label)
    round = run.agent.visit.round
    if round + 1 >= ROUNDS:
        return "proceed"
    _say(run, point, f"directive: {directive}")
    run.put_visit(round=round + 1)
    run.put(doing=READY)
    run.snapshot()
    return "infer"


def _approved(run: Running, point: InteractionPoint, text: str) -> Verdict:
    _say(run, point, text)
    if run.agent.visit.round > 0:
        _say(run, point, APPROVED_REVISION)
    run.put_visit(cursor=run.agent.visit.cursor + 1, round=0)
    return "waits" if present(run) else "proceed"


def _one_of(text: str, labels: Sequence[str]) -> bool:
    return any(_same(text, label) for label in labels)


def _same(text: str, label: str) -> bool:
    return text == label or _plain(text) == _plain(label)


def _plain(text: str) -> str:
    """Dashes of all kinds alike, white space as one blank."""
    return " ".join(text.translate(DASHES).split())
