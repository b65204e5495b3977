"""Who answers requests: scripts, refusals, recordings; a live model only as far as it can be tried without one."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from samples import run_folders, sample

from recovery_kit.errors import MissingExtra, NotARun
from recovery_kit.formats.rundir import RunFiles
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run
from recovery_kit.world.live import LiveProvider, failure_of
from recovery_kit.world.providers import (
    Failure,
    RefusingProvider,
    Reply,
    ScriptedProvider,
    ToolCall,
    Turn,
    arguments_json,
)
from recovery_kit.world.recorded import RecordedProvider, recorded_turns
from recovery_kit.world.request import Request, assemble

ANY = Request((), (), (), 100, 0.0)


def test_a_script_answers_in_order_and_then_fails() -> None:
    """Replies come one after another; a text is a reply; at the end it is a failure, not an invention."""
    provider = ScriptedProvider(["hello", Reply(text="b", prompt_tokens=3), Failure(kind="timeout", transient=True)])
    answers = [provider.infer(ANY) for _ in range(4)]
    assert answers[0] == Reply(text="hello", finish_reason="complete")
    assert answers[1] == Reply(text="b", prompt_tokens=3)
    assert answers[2] == Failure(kind="timeout", transient=True)
    assert isinstance(answers[3], Failure) and answers[3].why == "the script has no reply left"
    assert provider.requests == [ANY] * 4


def test_a_script_from_a_file(tmp_path: Path) -> None:
    """A JSON file of texts, replies and failures; arguments may be a value or a text, and become sorted JSON."""
    (tmp_path / "s.json").write_text(
        """["hi", {"text": "go", "completion_tokens": 7, "tool_calls": [
            {"id": "c1", "name": "shell", "arguments": {"b": 18446744073709551615, "a": [1.0]}},
            {"id": "c2", "name": "shell", "arguments": "{\\"z\\": 1}"},
            {"id": "c3", "name": "x", "arguments": "{cut"}]},
            {"failure": {"kind": "server-error", "transient": true}}]"""
    )
    provider = ScriptedProvider.from_file(tmp_path / "s.json")
    assert provider.infer(ANY) == Reply(text="hi", finish_reason="complete")
    assert provider.infer(ANY) == Reply(
        text="go",
        completion_tokens=7,
        tool_calls=(
            ToolCall("c1", "shell", '{"a":[1.0],"b":18446744073709551615}'),
            ToolCall("c2", "shell", '{"z":1}'),
            ToolCall("c3", "x", "{cut"),
        ),
    )
    assert provider.infer(ANY) == Failure(kind="server-error", transient=True)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"text": 3}]', '[{"tool_calls": [{}]}]'])
def test_a_script_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    """A file that is no script, or is not there, raises one sentence with its path."""
    (tmp_path / "s.json").write_text(text)
    for name in ("s.json", "missing.json"):
        with pytest.raises(NotARun, match="a script is a JSON array of replies"):
            ScriptedProvider.from_file(tmp_path / name)


def test_refusing_asks_nobody() -> None:
    """The refusing provider keeps what would be asked, and its refusal pauses a run."""
    provider = RefusingProvider()
    assert provider.infer(ANY).blocker == "provider_missing"
    assert provider.requests == [ANY]


def test_arguments_are_written_sorted() -> None:
    """Arguments are compact JSON with sorted keys; what is no JSON stays as it is, without lone surrogates."""
    assert arguments_json({"b": 1, "a": {"d": None, "c": "ä"}}) == '{"a":{"c":"ä","d":null},"b":1}'
    assert arguments_json('{"a": ') == '{"a": '
    assert arguments_json("\ud800") == "?"


# Recordings.


@pytest.fixture(scope="module")
def finished() -> Run:
    return open_run(sample("01-finished"))


def first_request(run: Run) -> Request:
    """What was sent for the first turn: the window of the run's first point."""
    return assemble(run.at(0).window, run.story.blueprint, run.at(0).stage)


def test_a_recording_has_every_turn(finished: Run) -> None:
    """Each billed call has its answer: calls from the batches, the closing text from the window."""
    replies = [turn.reply() for turn in recorded_turns(finished) if turn.found]
    assert len(replies) == len(recorded_turns(finished)) == finished.meta.iteration  # type: ignore[union-attr]
    assert [call.id for reply in replies for call in reply.tool_calls] == [call.call_id for call in finished.effects]
    assert replies[-1].tool_calls == () and replies[-1].text
    assert sum(reply.prompt_tokens for reply in replies) == finished.meta.prompt_tokens  # type: ignore[union-attr]


def test_the_recorded_request_gets_the_recorded_answer(finished: Run) -> None:
    """The request that was sent is answered, by its iteration or in its turn."""
    request = first_request(finished)
    by_turn = RecordedProvider(finished).infer(request, Turn(iteration=1))
    assert isinstance(by_turn, Reply) and by_turn == RecordedProvider(finished).infer(request)
    assert by_turn.tool_calls[0].id == finished.effects[0].call_id


