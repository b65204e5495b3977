"""The rows of a listing out of a catalogue: what `runs.run_rows` makes of a run, told by the index."""

from collections.abc import Iterator

from recovery_kit.runs.run_rows import RunRow

from .catalogue import Catalogue


def run_rows(runs: Catalogue) -> Iterator[RunRow]:
    """The row of every run that could be read. Texts are masked already; no file of a run is opened."""
    for summary in runs.summaries:
        if summary.trouble is not None:
            continue
        cell = summary.row
        run = runs.run(summary.source)
        yield RunRow(
            run=run,
            id=cell["run_id"],
            source=cell["source"],
            agent=cell["agent"],
            status=cell["status_word"],
            terminal=cell["terminal"],
            waits=cell["waits_on_word"],
            needs_person=cell["needs_person"],
            stage=cell["stage"],
            iteration=cell["iteration"],
            moved=cell["moved_at"],
            unknown=cell["n_unknown"] if cell["n_records"] else None,
            cost=cell["cost_usd"],
            cost_exact=summary.cost_exact,
        )
