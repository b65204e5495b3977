"""The Workflow of the sample project: collect, write (a model), and publish once a person agrees.

Its identity is that of this file's bytes: a project whose Runs were in it is not continued by any other.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from recovery_kit.looms import END, Stage, Step, Workflow, agent, code, to_stage, to_step

AS_A_TRUTH_VALUE = {"yes": True, "no": False}


class Publication(BaseModel):
    """State of the Stage `publish`. What is given says yes or no."""

    approved: Annotated[bool, BeforeValidator(lambda given: AS_A_TRUTH_VALUE.get(given, given))]


def collect(access: Any) -> str:
    """Code without a way back: if it was under way when the process died, nobody runs it again."""
    access.write_state({"version": "2.4", "items": ["fix A", "fix B"]})
    return "collected"


def prompt(access: Any) -> str:
    """What the model is asked."""
    return f"Write release notes for {access.state['version']}: {', '.join(access.state['items'])}."


def read(access: Any, reply: Any) -> str:
    """Any answer will do."""
    return "written"


@code
def confirm(access: Any) -> str:
    """Asks a person, and survives the wait: see `go_on`."""
    announce(access, "draft")
    answer = access.ask_confirmation(f"Publish the notes? ({access.intent})")
    return publish(access, answer)


@confirm.recover
def go_on(saved: Any, access: Any) -> str:
    """The answer came in another life than the question: what stands before the question is not done again."""
    return publish(access, saved["answer"])


def publish(access: Any, answer: Any) -> str:
    """What follows the answer, in either life."""
    if not answer["isConfirmed"]:
        return "declined"
    announce(access, "published")
    access.write_state({"approved": "yes"})
    return "published"


def announce(access: Any, what: str) -> None:
    """A Record of formal data, under an id that cannot be written twice."""
    payload = {"flowName": access.flow_name, "stageName": "publish", "data": {"what": what, "run": access.run_id}}
    access.commit([{"type": "append_record", "id": f"REC-{what}-{access.run_id}", "payload": payload}])


draft = Stage(
    "draft",
    (
        Step("collect", collect, {"collected": to_step("write")}),
        Step("write", agent(prompt, read), {"written": to_stage("publish")}),
    ),
    start=lambda access: {"version": "2.4", "items": []},
)
publication = Stage(
    "publish",
    (Step("confirm", confirm, {"published": END, "declined": END}),),
    start=lambda access: {"approved": "no"},
    schema=Publication,
)
release_notes = Workflow("release_notes", (draft, publication), version="1")
