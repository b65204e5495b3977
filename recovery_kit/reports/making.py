"""A report: the notebook of a template executed with its parameters, then written as one HTML file.

Belongs here: choosing, executing, and what happens when a cell fails. The page itself is made in `page.py`; what stands
in it in the templates' cells, a line each. `papermill recovery_kit/reports/templates/run.ipynb out.ipynb -p run_path …`
runs the same notebook.
"""

import os
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recovery_kit.display import SHAPES_ONLY, Masker, shown
from recovery_kit.errors import MissingExtra, RecoveryKitError, ReportFailed, UnknownTemplate
from recovery_kit.formats.durable import DISK
from recovery_kit.runs.collection import Runs
from recovery_kit.runs.loom_run import LoomRun
from recovery_kit.runs.opening import open_runs
from recovery_kit.runs.run import Run
from recovery_kit.runs.sources import FolderSource

from .page import as_html, without_secrets

TEMPLATES: dict[str, str] = {
    "run": "one run: verdict, timeline, effects, time, cost, window, evidence",
    "folder": "a table of runs, then each of them",
    "branch": "a mirror beside another branch: where they part, its edits, its lineage, its verdict",
    "workflow": "one Run of an IntLoom project: verdict, boundaries, Calls, questions, evidence",
}
"""Templates of the kit, and what they are about. Any other notebook with a `run_path` parameter is one too: give its
path."""

Parameters = Mapping[str, Any]
_CELL_SECONDS = 900
_SPELLABLE = (str, int, float, bool, type(None), list, dict)
"""What a parameters cell can spell; tuples, dates and paths would arrive as something else."""


def template_path(template: str) -> Path:
    """The notebook of a template: one of `TEMPLATES`, or a path to another. Raises UnknownTemplate, a ValueError."""
    if template in TEMPLATES:
        return Path(__file__).parent / "templates" / f"{template}.ipynb"
    path = Path(template)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    raise UnknownTemplate(
        None, f"there is no template {template!r}: it is one of {', '.join(TEMPLATES)}, or a path to a notebook"
    )


def report(
    source: Run | LoomRun | Runs | str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    template: str | None = None,
    parameters: Parameters | None = None,
    keep_notebook: bool = False,
    cell_seconds: int = _CELL_SECONDS,
) -> Path:
    """A report about a run or several, written to the file `to`; returns its path. Depth: verified.

    `template`: by default `run` for one run, `workflow` for one of an IntLoom project, and `folder` for more.
    `parameters`: those of the template's first cell but `run_path`. `keep_notebook`: keep the executed notebook beside
    it. `cell_seconds`: seconds that a cell may take. All text in both files is masked.

    Raises ReportFailed when a cell stops: the notebook is kept beside `to` and named by the error. Raises MissingExtra
    without papermill and nbconvert, UnknownTemplate (a ValueError) for a wrong template or parameter, NotARun,
    CannotWrite.
    """
    place, masker, about = _about(source)
    run_id = about.id if about is not None else None
    notebook = template_path(template or _template_of(about))
    engine = _Engine()
    named = {"run_id": run_id} if isinstance(about, LoomRun) and template in (None, "workflow") else {}
    given = engine.checked(notebook, {**dict(parameters or {}), **named})
    target = Path(to).absolute()
    target = target.parent.resolve() / target.name
    title = shown(str(given.get("title") or run_id or "Runs"), masker, 120)
    with tempfile.TemporaryDirectory(prefix="recovery-kit-report-") as folder:
        executed = Path(folder) / "report.ipynb"
        stopped = engine.execute(notebook, executed, {**given, "run_path": str(place)}, cell_seconds)
        text = without_secrets(executed.read_text("utf-8"), masker)
        if stopped is not None:
            kept = target.with_name(target.stem + ".failed.ipynb")
            _write(kept, text)
            raise ReportFailed(kept, f"the report stopped, {stopped}; the notebook was kept")
    if keep_notebook:
        _write(target.with_suffix(".ipynb"), text)
    _write(target, as_html(text, title))
    return target


