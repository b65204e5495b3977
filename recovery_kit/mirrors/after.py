"""What a run is known to have done after a cut: the world outside is not rolled back with a mirror.

Read off the ledger of calls and the metadata; nothing here knows what a mirror is.
"""

from dataclasses import dataclass

from recovery_kit.history.calls import Call
from recovery_kit.records.meta import RunMeta
from recovery_kit.runs.run import Run


@dataclass(frozen=True, slots=True)
class AfterCut:
    """What the source did after a cut. Names and paths are raw text of the run."""

    completed: tuple[Call, ...]
    """Calls whose result was recorded after the cut, wherever they were handed out."""
    sent_out: tuple[Call, ...]
    """Calls that were handed out after the cut and of which no result is held: they may have happened."""
    files: tuple[str, ...]
    """Files that its metadata counts as modified by then and not at the cut."""
    children: tuple[str, ...]
    """Runs it spawned since."""
    answered: bool
    """It handed in an answer since."""

    def __bool__(self) -> bool:
        return bool(self.completed or self.sent_out or self.files or self.children or self.answered)

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each kind of thing; nothing where nothing is known."""
        said = [
            _listed("calls that ended after the cut", [_named(c) for c in self.completed]),
            _listed("calls handed out after the cut whose end is unknown", [_named(c) for c in self.sent_out]),
            _listed("files modified after the cut", self.files),
            _listed("runs spawned after the cut", self.children),
            "an answer was handed in after the cut" if self.answered else "",
        ]
        return tuple(sentence for sentence in said if sentence)


MOST_NAMED = 12


def _named(call: Call) -> str:
    return f"{call.call_id} ({call.name})"


def _listed(what: str, names: "tuple[str, ...] | list[str]") -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{what}: {', '.join(names[:MOST_NAMED])}{more}" if names else ""


def done_after(run: Run, end: int, meta: RunMeta) -> AfterCut:
    """What lies behind byte `end` of the journal; `meta` is the metadata at the cut (verified)."""
    state, last = run.story.fold(), run.meta
    newest = (state.read_meta() if state else None) or last or meta
    ended = [c for c in run.effects if c.certainty == "done" and (c.evidence_offset or 0) >= end]
    out = [c for c in run.effects if c.is_unknown and c.offset >= end]
    files = [f for f in newest.flags.modified_files if f not in meta.flags.modified_files]
    children = [c for c in newest.children if c not in meta.children]
    return AfterCut(
        tuple(ended), tuple(out), tuple(files), tuple(children), newest.final_output not in (None, meta.final_output)
    )
