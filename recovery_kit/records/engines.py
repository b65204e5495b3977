"""What differs by engine version, as one table. A rule that is not here is the same in all of them."""

from dataclasses import dataclass, replace
from functools import cache

Version = tuple[int, int, int]


@cache
def version(text: str) -> Version:
    """`"0.6.4"` as numbers that compare."""
    a, b, c = (int(piece) for piece in text.split("."))
    return a, b, c


@dataclass(frozen=True, slots=True)
class Engine:
    """The rules of one engine version (spec: leviath-run-directory 10, 0.5-to-0.6 N18)."""

    name: str
    steps_over_unreadable: bool = False
    """A whole frame it cannot parse is skipped; before 0.4.0 it ends the reading (3.2)."""
    refuses_newer_version: bool = False
    caps_frames: bool = False
    """A length above 256 MiB is an error; before 0.3.6 the allocation was attempted."""
    restores_paused: bool = False
    replays_batches: bool = False
    restores_ledger: bool = False
    restores_setup_reason: bool = False
    pages_cancelled: bool = False
    """`resume`, `pause`, a message page a cancelled run in (N13.3)."""
    reads_parts: bool = False
    """Contents may be lists of parts (N3)."""
    settles_inline: bool = False
    """A batch whose calls all have results is not pending, and clears one that is (N8)."""
    reads_blueprint: bool = False
    """Reloads from the run's own `blueprint.leviath` where there is one (N13.2)."""
    journals_stand_ins: bool = False
    """A restart writes `indeterminate` completions for the calls it gives up on (N14)."""
    model_from_meta: bool = False
    """A reload takes `model` for a launch override (5.2)."""
    point_prefix: bool = False
    """`interactions.json` belongs to ids that start with `<run id>-point-`; before, that contain `-point-` (N12)."""
    keeps_fan_out: bool = False
    """The fan-out that restore attaches survives the first pass. No engine does this; `kit` does."""
    extends_torn_tail: bool = True
    """Appends behind a tear, where no reader ever looks again. `kit` does not."""
    evicts_to_make_room: bool = False
    """A full evictable region rolls its oldest group off instead of refusing (6)."""
    knows_admission: bool = False
    """A region may be declared to refuse what does not fit (6)."""
    points_after_storing: bool = False
    """A routed result is stored before its pointer is written, so that the pointer says what became of it (6)."""
    restores_cost: bool = False
    """A reload takes priced cost and unpriced calls over, and closes the clocks (N13)."""
    keeps_later_regions: bool = False
    """A reload into a later stage has the regions of that stage's own layout. No engine does this; `kit` does."""
    presents_without_response: bool = False
    """An edit or an approval after a restart leads on to the next question. No engine does this; `kit` does (5.8)."""

    reads_behind_tears: bool = False
    """Goes on from what lies readable behind a tear too. No engine does this; `kit` does."""
    replays_hidden_batches: bool = False
    """Brings a batch with open calls back that the fold has dropped. No engine does this; `kit` does."""

    closes_answered_points: bool = False
    """A question that its journal has answered is not asked again, though its file is still there. No engine looks; `kit`
    does (W9)."""

    @property
    def knows_all(self) -> bool:
        """Whether it knows every kind and shape that the kit knows."""
        return self.version >= version(NEWEST)

    @property
    def version(self) -> Version:
        """The version whose formats it reads."""
        return version(NEWEST if self.name == "kit" else self.name)


def _table() -> dict[str, Engine]:
    rows: dict[str, Engine] = {}
    rules = Engine("0.1.0")
    for name, news in _NEWS:
        rules = replace(rules, name=name, **news)
        rows[name] = rules
    rows["kit"] = replace(
        rules, name="kit", keeps_fan_out=True, extends_torn_tail=False, keeps_later_regions=True,
        presents_without_response=True, reads_behind_tears=True, replays_hidden_batches=True,
        closes_answered_points=True,
    )  # fmt: skip
    return rows


_NEWS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("0.1.0", {}),
    ("0.1.1", {"model_from_meta": True}),
    ("0.1.2", {"restores_paused": True, "replays_batches": True}),
    ("0.2.0", {}),
    ("0.3.6", {"caps_frames": True}),
    ("0.3.7", {"restores_ledger": True}),
    ("0.3.8", {}),
    ("0.3.9", {"restores_setup_reason": True}),
    ("0.3.10", {"knows_admission": True}),
    ("0.4.0", {"steps_over_unreadable": True, "refuses_newer_version": True}),
    ("0.5.5", {
        "pages_cancelled": True, "model_from_meta": False, "evicts_to_make_room": True, "points_after_storing": True,
        "restores_cost": True,
    }),
    ("0.5.8", {}),
    ("0.6.2", {"reads_parts": True}),
    ("0.6.3", {}),
    ("0.6.4", {"settles_inline": True, "reads_blueprint": True, "journals_stand_ins": True, "point_prefix": True}),
)  # fmt: skip

NEWEST = "0.6.4"
ENGINES: dict[str, Engine] = _table()
"""By name: every published version, and `kit`: the newest rules with the known flaws corrected."""


def engine(name: str) -> Engine:
    """The rules of that engine. Raises KeyError for a version the table does not have."""
    return ENGINES[name]
