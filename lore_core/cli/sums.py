"""Data that do not fit into memory: what commands do with them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lore_core.cli.options import Command, ViewOptions
from lore_core.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lore_core.data.dataset import Dataset
    from lore_core.data.progress import Progress
    from lore_core.embedding import MapName
    from lore_core.mergeable import Partition, Plan, Run

#: Up to so many rows everything is exact, and every row is compared with every other.
EXACT_ROWS = 2_000_000
_CELLS = 2**19


@dataclass(frozen=True)
class SumsOptions:
    """How rows are summed where there are too many for the exact numbers."""

    directory: Path | None  #: Where sums are kept
    n_workers: int
    max_cells: int | None
    cluster: str | None = None  #: Address of a scheduler

    @property
    def wanted(self) -> bool:
        """Whether sums were asked for, however few rows there are."""
        asked = (self.directory, self.max_cells, self.cluster)
        return self.n_workers > 1 or any(option is not None for option in asked)


def sums_options(command: Command) -> Command:
    """Give a command its :class:`SumsOptions` as ``sums``."""

    @click.option(
        "--cells",
        "max_cells",
        type=click.IntRange(min=1000),
        metavar="N",
        help="Of Parquet files with more than 2,000,000 rows: most cells of the map that rows are "
        "summed in (default: 524,288); four times as many halve their width.",
    )
    @click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Sum them on the workers of this Dask scheduler, tcp://host:8786, which see the same "
        "files.",
    )
    @click.option(
        "--workers",
        "n_workers",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Processes that sum such rows.",
    )
    @click.option(
        "--sums",
        "directory",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Keep the sums of each part of such files here: a run that was stopped goes on, and "
        "new files are added.",
    )
    @functools.wraps(command)
    def called(
        *given: Any,
        directory: Path | None,
        n_workers: int,
        max_cells: int | None,
        cluster: str | None,
        **rest: Any,
    ) -> Any:
        sums = SumsOptions(directory, n_workers, max_cells, cluster)
        return command(*given, sums=sums, **rest)

    return called


def run_of(
    given: ViewOptions, sums: SumsOptions, progress: Progress | None, *, always: bool = False
) -> Run | None:
    """Sum the rows of the files that were named; None where exact numbers can be had.

    ``always``: whether rows are summed however few they are. Raises InputError if sums were asked
    for and the data are no Parquet files.
    """
    from lore_core.data.progress import part_of
    from lore_core.data.validation import InputError
    from lore_core.mergeable import parquet_files, partitions_of, rows_in

    wanted = always or sums.wanted
    if given.isolate and wanted:
        raise InputError("'--isolate' reads one dataset as a whole; sums read many files in parts.")
    if given.isolate:
        return None
    no_map = given.maps == ("none",) and not wanted
    files = [] if no_map or given.data == ("demo",) else parquet_files(given.data)
    if not files:
        if wanted:
            raise InputError(
                "'--sums', '--workers', '--cells' and '--against' are for .parquet files."
            )
        return None
    kept = _evaluated(files)
    if not wanted and rows_in(kept) <= EXACT_ROWS:
        return None
    parts = partitions_of(kept)
    plan = plan_of(given, sums, parts, part_of(progress, 0.0, 0.1))
    return summed(parts, plan, sums, part_of(progress, 0.1, 0.8))


def other_run(
    data: tuple[str, ...], plan: Plan, sums: SumsOptions, progress: Progress | None
) -> Run:
    """Sum the rows of other files on the same map and in the same bins.

    Raises InputError if they are no Parquet files, or a column is missing.
    """
    from lore_core.data.validation import InputError
    from lore_core.mergeable import parquet_files, partitions_of

    files = parquet_files(data)
    if not files:
        raise InputError("'--against' must name .parquet files with the columns of DATA.")
    return summed(partitions_of(_evaluated(files)), plan, sums, progress)


def summed(
    parts: Sequence[Partition], plan: Plan, sums: SumsOptions, progress: Progress | None
) -> Run:
    """Sum parts as the options say."""
    from lore_core.mergeable import sum_files

    return sum_files(
        parts,
        plan,
        directory=sums.directory,
        n_workers=sums.n_workers,
        cluster=sums.cluster,
        progress=progress,
    )


def is_large(data: tuple[str, ...], sums: SumsOptions) -> bool:
    """Whether data are Parquet files to be summed for the app.

    A pattern, files with more rows than fit, or any for which sums were asked for; not a directory
    of several runs. Raises InputError if sums were asked for of other data.
    """
    from lore_core.data.validation import InputError
    from lore_core.mergeable import parquet_files, rows_in
    from lore_core.reading.file_pairs import half_of

    place = Path(data[0]).expanduser()
    if place.is_dir() and not list(place.glob("*.parquet")):
        return False
    files = parquet_files(data)
    if sums.wanted and not files:
        raise InputError("'--sums', '--workers' and '--cells' are for .parquet files.")
    if sums.wanted or not files or not all(path.exists() for path in files):
        return sums.wanted
    halves = [half_of(path.name) for path in files]
    if place.is_dir() and len({half.run for half in halves if half.split}) > 1:
        return False
    is_pattern = len(files) > 1 and not place.exists()
    return is_pattern or rows_in(files) > EXACT_ROWS


def open_whole(
    data: tuple[str, ...], sums: SumsOptions, n_rows: int, folder: Path, progress: Progress
) -> list[Path]:
    """Sum all rows and draw a sample of them, for the app; return the files of the sample.

    Files whose names say that they are calibration rows are drawn from apart. Raises InputError if
    a file cannot be read.
    """
    from lore_core.data.dataset import CALIBRATION
    from lore_core.data.progress import part_of
    from lore_core.mergeable import make_plan, parquet_files, partitions_of, sample_rows
    from lore_core.mergeable.partitions.run import planned
    from lore_core.mergeable.partitions.whole import write_whole
    from lore_core.reading.file_pairs import half_of

    halves: dict[str, list[Path]] = {"cal": [], "test": []}
    for path in parquet_files(data):
        halves["cal" if half_of(path.name).split == CALIBRATION else "test"].append(path)
    parts = partitions_of(halves["test"] or halves["cal"])
    plan = None if sums.directory is None else planned(sums.directory)
    if plan is None:
        cells = _CELLS if sums.max_cells is None else sums.max_cells
        plan = make_plan(parts, max_cells=cells, progress=part_of(progress, 0.0, 0.1))
    run = summed(parts, plan, sums, part_of(progress, 0.1, 0.9))
    both = all(halves.values())
    stem = half_of(Path(data[0]).name.replace("*", "")).run.strip("-_. ") or "rows"
    samples = []
    for half, paths in halves.items():
        if paths:
            sample = sample_rows(partitions_of(paths), n_rows // 2 if both else n_rows)
            samples.append((f"{stem}_{half}" if both else f"{stem}-sample", sample))
    note(f"the pages show a sample: {', '.join(sample.sentence for _, sample in samples)}.")
    return write_whole(folder, run, samples)


def sample_of(
    data: tuple[str, ...], columns: tuple[str, ...], n_rows: int, seed: int
) -> Dataset | None:
    """Draw calibration rows of Parquet files that have more than fit; None where all can be read.

    Of files of both halves those of calibration rows are looked at. Raises InputError if there are
    none to fit on.
    """
    from lore_core.cli.output import Progress as Shown
    from lore_core.cli.view import column_mapping
    from lore_core.data.dataset import CALIBRATION
    from lore_core.mergeable import parquet_files, partitions_of, rows_in, sample_rows
    from lore_core.reading.file_pairs import half_of

    files = [] if data[0].startswith("demo") else parquet_files(data)
    if not files or not all(path.exists() for path in files) or rows_in(files) <= EXACT_ROWS:
        return None
    fitted = [path for path in files if half_of(path.name).split == CALIBRATION] or files
    with Shown() as progress:
        sample = sample_rows(
            partitions_of(fitted),
            n_rows,
            mapping=column_mapping(columns),
            split=CALIBRATION,
            random_state=seed,
            progress=progress,
        )
    note(f"fitted on {sample.sentence}.")
    return sample.rows


def _evaluated(files: Sequence[Path]) -> list[Path]:
    """Leave out files of calibration rows, if there are others."""
    from lore_core.data.dataset import CALIBRATION
    from lore_core.reading.file_pairs import half_of

    kept = [path for path in files if half_of(path.name).split != CALIBRATION] or list(files)
    if len(kept) < len(files):
        note(f"{len(files) - len(kept)} of {len(files)} files are calibration rows: left out.")
    return kept


def plan_of(
    given: ViewOptions,
    sums: SumsOptions,
    parts: Sequence[Partition],
    progress: Progress | None,
) -> Plan:
    """Take the plan of the sums that are kept, if it is what was asked for; else make one."""
    from lore_core.cli.view import column_mapping
    from lore_core.data.validation import InputError
    from lore_core.embedding import MapName
    from lore_core.mergeable import make_plan
    from lore_core.mergeable.partitions.run import planned

    if len(given.maps) > 1 or given.maps == ("none",):
        raise InputError("'--map' must name one map where rows are summed in cells.")
    former = None if sums.directory is None else planned(sums.directory)
    if former is not None:
        note(f"sums in '{sums.directory}': their map, columns and bins are used ({former.note}).")
        name, on = former.embedding.name, _map_asked(given)
        same = on is None or on in (name, MapName(name.method))
        asked: dict[str, tuple[object, object]] = {
            "--map": (name.typed if same else given.maps[0], name.typed),
            "--target": (given.target, former.target),
            "--bins": (given.n_bins, former.bins.n_bins),
            "--binning": (given.binning, former.bins.binning),
            "--cells": (sums.max_cells or former.max_cells, former.max_cells),
        }
        for option, (wanted, there) in asked.items():
            if wanted != there:
                raise InputError(
                    f"'{option}' must be {there} as in '{sums.directory}'; got {wanted}. Name "
                    "another directory for other sums."
                )
        return former
    return make_plan(
        parts,
        mapping=column_mapping(given.columns),
        target=given.target,
        feature_map=_map_asked(given),
        n_bins=given.n_bins,
        binning=given.binning,
        max_cells=_CELLS if sums.max_cells is None else sums.max_cells,
        random_state=given.seed,
        progress=progress,
    )


def _map_asked(given: ViewOptions) -> MapName | None:
    from lore_core.embedding import MapName

    return MapName.parse(given.maps[0], "--map") if given.maps else None


def settings_of(run: Run, given: ViewOptions, gamma: float | None) -> dict[str, Any]:
    """Say in a mapping what was looked at, for files, as a view does."""
    sums = run.sums
    return {
        "data": list(given.data),
        "evaluation_rows": sums.n_rows,
        "target": run.plan.target,
        "map": run.plan.embedding.name.title,
        "gamma": gamma,
        "bins": sums.bins.n_bins,
        "binning": sums.bins.binning,
        "seed": given.seed,
        "sums": {"files": run.n_files, "cells": len(sums.cells), "cell_width": sums.width},
    }


def said_of(run: Run) -> str:
    """Say what the numbers rest on."""
    sums = run.sums
    return (
        f"{sums.n_rows:,} rows of {run.n_files} file{'s' if run.n_files > 1 else ''}, "
        f"{sums.bins.n_bins} {sums.bins.binning} bins. Local errors are from sums over "
        f"{len(sums.cells):,} cells of width {sums.width:g} on {run.plan.note}: “surely” is where "
        "the exact number lies. Without it a number is exact."
    )
