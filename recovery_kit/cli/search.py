"""`search`: where a text stands."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from recovery_kit.recovery.check import masked
from recovery_kit.runs.collection import AnyRun
from recovery_kit.runs.runs_named import place_named, runs_named
from recovery_kit.runs.search import Hit

from .choosing import json_option, root_option
from .indexed import index_option, looked_up, say_unreadable
from .printing import Page, print_json_rows, progress
from .unread import say_unread


@click.command("search")
@click.argument("text")
@click.argument("path", required=False)
@index_option
@root_option
@json_option
def search_command(text: str, path: str | None, indexed: bool, root: Path | None, as_json: bool) -> int:
    """Where a text stands, in one run or many.

    PATH is a run, any tree that holds some, or the id of a run (default: --root). Case is ignored; what is masked is
    never found. With --index only tasks, errors and final answers are looked through, and words are found from their
    beginning. Exit status: 0; 1 if nothing was found.
    """
    if not text:
        raise click.BadParameter("an empty text stands everywhere", param_hint="TEXT")
    if indexed:
        return _search_indexed(text, place_named(path, root), as_json)
    runs = list(runs_named(path, root).values())
    hits = ((run, hit) for run in progress(runs, "searching", prints=True) for hit in run.search(text))
    found = _print_json(hits) if as_json else _print(hits)
    if say_unread(*runs):
        return 2
    return 0 if found else 1


def _search_indexed(text: str, place: str, as_json: bool) -> int:
    with looked_up(place) as runs:
        found = list(runs.search(text))
        if as_json:
            print_json_rows({"run_id": f.source.rsplit("/", 1)[-1], **asdict(f)} for f in found)
        for row in [] if as_json else found:
            Page().say(f"{row.source} {row.where}: {row.excerpt}")
        if say_unreadable(runs):
            return 2
        return 0 if found else 1


def _print(hits: Iterable[tuple[AnyRun, Hit]]) -> int:
    found = 0
    for run, hit in hits:
        found += 1
        where = hit.file if hit.offset is None else f"{hit.file}@{hit.offset}"
        words = [run.id, where, "behind a tear" if hit.behind_tear else "", hit.kind or "", hit.member]
        Page(run.masker).say(f"{' '.join(word for word in words if word)}: {hit.excerpt}")
    return found


def _print_json(hits: Iterable[tuple[AnyRun, Hit]]) -> int:
    found = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal found
        for run, hit in hits:
            found += 1
            yield masked({"run_id": run.id, "source": run.source, **asdict(hit)}, run.masker)

    print_json_rows(rows())
    return found