def _write(path: Path, text: str) -> None:
    """Readable by its owner alone: it holds what the run holds."""
    DISK.replace_file(path.parent, path.name, text.encode())


def _template_of(about: Run | LoomRun | None) -> str:
    if about is None:
        return "folder"
    return "workflow" if isinstance(about, LoomRun) else "run"


def _about(source: Run | LoomRun | Runs | str | os.PathLike[str]) -> tuple[Path, Masker, Run | LoomRun | None]:
    """Where it lies, what hides its secrets, and the run if it is one."""
    if isinstance(source, LoomRun):
        if source.folder is None:
            raise RecoveryKitError(source.id, "a report is made of a path; this Run was opened from bytes")
        return source.folder.absolute(), source.masker, source
    if isinstance(source, Run):
        if not isinstance(source._source, FolderSource):
            raise RecoveryKitError(
                source.id, "a report is made of a path; this run was opened from an archive or from bytes"
            )
        return source._source.path.absolute(), source.masker, source
    runs = source if isinstance(source, Runs) else open_runs(source)
    place = Path(runs.label if isinstance(source, Runs) else source).absolute()
    if not place.exists():
        raise RecoveryKitError(None, "a report is made of a path; these runs were opened from bytes")
    only = next(iter(runs.values())) if len(runs) == 1 else None
    return place, _masker_of(runs), only


def _masker_of(runs: Runs) -> Masker:
    """Hides the secrets of all of them."""
    secrets = [secret for run in runs.values() for secret in run.masker.secrets]
    return Masker(secrets) if secrets else SHAPES_ONLY


class _Engine:
    """papermill, imported late."""

    def __init__(self) -> None:
        missing = [name for name in ("papermill", "nbconvert", "ipykernel") if find_spec(name) is None]
        if missing:
            raise MissingExtra(None, f"a report needs {', '.join(missing)}: pip install 'recovery-kit[report]'")
        try:
            import papermill
            from nbclient.exceptions import CellTimeoutError, DeadKernelError
        except ImportError as no:
            raise MissingExtra(
                None, f"a report needs {no.name or 'more'}: pip install 'recovery-kit[report]'"
            ) from None
        self.papermill = papermill
        self.too_long, self.died = CellTimeoutError, DeadKernelError

    def checked(self, notebook: Path, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters that the template has. Raises UnknownTemplate."""
        known = set(self.papermill.inspect_notebook(str(notebook))) - {"run_path"}
        wrong = sorted(set(parameters) - known)
        if wrong:
            raise UnknownTemplate(
                None,
                f"the template {notebook.stem} has no parameter {', '.join(wrong)}: it has {', '.join(sorted(known))}",
            )
        odd = sorted(name for name, value in parameters.items() if not isinstance(value, _SPELLABLE))
        if odd:
            raise UnknownTemplate(
                None, f"{', '.join(odd)}: a parameter is a text, a number, a truth value, a list or a dict"
            )
        return parameters

    def execute(self, notebook: Path, executed: Path, parameters: Parameters, cell_seconds: int) -> str | None:
        """Run it; where and by what it was stopped, or None. The executed notebook is written in any case."""
        try:
            self.papermill.execute_notebook(
                str(notebook),
                str(executed),
                parameters=dict(parameters),
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                request_save_on_cell_execute=True,
                execution_timeout=cell_seconds,
                store_widget_state=False,
                extra_arguments=_QUIET,
            )
        except self.papermill.PapermillExecutionError as stop:
            return f"cell {stop.cell_index}: {stop.ename}"
        except self.too_long:
            return f"a cell took longer than {cell_seconds} seconds"
        except self.died:
            return "its kernel died"
        return None


_QUIET = ["--IPKernelApp.log_level=40", "--HistoryManager.hist_file=:memory:"]
"""No notice about sockets, and no line of the report in anybody's shell history."""
