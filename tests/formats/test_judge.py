"""The two judges agree with the engine's reader, and with each other."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recovery_kit.formats import exact
from recovery_kit.formats.judge import _vouched, judge, judge_value, readable
from recovery_kit.formats.tree import Unreadable, parse
from recovery_kit.records.engines import ENGINES
from recovery_kit.records.journal import KINDS, Inference, InferenceUsage, ToolCallDone
from recovery_kit.records.meta import RunMeta
from recovery_kit.records.scalars import ABSENT
from recovery_kit.records.sidecars import FanOut, OpenPoint, StageRecord
from recovery_kit.records.window import Part, RegionName, Window

CASES = Path(__file__).parent.parent / "data" / "cases"
NEW, OLD = ENGINES["0.6.4"], ENGINES["0.4.0"]
NAMES = ["H02-newer-build", "H03-text-that-breaks", "H16-parts-and-blobs", "H20-odd-but-readable"]


def frames(path: Path) -> dict[int, bytes]:
    """Offset and payload of each whole frame."""
    data, at, found = path.read_bytes(), 6, {}
    while at + 8 <= len(data):
        (size,) = struct.unpack_from(">Q", data, at)
        if at + 8 + size > len(data):
            break
        found[at] = data[at + 8 : at + 8 + size]
        at += 8 + size
    return found


def runs(case: str) -> list[tuple[str, dict[str, Any], dict[int, bytes]]]:
    expected = json.loads((CASES / case / "expect.json").read_text())["runs"]
    return [(name, row, frames(CASES / case / "input" / name / "run.lvr")) for name, row in expected.items()]


FRAMES = [payload for case in NAMES for _, _, found in runs(case) for payload in found.values()]
WRITTEN = [payload for payload in FRAMES if _vouched(payload, "0.6.4")]
DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("case", NAMES)
def test_field_cases(case: str) -> None:
    """Of the field cases' frames exactly those are unreadable that the engine steps over, for each engine asked."""
    for name, row, found in runs(case):
        for version, expected in [("0.6.4", row), *row.get("by_engine", {}).items()]:
            if "n_unreadable" not in (expected.get("journal") or {}):
                continue
            answers = {at: judge(payload, ENGINES[version]) for at, payload in found.items()}
            refused = {at: answer for at, answer in answers.items() if not answer.readable}
            assert len(refused) == expected["journal"]["n_unreadable"], (name, version)
            assert all((answer.record is None) is (at in refused) for at, answer in answers.items())
            if "unreadable" in expected:
                told = [{"offset": at, "bytes": len(found[at]), "kind": no.kind} for at, no in refused.items()]
                assert told == expected["unreadable"]


def test_frame_by_frame() -> None:
    """Every frame of the odd journals is judged as listed."""
    listed = json.loads((CASES / "H20-odd-but-readable" / "expect.json").read_text())["engine_reads"]
    for name, rows in listed.items():
        found = frames(CASES / "H20-odd-but-readable" / "input" / name / "run.lvr")
        for row in rows:
            assert judge(found[row["offset"]], NEW).readable is row["readable"], row["what"]
            assert readable(memoryview(found[row["offset"]]), NEW) is row["readable"], row["what"]


