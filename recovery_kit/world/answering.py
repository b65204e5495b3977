"""`submit_output`: the answer of a run, with the files that come with it (leviath-runtime T7.4; 0.5-to-0.6 N12)."""

import hashlib
import mimetypes
from collections.abc import Iterator, Mapping

from recovery_kit.history.windows import text_of, tokens_of
from recovery_kit.records.journal import ArtifactsProduced
from recovery_kit.records.meta import Artifact, FinalOutput
from recovery_kit.records.window import Entry, Part

from .part_tools import file_in_workdir, part_named, size_words, stored_part
from .regions import clear, region_of
from .running import Running

LIMIT = 256 * 1024
"""Bytes of an answer that are kept."""
OUTPUT = "final_output"


def submit_output(
    run: Running, arguments: Mapping[str, object], execution: str
) -> tuple[str, ArtifactsProduced | None]:
    """Take an answer: the text for the model, and the record of the files that came with it.

    A later answer replaces an earlier one, and none ever ends the run.
    """
    content = str(arguments["content"])
    if not content.strip():
        return "[error] the final output is blank", None
    if content.strip() in run.agent.blueprint.stage_names:
        return "[error] the final output is only the name of a stage", None
    found = [_artifact(run, row) for row in _rows(arguments.get("artifacts"))]
    wrong = next((row for row in found if isinstance(row, str)), None)
    if wrong is not None:
        return wrong, None
    files = [row for row in found if not isinstance(row, str)]
    data = content.encode("utf-8", "surrogatepass")
    kept = data[:LIMIT].decode("utf-8", "ignore")
    _show(run, kept, files, execution)
    made = tuple(artifact for artifact, _ in files)
    spec = run.agent.meta.output_request or run.agent.stage.output or run.agent.blueprint.agent.output
    output = FinalOutput(
        format=spec.format if spec else None, stage=run.agent.stage.name, submitted_at=run.now(),
        bytes=len(kept.encode()), truncated=len(data) > LIMIT, artifacts=made,
    )  # fmt: skip
    run.put_meta(final_output=output)
    run.put_flags(produced_output=True)
    run.put_visit(submitted=True)
    run.answer_with(kept.encode())
    told = ", ".join(f"{a.name} ({a.mime_type}, {size_words(a.size)})" for a in made)
    record = ArtifactsProduced(execution_id=execution, artifacts=made, at=run.now()) if made else None
    return "Recorded as this run's final output." + (f" Artifacts: {told}." if told else ""), record


def _rows(artifacts: object) -> Iterator[tuple[str, str, str]]:
    """(path, name, type) of each."""
    for row in artifacts if isinstance(artifacts, list) else ():
        members = row if isinstance(row, dict) else {"path": row}
        path = str(members.get("path", ""))
        kind = members.get("type") or mimetypes.guess_type(path)[0] or "application/octet-stream"
        yield path, str(members.get("name") or path), str(kind)


def _artifact(run: Running, row: tuple[str, str, str]) -> tuple[Artifact, bytes] | str:
    path, name, kind = row
    data = file_in_workdir(run, path)
    if data is None:
        stored = part_named(run, path)
        if stored is None:
            return (
                f"[error] artifact '{path}' is neither a file in the working directory nor a part this run produced. "
                "Write the file before naming it, or name a produced part."
            )
        kind, data = stored[0].mime_type, stored[1]
    return Artifact(name, path, kind, len(data), hashlib.sha256(data).hexdigest()), data


def _show(run: Running, content: str, files: list[tuple[Artifact, bytes]], execution: str) -> None:
    """The mirror of an answer in the window, cut to its region."""
    region = region_of(run.agent.window, OUTPUT)
    if region is None:
        return
    if region.entries:
        run.change(clear(run.agent.window, (OUTPUT,)), "tool_result", execution)
    mirrored = content.encode()[: region.max_tokens * 4].decode("utf-8", "ignore")
    run.append(OUTPUT, Entry(mirrored, tokens_of(mirrored)), "tool_result", execution)
    for artifact, data in files:
        part = stored_part(run, artifact.name, artifact.mime_type, data)
        parts = (Part("text/plain", f"artifact '{artifact.name}':"), part)
        run.append(OUTPUT, Entry(parts, tokens_of(parts)), "produced_part", execution)


def answer_text(run: Running) -> str | None:
    """The run's answer as its window mirrors it; None where it has given none."""
    if run.agent.meta.final_output is None:
        return None
    region = region_of(run.agent.window, OUTPUT)
    return text_of(region.entries[0].content) if region and region.entries else None
