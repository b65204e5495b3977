"""From a window to a request: against requests that a model really received, and rule by rule."""

import base64
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from recovery_kit.formats.manifest import parse_manifest
from recovery_kit.history.pairs import Place
from recovery_kit.records.blueprint import Blueprint
from recovery_kit.records.engines import engine
from recovery_kit.records.window import (
    AssistantTurn,
    BlobRef,
    Content,
    Entry,
    Part,
    Region,
    ToolResult,
    TurnCall,
    Window,
)
from recovery_kit.world.acceptance import violations
from recovery_kit.world.request import Request, assemble
from recovery_kit.world.siphash import siphash13
from recovery_kit.world.situation import Situation

EXAMPLES = Path(__file__).parent.parent / "data" / "requests"
RECORDED = sorted(path for path in EXAMPLES.glob("*.json") if ".window" not in path.name)


@dataclass(frozen=True)
class Example:
    """A window of a run, and the request its model received."""

    window: Window
    blueprint: Blueprint
    stage: str
    situation: Situation
    received: dict[str, Any]

    def request(self, **changes: Any) -> Request:
        return assemble(self.window, self.blueprint, self.stage, replace(self.situation, **changes))


def example(path: Path) -> Example:
    data = json.loads(path.read_text(encoding="utf-8"))
    blobs = {name: base64.b64decode(body) for name, body in data["blobs"].items()}
    situation = Situation(
        rules=engine(data["engine"]),
        entered=tuple(data["entered"]),
        blob=blobs.get,
        previous_hash=0 if data["system_changed"] else None,
    )
    window = msgspec.json.decode(json.dumps(data["window"]), type=Window)
    return Example(window, parse_manifest(data["manifest"]), data["stage"], situation, data["request"])


def named(name: str) -> Example:
    return example(EXAMPLES / f"{name}.json")


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_request_is_the_one_that_was_received(path: Path) -> None:
    """Every block, message, hint, mark, tool and number is as the model double got it."""
    case = example(path)
    assert json.loads(json.dumps(case.request().as_json(whole=True))) == case.received


def test_members_come_in_the_order_of_the_wire() -> None:
    """The JSON form has the members of the recorded form in the same order."""
    form = named("batch-after-restart").request().as_json()
    assert list(form["system"][0]) == ["cache_hint", "region", "text", "volatility"]
    assert list(form["messages"][0]) == ["cache_breakpoint", "content", "role"]


def test_without_the_manifest() -> None:
    """Texts are shown all the same, no tool is offered, and the request says what it had to assume."""
    case = named("batch-after-restart")
    request = assemble(case.window, None, case.stage)
    assert request.as_json()["messages"] == case.received["messages"]
    assert request.tools == () and request.unknown


def test_an_open_fan_out_call_is_left_out() -> None:
    """The call waits for its workers: its turn keeps the text and loses the call."""
    blocks = [block for message in named("open-fan-out-by-tool").request().messages for block, _ in message.blocks()]
    assert all(block.get("name") != "fan_out" for block in blocks)


# Rule by rule, on small windows.

MANIFEST = """
[agent]
[stages.work]
available_tools = ["bash", "read_file", "@subagent", "submit_output", "warehouse__look"]
[stages.work.model.parameters]
max_output_tokens = 900
temperature = 0.25
[context.regions]
rules = { kind = "pinned", volatility = "stable", description = "House rules.", describe_in_prompt = true }
log = { kind = "temporary", volatility = "grows" }
todo = { kind = "checklist" }
facts = { kind = "hashmap" }
conversation = { kind = "sliding_window" }
"""


def entry(text: Content, **members: Any) -> Entry:
    return Entry(text, 1, **members)


def region(name: str, kind: str, *entries: Entry) -> Region:
    return Region(name, kind, len(entries), 10_000, entries)


def asked(*regions: Region, total: int = 100, **situation: Any) -> Request:
    window = Window("work", total, 20_000, regions)
    return assemble(window, parse_manifest(MANIFEST), "work", Situation(**situation))


def said(*entries: Entry) -> Region:
    return region("conversation", "sliding_window", *entries)


def talk(request: Request) -> list[tuple[str, Any]]:
    return [(message.role, message.as_json()["content"]) for message in request.messages]


def test_blocks_are_sorted_by_steadiness() -> None:
    """Stable before growing before rewritten, whatever the order of the regions."""
    request = asked(
        region("facts", "hashmap", entry("v", key="k"), entry("w")),
        region("log", "temporary", entry("a")),
        region("rules", "pinned", entry("b"), entry("")),
    )
    assert [(block.text, block.cache_hint) for block in request.system] == [
        ("## rules\nHouse rules.\n\nb\n\n", "Always"),
        ("[log]:\na", "UntilChanged"),
        ("[facts]:\n### [k]\nv\n\nw", "UntilChanged"),
    ]


