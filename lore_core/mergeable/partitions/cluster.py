"""Parts summed by the workers of a Dask cluster, and their sums joined there as a tree."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lore_core.data.optional_dependencies import require
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.mergeable.partitions.files import Partition
from lore_core.mergeable.partitions.plan import Plan

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
    """Sum parts on the workers of a cluster.

    Parameters
    ----------
    plan : Plan
        What rows become.
    paths : mapping of Partition to Path or None
        Where a worker keeps the sums of each part, on a disk that all workers see; what is there
        already is read. None: nowhere.
    address : str
        Of the scheduler, ``tcp://…:8786``.
    progress : callable, optional
        Called with the share done and a short message; may raise to stop.

    Raises
    ------
    InputError
        If no scheduler answers, or it is lost; if a file cannot be read or a value breaks a rule.
    MemoryError
        If workers were ended from outside again and again at one part.

    Notes
    -----
    Dask gives a part to another worker where one is lost. What it had in memory is read again where
    it is kept, else summed again.
    """
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
        client.submit(sum_and_keep, plan, part, path, pure=False): part
        for part, path in paths.items()
    }
    level = list(leaves)
    while len(level) > 1:
        level = [
            client.submit(LocalErrorSums.joined, level[start : start + _JOINED], pure=False)
            for start in range(0, len(level), _JOINED)
        ]
    result = level[0]
    # What is joined need not stay in memory: nobody but the tree asks for it any more.
    for leaf in as_completed(list(leaves)):
        if leaf.status == "error":
            raise leaf.exception()
        if leaf.status == "cancelled":
            raise OSError("the scheduler is gone")
        done += leaves.pop(leaf).n_rows
        tell(progress, done / total, f"{done:,} of {total:,} rows summed")
    found: LocalErrorSums = result.result()
    return found


def sum_and_keep(plan: Plan, part: Partition, path: Path | None) -> LocalErrorSums:
    """Sum a part, or read what was kept of it; ``path``: where it is kept, if anywhere."""
    if path is not None and path.exists():
        try:
            return LocalErrorSums.load(path)
        except InputError:
            pass  # damaged: summed again
    sums = plan.sums(part)
    if path is not None:
        sums.save(path)
    return sums
