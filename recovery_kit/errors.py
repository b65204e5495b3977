"""Everything the kit raises, drawn once.

    RecoveryKitError
    ├── NotARun             nothing there that the kit can open (also a LookupError)
    ├── UnsafeName          an id that is no name, a link, a path outside (also a ValueError)
    ├── UnknownMoment       no such run, point, record or call in what was opened (also a KeyError)
    ├── OtherRuntime        what was asked for has no meaning for a run of this agent system (also a TypeError)
    ├── UnknownEngine       an engine version the table does not have (also a ValueError)
    ├── UnknownTemplate     a report's template, or a parameter of one, that is not there (also a ValueError)
    ├── ManifestUnreadable  a manifest that is none
    ├── CannotRestore       a run that cannot be brought back
    │   └── RunBusy         somebody else owns it right now
    ├── PlanOutOfDate       the files are not those the plan was made from
    ├── CannotWrite         this machine or this folder does not let the kit write safely (also an OSError)
    ├── CannotMirror        a branch that cannot be made or resumed
    ├── MissingExtra        an optional package is not installed (also an ImportError)
    └── ReportFailed        the report's notebook stopped; it was kept

Damage inside a run is not here: it is a finding. An error carries a path, an offset and its kind, never text of a run.
"""


class RecoveryKitError(Exception):
    """Base of all: one clear sentence, the file it is about and, where there is one, the byte offset."""

    def __init__(self, path: object = None, sentence: str = "", offset: int | None = None) -> None:
        self.path = None if path is None else str(path)
        self.sentence = sentence
        self.offset = offset
        where = f"{self.path}: " if self.path else ""
        place = f" (at byte {offset})" if offset is not None else ""
        super().__init__(f"{where}{sentence}{place}")

    def __str__(self) -> str:
        return str(self.args[0])


class NotARun(RecoveryKitError, LookupError):
    """Nothing there that the kit can open."""


class UnsafeName(RecoveryKitError, ValueError):
    """An id that is not a plain name, a symbolic link, or a path that leads outside."""


class UnknownMoment(RecoveryKitError, KeyError):
    """No such run, point, record or call in what was opened."""


class OtherRuntime(RecoveryKitError, TypeError):
    """What was asked for has no meaning for a run of this agent system; the sentence says why, or what does it."""


class UnknownEngine(RecoveryKitError, ValueError):
    """An engine version that the kit's table does not have."""


class UnknownTemplate(RecoveryKitError, ValueError):
    """A report's template that is not there, or a parameter that it does not have."""


class ManifestUnreadable(RecoveryKitError, ValueError):
    """A manifest that cannot be read as one."""


class CannotRestore(RecoveryKitError):
    """A run that cannot be brought back."""


class RunBusy(CannotRestore):
    """Another process owns the run directory right now."""


class PlanOutOfDate(RecoveryKitError):
    """The files of a run are not those the plan was made from."""


class CannotWrite(RecoveryKitError, OSError):
    """This machine or this folder does not let the kit write safely."""


class CannotMirror(RecoveryKitError):
    """A branch that cannot be made, edited or resumed."""


class MissingExtra(RecoveryKitError, ImportError):
    """An optional package is not installed; the sentence names the install that helps."""


class ReportFailed(RecoveryKitError):
    """The report's notebook stopped half way; `path` is the executed notebook, which was kept."""
