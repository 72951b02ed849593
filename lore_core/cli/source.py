"""From options to what commands compute on: a View of rows, or of their sums."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

import lore_core as lore
from lore_core import mergeable, view as views
from lore_core.cli.options import SumsOptions, ViewOptions
from lore_core.cli.output import Progress as Shown, note
from lore_core.data.defaults import ALL_CLASSES, CALIBRATION, GAMMA
from lore_core.data.errors import InputError, as_path, check_choice
from lore_core.data.progress import Progress, part_of

#: Most rows that are compared with every other, exactly.
EXACT_ROWS = 2_000_000
_MAX_CELLS = 2**19
_NOT_ISOLATED = (
    "'--isolate' is for one file, or one for each half; several files, and sums, are read in "
    "parts, which it does not limit."
)


def open_source(
    given: ViewOptions, progress: Progress | None = None, *, all_classes: bool = False
) -> views.View | views.SumsView:
    """Read the data; sum named Parquet files if they are too many for that."""
    wanted = given.wanted
    if given.isolate and wanted:
        raise InputError(_NOT_ISOLATED)
    exact = given.isolate or given.data == ("demo",) or (given.maps == ("none",) and not wanted)
    files = [] if exact else _parquet_files(given.data, only=wanted)
    fitted, others = _halves(files) if files else ([], [])
    if fitted and others:
        note(f"{len(fitted)} of {len(files)} files are calibration rows: left out.")
    evaluated = others or fitted
    if not wanted and not _are_many(evaluated):
        return open_view(given, progress, all_classes=all_classes)
    parts = mergeable.partitions_of(evaluated)
    plan = plan_of(given, parts, part_of(progress, 0.0, 0.1))
    run = mergeable.sum_files(parts, plan, **given.how, progress=part_of(progress, 0.1, 0.8))
    return views.SumsView(run, given.data, given.columns, given.gamma or GAMMA, given.seed)


def open_view(
    given: ViewOptions, progress: Progress | None = None, *, all_classes: bool = False
) -> views.View:
    """Read data and make maps; ``all_classes``: allow that target. InputError if invalid."""
    from lore_core.embedding.embed import make_maps
    from lore_core.kernel_sums.schedule import limited_threads, one_thread_a_product

    one_thread_a_product()  # already while the demo is trained
    dataset = load_data(given.data, given.columns, isolate=given.isolate)
    # Linear algebra takes one thread from now on, and kernels ``jobs`` for this command.
    one_thread_a_product()
    context = click.get_current_context(silent=True)
    if given.jobs is not None and context is not None:
        context.with_resource(limited_threads(given.jobs))
    if dataset.split is None and given.calibration_share > 0:
        dataset = dataset.with_split(given.calibration_share, random_state=given.seed)
        note(
            f"{dataset.name} names no split: {len(dataset.evaluation):,} rows, chosen at random, "
            "are evaluated (--calibration-share 0: all)."
        )
    target = _target(dataset, given.target, all_classes=all_classes)
    maps: dict[str, lore.Embedding] = {}
    if dataset.features is not None and given.maps != ("none",):
        how: dict[str, Any] = {"random_state": given.seed, "progress": progress}
        made = make_maps(dataset.features, given.maps or "pca", "--map", **how)
        maps = {on.name.title: on for on in made.values()}
    settings = given.gamma or GAMMA, given.n_bins, given.binning
    return views.View(dataset, target, *settings, maps, given.seed)


def needs_map(view: views.View | views.SumsView) -> None:
    """Raise InputError if no map was made, or there are no features."""
    if not isinstance(view, views.View) or view.is_local:
        return
    if view.dataset.features is not None:
        raise InputError(
            "'--map' must name a feature map to say where the confidence is wrong, such as pca-2; "
            "got 'none'. `lore metrics` measures what is global."
        )
    raise InputError(
        f"'{view.dataset.name}' must have features (an array 'features' or columns f_*) to say "
        "where its confidence is wrong; it has none. --column text=COLUMN makes some of the words "
        "of a column; `lore metrics` measures what is global."
    )


def load_data(
    data: tuple[str, ...], columns: tuple[str, ...] = (), *, isolate: bool = False
) -> lore.Dataset:
    """Read what DATA names: a file, a calibration/test pair, a directory of these, or a demo."""
    if data == ("demo",):
        return lore.demo.digits()
    from lore_core.reading.formats import parts_of, sources_of
    from lore_core.reading.raw_file import RawFile

    # By a pipe comes text or any binary format, compressed or not.
    standard_input = RawFile("stdin", sys.stdin.buffer.read()) if "-" in data else ""
    files = sources_of([standard_input if name == "-" else name for name in data])
    if len(files) > 2 and all(file.suffix in (".parquet", ".pq") for file in files):
        files = parts_of(files)
    mapping = lore.reading.parse_options(columns)
    read = lore.reading.read(files, mapping=mapping, isolate=isolate)
    for check in read.report.checks:
        if check.level == "look" and check.name in ("units", "neighbouring rows"):
            note(check.found)
    return read.dataset


def load_other(typed: str, given: ViewOptions) -> lore.Dataset:
    """Read another model's predictions: a file, a directory, or two files joined by ";"."""
    data = (typed,) if as_path(typed).exists() else tuple(typed.split(";"))
    return load_data(data, given.columns, isolate=given.isolate)


