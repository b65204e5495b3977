"""`certainty`: the ledger of tool calls as a picture, batch by batch, with the evidence of a call on click."""

from collections import Counter
from itertools import groupby
from typing import Any

import traitlets

from recovery_kit.display import count_text, time_text
from recovery_kit.history.calls import Call
from recovery_kit.history.verdict import look_for
from recovery_kit.pictures import Safe, effects_html
from recovery_kit.pictures.vocabulary import CERTAINTY
from recovery_kit.runs.collection import AnyRun, agent_run
from recovery_kit.runs.run import Grown, Run

from .trees import line, whole
from .view import Question, Reply, View, front

MOST_BATCHES = 100
"""Batches in one answer."""


class Effects(View):
    """The calls of a run by batch, each with its certainty. `selected` is the call whose evidence is shown."""

    _esm, _css = front("effects")
    counts: Any = traitlets.List().tag(sync=True)
    """Sign, word, tone and number of each certainty, in the order in which a person looks."""
    picked = traitlets.Int(-1).tag(sync=True)
    come = traitlets.Int(0).tag(sync=True)

    def __init__(self, run: Run, **members: Any) -> None:
        self.run, self.masker = run, run.masker
        super().__init__(counts=self._counts(), **members)

    @property
    def selected(self) -> Call | None:
        """The call whose evidence is shown."""
        return self.run.effects[self.picked] if 0 <= self.picked < len(self.run.effects) else None

    def show(self, run: Run) -> None:
        """Another run in the same place."""
        self.run, self.masker = run, run.masker
        with self.hold_sync():
            self.picked, self.counts, self.come = -1, self._counts(), self.come + 1

    def refresh(self) -> Grown:
        """Read what was appended since; the call that is shown stays."""
        grown = self.run.refresh()
        with self.hold_sync():
            self.counts, self.come = self._counts(), self.come + 1
        return grown

    def _counts(self) -> list[list[Any]]:
        counts = Counter[str](call.certainty for call in self.run.effects)
        return [[look.sign, look.word, look.tone, counts[word]] for word, look in CERTAINTY.items()]

    def _batches(self, question: Question) -> Reply:
        """Batches `first` and on; with `look` only those that hold a call somebody has to look at."""
        rows = [list(rows) for _, rows in groupby(enumerate(self.run.effects), key=lambda row: row[1].offset)]
        if question.get("look"):
            rows = [row for row in rows if any(call.is_unknown for _, call in row)]
        first = max(0, int(question.get("first", 0)))
        return {
            "first": first,
            "of": len(rows),
            "batches": [self._batch(row) for row in rows[first : first + MOST_BATCHES]],
        }

    def _batch(self, rows: list[tuple[int, Call]]) -> list[Any]:
        call = rows[0][1]
        stage = line(self.run.story.stage_of(call), self.masker, 40)
        said = f"turn {count_text(call.iteration)}, {stage}, {time_text(call.started_at)}"
        calls = []
        for number, one in rows[:200]:
            look = CERTAINTY[one.certainty]
            calls.append([number, look.sign, look.word, look.tone, line(one.name, self.masker, 40)])
        return [said, calls]

    def _evidence(self, question: Question) -> Reply:
        """What a call was, how surely it took effect, and which record proves it."""
        number = int(question["call"])
        if not 0 <= number < len(self.run.effects):
            raise IndexError(f"there is no call {number}")
        call, masker = self.run.effects[number], self.masker
        look = CERTAINTY[call.certainty]
        proof = "–" if call.evidence_offset is None else f"the record at byte {count_text(call.evidence_offset)}"
        notes = [f"stood in by restart {call.stood_in_by}" if call.stood_in_by else ""]
        notes += ["ambiguous" if call.ambiguous else "", "behind a tear" if call.behind_tear else ""]
        facts = [
            ["call", line(call.call_id, masker, 80)],
            ["certainty", " · ".join(filter(None, [f"{look.sign} {look.word}", *notes]))],
            ["why", line(call.why, masker, 400)],
            ["proof", proof],
            ["handed out", f"{time_text(call.started_at)}, the batch at byte {count_text(call.offset)}"],
            ["ended", time_text(call.ended_at)],
            ["outcome", call.recorded_outcome or call.derived_outcome or "–"],
        ]
        if call.is_unknown:
            facts.insert(2, ["look for", line(look_for(call), masker, 300)])
        texts = [["arguments", whole(call.arguments, masker, 3000)]]
        if call.result is not None:
            texts.append(["result", whole(call.result, masker, 3000)])
        return {"name": line(call.name, masker, 60), "tone": look.tone, "facts": facts, "texts": texts}

    def _again(self, _: Question) -> Reply:
        return {"records": self.refresh().records}

    ANSWERS = {"batches": _batches, "evidence": _evidence, "again": _again}

    def picture(self) -> Safe:
        return effects_html(self.run.story, self.masker)

    def words(self) -> str:
        said = [f"{sign} {n} {word}" for sign, word, _, n in self.counts if n]
        return f"tool calls of {line(self.run.id, self.masker)}: {', '.join(said) or 'none'}"


def certainty(run: AnyRun) -> Effects:
    """The tool calls of a run, batch by batch, with how surely each took effect; a click or Enter shows the evidence.

    Arrows go from call to call. `.selected` is the call whose evidence is shown. Raises OtherRuntime for a Run of a
    workflow.
    """
    return Effects(agent_run(run, "its verdict and its card tell its boundaries"))
