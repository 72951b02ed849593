"""All parts of all files, by one process, several or a Dask cluster, into one set of sums."""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
from joblib.externals.loky.process_executor import BrokenProcessPool  # type: ignore[import-untyped]

from lore_core.data.errors import InputError, as_path, require
from lore_core.data.progress import Progress, part_of, tell
from lore_core.mergeable.cell_sums.sums import LocalErrorSums
from lore_core.mergeable.partitions.plan import Partition, Plan, saved_sums, sum_and_save

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


PLAN = "plan.npz"
#: Share of the progress that joining takes.
_JOINING = 0.1
#: How often parts are given to new processes where one was ended from outside.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Run:
    """Sums of all rows, and how they came about."""

    sums: LocalErrorSums
    plan: Plan
    n_files: int
    #: Parts summed now, and parts whose sums a former run had kept.
    n_summed: int
    n_kept: int


def planned(directory: Path) -> Plan | None:
    """Return the plan of a directory of sums; None without one, InputError if damaged."""
    place = directory / PLAN
    return Plan.load(place) if place.exists() else None


def sum_files(
    parts: Sequence[Partition],
    plan: Plan,
    *,
    directory: str | Path | None = None,
    n_workers: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Sum the rows of every part; to the last bit the same by whatever processes.

    ``parts, plan``: the rows, and what they become. ``directory``: where plan and sums of each part
    are saved; what is there is not summed again. ``n_workers``: processes. ``cluster``: address of
    a Dask scheduler, ``tcp://…:8786``, whose workers sum and join instead (package
    ``distributed``); they see files and ``directory`` under the same paths. ``progress``: called
    with the share done and a short message; may raise to stop.

    Raises InputError if a file cannot be read, a value breaks a rule, or the cluster cannot be
    reached or is lost; it says how to go on, and sums of other parts are saved. Raises MemoryError
    if workers were ended from outside again and again.
    """
    with tempfile.TemporaryDirectory(prefix="lore-sums-") as made:
        # (Workers on other machines do not see a folder of this one.)
        folder = Path(made) if cluster is None else None
        if directory is not None:
            folder = made_directory(directory)
        if folder is not None and not (folder / PLAN).exists():
            plan.save(folder / PLAN)
        tag = plan.digest
        paths = {part: None if folder is None else folder / _name(part, tag) for part in parts}
        n_open = len(_open(paths))
        try:
            sums = _summed(plan, paths, n_workers, cluster, progress)
        except InputError as error:
            hint = "(--sums DIR keeps the sums of the parts that were read.)"
            if directory is not None:
                hint = f"Sums of other parts are kept in '{directory}': the same again goes on."
            raise InputError(f"{error} {hint}") from error
        except BrokenProcessPool as error:
            hint = "" if directory is None else " Run it again to go on."
            raise MemoryError(
                "worker processes were ended from outside, most likely for want of memory; take "
                f"fewer workers or cells.{hint}"
            ) from error
    n_files = len({part.path for part in parts})
    return Run(sums, plan, n_files, n_open, len(parts) - n_open)


def _summed(
    plan: Plan,
    paths: Mapping[Partition, Path | None],
    n_workers: int,
    cluster: str | None,
    progress: Progress | None,
) -> LocalErrorSums:
    summing = part_of(progress, 0.0, 1 - _JOINING)
    if cluster is not None:
        return sum_on_cluster(plan, paths, cluster, progress=summing)
    for attempt in range(_ATTEMPTS):
        try:
            _sum_here(plan, paths, n_workers, summing)
            break
        except BrokenProcessPool:  # what others had finished is not done again
            if attempt == _ATTEMPTS - 1:
                raise
    return LocalErrorSums.joined(_loaded(paths, part_of(progress, 1 - _JOINING, 1.0)))


def _open(paths: Mapping[Partition, Path | None]) -> list[Partition]:
    return [part for part, path in paths.items() if saved_sums(path) is None]


def _sum_here(
    plan: Plan, paths: Mapping[Partition, Path | None], n_workers: int, progress: Progress | None
) -> None:
    open_parts = _open(paths)
    total = sum(part.n_rows for part in paths)
    done = total - sum(part.n_rows for part in open_parts)
    tell(progress, done / total, f"{done:,} of {total:,} rows summed")
    with joblib.Parallel(n_jobs=n_workers, return_as="generator_unordered") as pool:
        for rows in pool(joblib.delayed(_sum_part)(plan, part, paths[part]) for part in open_parts):
            done += rows
            tell(progress, done / total, f"{done:,} of {total:,} rows summed")


def _sum_part(plan: Plan, part: Partition, path: Path | None) -> int:
    sum_and_save(plan, part, path)
    return part.n_rows


def _loaded(
    paths: Mapping[Partition, Path | None], progress: Progress | None
) -> Iterator[LocalErrorSums]:
    for step, path in enumerate(paths.values(), start=1):
        assert path is not None  # sums of this machine are in files
        yield LocalErrorSums.load(path)
        tell(progress, step / len(paths), "joining the sums of all parts")


def _name(part: Partition, plan_digest: str) -> str:
    """Name the file of a part's sums: another where the part's file changed, or the plan."""
    text = f"{part.path} {part.row_groups} {part.stamp} {plan_digest}"
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"


def made_directory(directory: str | Path) -> Path:
    """Make a directory, where there is none. Raises InputError if it cannot be written."""
    place = as_path(directory)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"'{directory}' must be a directory that can be written; got {error.strerror}."
        ) from error
    return place
