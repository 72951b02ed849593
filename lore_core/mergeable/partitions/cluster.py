"""Parts summed by the workers of a Dask cluster, and their sums joined there as a tree."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lore_core.data.errors import require
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.mergeable.partitions.files import Partition
from lore_core.mergeable.partitions.plan import Plan, sum_and_save

#: Sums that one task joins.
_JOINED = 4
#: Seconds in which a scheduler must answer.
_ANSWERS = 15


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep a client from writing tracebacks about a scheduler that is lost, which an error says."""

    def is_shown(record: logging.LogRecord) -> bool:
        return record.levelno < logging.ERROR

    log = logging.getLogger("distributed.client")
    log.addFilter(is_shown)
    try:
        yield
    finally:
        log.removeFilter(is_shown)


@_without_log()
def sum_on_cluster(
    plan: Plan,
    paths: Mapping[Partition, Path | None],
    address: str,
    *,
    progress: Progress | None = None,
) -> LocalErrorSums:
    """Sum parts on the workers of a cluster, each again by another where a worker is lost."""
    require("A cluster", "distributed")
    import distributed

    try:
        client = distributed.Client(address, timeout=_ANSWERS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no scheduler answers at '{address}'. Start one (dask scheduler), or correct "
            "'--cluster'."
        ) from error
    try:
        with client.as_current():
            return _reduced(client, plan, paths, progress)
    except distributed.KilledWorker as error:
        raise MemoryError(
            "workers of the cluster were ended from outside again and again, most likely for want "
            "of memory; give them more, or take fewer cells."
        ) from error
    except (distributed.client.FutureCancelledError, asyncio.CancelledError, OSError) as error:
        raise InputError(f"the scheduler at '{address}' was lost.") from error
    finally:
        client.close(timeout=1)


def _reduced(
    client: Any, plan: Plan, paths: Mapping[Partition, Path | None], progress: Progress | None
) -> LocalErrorSums:
    from distributed import as_completed

    total, done = sum(part.n_rows for part in paths), 0
    leaves = {
        client.submit(sum_and_save, plan, part, path, pure=False): part
        for part, path in paths.items()
    }
    level = list(leaves)
    while len(level) > 1:
        level = [
            client.submit(LocalErrorSums.joined, level[start : start + _JOINED], pure=False)
            for start in range(0, len(level), _JOINED)
        ]
    result = level[0]
    # Frees what is joined: only the tree asks for it.
    for leaf in as_completed(list(leaves)):
        if leaf.status == "error":
            raise leaf.exception()
        if leaf.status == "cancelled":
            raise OSError("the scheduler is gone")
        done += leaves.pop(leaf).n_rows
        tell(progress, done / total, f"{done:,} of {total:,} rows summed")
    found: LocalErrorSums = result.result()
    return found
