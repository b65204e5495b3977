"""Branches of one run side by side: the stem they share, where they part and why, and what each did after it.

By meaning: calls by name and arguments, texts by their words, windows entry by entry. Values only; tables and pages are
drawn by whoever draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from recovery_kit.display import Masker, shown
from recovery_kit.history.windows import text_of
from recovery_kit.records.window import AssistantTurn, Entry, Region, Window

from .branches import Branch, Step, branch
from .cutting import batch_out

Why = Literal["edit", "model", "answer", "tool_result", "reply", "ended"]
How = Literal["same", "result_differs", "similar", "differs", "only_a", "only_b"]

SIMILAR = 0.6
"""Share of two texts that has to agree for them to count as the same step, told otherwise."""

WHYS: dict[str, str] = {
    "edit": "one of them was edited",
    "model": "another model answered",
    "answer": "an open call was answered by a person",
    "tool_result": "the same call had another result",
    "reply": "the model said something else",
    "ended": "one of them goes on where the other ends",
}


@dataclass(frozen=True, slots=True)
class Aligned:
    """A row of two branches after their stem."""

    a: Step | None
    b: Step | None
    how: How
    similarity: float
    """Of the texts or arguments, 0 to 1."""


@dataclass(frozen=True, slots=True)
class RegionDifference:
    """A region of two windows that are not the same. Entries are told by their places."""

    region: str
    tokens_a: int
    tokens_b: int
    common: int
    """Entries with which both begin."""
    only_a: tuple[int, ...]
    """Entries of `a` behind those that `b` does not have."""
    only_b: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is told of both and differs."""

    what: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Pair:
    """Two branches."""

    a: Branch
    b: Branch
    related: bool
    """Their lineage tells that they have a stem; else only what is equal from the beginning counts as one."""
    stem_record: int | None
    """Record of the common source up to which they are one; None where they are not related."""
    stem_steps: int
    """Steps after the cut that are still the same."""
    rows: tuple[Aligned, ...]
    """Steps after the cut, those that are the same included."""
    why: Why | None
    """Why they part; None where they do not."""
    position: tuple[Difference, ...]
    regions: tuple[RegionDifference, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs that counts: steps, windows, position."""
        return not self.position and not self.regions and all(row.how == "same" for row in self.rows)

    @property
    def parted(self) -> Aligned | None:
        """The first row that is not the same."""
        return next((row for row in self.rows if row.how != "same"), None)


@dataclass(frozen=True)
class Comparison:
    """Two or more branches, each laid beside the first."""

    branches: tuple[Branch, ...]
    pairs: tuple[Pair, ...]

    @property
    def same(self) -> bool:
        return all(pair.same for pair in self.pairs)

    @property
    def masker(self) -> Masker:
        """Hides the secrets of all of them."""
        return Masker(tuple(secret for branch in self.branches for secret in branch.run.masker.secrets))

    def rows(self) -> list[dict[str, Any]]:
        """One row an aligned step: for a table. Texts are raw."""
        return [
            {"a": pair.a.label, "b": pair.b.label, "row": number, "how": row.how, "similarity": row.similarity}
            | _step_members("a", row.a)
            | _step_members("b", row.b)
            for pair in self.pairs
            for number, row in enumerate(pair.rows)
        ]

    def as_json(self) -> dict[str, Any]:
        """One object. Texts are raw."""
        return {
            "same": self.same,
            "branches": [_branch_json(branch) for branch in self.branches],
            "pairs": [
                {
                    "a": pair.a.label,
                    "b": pair.b.label,
                    "related": pair.related,
                    "stem_record": pair.stem_record,
                    "stem_steps": pair.stem_steps,
                    "why": pair.why,
                    "position": [{"what": d.what, "a": d.a, "b": d.b} for d in pair.position],
                    "regions": [
                        {
                            "region": r.region, "tokens_a": r.tokens_a, "tokens_b": r.tokens_b, "common": r.common,
                            "only_a": list(r.only_a), "only_b": list(r.only_b),
                        }
                        for r in pair.regions
                    ],
                }
                for pair in self.pairs
            ],
            "steps": self.rows(),
        }  # fmt: skip

    def sentences(self) -> Iterator[str]:
        """Where they part, a line each. Texts are raw."""
        for pair in self.pairs:
            yield from _pair_sentences(pair)

    def text(self) -> str:
        """The sentences, raw."""
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return "\n".join(shown(sentence, self.masker) for sentence in self.sentences())


def compare(a: Any, b: Any, *more: Any) -> Comparison:
    """Lay branches of one run side by side, each beside the first (verified).

    Each is a `Run`, a `Mirror`, a path, or a pair of one of them and the name of a moment. Raises NotARun and
    UnknownMoment.
    """
    branches = tuple(branch(thing) for thing in (a, b, *more))
    return Comparison(branches, tuple(pair_of(branches[0], other) for other in branches[1:]))


def pair_of(a: Branch, b: Branch) -> Pair:
    """Two branches, aligned."""
    related, record, steps_a, steps_b = _after_stem(a, b)
    rows = tuple(_aligned(steps_a, steps_b))
    stem = next((n for n, row in enumerate(rows) if row.how != "same"), len(rows))
    position, regions = tuple(_position(a, b)), tuple(_regions(a.state.window, b.state.window))
    pair = Pair(a, b, related, record, stem, rows, None, position, regions)
    return pair if pair.same else Pair(a, b, related, record, stem, rows, _why(pair), position, regions)


def _after_stem(a: Branch, b: Branch) -> tuple[bool, int | None, Sequence[Step], Sequence[Step]]:
    """Whether they are related, the record of their source up to which they are one, and their steps after it."""
    if b.origin and b.origin.source == a.run.id:
        return True, b.origin.record, a.after(_parting(a, b)), b.after(b.begins)
    if a.origin and a.origin.source == b.run.id:
        return True, a.origin.record, a.after(a.begins), b.after(_parting(b, a))
    if a.origin and b.origin and a.origin.source == b.origin.source:
        return True, min(a.origin.record, b.origin.record), a.after(a.begins), b.after(b.begins)
    return a.run.id == b.run.id, None, a.steps, b.steps


def _parting(source: Branch, mirror: Branch) -> int:
    """Byte of the source from which it went another way: a dropped or kept batch is gone through by both."""
    assert mirror.origin is not None
    out = batch_out(source.run, mirror.origin.record)
    return mirror.origin.bytes if out is None else min(out, mirror.origin.bytes)


# Steps.


def _aligned(a: Sequence[Step], b: Sequence[Step]) -> Iterator[Aligned]:
    matcher = SequenceMatcher(None, [s.meaning for s in a], [s.meaning for s in b], autojunk=False)
    for tag, begin_a, end_a, begin_b, end_b in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(a[begin_a:end_a], b[begin_b:end_b], strict=True):
                alike = one.kind == "text" or one.result == other.result
                yield Aligned(one, other, "same" if alike else "result_differs", 1.0)
        else:
            yield from _paired(list(a[begin_a:end_a]), list(b[begin_b:end_b]))


def _paired(a: list[Step], b: list[Step]) -> Iterator[Aligned]:
    """Steps between two that are equal: each beside the next one of its kind and name that is like it."""
    for one in a:
        kin = [(n, other) for n, other in enumerate(b) if (one.kind, one.name) == (other.kind, other.name)]
        near = [(n, likeness(one, other)) for n, other in kin]
        found = next(((n, share) for n, share in near if share >= SIMILAR), None)
        found = found or (near[0] if near and one.kind == "call" else None)
        if found is None:
            yield Aligned(one, None, "only_a", 0.0)
            continue
        for skipped in b[: found[0]]:
            yield Aligned(None, skipped, "only_b", 0.0)
        yield Aligned(one, b[found[0]], "similar" if found[1] >= SIMILAR else "differs", found[1])
        del b[: found[0] + 1]
    for rest in b:
        yield Aligned(None, rest, "only_b", 0.0)


_LONGEST = 20_000
"""Characters of each of two texts that are compared."""


def likeness(one: Step, other: Step) -> float:
    """How much of two steps' texts agrees, word by word."""
    a, b = one.text[:_LONGEST].split(), other.text[:_LONGEST].split()
    return round(SequenceMatcher(None, a, b, autojunk=False).ratio(), 3)


def _why(pair: Pair) -> Why:
    for side in (pair.b, pair.a):
        for edit in side.mirror.edits if side.mirror else ():
            if edit.undone:
                continue
            paths = [str(op.get("path")) for op in edit.patch]
            if paths:
                first = paths[0].split("/")[1:2]
                return "answer" if first == ["results"] else "model" if first == ["model"] else "edit"
    row = pair.parted
    if row is None or row.a is None or row.b is None:
        return "ended" if len({rest.how for rest in pair.rows[pair.stem_steps :]}) < 2 else "reply"
    if row.how == "result_differs":
        return "tool_result"
    return "model" if row.a.model and row.b.model and row.a.model != row.b.model else "reply"


# How they stand.


def _position(a: Branch, b: Branch) -> Iterator[Difference]:
    told_a, told_b = _stand(a), _stand(b)
    return (Difference(what, told_a[what], told_b[what]) for what in told_a if told_a[what] != told_b[what])


def _stand(side: Branch) -> dict[str, Any]:
    state, totals = side.state, side.state.totals
    meta = state.meta
    return {
        "stage": state.stage,
        "iteration": state.iteration,
        "prompt_tokens": totals.prompt_tokens if totals else None,
        "completion_tokens": totals.completion_tokens if totals else None,
        "tool_calls": totals.tool_calls if totals else None,
        "cost_usd": meta.cost_usd if meta else None,
        "outcome": state.status,
        "pending": tuple(call.id for call in state.pending.batch.calls) if state.pending else (),
    }


def _regions(a: Window, b: Window) -> Iterator[RegionDifference]:
    mine, theirs = _by_name(a), _by_name(b)
    for name in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(name), theirs.get(name)
        left, right = one.entries if one else (), other.entries if other else ()
        if tuple(map(_meaning, left)) == tuple(map(_meaning, right)):
            continue
        matcher = SequenceMatcher(None, [_meaning(e) for e in left], [_meaning(e) for e in right], autojunk=False)
        codes = matcher.get_opcodes()
        common = codes[0][2] if codes and codes[0][0] == "equal" else 0
        only_a = tuple(n for tag, i, j, _, _ in codes if tag != "equal" for n in range(i, j))
        only_b = tuple(n for tag, _, _, i, j in codes if tag != "equal" for n in range(i, j))
        yield RegionDifference(
            name, one.current_tokens if one else 0, other.current_tokens if other else 0, common, only_a, only_b
        )


def _by_name(window: Window) -> dict[str, Region]:
    return {region.name: region for region in reversed(window.regions)}


def _meaning(entry: Entry) -> tuple[str, str, str | None]:
    kind = entry.kind
    calls = kind.tool_calls if isinstance(kind, AssistantTurn) else None
    told = repr(kind) if calls is None else repr([(call.id, call.name, bytes(call.arguments)) for call in calls])
    return told, text_of(entry.content), entry.key


# In words.


def _pair_sentences(pair: Pair) -> Iterator[str]:
    a, b = pair.a.label, pair.b.label
    if pair.same:
        yield f"{a} and {b} are the same"
        return
    if pair.stem_record is not None:
        yield f"{a} and {b} are one up to record {pair.stem_record}, and {pair.stem_steps} steps longer"
    else:
        yield f"{a} and {b} share {pair.stem_steps} steps from the beginning"
    yield f"they part because {WHYS[pair.why or 'reply']}"
    row = pair.parted
    if row is not None:
        yield f"first in {a}: {_step_words(row.a)}"
        yield f"first in {b}: {_step_words(row.b)}"
    for difference in pair.position:
        yield f"{difference.what}: {difference.a} / {difference.b}"
    for region in pair.regions:
        yield (
            f"region {region.region}: {region.common} entries in common, {len(region.only_a)} only in {a}, "
            f"{len(region.only_b)} only in {b}; {region.tokens_a} / {region.tokens_b} tokens"
        )


def _step_words(step: Step | None) -> str:
    if step is None:
        return "nothing"
    if step.kind == "text":
        return f"says {step.text[:200]!r}"
    return f"calls {step.name} {step.text[:200]} ({step.certainty})"


def _step_members(side: str, step: Step | None) -> dict[str, Any]:
    names = ("kind", "name", "text", "result", "certainty", "iteration", "offset")
    return {f"{side}_{name}": getattr(step, name) if step else None for name in names}


def _branch_json(side: Branch) -> dict[str, Any]:
    return {
        "run_id": side.run.id, "label": side.label, "source": side.run.source,
        "mirror_of": side.origin.source if side.origin else None, "record": side.origin.record if side.origin else None,
        **{key: list(v) if isinstance(v, tuple) else v for key, v in _stand(side).items()},
    }  # fmt: skip
