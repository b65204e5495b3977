"""The same tables for IntLoom Runs: where the cells of each column come from, by the column's name.

A column that is not named here has no meaning for a workflow and stays a gap; so does a table that is not named.
`offset` is the number of a checkpoint's file. (intloom-recovery Part 4)
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from recovery_kit.history.loom_story import LoomCall, LoomPrompt, Moment, seconds
from recovery_kit.records.loom import LoomFinding
from recovery_kit.runs.loom_run import LoomRun

if TYPE_CHECKING:
    from .columns import Column, Kind, Table

Cells = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True)
class _Loom:
    """A table's rows and cells."""

    rows: Callable[[LoomRun], Iterable[Any]]
    cells: Cells


def as_loom(table: "Table") -> "Table":
    """The table with the same columns, filled from IntLoom Runs."""
    loom = _TABLES.get(table.name)
    return filled(table, loom.rows, loom.cells) if loom else filled(table, lambda run: (), {})


def filled(table: "Table", rows: Callable[[LoomRun], Iterable[Any]], cells: Cells) -> "Table":
    """The table with these rows, its cells by the column's name."""
    return replace(table, rows=rows, columns=tuple(_column(c, cells) for c in table.columns))  # type: ignore[arg-type]


def _column(column: "Column", cells: Cells) -> "Column":
    of = cells.get(column.name, _gap)
    kind: Kind = "u64" if column.kind == "point" else column.kind
    offset = cells.get("offset", _gap) if column.kind == "long" else None
    return replace(column, of=of, kind=kind, offset=offset)


def _gap(_: Any) -> None:
    return None


# A row a run.


@dataclass(frozen=True, slots=True)
class _Run:
    run: LoomRun
    last: Moment | None
    prompt: LoomPrompt | None
    error: LoomFinding | None
    calls: tuple[LoomCall, ...]


def _runs(run: LoomRun) -> Iterable[_Run]:
    points = run.points
    calls = tuple(call for call in run.effects if call.kind != "commit")
    open_ = next((prompt for prompt in run.prompts if prompt.settlement == "open"), None)
    yield _Run(run, points[-1] if points else None, open_, next(iter(run.findings), None), calls)


def _of_meta(name: str) -> Callable[[_Run], Any]:
    return lambda row: getattr(row.run.meta, name, None)


def _of_last(get: Callable[[Moment], Any]) -> Callable[[_Run], Any]:
    return lambda row: None if row.last is None else get(row.last)


def _parent(row: _Run) -> str | None:
    lineage = getattr(row.run.meta, "lineage", UNSET)
    return None if lineage is UNSET else lineage.run_id


_RUN_CELLS: Cells = {
    "runtime": lambda row: row.run.runtime,
    "meta_run_id": _of_meta("id"),
    "agent": _of_meta("flow_name"),
    "task": _of_meta("intent"),
    "offset": lambda row: row.run.points[0].offset if row.last else None,
    "status": _of_last(lambda last: last.status),
    "status_shared": _of_last(lambda last: last.status_shared),
    "terminal": _of_last(lambda last: last.boundary == "terminal"),
    "stage": _of_last(lambda last: str(last.cursor)),
    "waits_on": lambda row: row.prompt.kind if row.prompt else None,
    "needs_person": _of_last(lambda last: last.boundary == "waiting" or last.is_paused),
    "started_at": lambda row: seconds(getattr(row.run.meta, "created_at", None)),
    "moved_at": _of_last(lambda last: last.at),
    "n_records": lambda row: len(row.run.records),
    "n_unreadable": lambda row: len(row.run.evidence) - len(row.run.records),
    "n_calls": lambda row: len(row.calls),
    "n_unknown": lambda row: sum(call.is_unknown for call in row.calls),
    "n_prompts": lambda row: len(row.run.prompts),
    "n_lives": lambda row: row.run.verdict.lives,
    "parent": _parent,
    "written_by": lambda row: row.run.written_by,
    "error": lambda row: row.run.verdict.error,
    "n_findings": lambda row: len(row.run.findings),
    "worst_finding": lambda row: "error" if row.run.findings else None,
}


# A row an event.


@dataclass(frozen=True, slots=True)
class _At:
    """Something of a Run with the point that it belongs to."""

    point: int | None
    thing: Any


def _with_points(things: Iterable[Any], run: LoomRun) -> Iterable[_At]:
    index = {moment.offset: moment.index for moment in run.points}
    return (_At(index.get(thing.offset), thing) for thing in things)


def _thing(get: Callable[[Any], Any]) -> Callable[[_At], Any]:
    return lambda row: get(row.thing)


def _named(**names: str) -> dict[str, Callable[[_At], Any]]:
    """Cells that are a member of the thing, by the column's name."""
    return {column: _thing(lambda thing, member=member: getattr(thing, member)) for column, member in names.items()}  # type: ignore[misc]


def _point(row: _At) -> int | None:
    return row.point


_NO: Callable[[Any], bool] = lambda row: False  # noqa: E731


