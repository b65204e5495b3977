"""A moment of a run: its window, position and totals, and what was pending then."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from recovery_kit.display import SHAPES_ONLY, Drawn, Masker
from recovery_kit.formats.skim import MetaSkim
from recovery_kit.history.fold import Fold, Pending
from recovery_kit.history.story import Story
from recovery_kit.history.windows import window_sha256
from recovery_kit.records.meta import RunMeta, Status
from recovery_kit.records.window import Window


@dataclass(frozen=True, slots=True)
class Totals:
    """Tokens and tool calls up to a moment, as the run itself counted them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    tool_calls: int


class State(Drawn):
    """What was true of a run at one moment. Values are raw; surfaces mask them.

    `point` is the index in `run.points`, or None for the end and for moments between points. `offset` is that of the
    last record that counts, None where the state comes from the JSON files.
    """

    def __init__(
        self,
        run_id: str,
        *,
        meta: RunMeta | MetaSkim | None,
        window: Callable[[], Window],
        pending: Callable[[], Pending | None],
        revision: Callable[[], str | None],
        full_meta: Callable[[], RunMeta | None],
        point: int | None = None,
        offset: int | None = None,
        at: int | None = None,
        source: str = "journal",
        masker: Masker = SHAPES_ONLY,
        story: Story | None = None,
    ) -> None:
        self.run_id = run_id
        self.point = point
        self.offset = offset
        self.at = at
        """Unix seconds of the record; None where nothing tells it."""
        self.story = story
        """Everything that its run's files tell; None for a state that was made by hand."""
        self.masker = masker
        """Masks the run's own secrets on every surface."""
        self.source = source
        """`journal`, or `json_pair` where no journal folds."""
        self._position = meta
        self._window, self._pending, self._revision, self._full_meta = window, pending, revision, full_meta

    @cached_property
    def window(self) -> Window:
        """The context window, decoded."""
        return self._window()

    @cached_property
    def window_sha256(self) -> str:
        """Digest of the window: SHA-256 of its JSON with sorted keys (leviath-reader-quirks)."""
        return window_sha256(self.window)

    @cached_property
    def revision(self) -> str | None:
        """The engine's name of the window, `cw1-…`; None where the order of its regions is not known."""
        return self._revision()

    @cached_property
    def pending(self) -> Pending | None:
        """The batch that was out at this moment, as the engine's fold would end here."""
        return self._pending()

    @cached_property
    def meta(self) -> RunMeta | None:
        """The run's metadata as this moment carries it, whole."""
        return self._full_meta()

    @property
    def status(self) -> Status | None:
        return self._position.status if self._position else None

    @property
    def stage(self) -> str:
        """Name of the stage, by the window where it says one."""
        return self.window.stage_name or (self._position.current_stage if self._position else "")

    @property
    def stage_index(self) -> int | None:
        return self._position.stage_index if self._position else None

    @property
    def iteration(self) -> int | None:
        return self._position.iteration if self._position else None

    @property
    def totals(self) -> Totals | None:
        """Tokens and calls so far; None without metadata."""
        p = self._position
        if p is None:
            return None
        return Totals(p.prompt_tokens, p.completion_tokens, p.cached_tokens, p.cache_write_tokens, p.tool_calls)

    def __repr__(self) -> str:
        where = "the end" if self.point is None else f"point {self.point}"
        return (
            f"<State of {self.run_id} at {where}: stage {self.stage_index}, iteration {self.iteration}, {self.status}>"
        )


def of_fold(
    story: Story, fold: Fold, revision: Callable[[], str | None], *, offset: int | None, masker: Masker = SHAPES_ONLY
) -> State:
    """The state that a fold ends in."""
    return State(
        story.run_id, meta=fold.skim_meta(), window=fold.window.window, pending=lambda: fold.pending, revision=revision,
        full_meta=fold.read_meta, offset=offset, at=fold.at, masker=masker,
        story=story,
    )  # fmt: skip
