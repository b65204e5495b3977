"""Questions to people as values, and their answers. Nobody waits here: a prompt stands until somebody answers it."""

from dataclasses import dataclass
from typing import Literal

from recovery_kit.records.journal import Answer, Answered, Interaction

PromptKind = Literal["free_text", "multiple_choice", "confirm", "tool_approval", "edit_text"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """An open question of a run."""

    id: str
    """Unique in its run and process only (0.5-to-0.6 N5.5)."""
    run_id: str
    kind: PromptKind
    text: str
    stage: str
    """Of an interaction point: the point's name, as the records have it."""
    asked_at: int
    options: tuple[str, ...] = ()
    body: str = ""
    """The text under review, if there is one."""
    tool: str | None = None
    arguments: str = ""
    """Of the call that is held, JSON."""

    def settled(self, answer: Answer, at: int) -> Interaction:
        """The record of its end."""
        return Interaction(
            request_id=self.id, kind=self.kind, tool=self.tool, prompt=self.text, stage=self.stage,
            settlement=Answered(answer), asked_at=self.asked_at, at=at,
        )  # fmt: skip

    def given(
        self,
        *,
        approve: bool | str = False,
        deny: bool = False,
        text: str | None = None,
        choice: int | str | None = None,
        feedback: str | None = None,
    ) -> Answer:
        """An answer to it. `approve` may name a scope: `once`, `stage`, `session`. Raises ValueError for one that does
        not fit the question."""
        if bool(approve) and deny:
            raise ValueError("an answer approves or denies, not both")
        if isinstance(choice, str):
            if choice not in self.options:
                raise ValueError(f"{self.id} has no such option")
            choice = self.options.index(choice)
        if choice is not None and not 0 <= choice < len(self.options):
            raise ValueError(f"{self.id} has {len(self.options)} options, counted from 0")
        yes = True if approve else False if deny else None
        if self.kind == "tool_approval" and yes is None:
            raise ValueError(f"{self.id} asks for leave: it is approved or denied")
        if yes is None and text is None and choice is None and feedback is None:
            raise ValueError("an answer says something: approve, deny, text, choice or feedback")
        scope = approve if isinstance(approve, str) else "once" if approve and self.kind == "tool_approval" else None
        if scope not in (None, "once", "stage", "session"):
            raise ValueError("a scope is once, stage or session")
        return Answer(yes, scope, choice, text, feedback)  # type: ignore[arg-type]