def test_a_growing_region_is_cut_into_chunks() -> None:
    """A chunk is closed once it has 2048 tokens; whole entries only."""
    big = "x" * 8192
    blocks = asked(region("log", "temporary", entry(big), entry("y"), entry(big), entry("z"))).system
    assert [block.text[:17] for block in blocks] == ["[log]:\n" + "x" * 10, "[log continued]:\n", "[log continued]:\n"]
    assert blocks[1].text.endswith("y\n\n" + big) and blocks[2].text.endswith("\nz")


def test_checklists_show_items_only() -> None:
    """Open ones first, notes below, and no block at all where nothing is an item."""
    item = Raw(b'{"checklist_id":1,"checklist_done":true,"checklist_note":"paid"}')
    open_item = Raw(b'{"checklist_id":2,"checklist_done":false}')
    entries = [entry("rent", metadata=item), entry("mail", metadata=open_item), entry("loose")]
    listed = region("todo", "checklist", *entries)
    text = "## todo\nChecklist (1 open, 1 done):\n[ ] 2 mail\n[x] 1 rent\n    note: paid"
    assert [block.text for block in asked(listed).system] == [text]
    assert asked(region("todo", "checklist", entry("loose"))).system == ()


def test_roles_of_plain_texts() -> None:
    """A text may name its speaker; else it is the user's, untouched."""
    request = asked(said(entry(" Assistant: hi \n"), entry("User:  you"), entry(" plain ")))
    assert talk(request) == [("assistant", "hi"), ("user", " you"), ("user", " plain ")]


def test_ends_of_a_conversation() -> None:
    """Blank texts go, a user's message is added at the end where there is none, or after the assistant's last."""
    assert talk(asked(said(entry(" \u3000")))) == [("user", "Begin.")]
    turn = entry("done", kind=AssistantTurn(()))
    assert talk(asked(said(turn))) == [("assistant", "done"), ("user", "Begin.")]
    assert talk(asked(said(entry("go"), turn)))[-1] == ("user", "Continue.")
    assert talk(asked(said(entry("\x1c")))) == [("user", "\x1c")]


def test_arguments_that_are_no_object() -> None:
    """0.6.4 wraps them, 0.4.0 sends them as they are; keys are sorted."""
    calls = (TurnCall("a", "shell", Raw(b'"cut of')), TurnCall("b", "shell", Raw(b'{"z":1,"a":{"y":2,"x":3}}')))
    results = [entry("ok", kind=ToolResult(call.id, "shell", False)) for call in calls]
    block = said(entry("", kind=AssistantTurn(calls)), *results)
    first, second = asked(block).messages[0].as_json()["content"]
    assert first["input"] == {"_raw": '"cut of'}
    assert json.dumps(second["input"]) == '{"a": {"x": 3, "y": 2}, "z": 1}'
    assert asked(block, rules=engine("0.4.0")).messages[0].as_json()["content"][0]["input"] == '"cut of'


PICTURE = Part("image/png", BlobRef("ab", "image/png", 3, stand_in="[picture]"), name="p.png")


@pytest.mark.parametrize(
    ("part", "blob", "sent"),
    [
        (PICTURE, b"\x89PN", {"type": "mime", "data": "iVBO"}),
        (PICTURE, None, {"type": "text", "text": "[picture]"}),
        (msgspec.structs.replace(PICTURE, deliver="stand_in"), b"\x89PN", {"type": "text", "text": "[picture]"}),
        (msgspec.structs.replace(PICTURE, deliver="text"), b"abc", {"type": "text", "text": "abc"}),
        (msgspec.structs.replace(PICTURE, deliver="text"), b"\xff", {"type": "text", "text": "[picture]"}),
    ],
)
def test_what_becomes_of_a_part(part: Part, blob: bytes | None, sent: dict[str, str]) -> None:
    """Bytes, text or stand-in, by what it is, what was asked for and what is there."""
    block = talk(asked(said(entry((part,))), blob=lambda sha256: blob))[0][1][1]
    assert sent.items() <= block.items()


def test_the_oldest_parts_give_way() -> None:
    """Where all bytes together are too much, the first parts become stand-ins."""
    request = asked(said(entry((PICTURE,)), entry((PICTURE,))), blob=lambda sha256: b"abc", media_limit=4)
    assert [content[1]["type"] for _, content in talk(request)] == ["text", "mime"]


def test_parts_of_other_regions_are_lifted() -> None:
    """A first message shows them, with region and key, and the bytes; the block shows the stand-in."""
    request = asked(region("facts", "hashmap", entry((PICTURE,), key="k")), blob=lambda sha256: b"abc")
    assert request.system[0].text == "[facts]:\n### [k]\n[picture]"
    assert request.messages[0].content[0] == {"text": "[facts / k] [picture]", "type": "text"}
    assert request.messages[0].places[0] == Place("facts", 0)


