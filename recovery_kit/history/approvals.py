"""Which call of a batch an approval was about. Its record names the tool and not the call, so only order tells.

A batch asks in call order, one question at a time, and starts nothing before all are settled; but not every call is asked
for: a grant of an earlier answer covers it, and commands known to be harmless pass. What could be about several calls is
said of none.
"""

from collections.abc import Sequence

import orjson

HARMLESS = frozenset({"ls", "echo", "date", "pwd", "cat", "git", "head", "tail", "wc", "which", "whoami", "true"})
"""First words of shell commands that may pass without a question."""


def passes_unasked(tool: str, arguments: str) -> bool:
    """Whether a call may have been started without anybody being asked, though its tool asks."""
    if tool != "shell":
        return False
    try:
        command = orjson.loads(arguments.encode("utf-8", "surrogatepass")).get("command")
    except (orjson.JSONDecodeError, AttributeError):
        return False
    words = command.split() if isinstance(command, str) else []
    return bool(words) and words[0] in HARMLESS


def surely_asked(fits: Sequence[Sequence[bool]], unasked: Sequence[bool]) -> dict[int, int]:
    """By call, the question that was about it in every way in which the questions can be dealt out in call order.

    `fits[question][call]` says whether the two agree; `unasked[call]` whether the call may have had no question though a
    later call had one. Calls behind the last question were not reached, or needed none.
    """
    questions, calls = len(fits), len(unasked)
    before = [[False] * (calls + 1) for _ in range(questions + 1)]
    after = [[False] * (calls + 1) for _ in range(questions + 1)]
    before[0][0] = True
    for number in range(questions + 1):
        for call in range(calls):
            if before[number][call]:
                if unasked[call] or number == questions:
                    before[number][call + 1] = True
                if number < questions and fits[number][call]:
                    before[number + 1][call + 1] = True
    after[questions] = [True] * (calls + 1)
    for number in range(questions - 1, -1, -1):
        for call in range(calls - 1, -1, -1):
            skipped = unasked[call] and after[number][call + 1]
            after[number][call] = skipped or (fits[number][call] and after[number + 1][call + 1])
    found: dict[int, int] = {}
    for call in range(calls):
        about = [
            number for number in range(questions)
            if before[number][call] and fits[number][call] and after[number + 1][call + 1]
        ]  # fmt: skip
        free = any(
            before[number][call] and (unasked[call] or number == questions) and after[number][call + 1]
            for number in range(questions + 1)
        )
        if len(about) == 1 and not free:
            found[call] = about[0]
    return found
