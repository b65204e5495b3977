"""Where the files of a run tell of different moments, and which one the engine follows for what (leviath-run-directory 5.3)."""

from dataclasses import dataclass

from recovery_kit.records.meta import RunMeta
from recovery_kit.records.window import Window

from .fold import Fold


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two files that cannot both be right about now."""

    about: str
    """`meta`, `status`, `iteration`, `stage`, `window`."""
    sentence: str
    engine_follows: str
    """The file that a restart goes by for this."""


def disagreements(
    fold: Fold | None, meta: RunMeta | None, meta_present: bool, context: Window | None
) -> tuple[Disagreement, ...]:
    """Every disagreement between `run.lvr`, `meta.json` and `context.json`."""
    found: list[Disagreement] = []
    if fold is None:
        return ()
    told = fold.skim_meta()
    if meta is None:
        if meta_present:
            found.append(
                Disagreement("meta", "meta.json cannot be read; run.lvr can", "meta.json: the run is not seen")
            )
    elif told is not None:
        if meta.iteration != told.iteration:
            text = f"meta.json says iteration {meta.iteration}, the engine will go on from {told.iteration}"
            found.append(Disagreement("iteration", text, "run.lvr"))
        if meta.status != told.status:
            text = f"meta.json says {meta.status}, run.lvr says {told.status}"
            found.append(Disagreement("status", text, "meta.json"))
        if meta.stage_index != told.stage_index and meta.iteration == told.iteration:
            text = f"meta.json says stage {meta.stage_index}, run.lvr says stage {told.stage_index}"
            found.append(Disagreement("stage", text, "run.lvr"))
    if context is not None:
        found += _window(fold, context, meta, told.iteration if told else None)
    return tuple(found)


def _window(fold: Fold, context: Window, meta: RunMeta | None, iteration: int | None) -> list[Disagreement]:
    window = fold.window
    if context.stage_name != window.stage_name:
        word = "newer" if meta is not None and iteration is not None and meta.iteration > iteration else "older"
        text = f"context.json is {word} than run.lvr: stage {context.stage_name} against {window.stage_name}"
        return [Disagreement("window", text, "run.lvr")]
    names = list(drift(fold, context))
    if names:
        text = f"context.json and run.lvr hold different windows: {', '.join(names)}"
        return [Disagreement("window", text, "run.lvr")]
    return []


def drift(fold: Fold, context: Window) -> dict[str, dict[str, tuple[int, int] | None]]:
    """Regions where the two windows differ: name to (entries, tokens) of each, None where it is not there."""
    folded = {r.name: (len(r.entries()), r.current_tokens) for r in fold.window.regions}
    written = {r.name: (len(r.entries), r.current_tokens) for r in context.regions}
    return {
        name: {"fold": folded.get(name), "context": written.get(name)}
        for name in [*folded, *(n for n in written if n not in folded)]
        if folded.get(name) != written.get(name)
    }
