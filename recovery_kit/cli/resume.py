"""`resume`: answer what is unknown of a mirror, then let it go on in the kit's own world."""

from pathlib import Path

import click

from recovery_kit.display import Masker
from recovery_kit.errors import CannotMirror, NotARun, UnknownMoment
from recovery_kit.mirrors.mirror import Mirror
from recovery_kit.mirrors.resume import Budget, Resumed, resume_mirror, unanswered
from recovery_kit.recovery.check import masked
from recovery_kit.runs.opening import open_run
from recovery_kit.runs.run import Run
from recovery_kit.runs.runs_named import agent_run_named, runs_root
from recovery_kit.world.agent_world import AgentWorld

from .casting import provider_named, provider_option, tools_named, tools_option
from .choosing import json_option, root_option
from .printing import Page, print_json


@click.command("resume")
@click.argument("mirror", metavar="MIRROR")
@root_option
@click.option(
    "--effect",
    "effects",
    multiple=True,
    metavar="CALL=ANSWER",
    help="What became of an open call: happened:TEXT, did-not, or skip. May be given several times.",
)
@provider_option
@tools_option
@click.option("--source", metavar="RUN", help="The run whose recording is used (default: the mirror's source).")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="Hold it after so many tokens.")
@click.option("--max-usd", type=float, metavar="USD", help="Hold it after so much money.")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="Hold it after so many turns.")
@click.option("--author", default="", help="Who answers.")
@json_option
def resume_command(
    mirror: str, root: Path | None, effects: tuple[str, ...], provider_word: str, tools_word: str | None,
    source: str | None, max_tokens: int | None, max_usd: float | None, max_turns: int | None, author: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Answer what is unknown of a mirror, then let it go on.

    Each answer is a recorded edit, and it goes on as after any restart.
    Without --tools a call gets the recorded result of the same call, else the run stops there.

    Exit status: 0; 1 if something is still unanswered.
    """
    folder = agent_run_named(mirror, "its service lets it go on (recovery-kit loom resume)", root).folder
    if folder is None:
        raise CannotMirror(mirror, "a mirror in an archive cannot go on")
    held = Mirror(folder)
    answers = dict(_answer(text) for text in effects)
    left = unanswered(held, answers)
    if left:
        Page(held.masker).say(f"nobody said yet whether it happened: {', '.join(left)}", "attention")
        return 1
    recording, budget = _source(held, source, root), Budget(max_tokens, max_usd, max_turns)
    with AgentWorld(provider_named(provider_word, recording), tools_named(tools_word, recording)) as world:
        done = resume_mirror(held, world, answers=answers, source=recording, budget=budget, author=author)
    if as_json:
        print_json(masked(_as_json(done), held.masker))
    else:
        _print(done, held.masker)
    return 0


def _answer(text: str) -> tuple[str, str]:
    call, sign, answer = text.rpartition("=") if "=happened:" not in text else _at_happened(text)
    if not sign or not call:
        raise click.UsageError("--effect is CALL=happened:TEXT, CALL=did-not or CALL=skip")
    return call, answer


def _at_happened(text: str) -> tuple[str, str, str]:
    call, _, rest = text.partition("=happened:")
    return call, "=", f"happened:{rest}"


def _source(mirror: Mirror, named: str | None, root: Path | None) -> Run | None:
    """The run of the recording: the one that was named, else the mirror's source beside it or in the folder of runs."""
    if named is not None:
        return agent_run_named(named, "it is no recording of an agent", root)
    for place in (mirror.path.parent, root or runs_root()):
        try:
            return open_run(place / mirror.origin.source)
        except (NotARun, UnknownMoment):
            continue
    return None


def _print(done: Resumed, masker: Masker) -> None:
    page = Page(masker)
    why = f": {done.why}" if done.why else ""
    page.say(f"{done.run_id}: {done.status}, {_ENDS[done.ended]}{why}")
    page.say(f"{done.turns} turns, {done.tokens} tokens, {done.usd:.4f} USD")


_ENDS = {
    "over": "it is over",
    "waiting": "it waits",
    "budget": "its budget is used up",
    "stop": "a condition held it",
    "stopped": "its world stopped",
    "ticks": "it did not end",
}


def _as_json(done: Resumed) -> dict[str, object]:
    return {name: getattr(done, name) for name in ("run_id", "ended", "why", "tokens", "usd", "turns", "status")}
