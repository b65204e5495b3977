"""What single tables tell of runs whose story is known."""

from pathlib import Path

import pandas as pd

from recovery_kit import frames
from recovery_kit.history.entries import standings
from recovery_kit.runs.opening import open_runs

CASES = Path(__file__).parents[1] / "data" / "cases"
CALLS = (
    "run_id source point offset call_id execution_id name stage iteration arguments arguments_offset arguments_bytes "
    "result result_offset result_bytes recorded_outcome derived_outcome rule observed_outcome started_at ended_at "
    "certainty evidence_offset stood_in_by ambiguous behind_tear why"
).split()


def everything(case: str):  # type: ignore[no-untyped-def]
    """The runs of a case."""
    return open_runs(next(CASES.glob(case + "-*")) / "input")


def test_columns_of_calls() -> None:
    """The columns that notebooks rely on, in their order."""
    assert list(frames.calls_df([]).columns) == CALLS


def test_an_event_leads_back_to_its_record() -> None:
    """Every offset in the calls is that of a batch, and its point is the last one before it."""
    runs = everything("H18")
    for run in runs.values():
        points = [point.offset for point in run.points]
        for row in frames.calls_df(run).itertuples():
            assert any(call.id == row.call_id for call in run.record(int(row.offset)).calls)
            before = [n for n, offset in enumerate(points) if offset < row.offset]
            assert row.point == before[-1] if before else row.point is pd.NA


def test_messages_stand_from_first_to_last_point() -> None:
    """At each point the messages that stand there are the entries of its window."""
    for run in (*everything("H18").values(), *everything("H19").values()):
        table = frames.messages_df(run)
        for point in run.points:
            here = table[(table.point <= point.index) & (table.last_point >= point.index)]
            held = {view.name: len(view.entries()) for view in point.window.regions}
            assert here.region.value_counts().to_dict() == {name: n for name, n in held.items() if n}
        assert int(table.stands.sum()) == sum(len(view.entries()) for view in run.points[-1].window.regions)


def test_regions_count_what_points_hold() -> None:
    """Entries of each region at each point, and the digest of an unchanged region stays."""
    for run in everything("H19").values():
        table = frames.regions_df(run)
        counted = [len(view.entries()) for point in run.points for view in point.window.regions]
        assert table.entries.tolist() == counted
        assert table.digest.str.startswith("rg1-").all()


def test_points_are_named_as_the_run_names_them() -> None:
    """The revision column is the state's own; without revisions it is empty and the rest the same."""
    for run in everything("H19").values():
        table = frames.points_df(run)
        assert table.revision.tolist() == [run.at(n).revision or pd.NA for n in range(len(run.points))]
        rest = frames.points_df(run, revisions=False)
        assert rest.revision.isna().all()
        assert rest.drop(columns="revision").equals(table.drop(columns="revision"))


def test_changes_name_their_place_in_the_chain() -> None:
    """Unbroken, explained and unexplained gaps are told apart."""
    links = {
        run.id: set(frames.changes_df(run).link.dropna()) & {"gap", "explained_gap"}
        for run in everything("H19").values()
    }
    assert sorted(map(sorted, links.values())) == [[], [], ["explained_gap"], ["explained_gap"], ["gap"]]


def test_time_adds_up() -> None:
    """Per run the seconds of all intervals are the wall clock, and none overlaps."""
    runs = everything("H17")
    wall = frames.runs_df(runs).set_index("run_id").wall_seconds
    times = frames.time_df(runs)
    for run_id, mine in times.groupby("run_id"):
        assert int(mine.seconds.sum()) == wall[run_id]
        assert (mine.start.iloc[1:].to_numpy() == mine.stop.iloc[:-1].to_numpy()).all()


def test_every_frame_is_listed() -> None:
    """Frames that do not read are rows, marked, with the reason; so are those behind a tear."""
    for run in (*everything("H20").values(), *everything("H02").values(), *everything("H13").values()):
        table = frames.records_df(run)
        inside = table[~table.behind_tear.fillna(False)]
        if run.journal.error is None:
            assert len(inside) == len(run.journal.framing)
        assert table.why.notna().tolist() == (~table.readable).tolist()
        assert table.offset.is_monotonic_increasing


def test_stages_are_marked_by_what_tells_of_them() -> None:
    """Without a ledger stays are rebuilt from bills, and add up to them."""
    for run in everything("H18").values():
        stages, bills = frames.stages_df(run), frames.inferences_df(run)
        assert set(stages.basis) == {"bills"}
        assert stages.prompt_tokens.sum() == bills.prompt_tokens.sum()


def test_bills_name_their_trips() -> None:
    """A trip has the bill that follows it or none; a bill without a trip says so."""
    bills = frames.inferences_df(everything("H18"))
    assert (bills.attempt_offset.isna() == (bills.join_confidence == "none")).all()


def test_files_agree_or_not() -> None:
    """Files that tell of different moments do not agree; hashes are those of the bytes."""
    files = frames.files_df(everything("H05"))
    assert set(files[files.name == "context.json"].agrees.dropna()) >= {False}
    assert files[files.name == "run.lvr"].sha256.str.len().eq(64).all()


def test_findings_can_come_from_elsewhere() -> None:
    """What a restart finds is handed in."""
    runs = everything("H05")
    assert len(frames.findings_df(runs)) == sum(len(run.findings) for run in runs.values())
    assert frames.findings_df(runs, findings=lambda run: ()).empty


def test_nothing_stands_without_points() -> None:
    """A journal without points has no standings."""
    assert standings(()) == []