def test_another_request_is_refused_with_the_difference(finished: Run) -> None:
    """A changed prompt, a changed message, a missing message: each is told, and none is answered."""
    request, provider = first_request(finished), RecordedProvider(finished)

    def why(asked: Request, iteration: int = 1) -> str:
        answer = provider.infer(asked, Turn(iteration=iteration))
        assert isinstance(answer, Failure) and answer.blocker == "provider_missing"
        return answer.why

    assert "the system prompt is another one" in why(replace(request, system_hash=1))
    said = replace(request.messages[0], content="something else", places=request.messages[0].places[:1])
    assert "block text of message 0 is not in the recorded window" in why(replace(request, messages=(said,)))
    assert "messages, recorded" in why(replace(request, messages=request.messages * 2))
    assert "tools, recorded" in why(replace(request, tools=()))
    assert "recorded" in why(request, iteration=2)
    assert "has no stage call of iteration 99" in why(request, iteration=99)
    lenient = RecordedProvider(finished, strict=False)
    assert isinstance(lenient.infer(replace(request, system_hash=1), Turn(iteration=1)), Reply)


def test_routing_calls_are_answered_without_the_engines_prefix() -> None:
    """A routing call's answer is what the model said, not the entry that keeps it."""
    provider = RecordedProvider(open_run(sample("13a-stages-and-loops")))
    routed = [turn for turn in provider.turns if turn.usage.kind == "routing"]
    assert routed and all(turn.found for turn in routed)
    answer = provider.infer(ANY, Turn(kind="routing", iteration=routed[0].usage.iteration))
    assert isinstance(answer, Reply) and answer.text in ("gather", "report")


def test_what_is_not_on_record_is_refused() -> None:
    """An older engine kept no closing text, so its last turn cannot be answered."""
    provider = RecordedProvider(open_run(sample("21-older-engine-killed-mid-batch")), strict=False)
    lost = [turn for turn in provider.turns if not turn.found]
    for turn in lost:
        answer = provider.infer(ANY, Turn(iteration=turn.usage.iteration))
        assert isinstance(answer, Failure) and "does not hold what was answered" in answer.why


@pytest.mark.parametrize("folder", run_folders(), ids=lambda path: path.parent.name + "/" + path.name[-6:])
def test_every_call_on_record_is_given_again(folder: Path) -> None:
    """In every sample, each batch is some turn's answer, with its calls as they were handed out."""
    run = open_run(folder)
    given = {turn.batch for turn in RecordedProvider(run).turns if turn.batch}
    billed = {turn.usage.iteration for turn in recorded_turns(run)}
    batches = [e.record for e in run.records if e.kind == "ToolBatch" and not e.behind_tear]
    assert all(batch in given for batch in batches if batch.iteration in billed)


def test_a_run_without_a_journal_answers_nothing() -> None:
    """A run with nothing on record is no error: each request is refused."""

    class Empty:
        label = "nothing"

        def facts(self) -> dict[str, object]:
            return {}

        def read(self, name: str) -> None:
            return None

    run = Run("r", Empty())  # type: ignore[arg-type]
    assert isinstance(run.files, RunFiles) and isinstance(RecordedProvider(run).infer(ANY), Failure)


# Live models.


def test_a_missing_package_names_the_install_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the optional package, asking for a live model says what to install."""
    for name in ("pydantic_ai", "pydantic_ai.direct"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"pip install 'recovery-kit\[live\]'"):
        LiveProvider("test")


class _Told(Exception):
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (_Told(401), Failure(kind="bad-request", reason="auth-failed", blocker="auth_failed")),
        (_Told(402), Failure(kind="bad-request", reason="credits-exhausted", blocker="credits_exhausted")),
        (_Told(403), Failure(kind="bad-request", reason="forbidden", blocker="forbidden")),
        (_Told(429), Failure(kind="server-error", transient=True, capacity=True)),
        (_Told(500), Failure(kind="server-error", transient=True)),
        (_Told(422), Failure(kind="bad-request")),
        (TimeoutError(), Failure(kind="timeout", transient=True, reason="unreachable", blocker="provider_timed_out")),
        (
            ConnectionRefusedError(),
            Failure(kind="transport", transient=True, reason="unreachable", blocker="provider_unreachable"),
        ),
        (ValueError(), Failure(kind="malformed-response")),
    ],
)
def test_failures_of_a_live_model_are_classed(raised: Exception, expected: Failure) -> None:
    """What a model's client raises becomes the engine's classes; no text of the provider is in the sentence."""
    assert structs.replace(failure_of(raised), why="") == expected


def test_a_live_model_is_asked_and_heard() -> None:
    """With the package installed, a request goes out whole and the answer comes back as a reply."""
    function = pytest.importorskip("pydantic_ai.models.function")
    messages = pytest.importorskip("pydantic_ai.messages")
    heard = []

    def answer(asked: list[object], info: object) -> object:
        heard.append(asked)
        return messages.ModelResponse(parts=[messages.ToolCallPart("shell", {"b": 1, "a": 2}, "c9")])

    provider = LiveProvider(function.FunctionModel(answer))
    request = first_request(open_run(sample("01-finished")))
    replies = [provider.infer(request), provider.infer(request)]
    provider.close()
    assert len(heard) == 2
    assert [reply.tool_calls for reply in replies if isinstance(reply, Reply)] == [
        (ToolCall("c9", "shell", '{"a":2,"b":1}'),)
    ] * 2