def test_tools_come_in_catalogue_order() -> None:
    """Aliases and groups are resolved; a group grants no answer and no fan-out."""
    granted = ("read_file", "shell", "submit_output", "spawn_agent", "check_agent", "wait_for_agent", "send_to_agent",
               "kill_agent")  # fmt: skip
    assert asked().tools == granted
    assert asked(extra_tools=("other__look", "warehouse__look")).tools == (*granted, "warehouse__look")


def test_the_output_limit() -> None:
    """What is left of the window, less a sixteenth of what is used since 0.5.5, up to the cap, at least 1."""
    assert asked().max_tokens == 900
    assert asked(cap_raised=True).max_tokens == 8000
    assert asked(total=18_800).max_tokens == 25
    assert asked(total=18_800, rules=engine("0.4.0")).max_tokens == 900
    assert asked(total=18_800, shortfall=5_000).max_tokens == 1
    assert asked().temperature == 0.25 and asked(takes_temperature=False).temperature == 0.0


def test_a_routing_call() -> None:
    """It is short, cold, and without tools unless the provider can be told not to call."""
    window = Window("work", 100, 20_000, ())
    blueprint = parse_manifest(MANIFEST)
    request = assemble(window, blueprint, "work", routing=True)
    assert (request.max_tokens, request.temperature, request.tools) == (256, 0.0, ())
    assert assemble(window, blueprint, "work", Situation(forbids_calls=True), routing=True).tools


def test_the_region_changed_last_is_marked() -> None:
    """From the newest changed block on, hints say so; after a restart nothing is newer."""
    regions = [region("facts", "hashmap", entry("v")), region("findings", "compacting", entry("w"))]
    assert [block.cache_hint for block in asked(*regions).system] == ["UntilChanged"] * 2
    marked = asked(*regions, changed_at={"facts": 5, "findings": 9}).system
    assert [block.cache_hint for block in marked] == ["UntilChanged", "RecentlyChanged"]


def test_models_that_lack_something() -> None:
    """Without a system prompt it is folded into the first message; without tools calls become text."""
    calls = (TurnCall("a", "shell", Raw(b'{"c":1}')),)
    conversation = said(entry("x", kind=AssistantTurn(calls)), entry("ok", kind=ToolResult("a", "shell", False)))
    rules = region("facts", "hashmap", entry("v"))
    flat = asked(rules, conversation, takes_tools=False, takes_system_prompt=False)
    assert flat.system == () and flat.tools == ()
    assert talk(flat) == [
        ("assistant", [{"text": 'x\n[called shell with {"c":1}]', "type": "text"}]),
        ("user", [{"text": "[facts]:\nv", "type": "text"}, {"text": "[tool result]\nok", "type": "text"}]),
    ]
    assert talk(asked(rules, takes_system_prompt=False)) == [("user", "[facts]:\nv")]


def test_siphash_of_known_bytes() -> None:
    """The reference vector of a window with one entry, as the engine's own code hashes its parts."""
    text = b"hi\xff" + b"text/plain\xff" + bytes(8) + (1).to_bytes(8, "little") + bytes(8)
    kind, null, taint = b'{"type":"Text"}\xff', b"null\xff", b'"Internal"\xff'
    assert f"{siphash13(text + kind + null + taint):016x}" == "29ae76e358bd7e96"


# What a vendor refuses.


def test_repeated_ids_are_refused() -> None:
    """Both vendors want one id for one call; the place is the entry with the second one."""
    request = named("repeated-ids-after-restart").request()
    for api in ("anthropic", "openai"):
        repeated = [v for v in violations(request, api) if v.rule == "call_id_repeated"]
        assert repeated and all(v.place.region == "conversation" and v.id and v.certain for v in repeated)


def test_a_part_between_results() -> None:
    """A part right after its own result stands before the next one: refused by one vendor, sent behind by the other."""
    request = named("parts").request()
    assert "results_not_first" in {violation.rule for violation in violations(request, "anthropic")}
    assert violations(request, "openai") == ()


def test_what_may_be_refused_is_not_certain() -> None:
    """A first message of the assistant has been refused by some versions; no reference says so."""
    (violation,) = violations(named("batch-after-restart").request(), "anthropic")
    assert violation.rule == "first_is_assistant" and not violation.certain
    assert str(violation.place) == "conversation/0"


def test_odd_ids_names_and_numbers() -> None:
    """Characters, lengths, blank texts and ranges are looked at where each vendor limits them."""
    calls = (TurnCall("a b", "n" * 70, Raw(b"{}")),)
    turn = entry((Part("text/plain", " "),), kind=AssistantTurn(calls))
    request = replace(asked(said(entry("go"), turn, entry("ok", kind=ToolResult("a b", "n", False)))), temperature=1.5)
    assert [v.rule for v in violations(request, "anthropic")] == ["call_id", "blank_text", "temperature"]
    assert [v.rule for v in violations(request, "openai")] == ["tool_name"]
    with pytest.raises(ValueError, match="anthropic, openai"):
        violations(request, "another")
