"""The head of a report: what it is about.

Belongs here: the few lines above the verdict. Nothing of this machine is told: no path, no time of making.
"""

from collections.abc import Sequence

from recovery_kit.display import count_text, url_host
from recovery_kit.records.meta import RunMeta
from recovery_kit.runs.collection import AnyRun, Runs
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.run import Run

from .markup import Child, Pen, Safe, el, join
from .verdict import status_badge


def heading(run: Run, title: str = "") -> Safe:
    """The head of a report: what it is about, and by whom it was written."""
    pen, meta = Pen(run.masker), run.meta
    told: list[Child] = [pen.line(meta.agent_name, 80), " · "] if meta else []
    told += [f"{run.runtime}, written by ", pen.line(run.written_by or "an engine nobody can tell", 40), " "]
    name = el("h1", pen.line(title or run.id, 200))
    task = el("p", "Task: ", pen.line(meta.task, 400)) if meta and meta.task else None
    named = el("p", "Title: ", pen.line(meta.title, 200)) if meta and meta.title else None
    calls = el("p", _callback(pen, meta)) if meta and meta.callback_url else None
    known = el("p", el("code", pen.line(run.id, 200)), class_="rk-muted") if title else None
    return join(
        [name, known, el("p", told, status_badge(meta.status if meta else None), class_="rk-muted"), named, task, calls]
    )


def _callback(pen: Pen, meta: RunMeta) -> Safe:
    """The host alone of the address it calls, and whether it signs; never the address or the key."""
    host = url_host(meta.callback_url or "")
    return join(
        [
            "Calls back to ",
            pen.line(host or "an address that cannot be read", 80),
            f"; a signing key is {'' if meta.callback_secret else 'not '}set.",
        ]
    )


def folder_heading(runs: Runs, title: str = "") -> Safe:
    """The head of a report about a folder. Its path is not told: it is of this machine."""
    return join(
        [el("h1", title or count_text(len(runs), "run")), el("p", _statuses(list(runs.values())), class_="rk-muted")]
    )


def _statuses(runs: Sequence[AnyRun]) -> Safe:
    counts: dict[str | None, int] = {}
    for run in runs:
        status = run.verdict.status if isinstance(run, LoomRun) else run.meta.status if run.meta else None
        counts[status] = counts.get(status, 0) + 1
    return join(
        [join([status_badge(status), f" {n}"]) for status, n in sorted(counts.items(), key=lambda c: -c[1])], ", "
    )
