"""Lists of plain values as pandas columns of fixed kinds, gaps included, no number ever through a float.

Belongs here: one function a kind. Nothing of runs. pandas is loaded by whoever calls first.
"""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from recovery_kit.records.scalars import I64_MAX, U64_MAX

if TYPE_CHECKING:
    import pandas as pd

EARLIEST, LATEST = -62_135_596_800, 253_402_300_799
"""Unix seconds of the years 1 and 9999: what is beyond no calendar prints, and becomes NaT."""
_NAT = -(2**63)

OTHER = "other"
"""Ends every closed vocabulary."""

Values = Sequence[Any]
"""None is a gap."""


def whole_numbers(values: Values) -> "pd.api.extensions.ExtensionArray":
    """UInt64: exact up to 2^64-1. What does not fit is a gap."""
    return _integers(values, "uint64", 0, U64_MAX)


def signed_numbers(values: Values) -> "pd.api.extensions.ExtensionArray":
    """Int64. What does not fit is a gap."""
    return _integers(values, "int64", -I64_MAX - 1, I64_MAX)


def _integers(values: Values, dtype: str, low: int, high: int) -> "pd.api.extensions.ExtensionArray":
    import numpy as np
    import pandas as pd

    try:  # mostly there is no gap
        whole = np.array(values, dtype=dtype)
        return pd.arrays.IntegerArray(whole, np.zeros(len(whole), dtype=bool))
    except (TypeError, ValueError, OverflowError):
        pass
    gaps = [v is None or not low <= v <= high for v in values]
    filled = [0 if gap else v for v, gap in zip(values, gaps, strict=True)] if any(gaps) else values
    return pd.arrays.IntegerArray(np.array(filled, dtype=dtype), np.array(gaps, dtype=bool))


def money(values: Values) -> "pd.api.extensions.ExtensionArray":
    """Float64: <NA> is unknown, 0.0 is free. A figure that is no number is a gap."""
    import numpy as np
    import pandas as pd

    gaps = [v is None or not isfinite(v) for v in values]
    filled = [0.0 if gap else v for v, gap in zip(values, gaps, strict=True)]
    return pd.arrays.FloatingArray(np.array(filled, dtype="float64"), np.array(gaps, dtype=bool))


def flags(values: Values) -> "pd.api.extensions.ExtensionArray":
    """boolean, with gaps."""
    import numpy as np
    import pandas as pd

    gaps = np.array([v is None for v in values], dtype=bool)
    return pd.arrays.BooleanArray(np.array([bool(v) for v in values], dtype=bool), gaps)


def times(values: Values) -> "pd.api.extensions.ExtensionArray":
    """datetime64[s, UTC] of Unix seconds; what no calendar has is NaT."""
    import numpy as np
    import pandas as pd

    if None not in values and values and EARLIEST <= min(values) and max(values) <= LATEST:
        seconds = values
    else:
        seconds = _with_gaps(values)
    return pd.DatetimeIndex(np.array(seconds, dtype="int64").view("M8[s]")).tz_localize("UTC").array


def _with_gaps(values: Values) -> Values:
    return [_NAT if v is None or not EARLIEST <= v <= LATEST else int(v) for v in values]


def texts(values: Values) -> "pd.api.extensions.ExtensionArray":
    """Python strings with <NA> as the gap. Lone surrogates have to be written as escapes before."""
    import numpy as np
    import pandas as pd

    held = np.empty(len(values), dtype=object)
    held[:] = values
    if None in values:
        held[[n for n, v in enumerate(values) if v is None]] = pd.NA
    return pd.array(held, dtype=pd.StringDtype("python"))


def words(values: Values, vocabulary: Sequence[str]) -> "pd.Categorical":
    """An ordered categorical; a word that is not in the vocabulary is `other`."""
    import numpy as np
    import pandas as pd

    kinds = pd.CategoricalDtype([*vocabulary, OTHER], ordered=True)
    code = {word: number for number, word in enumerate(kinds.categories)}
    other = code[OTHER]
    codes = np.array([-1 if v is None else code.get(v, other) for v in values], dtype="int16")
    return pd.Categorical.from_codes(codes, dtype=kinds, validate=False)


ARRAYS: dict[str, Callable[[Values], Any]] = {
    "u64": whole_numbers, "i64": signed_numbers, "usd": money, "flag": flags, "time": times, "text": texts,
}  # fmt: skip
"""By kind of column. Words need their vocabulary."""