@dataclass(frozen=True, slots=True)
class _File:
    """A checkpoint's file, read or not."""

    offset: int
    moment: Moment | None
    size: int
    why: str | None


def _files(run: LoomRun) -> Iterable[_At]:
    moments = {moment.offset: moment for moment in run.points}
    rows = []
    for file in run.evidence:
        stem = file.name.rsplit("/", 1)[-1].removesuffix(".json")
        number = int(stem) if len(stem) == 8 and stem.isdigit() else 1
        rows.append(_File(number, moments.get(number), file.size, file.why))
    return _with_points(rows, run)


def _of_moment(get: Callable[[Moment], Any]) -> Callable[[_At], Any]:
    return lambda row: None if row.thing.moment is None else get(row.thing.moment)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(msgspec.to_builtins(value), ensure_ascii=False)


def _answer(name: str) -> Callable[[_At], Any]:
    """A member of a confirmation's answer."""
    return _thing(lambda prompt: prompt.answer.get(name) if isinstance(prompt.answer, dict) else None)


@dataclass(frozen=True, slots=True)
class _Written:
    """One operation of a commit."""

    offset: int
    call_id: str
    id: str
    superseded: bool


def _written(run: LoomRun) -> Iterable[_At]:
    commits = [(moment.offset, moment.commits[-1]) for moment in run.points if _is_new_commit(run, moment)]
    rows = [(offset, commit.call_id, operation.id) for offset, commit in commits for operation in commit.operations]
    last = {id: place for place, (_, _, id) in enumerate(rows)}
    return _with_points([_Written(*row, last[row[2]] != place) for place, row in enumerate(rows)], run)


def _is_new_commit(run: LoomRun, moment: Moment) -> bool:
    before = run.points[moment.index - 1].commits if moment.index else ()
    return len(moment.commits) > len(before)


@dataclass(frozen=True, slots=True)
class _Life:
    """An instance of the service that wrote of a Run."""

    offset: int
    index: int
    instance_id: str | None
    began: int | None
    ended: int | None
    records: int


def _lives(run: LoomRun) -> Iterable[_At]:
    groups: list[list[Moment]] = []
    for moment in run.points:
        if not groups or groups[-1][0].instance_id != moment.instance_id:
            groups.append([])
        groups[-1].append(moment)
    lives = [_Life(g[0].offset, index, g[0].instance_id, g[0].at, g[-1].at, len(g)) for index, g in enumerate(groups)]
    return _with_points(lives, run)


_TABLES: dict[str, _Loom] = {
    "runs": _Loom(_runs, _RUN_CELLS),
    "records": _Loom(
        _files,
        _named(offset="offset", bytes="size", why="why")
        | {
            "point": _point,
            "kind": _of_moment(lambda moment: moment.boundary),
            "at": _of_moment(lambda moment: moment.at),
            "readable": _thing(lambda file: file.moment is not None),
            "makes_point": _thing(lambda file: file.moment is not None),
            "behind_tear": _NO,
        },
    ),
    "points": _Loom(
        lambda run: _with_points(run.points, run),
        _named(point="index", offset="offset", at="at", kind="boundary", status="status")
        | {"stage": _thing(lambda moment: str(moment.cursor))},
    ),
    "calls": _Loom(
        lambda run: _with_points(run.effects, run),
        _named(
            offset="offset", call_id="call_id", name="kind", stage="name", result="result", started_at="started_at",
            ended_at="ended_at", certainty="certainty", evidence_offset="evidence_offset", why="why",
        )
        | {"point": _point, "ambiguous": _NO, "behind_tear": _NO},
    ),
    "prompts": _Loom(
        lambda run: _with_points(run.prompts, run),
        _named(
            offset="offset", request_id="request_id", kind="kind", stage="stage", settlement="settlement",
            asked_at="asked_at", settled_at="settled_at",
        )
        | {
            "point": _point,
            "prompt": _thing(lambda prompt: _json(prompt.request)),
            "answer": _thing(lambda prompt: _json(prompt.answer)),
            "approved": _answer("isConfirmed"),
            "feedback": _answer("feedback"),
            "behind_tear": _NO,
        },
    ),
    "artifacts": _Loom(
        _written,
        _named(offset="offset", execution_id="call_id", name="id", superseded="superseded")
        | {"point": _point, "behind_tear": _NO},
    ),
    "incarnations": _Loom(
        _lives,
        _named(
            offset="offset", life="index", world_id="instance_id", began_at="began", ended_at="ended", records="records"
        )
        | {"point": _point, "behind_tear": _NO},
    ),
    "files": _Loom(
        lambda run: run.evidence,
        {
            "name": lambda file: file.name,
            "bytes": lambda file: file.size,
            "sha256": lambda file: file.sha256,
            "why": lambda file: file.why,
        },
    ),
    "findings": _Loom(
        lambda run: run.findings,
        {
            "kind": lambda finding: finding.problem,
            "severity": lambda finding: "error",
            "file": lambda finding: finding.path,
            "sentence": lambda finding: finding.detail,
        },
    ),
}  # fmt: skip