def _target(dataset: lore.Dataset, wanted: str, *, all_classes: bool) -> str | int:
    if wanted == "top-label":
        return wanted
    names = list(dataset.class_names)
    if wanted not in names and wanted == ALL_CLASSES:
        if not all_classes:
            raise InputError(
                "'--target all' is for `lore metrics`: here it must be top-label or one class."
            )
        if not dataset.complete:
            raise InputError(
                f"'{dataset.name}' must hold whole probability vectors; it has the predicted "
                "class's alone."
            )
        return ALL_CLASSES
    check_choice(wanted, "--target", ["top-label", *names])
    return names.index(wanted)


def _are_many(files: Sequence[Path]) -> bool:
    exist = bool(files) and all(path.exists() for path in files)
    return exist and mergeable.rows_in(files) > EXACT_ROWS


def _parquet_files(data: tuple[str, ...], *, only: bool) -> list[Path]:
    """Return Parquet files; none if others are named, with ``only`` InputError."""
    files = mergeable.parquet_files(data)
    if only and not files:
        raise InputError("'--sums', '--workers' and '--cells' are for .parquet files.")
    return files


def _halves(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the files of calibration rows, by their names, and the others."""
    from lore_core.reading.formats import half_of

    fitted = [path for path in files if half_of(path.name).split == CALIBRATION]
    return fitted, [path for path in files if path not in fitted]


def plan_of(
    given: ViewOptions, parts: Sequence[mergeable.Partition], progress: Progress | None
) -> mergeable.Plan:
    """Return the plan of saved sums if it fits the options, else a new one."""
    from lore_core.mergeable.partitions.run import planned

    if len(given.maps) > 1 or given.maps == ("none",):
        raise InputError("'--map' must name one map where rows are summed in cells.")
    asked = lore.embedding.MapName.parse(given.maps[0], "--map") if given.maps else None
    former = None if given.directory is None else planned(given.directory)
    if former is not None:
        note(f"sums in '{given.directory}': their map, columns and bins are used ({former.note}).")
        name = former.embedding.name
        same = asked is None or asked in (name, lore.embedding.MapName(name.method))
        settings: dict[str, tuple[object, object]] = {
            "--map": (name.typed if same else given.maps[0], name.typed),
            "--target": (given.target, former.target),
            "--bins": (given.n_bins, former.bins.n_bins),
            "--binning": (given.binning, former.bins.binning),
            "--cells": (given.max_cells or former.max_cells, former.max_cells),
        }
        for option, (wanted, there) in settings.items():
            if wanted != there:
                raise InputError(
                    f"'{option}' must be {there} as in '{given.directory}'; got {wanted}. Name "
                    "another directory for other sums."
                )
        return former
    return mergeable.make_plan(
        parts,
        mapping=lore.reading.parse_options(given.columns),
        target=given.target,
        feature_map=asked,
        n_bins=given.n_bins,
        binning=given.binning,
        max_cells=given.max_cells or _MAX_CELLS,
        random_state=given.seed,
        progress=progress,
    )


def is_large(data: tuple[str, ...], sums: SumsOptions) -> bool:
    """Return whether Parquet files, of many rows or by a pattern, are summed; no runs are."""
    from lore_core.reading.formats import half_of

    place = as_path(data[0])
    if place.is_dir() and not list(place.glob("*.parquet")):
        return False
    files = _parquet_files(data, only=sums.wanted)
    halves = [half_of(path.name) for path in files]
    if place.is_dir() and len({half.run for half in halves if half.split}) > 1:
        return sums.wanted
    is_pattern = len(files) > 1 and files[0].exists() and not place.exists()
    return sums.wanted or is_pattern or _are_many(files)


def open_whole(
    data: tuple[str, ...], sums: SumsOptions, n_rows: int, folder: Path, progress: Progress
) -> list[Path]:
    """Sum all rows; return files with a sample for the app, calibration files apart."""
    from lore_core.mergeable.partitions.run import planned, write_whole
    from lore_core.reading.formats import half_of

    halves = dict(zip(("cal", "test"), _halves(mergeable.parquet_files(data)), strict=True))
    parts = mergeable.partitions_of(halves["test"] or halves["cal"])
    plan = None if sums.directory is None else planned(sums.directory)
    if plan is None:
        cells = sums.max_cells or _MAX_CELLS
        plan = mergeable.make_plan(parts, max_cells=cells, progress=part_of(progress, 0.0, 0.1))
    run = mergeable.sum_files(parts, plan, **sums.how, progress=part_of(progress, 0.1, 0.9))
    both = all(halves.values())
    stem = half_of(Path(data[0]).name.replace("*", "")).run.strip("-_. ") or "rows"
    samples = []
    for half, paths in halves.items():
        if paths:
            sample = mergeable.sample_rows(
                mergeable.partitions_of(paths), n_rows // 2 if both else n_rows
            )
            samples.append((f"{stem}_{half}" if both else f"{stem}-sample", sample))
    note(f"the pages show a sample: {', '.join(sample.sentence for _, sample in samples)}.")
    return write_whole(folder, run, samples)


def sample_of(data: tuple[str, ...], columns: tuple[str, ...], n_rows: int) -> lore.Dataset | None:
    """Draw calibration rows of too large Parquet files; None for others, InputError without any."""
    files = [] if data == ("demo",) else mergeable.parquet_files(data)
    if not _are_many(files):
        return None
    with Shown() as progress:
        sample = mergeable.sample_rows(
            mergeable.partitions_of(_halves(files)[0] or files),
            n_rows,
            mapping=lore.reading.parse_options(columns),
            split=CALIBRATION,
            progress=progress,
        )
    note(f"fitted on {sample.sentence}.")
    return sample.rows