def normal(value: Any) -> Any:
    """A record as plain data; values of any shape as data too, whichever way their bytes are ordered."""
    if isinstance(value, msgspec.Raw):
        return None if value == ABSENT else orjson.loads(bytes(value))
    if isinstance(value, msgspec.Struct):
        return {name: normal(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {name: normal(item) for name, item in value.items()}
    return [normal(item) for item in value] if isinstance(value, tuple) else value


def test_quick_and_exact_give_the_same_record() -> None:
    """What the quick judge vouches for the exact one reads as the same record, for a new engine and an old one."""
    assert len(WRITTEN) > 70
    for payload in WRITTEN:
        for engine in (NEW, OLD):
            quick = judge(payload, engine)
            try:
                kind, record = exact.read_record(payload, engine)
            except Unreadable as no:
                assert quick.why == no.why
                continue
            assert (quick.kind, normal(quick.record)) == (kind, normal(record))


ORDINARY = (
    b'{"ToolCallDone":{"iteration":1,"call_id":"c","execution_id":"x","result":"r","outcome":"failed","at":1790000000}}'
)
ATTEMPT = (
    b'{"InferenceAttempt":{"stage":"s","attempt":1,"provider":"p","model":"m","outcome":"succeeded","duration_ms":1,'
    b'"backoff_ms":0,"digest":{"system_hash":18446744073709551615,"messages":1,"tools":1,"max_tokens":1,'
    b'"temperature":1},"at":1}}'
)
WINDOW = (
    b'{"ContextCheckpoint":{"snapshot":{"stage_name":"s","total_tokens":1,"max_tokens":9,"regions":[{"name":"n",'
    b'"kind":"pinned","current_tokens":1,"max_tokens":9,"entries":[{"content":"c","tokens":1,"kind":{"type":'
    b'"AssistantTurn","tool_calls":[{"id":"i","name":"n","arguments":{}}]},"metadata":null}]}]},"at":1}}'
)
DELTA = (
    b'{"ContextDiff":{"delta":{"stage_name":"s","total_tokens":1,"max_tokens":9,"regions":[{"Append":{"name":"n",'
    b'"entries":[{"content":"c","tokens":1,"kind":{"type":"AssistantTurn","tool_calls":[{"id":"i","name":"n",'
    b'"arguments":{}}]}}],"current_tokens":1}}]},"at":1}}'
)
PROMPT = (
    b'{"Interaction":{"request_id":"q","kind":"tool_approval","prompt":"?","stage":"s","settlement":'
    b'{"answered":{"approved":true,"scope":"run"}},"asked_at":1,"at":2}}'
)
LONG = ORDINARY.replace(b'"c"', b'"' + b"c" * 5000 + b'"')


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


READS: list[tuple[bytes, bytes, bytes, str | None]] = [
    (ORDINARY, b"", b"", None),
    (ORDINARY, b'"r"', b"[]", None),
    (ORDINARY, b'"r"', b"null", "wrong_type"),
    (ORDINARY, b'"r"', b'{"mime_type":"text/plain","body":"b"}', "wrong_type"),
    (ORDINARY, b'"r"', b'[{"mime_type":" Text/Plain ","body":"b"}]', None),
    (ORDINARY, b'"r"', b'[{"mime_type":"text/plain;charset=utf-8","body":"b"}]', "mime_type"),
    (ORDINARY, b'"r"', b'[{"mime_type":"text","body":"b"}]', "mime_type"),
    (ORDINARY, b'"r"', b'[{"mime_type":"a/b","body":"b","x":1e999}]', "number_range"),
    (ORDINARY, b'"r"', b'[{"mime_type":"a/b","body":"b","x":"\xff"}]', "not_utf8"),
    (ORDINARY, b'"r"', b'[{"mime_type":"a/b","body":"b","deliver":"post"}]', "unknown_word"),
    (ORDINARY, b'"r"', b'["a/b"]', "wrong_type"),
    (ORDINARY, b'"r"', b'[["a/b","b"]]', None),
    (ORDINARY, b'"failed"', b"null", None),
    (ORDINARY, b'"failed"', b'{"failed":null}', None),
    (ORDINARY, b'"failed"', b'{"failed":1}', "wrong_type"),
    (ORDINARY, b'"x"', b"null", "wrong_type"),
    (ORDINARY, b"1790000000", b"-0", "wrong_type"),
    (ORDINARY, b"1790000000", b"1e0", "wrong_type"),
    (ORDINARY, b"1790000000", b"01", "not_json"),
    (ORDINARY, b"1790000000", b"9223372036854775808", "number_range"),
    (ORDINARY, b"1790000000", b"-9223372036854775808", None),
    (ORDINARY, b'"iteration":1', b'"iteration":-1', "number_range"),
    (ORDINARY, b'"iteration":1', b'"iteration":18446744073709551615', None),
    (ORDINARY, b'"iteration":1', b'"iteration":18446744073709551616', "number_range"),
    (ORDINARY, b'"iteration":1', b'"iteration":1,"iteration":1', "duplicate_member"),
    (ORDINARY, b'"iteration":1', b'"iteration":1,"other":1,"other":"\xff"', None),
    (ORDINARY, b'"iteration":1', b'"iteration":1,"other":' + DEEP, None),
    (ORDINARY, b'"iteration":1', b'"iteration":1,"\xff":1', "not_utf8"),
    (ORDINARY, b'"iteration":1', b'"iteration":1,"other":"\t"', "not_json"),
    (ORDINARY, b'"iteration":1,', b"", "missing_member"),
    (ORDINARY, b'"iteration"', b' \n"iter\\u0061tion" ', None),
    (ORDINARY, b"}}", b"}} \r\n", None),
    (ORDINARY, b"}}", b"}}x", "trailing"),
    (ORDINARY, b"}}", b"}", "not_json"),
    (ORDINARY, b"}}", b'},"more":1}', "not_one_member"),
    (ORDINARY, b"ToolCallDone", b"BudgetAdjusted", "unknown_kind"),
    (LONG, b"", b"", None),
    (LONG, b'"r"', '"caf\u00e9"'.encode(), None),
    (LONG, b'"r"', b'"\\u00e9\\/"', None),
    (LONG, b'"r"', b'"\xe9"', "not_utf8"),
    (LONG, b'"r"', b'"\\ud83d"', "surrogate"),
    (LONG, b'"r"', b'"\n"', "not_json"),
    (LONG, b'"r"', b"5", "wrong_type"),
    (LONG, b'"r"', b"null", "wrong_type"),
    (LONG, b'"r"', b"[]", None),
    (ATTEMPT, b"", b"", None),
    (ATTEMPT, b"18446744073709551615", b"18446744073709551616", "number_range"),
    (ATTEMPT, b'"attempt":1', b'"attempt":4294967296', "number_range"),
    (ATTEMPT, b'"temperature":1', b'"temperature":1e999', "number_range"),
    (ATTEMPT, b'"succeeded"', b'"failed"', "wrong_type"),
    (ATTEMPT, b'"succeeded"', b'{"failed":["timeout",true,false,"same_model"]}', None),
    (ATTEMPT, b'"outcome"', b'"finish_reason":"a word of tomorrow","outcome"', None),
    (WINDOW, b"", b"", None),
    (WINDOW, b'"arguments":{}', b'"arguments":' + nested(117), None),
    (WINDOW, b'"arguments":{}', b'"arguments":' + nested(118), "too_deep"),
    (WINDOW, b'"arguments":{}', b'"arguments":' + DEEP, "too_deep"),
    (WINDOW, b'"arguments":{}', b'"arguments":{"a":1,"a":2}', None),
    (WINDOW, b'"arguments":{}', b'"arguments":1e999', "number_range"),
    (WINDOW, b'"arguments":{}', b'"arguments":"\\ud83d"', "surrogate"),
    (WINDOW, b'"metadata":null', b'"taint":null', "wrong_type"),
    (WINDOW, b'"metadata":null', b'"taint":"internal"', "unknown_word"),
    (WINDOW, b'"metadata":null', b'"other":"\\ud83d"', None),
    (WINDOW, b'"type":"AssistantTurn"', b'"type":"Text","other":"\\ud83d"', "surrogate"),
    (WINDOW, b'"type":"AssistantTurn"', b'"type":"Text","type":"Text"', "duplicate_member"),
    (WINDOW, b'"type":"AssistantTurn"', b'"type":"Thought"', "unknown_word"),
    (DELTA, b"", b"", None),
    (DELTA, b'"arguments":{}', b'"arguments":' + nested(116), None),
    (DELTA, b'"arguments":{}', b'"arguments":' + nested(117), "too_deep"),
    (DELTA, b'{"Append":', b'{"Clear":{"name":"n"},"Append":', "wrong_type"),
    (DELTA, b'[{"Append"', b'[{},{"Append"', "wrong_type"),
    (DELTA, b'[{"Append"', b'[{"Clear":null},{"Append"', "wrong_type"),
    (DELTA, b'[{"Append":', b'[{"Other":1,"Append":', "wrong_type"),
    (DELTA, b'"stage_name":"s"', b'"other":{"a":[1]},"stage_name":"s"', None),
    (DELTA, b'"stage_name":"s"', b'"other":{"a":[1]},"stage_name":1', "wrong_type"),
    (DELTA, b'"total_tokens":1', b'"other":1,"total_tokens":1e16', "wrong_type"),
    (DELTA, b'[{"Append"', b'[{"Remove":["n"]},{"Append"', None),
    (PROMPT, b"", b"", None),
    (PROMPT, b'{"answered":{"approved":true,"scope":"run"}}', b'"answered"', "wrong_type"),
    (PROMPT, b'{"answered":{"approved":true,"scope":"run"}}', b'{"answered":{}}', None),
    (PROMPT, b'{"answered":{"approved":true,"scope":"run"}}', b'{"refused":null}', None),
    (PROMPT, b'"approved":true', b'"approved":true,"other":"\\ud83d"', None),
    (PROMPT, b'{"answered":', b'{"other":1,"answered":', "wrong_type"),
]


@pytest.mark.parametrize(("payload", "old", "new", "why"), READS)
def test_one_oddness_at_a_time(payload: bytes, old: bytes, new: bytes, why: str | None) -> None:
    """One change to an ordinary record, and what the engine makes of it."""
    answer = judge(payload.replace(old, new, 1) if old else payload, NEW)
    assert answer.why == why
    assert (answer.record is None) is (why is not None)


def test_values_the_engines_way() -> None:
    """Keys sorted and the last of two, 2**64 a float, a lone plain part its text, `run` read as `session`."""
    odd = b'"arguments":{"b":1,"a":18446744073709551616,"b":-0,"c":{"z":[],"y":null}}'
    kind = judge(WINDOW.replace(b'"arguments":{}', odd), NEW).record.snapshot.regions[0].entries[0].kind
    assert bytes(kind.tool_calls[0].arguments) in (
        b'{"a":1.8446744073709552e19,"b":-0.0,"c":{"y":null,"z":[]}}',
        b'{"a":1.8446744073709552e+19,"b":-0.0,"c":{"y":null,"z":[]}}',
    )
    lone = judge(ORDINARY.replace(b'"r"', b'[{"mime_type":"text/plain","body":"say \\"hi\\""}]'), NEW)
    assert lone.record.result == 'say "hi"'
    named = judge(ORDINARY.replace(b'"r"', b'[{"mime_type":"TEXT/plain","body":"b","name":"n"}]'), NEW)
    assert named.record.result == (Part("text/plain", "b", "n"),)
    assert judge(PROMPT, NEW).record.settlement.answered.scope == "session"
    removed = judge(DELTA.replace(b'[{"App', b'[{"Remove":["n"]},{"App'), NEW).record.delta.regions[0]
    assert removed.remove == RegionName("n")


def test_an_older_engine_steps_over_what_it_does_not_know() -> None:
    """For 0.4.0 newer members are unknown ones, newer kinds unreadable, contents texts and arrays shorter."""
    done = judge(ORDINARY, OLD)
    assert done.record == ToolCallDone(iteration=1, call_id="c", result="r", at=1790000000)
    assert judge(ORDINARY.replace(b'"failed"', b'"a word of tomorrow"'), OLD).readable
    assert judge(b'{"ToolCallDone":[1,"c","r",2]}', OLD).record.at == 2
    assert not judge(b'{"ToolCallDone":[1,"c","r",2]}', NEW).readable
    assert judge(ORDINARY.replace(b'"r"', b'[["a/b","b"]]'), OLD).why == "wrong_type"
    assert (judge(ATTEMPT, OLD).kind, judge(ATTEMPT, OLD).why) == ("InferenceAttempt", "unknown_kind")
    parked = FANNED.replace(b"REASON", b'{"reason":"needs_setup","blocker":"provider_failed","remedy":"r"}')
    assert judge_value(parked, RunMeta, OLD).why == "unknown_word"
    assert judge_value(parked, RunMeta, NEW).readable


FANNED = orjson.dumps(
    {
        "run_id": "r", "agent_name": "a", "agent_path": "p", "task": "t", "status": "paused", "current_stage": "s",
        "stage_index": 0, "num_stages": 1, "iteration": 0, "prompt_tokens": 0, "completion_tokens": 0, "workdir": "w",
        "started_at": 1, "updated_at": 1, "waiting_on": "@",
    }
).replace(b'"@"', b"REASON")  # fmt: skip


def test_bills_need_their_cache_counts() -> None:
    """A member without a stated default is required (3.3)."""
    bill = InferenceUsage(
        stage="s",
        iteration=1,
        provider="p",
        model="m",
        prompt_tokens=1,
        completion_tokens=1,
        cached_tokens=2,
        cache_write_tokens=0,
        at=1,
    )
    payload = msgspec.json.encode({"InferenceUsage": bill})
    assert judge(payload, NEW).readable
    assert judge(payload.replace(b'"cached_tokens":2,', b""), NEW).why == "missing_member"


def test_files() -> None:
    """The JSON files go by the same rules, pretty or not, one value or a list of them."""
    meta = next((CASES / "H16-parts-and-blobs").glob("input/runs/*/meta.json")).read_bytes()
    pretty = orjson.dumps(orjson.loads(meta), option=orjson.OPT_INDENT_2)
    assert judge_value(meta, RunMeta, NEW).record == judge_value(pretty, RunMeta, NEW).record
    assert judge_value(meta[:-9], RunMeta, NEW).why == "not_json"
    fan_out = next((CASES / "H16-parts-and-blobs").glob("input/runs/*/fanout.json")).read_bytes()
    assert judge_value(fan_out, FanOut, NEW).record.parts
    assert judge_value(b'{"cursor":0,"round":1,"body":"b"}', OpenPoint, NEW).record == OpenPoint(0, 1, "b")
    stage = b'{"name":"s","index":0,"status":"active","prompt_tokens":1,"completion_tokens":1}'
    assert len(judge_value(b"[" + stage + b"," + stage + b"]", tuple[StageRecord, ...], NEW).record) == 2
    assert judge_value(b"[" + stage + b",{}]", tuple[StageRecord, ...], NEW).why == "missing_member"
    assert judge_value(b'["s",0,0,[]]', Window, NEW).record == Window("s", 0, 0, ())
    bare = FANNED.replace(b"REASON", b'null,"final_output":{"stage":"s","submitted_at":1,"artifacts":["a.md"]}')
    assert judge_value(bare, RunMeta, NEW).record.final_output.artifacts == ("a.md",)


def scrambled(value: Any, rng: random.Random, place: str = "record") -> bytes:
    """The same value with members in another order, white space and, where nobody looks, members nobody knows."""
    space = rng.choice([b"", b" ", b"\n\t"])
    if isinstance(value, list):
        return b"[" + b",".join(space + scrambled(item, rng, "member") for item in value) + space + b"]"
    if not isinstance(value, dict):
        return orjson.dumps(value)
    pairs = [orjson.dumps(key) + space + b":" + scrambled(item, rng, "member") for key, item in value.items()]
    rng.shuffle(pairs)
    return b"{" + space + b",".join(pairs) + space + b"}"


UNKNOWN = [b'"zz":1e999', b'"zz":"\xff\\udc00"', b'"zz":[[[{"at":1}]]],"zz":-0', b'"\\u007az":null']


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(WRITTEN), st.integers(0, 2**32), st.sampled_from(UNKNOWN))
def test_order_space_and_unknown_members_change_nothing(payload: bytes, seed: int, unknown: bytes) -> None:
    """A record whose members are shuffled, spaced and joined by unknown ones reads the same."""
    ((kind, body),) = orjson.loads(payload).items()
    other = b'{"' + kind.encode() + b'":' + scrambled(body, random.Random(seed))[:-1] + b"," + unknown + b"}}"
    answer = judge(other, NEW)
    assert answer.readable, answer.why
    assert normal(answer.record) == normal(judge(payload, NEW).record)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(WRITTEN), st.data())
