"""Text of a run fit for a cell: masked, shortened where only its beginning is asked for, storable; in that order.

Each distinct short text is masked once a build.
"""

from collections.abc import Iterable

from recovery_kit.display import Masker, preview, storable

LIMIT = 160
"""Characters of a preview."""
_READ = 400
"""Characters that are masked for a preview. What a cut leaves of a secret at their end is far behind what is shown."""
_TOGETHER = 128
"""Short texts that are looked at in one go."""
_KEPT = 2 * LIMIT + 2
"""Characters that `preview` looks at."""


class SafeText:
    """Cells of one run."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._known: dict[str, str] = {}

    def shorts(self, texts: Iterable[str | None]) -> list[str | None]:
        """A column of names and other short texts, whole."""
        found = list(texts)
        new = [text for text in dict.fromkeys(found) if text is not None and text not in self._known]
        alone = [text for text in new if len(text) > LIMIT or "\n" in text]
        together = [text for text in new if len(text) <= LIMIT and "\n" not in text]
        for start in range(0, len(together), _TOGETHER):
            some = together[start : start + _TOGETHER]
            joined = "\n".join(some)
            if self.whole(joined) == joined:  # a line end parts as the ends of a text do: clean together, clean alone
                self._known.update(zip(some, some, strict=True))
            else:
                alone += some
        for text in alone:
            self._known[text] = self.whole(text)  # type: ignore[assignment]
        return [None if text is None else self._known[text] for text in found]

    def whole(self, text: str | None) -> str | None:
        """A text at full length."""
        return None if text is None else storable(self._masker(text))

    def beginning(self, text: str | None) -> str | None:
        """A preview: what `preview` makes of the whole masked text, for the price of its beginning."""
        if text is None:
            return None
        size = _READ
        while True:
            masked = self._masker(text[:size])
            if size >= len(text) or len(masked) >= _KEPT + 64:
                break
            size *= 4  # long secrets became short masks
        shown = preview(masked, LIMIT)
        return storable(shown)
