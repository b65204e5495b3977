"""Certainty of calls, lives and the time account, held against small journals written for each rule."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from samples import files_of, sample

import recovery_kit as rk
from recovery_kit.formats.framing import PREAMBLE, frame
from recovery_kit.history.approvals import surely_asked
from recovery_kit.runs.run import Run

ID = "desk-1790000001-00000000abcd"
T = 1_790_000_000
META = orjson.loads(files_of(sample("02a-killed-mid-batch"))["meta.json"])
Record = dict[str, Any]


def meta(**members: Any) -> Record:
    plain = {"run_id": ID, "status": "running", "iteration": 0, "updated_at": T, "children": [], "waiting_on": None}
    return META | plain | {"blueprint_digest": None} | members


def header(world: str = "w1") -> Record:
    identity = {"run_id": ID, "machine_id": "m", "world_id": world, "created_at": T}
    return {"Header": {"identity": identity, "meta": meta()}}


def window(at: int = T, entries: tuple[Any, ...] = ()) -> Record:
    tokens = sum(entry["tokens"] for entry in entries)
    region = {"name": "talk", "kind": "pinned", "current_tokens": tokens, "max_tokens": 900, "entries": list(entries)}
    snapshot = {"stage_name": "work", "total_tokens": tokens, "max_tokens": 1000, "regions": [region]}
    return {"ContextCheckpoint": {"snapshot": snapshot, "at": at}}


def progress(iteration: int, at: int, **members: Any) -> Record:
    delta = {"stage_name": "work", "total_tokens": 0, "max_tokens": 1000, "regions": []}
    return {"Progress": {"meta": meta(iteration=iteration, updated_at=at, **members), "delta": delta, "at": at}}


def batch(*calls: tuple[str, str, str], iteration: int = 1, at: int = T + 1) -> Record:
    """Calls as (id, command, execution id)."""
    rows = [
        {
            "id": i,
            "execution_id": x,
            "name": "shell",
            "arguments": orjson.dumps({"command": c}).decode(),
            "result": None,
        }
        for i, c, x in calls
    ]
    return {"ToolBatch": {"calls": rows, "at": at, "stage_index": 0, "iteration": iteration, "response": ""}}


def done(call_id: str, execution_id: str = "", result: str = "ok", iteration: int = 1, **members: Any) -> Record:
    row = {"iteration": iteration, "call_id": call_id, "execution_id": execution_id, "result": result, "at": T + 9}
    return {"ToolCallDone": row | members}


def asked(number: int, settlement: Any, at: int = T + 2) -> Record:
    row = {
        "request_id": f"{ID}-approve-{number}",
        "kind": "tool_approval",
        "tool": "shell",
        "prompt": "?",
        "stage": "work",
    }
    return {"Interaction": row | {"settlement": settlement, "asked_at": at, "at": at + 1}}


def answer(approved: bool, scope: str = "once") -> Record:
    return {"answered": {"approved": approved, "scope": scope}}


def resumed(at: int, world: str) -> list[Record]:
    change = {"revision_before": "cw1-a", "revision_after": "cw1-b", "cause": "resume", "regions": [], "at": at}
    owner = {"machine_id": "m", "world_id": world, "at": at}
    return [{"ContextTransaction": change}, {"OwnershipChanged": owner}, window(at)]


def status(word: str, at: int) -> Record:
    return {"StatusChanged": {"status": word, "at": at}}


def run_of(*records: Record, sidecars: Mapping[str, Any] | None = None, **members: Any) -> Run:
    journal = PREAMBLE + b"".join(frame(orjson.dumps(record)) for record in records)
    files = {"run.lvr": journal, "meta.json": orjson.dumps(meta(**members))}
    files |= {name: orjson.dumps(value) for name, value in (sidecars or {}).items()}
    return rk.open_run({f"{ID}/{name}": data for name, data in files.items()})


def certainties(*records: Record) -> list[str]:
    return [call.certainty for call in run_of(header(), window(), *records, iteration=1).effects]


TWO = (("a", "make x", "x1"), ("b", "make y", "x2"))


@pytest.mark.parametrize(
    ("settlements", "expected"),
    [
        ([answer(False)], ["not_started", "unknown"]),
        ([answer(False), answer(True)], ["not_started", "unknown"]),
        ([answer(True), answer(False)], ["unknown", "not_started"]),
        (["timed_out", answer(False)], ["unknown", "not_started"]),
        (["cancelled"], ["unknown", "unknown"]),
        ([answer(False), answer(False)], ["not_started", "not_started"]),
    ],
)
def test_a_refusal_is_of_the_call_whose_turn_it_was(settlements: list[Any], expected: list[str]) -> None:
    """Questions of a batch come in call order, so what was refused did not start and the rest is unknown."""
    questions = [asked(n, settlement, T + 2 + n) for n, settlement in enumerate(settlements, 1)]
    assert certainties(batch(*TWO), progress(1, T + 1), *questions) == expected


def test_a_refusal_that_may_be_of_several_calls_is_of_none() -> None:
    """A call that an earlier grant covers, or that is harmless, has no question: nothing tells which was refused."""
    granted = (("a", "make x", "x1"), ("b", "make y", "x2"), ("c", "rm z", "x3"))
    found = certainties(batch(*granted), asked(1, answer(True, "stage")), asked(2, answer(False), T + 4))
    assert found == ["unknown", "unknown", "unknown"]
    assert certainties(batch(("a", "ls", "x1"), ("b", "rm z", "x2")), asked(1, answer(False))) == ["unknown", "unknown"]


def test_a_refusal_after_a_restart_is_of_no_earlier_batch() -> None:
    """No approval comes back after a restart, so a question of a later life is about a call of that life."""
    later = [*resumed(T + 50, "w2"), asked(1, answer(False), T + 60)]
    assert certainties(batch(("a", "make x", "x1")), progress(1, T + 1), *later) == ["unknown"]


def test_questions_are_dealt_out_in_call_order() -> None:
    """Only what holds in every way of dealing is told."""
    assert surely_asked([[True, True], [True, True]], [True, True]) == {0: 0, 1: 1}
    assert surely_asked([[True, True]], [False, False]) == {0: 0}
    assert surely_asked([[True, True]], [True, False]) == {}
    assert surely_asked([[False, True]], [True, False]) == {1: 0}


def test_an_execution_id_of_two_batches_is_of_the_batch_of_that_turn() -> None:
    """A completion is never given to a batch that was handed out after it."""
    first, second = batch(("a", "make x", "x")), batch(("a", "make x", "x"), iteration=2, at=T + 20)
    assert certainties(first, done("a", "x"), second) == ["done", "unknown"]
    assert certainties(first, second, done("a", "x", iteration=2)) == ["unknown", "done"]


def test_a_result_that_names_no_execution_is_given_to_none_of_several() -> None:
    """Two executions of one call id, and a completion without an execution id: nobody can say whose it is."""
    assert certainties(batch(("a", "make x", "x1"), ("a", "make y", "x2")), done("a")) == ["unknown", "unknown"]


def test_a_turn_that_left_the_window_again_was_told() -> None:
    """A batch whose turn came into the window is not hidden when compaction takes the turn out again."""
    calls = [{"id": i, "name": "shell", "arguments": {}} for i in ("a", "a")]
    turn = {"content": "", "tokens": 1, "kind": {"type": "AssistantTurn", "tool_calls": calls}, "taint": "Internal"}
    twins = batch(("a", "make x", "x"), ("a", "make x", "x"))
    run = run_of(header(), window(), twins, done("a", "x"), window(T + 10, (turn,)), window(T + 11), iteration=0)
    assert len(run.story.unknown_effects) == 2
    assert run.story.hidden_batch is None
    never = run_of(header(), window(), twins, done("a", "x"), window(T + 10), iteration=0)
    assert never.story.hidden_batch is not None


def seconds(*records: Record, until: int) -> dict[str, int]:
    account = run_of(header(), window(), *records, updated_at=T + until).story.time_account
    assert account is not None
    assert sum(account.seconds.values()) == account.wall_seconds == until
    return {bucket: n for bucket, n in account.seconds.items() if n}


def test_a_run_stays_paused_over_restarts() -> None:
    """A restart pauses a paused run again, so days go to `paused` however many daemons came and went."""
    restarts = [*resumed(T + 1000, "w2"), *resumed(T + 90_000, "w3")]
    assert seconds(progress(1, T + 1, status="paused"), *restarts, until=95_000) == {"paused": 94_999, "unknown": 1}
    paused = [progress(1, T + 1), status("paused", T + 5), *resumed(T + 1000, "w2"), progress(1, T + 1500)]
    assert seconds(*paused, until=1500) == {"paused": 1495, "unknown": 5}


def test_a_run_that_said_it_goes_on_is_not_parked() -> None:
    """A `StatusChanged` after the wait ends it: no lost question, and the silence before the restart is no process."""
    waiting = progress(1, T + 1, status="waiting_input", waiting_on={"reason": "tool_approval"})
    records = [waiting, status("running", T + 50), *resumed(T + 900, "w2"), progress(2, T + 905)]
    assert seconds(*records, until=905)["no_process"] == 850
    assert run_of(header(), window(), *records).prompts == ()


def test_a_run_paged_in_again_by_its_own_process_has_one_life() -> None:
    """The same world named twice is one process, whether or not the run left its memory in between."""
    story = run_of(header(), window(), progress(1, T + 1), *resumed(T + 500, "w1"), progress(2, T + 501)).story
    assert [(life.world_id, life.offset) for life in story.lives] == [("w1", 6)]


def test_an_open_point_is_a_wait_without_a_reason_too() -> None:
    """Engines before 0.3.9 write no reason: the file of the point, which stands only while it is open, tells it."""
    point = {"interactions.json": {"cursor": 0, "round": 0, "body": "b"}}
    run = run_of(header(), window(), sidecars=point, status="waiting_input")
    assert run.verdict.wait.reason == "interaction_point"
    assert run.verdict.wait.needs_person is True
    assert [(p.settlement, p.reason) for p in run.prompts] == [("open", "interaction_point")]
    assert run_of(header(), window(), status="waiting_input").verdict.wait.reason is None


def bill(cost: float | None, reported: bool | None) -> Record:
    row = {"kind": "stage", "stage": "work", "iteration": 1, "provider": "p", "model": "m", "prompt_tokens": 1}
    row |= {"completion_tokens": 1, "cached_tokens": 0, "cache_write_tokens": 0, "at": T + 1}
    row |= {"cost_usd": cost, "cost_reported_by_provider": reported}
    return {"InferenceUsage": row}


def test_a_figure_of_nobody_is_neither_computed_nor_exact() -> None:
    """A figure without a word on whose it is was not worked out from rates, and does not make the sum exact either."""
    cost = run_of(header(), window(), bill(0.5, None)).story.cost
    assert (cost.computed_calls, cost.exact, cost.total_usd) == (0, False, 0.5)
    assert run_of(header(), window(), bill(0.0, True)).story.cost.exact


def test_a_sum_that_no_number_holds_is_no_infinite_bill() -> None:
    """Two figures near the largest float: the total is unknown, and the answer stays JSON."""
    cost = run_of(header(), window(), bill(1e308, True), bill(1e308, True)).story.cost
    assert (cost.total_usd, cost.exact) == (None, False)
    assert cost.priced_usd < float("inf")


def test_an_answer_is_not_billed_by_another_life() -> None:
    """A trip whose process died has no bill, though the next engine bills a call without writing its trip."""
    digest = {"system_hash": 1, "messages": 1, "tools": 1, "max_tokens": 1, "temperature": 0.5}
    trip = {"id": "a1", "stage": "work", "attempt": 1, "provider": "p", "model": "m", "outcome": "succeeded"}
    trip |= {"duration_ms": 1, "backoff_ms": 0, "digest": digest, "at": T + 1}
    attempt = {"InferenceAttempt": trip}
    lost = run_of(header(), window(), attempt, *resumed(T + 50, "w2"), bill(0.5, True)).story.trips
    assert [a.offset for a in lost.unbilled] == [a.offset for a in lost.attempts]
    assert not run_of(header(), window(), attempt, bill(0.5, True)).story.trips.unbilled


def test_a_key_of_an_earlier_record_is_masked_too() -> None:
    """A secret and a token that only the first record holds, or a frame that nobody can read, are shown nowhere."""
    first = header()
    first["Header"]["meta"] |= {
        "callback_secret": "plain words of a key",
        "callback_url": "https://h/x?token=tok_abcdefgh",
    }
    said = batch(("a", "echo plain words of a key tok_abcdefgh hidden in a frame", "x1"))
    odd = {"Progress": {"meta": {"callback_secret": "hidden in a frame"}}}
    (checked,) = rk.check(run_of(first, window(), said, odd))
    shown = orjson.dumps(checked.as_json()).decode()
    assert not any(secret in shown for secret in ("plain words of a key", "tok_abcdefgh", "hidden in a frame"))