def test_a_known_member_twice_is_fatal(payload: bytes, data: st.DataObject) -> None:
    """Repeating any known member of a record makes it unreadable, whichever of the two would count."""
    ((kind, body),) = orjson.loads(payload).items()
    name = data.draw(st.sampled_from(sorted(body)))
    again = orjson.dumps({name: body[name]})[1:-1]
    answer = judge(b'{"' + kind.encode() + b'":{' + again + b"," + orjson.dumps(body)[1:] + b"}", NEW)
    assert (answer.kind, answer.why) == (kind, "duplicate_member")


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text('{}[]":,\\ud8e1-0.n', max_size=40).map(str.encode)))
def test_any_bytes_get_an_answer(payload: bytes) -> None:
    """Bytes of any sort are judged, never raised about; and Python's parser takes whatever counts as JSON here."""
    for engine in (NEW, OLD):
        assert judge(payload, engine).readable is readable(payload, engine)
        judge_value(payload, Window, engine)
    try:
        parse(payload)
    except Unreadable:
        return
    json.loads(payload.decode("utf-8", "surrogateescape"))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(WRITTEN), st.data())
def test_damaged_records_get_one_answer(payload: bytes, data: st.DataObject) -> None:
    """With a byte changed or bytes cut out the quick judge never vouches for what the exact one refuses."""
    at = data.draw(st.integers(0, len(payload) - 1))
    cut = data.draw(st.integers(0, 3))
    damaged = payload[:at] + data.draw(st.binary(max_size=2)) + payload[at + cut :]
    try:
        exact.read_record(damaged, NEW)
        expected = True
    except Unreadable:
        expected = False
    assert readable(damaged, NEW) is expected


def test_every_kind_has_a_reader() -> None:
    """Reserved kinds are read as well (3.3)."""
    call = {"id": "i", "name": "n", "arguments": "{}"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 0, "cache_write_tokens": 0}
    body = {
        "stage": "s", "iteration": 1, "at": 1,
        "request": {"model": "m", "system": [], "messages": [], "tool_names": [], "temperature": 0.5, "max_tokens": 1},
        "response": {"content": "c", "tool_calls": [call], **usage},
    }  # fmt: skip
    assert isinstance(judge(orjson.dumps({"Inference": body}), ENGINES["0.1.1"]).record, Inference)
    for kind in KINDS:
        assert judge(f'{{"{kind}":{{}}}}'.encode(), NEW).why == "missing_member"
