"""Load, inspect and report on files of predictions: the functions that callers use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress, tell
from lore_core.data.text_features import with_text_features
from lore_core.reading.file_pairs import runs_in, sources_of
from lore_core.reading.image_files import Images, image_files, read_images
from lore_core.reading.isolation import IS_POSSIBLE, run_isolated
from lore_core.reading.mapping import ColumnMapping, as_mapping
from lore_core.reading.overview import FileOverview
from lore_core.reading.raw_file import RawFile, Sources
from lore_core.reading.read_files import Reading, inspect_files, read_files
from lore_core.reading.reading_report import images_in_words

_Given = ColumnMapping | Mapping[str, Any] | None


def load(
    source: Sources, *, mapping: _Given = None, name: str | None = None, isolate: bool = False
) -> Dataset:
    """Read predictions, labels and what else is known about each row.

    Parameters
    ----------
    source : path, file-like, data frame, a sequence of these, or a directory
        One file (``.npz .csv .tsv .txt .parquet .feather .arrow .json .jsonl .eval .xlsx .sqlite
        .duckdb``) or data frame (pandas, Polars, Arrow, DuckDB), or two: ``*_cal`` and ``*_test``
        become the calibration and evaluation rows of one dataset. A further ``.npz`` that holds
        only images is attached to the file with as many rows. A directory may hold one file or one
        pair, or what Hugging Face's ``save_to_disk`` wrote.
    mapping : ColumnMapping or dict, optional
        Which column plays which role; what it leaves open is guessed by name.
    name : str, optional
        How pages and errors call the data; by default the file name.
    isolate : bool
        Parse in a child process with limits on memory and time, as the dashboard does: for
        untrusted files. A file that ends that process is an InputError here. (On Linux; elsewhere
        it changes nothing.)

    Returns
    -------
    Dataset
        With a split for two files or where a ``split`` column tells; else ``split`` is None.

    Raises
    ------
    InputError
        One sentence naming file, column, rule and first bad row.

    See Also
    --------
    read : the same with a report in plain words.
    load_runs : every pair of a directory.
    """
    return read(source, mapping=mapping, name=name, isolate=isolate).dataset


def load_runs(
    source: Sources,
    *,
    mapping: _Given = None,
    progress: Progress | None = None,
    isolate: bool = False,
) -> list[Dataset]:
    """Read every pair ``<run>_cal.*`` and ``<run>_test.*`` of a directory, or the files given.

    Parameters
    ----------
    source : path of a directory, or a sequence of paths and file-likes
        Other files of a directory are left alone, unless it holds no pair at all: then each file
        is a run, whose rows a ``split`` column tells apart. Files given one by one are all read,
        in pairs or alone. A run stored in several formats is read once: ``.npz`` before
        ``.parquet``, ``.feather`` and ``.csv``.
    mapping : ColumnMapping or dict, optional
        Which column plays which role, in every file.
    progress : callable, optional
        Called with the share done and the run that was read; it may raise to stop.
    isolate : bool
        As in :func:`load`.

    Returns
    -------
    list of Dataset
        One a run, sorted by name, each with its split.

    Raises
    ------
    InputError
        If no run is found, a half is missing, or a file cannot be read.
    """
    runs = runs_in(source)
    datasets = []
    for number, (run, files) in enumerate(runs.items(), start=1):
        datasets.append(load(list(files), mapping=mapping, name=run, isolate=isolate))
        tell(progress, number / len(runs), f"reading run {number} of {len(runs)}: {run}")
    return datasets


def inspect(source: Sources, *, mapping: _Given = None, isolate: bool = False) -> FileOverview:
    """Look at a file before reading it: its columns in plain words and their guessed roles.

    Of several files the first one that holds more than images is described. Nothing but a damaged
    or unreadable file is an error here: open roles stay None in the mapping. ``isolate``: as in
    :func:`load`.
    """
    raws, given = sources_of(source), as_mapping(mapping)
    if isolate and _can_isolate(raws):
        return run_isolated(FileOverview, inspect_files, raws, given)
    return inspect_files(raws, given)


def guess_mapping(source: Sources, *, mapping: _Given = None) -> ColumnMapping:
    """Return the guess which column plays which role; what ``mapping`` says is kept."""
    return inspect(source, mapping=mapping).mapping


def read(
    sources: Sources, *, mapping: _Given = None, name: str | None = None, isolate: bool = False
) -> Reading:
    """Read as :func:`load` does, and report on it."""
    raws, given = sources_of(sources), as_mapping(mapping)
    isolate = isolate and _can_isolate(raws)
    if isolate:
        parsed = run_isolated(Reading, read_files, raws, given, name)
    else:
        parsed = read_files(raws, given, name)
    return _with_text(_with_images(parsed, raws, isolate=isolate))


def _with_images(reading: Reading, raws: Sequence[RawFile], *, isolate: bool) -> Reading:
    """Make thumbnails of the files that a column names, where there are no images yet.

    Of a child process each file counts for the memory and the time that may be taken.
    """
    named = reading.mapping.images
    if reading.dataset.images is not None or named == "":
        return reading
    folders = [raw.content.parent for raw in raws if isinstance(raw.content, Path)]
    files = image_files(reading.dataset, folders, named)
    if files is None:
        return reading
    pictures = [RawFile(path.name, path) for path in files.paths]
    images = run_isolated(Images, read_images, pictures) if isolate else read_images(pictures)
    dataset = files.given_to(reading.dataset, images)
    report = dataclasses.replace(
        reading.report, images=images_in_words(dataset), notes=(*reading.report.notes, files.note)
    )
    mapping = dataclasses.replace(reading.mapping, images=files.column)
    return dataclasses.replace(reading, dataset=dataset, report=report, mapping=mapping)


def _with_text(found: Reading) -> Reading:
    """Make features of a text column, where it was named and there are none."""
    report, column = found.report, found.mapping.text
    if found.dataset.features is not None or not column:
        return found
    dataset = with_text_features(found.dataset, column)
    whose = "calibration rows" if dataset.calibration is not None else "all rows"
    count = len(dataset.feature_labels)
    note = (
        f"Features are {count} numbers made of the words of '{column}' (TF-IDF and its singular "
        f"vectors, learnt from {whose})."
    )
    report = dataclasses.replace(report, n_features=count, notes=(*report.notes, note))
    return dataclasses.replace(found, dataset=dataset, report=report)


def _can_isolate(raws: Sequence[RawFile]) -> bool:
    """Whether there are limits here, and no file is a table in memory, which is the caller's."""
    return IS_POSSIBLE and all(isinstance(raw.content, (Path, bytes)) for raw in raws)
