"""The same work on a dask cluster (extra `cluster`): the one file that knows dask, and loads it late."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from recovery_kit.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

RETRIES = 2
"""How often a batch is tried again whose worker died or raised."""


def is_client(executor: object) -> bool:
    """Whether it is a client of `distributed`, without loading that."""
    return any(kind.__module__.startswith("distributed.") for kind in type(executor).__mro__)


def on_cluster(
    client: Any,
    read: Callable[..., Any],
    work: Sequence[Any],
    verified: bool,
    given_up: Callable[[Any, str], Any],
    keeping: Any = None,
) -> Iterator[Any]:
    """What `read` makes of each batch, in order of completion. A batch that fails for good is told run by run."""
    from distributed import as_completed as _as_completed

    as_completed: Any = _as_completed

    futures = client.map(read, work, verified=verified, keeping=keeping, pure=False, retries=RETRIES)
    batch_of = {future.key: batch for future, batch in zip(futures, work, strict=True)}
    try:
        for future in as_completed(futures):
            batch = batch_of[future.key]
            failed = future.status != "finished"
            yield given_up(batch, f"its worker failed {RETRIES + 1} times") if failed else future.result()
    finally:
        client.cancel([future for future in futures if not future.done()])


def as_dask(table: Callable[..., "pd.DataFrame"], work: Sequence[Any], empty: "pd.DataFrame", verified: bool) -> Any:
    """A `dask.dataframe` with a partition a batch, nothing computed. Raises MissingExtra."""
    try:
        import dask.dataframe
    except ImportError:
        raise MissingExtra(None, "a distributed table needs dask: pip install 'recovery-kit[cluster]'") from None
    from_map: Any = dask.dataframe.from_map
    return from_map(table, work, meta=empty, verified=verified)
