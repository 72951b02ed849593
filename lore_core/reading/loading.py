"""Loading, inspecting and reporting on files of predictions, as callers do."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.errors import InputError, counted
from lore_core.data.progress import Progress, tell
from lore_core.data.texts import with_text_features
from lore_core.reading.checks import check_data
from lore_core.reading.columns import Columns
from lore_core.reading.file_rows import FileRows, MissingRoleError, assemble, read_rows
from lore_core.reading.formats import half_of, open_columns, runs_in, sources_of
from lore_core.reading.images import SIDE, Images, image_files, read_images
from lore_core.reading.isolation import parse
from lore_core.reading.joining import count_rows, has_role, image_only_array, join, prediction_files
from lore_core.reading.mapping import SEVERAL, ColumnMapping, as_mapping
from lore_core.reading.raw_file import RawFile, Sources
from lore_core.reading.reading_report import (
    FileOverview,
    Reading,
    overview_of,
    report_on,
    what_was_read,
    with_features_or_images,
)
from lore_core.reading.roles import guess
from lore_core.reading.suggestions import explained, suggest

_Given = ColumnMapping | Mapping[str, Any] | None


def load(
    source: Sources, *, mapping: _Given = None, name: str | None = None, isolate: bool = False
) -> Dataset:
    """Read predictions, labels and what else is known about each row.

    ``source``: one file (``.npz .csv .tsv .txt .parquet .feather .arrow .json .jsonl .eval .xlsx
    .sqlite .duckdb .arff .dta``, compressed too), pattern of parts (``part-*.parquet``), or data
    frame (pandas, Polars, Dask, Arrow, DuckDB); or two, ``*_cal`` and ``*_test`` for calibration
    and evaluation. Files without predictions (images, texts, metadata) are joined by an id column
    that both have, else to the file of as many rows. A directory holds one file, one pair, parts of
    one table, or a saved Hugging Face dataset. ``mapping``: which column plays which role; what it
    leaves open is guessed. ``name``: how pages and errors call the data; by default the file name.
    ``isolate``: for untrusted files, parse in a child process with limits on memory and time (Linux
    only); a file that ends that process raises InputError.

    Returns data with a split if there are two files or a ``split`` column. Raises InputError, one
    sentence naming file, column, rule and first bad row. See also :func:`read`, the same with a
    report in plain words, and :func:`load_runs`, every pair of a directory.
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

    ``source``: a directory, of which only pairs are read if it has any, or files; a file without a
    partner is a run with a ``split`` column. A run stored in several formats is read once: ``.npz``
    before ``.parquet``, ``.feather`` and ``.csv``. ``mapping``: which column plays which role, in
    every file. ``progress``: called with the share done and the run that was read; it may raise to
    stop. ``isolate``: as in :func:`load`.

    Returns one dataset a run, sorted by name, each with its split. Raises InputError if no run is
    found, a half is missing, or a file cannot be read.
    """
    runs = runs_in(source)
    datasets = []
    for number, (run, files) in enumerate(runs.items(), start=1):
        datasets.append(load(list(files), mapping=mapping, name=run, isolate=isolate))
        tell(progress, number / len(runs), f"reading run {number} of {len(runs)}: {run}")
    return datasets


def read_batches(
    sources: Sources, *, mapping: _Given = None, isolate: bool = False
) -> tuple[Dataset, list[str]]:
    """Read files of any number as one dataset, and name the batch of each row: its file.

    Calibration rows of a file with a split are left out. Raises InputError as :func:`load`.
    """
    raws, given = sources_of(sources), as_mapping(mapping)
    if len({raw.stem for raw in raws}) < len(raws):
        raise InputError("two of the files have one name, which names the batch. Rename one.")
    kind: Any = tuple[Dataset, list[int]]
    dataset, counts = parse(kind, read_batch_files, raws, given, isolate=isolate)
    evaluated = dataset.in_split(EVALUATION)
    batch = np.repeat([raw.stem for raw in raws], counts)[evaluated]
    return dataset.rows(evaluated), batch.tolist()


def inspect(source: Sources, *, mapping: _Given = None, isolate: bool = False) -> FileOverview:
    """Look at a file before reading it: its columns in plain words and their guessed roles.

    Of several files the first that cannot be read, else the first with predictions; where one
    cannot be read with ``mapping``, with mappings that do. The overview's ``mapping`` is the guess,
    in which open roles stay None; only a damaged or unreadable file raises InputError.
    ``isolate``: as in :func:`load`.
    """
    raws, given = sources_of(source), as_mapping(mapping)
    return parse(FileOverview, inspect_files, raws, given, isolate=isolate)


def read(
    sources: Sources,
    *,
    mapping: _Given = None,
    name: str | None = None,
    isolate: bool = False,
    overview: bool = False,
) -> Reading:
    """Read as :func:`load` does, and report on it; with ``overview`` of what the file holds, too.

    The overview is that of :func:`inspect`, without parsing the file again.
    """
    raws, given = sources_of(sources), as_mapping(mapping)
    parsed = parse(Reading, read_files, raws, given, name, overview, isolate=isolate)
    return _with_text(_with_images(parsed, raws, isolate=isolate))


def _with_images(reading: Reading, raws: Sequence[RawFile], *, isolate: bool) -> Reading:
    """Make thumbnails of files that a column names, if there are no images; one child for all."""
    named = reading.mapping.images
    if reading.dataset.images is not None or named == "":
        return reading
    folders = [raw.content.parent for raw in raws if isinstance(raw.content, Path)]
    found = image_files(reading.dataset, folders, named)
    if found is None:
        return reading
    column, paths, of_row = found
    files = [RawFile(path.name, path) for path in paths]
    made = parse(Images, read_images, files, isolate=isolate)
    if made.shape[1:] != (SIDE, SIDE, 3) or len(made) <= of_row.max():
        raise InputError(f"the images that '{column}' names were read as something else.")
    images = made[of_row]
    images[of_row < 0] = 0
    dataset = dataclasses.replace(reading.dataset, images=images, has_image=of_row >= 0)
    note = f"Images are the files that '{column}' names, as thumbnails."
    if missing := int((of_row < 0).sum()):
        note += f" {counted(missing, 'row')} without one."
    mapping = dataclasses.replace(reading.mapping, images=column)
    shown = dataclasses.replace(reading, mapping=mapping)
    return with_features_or_images(shown, dataset, note)


def _with_text(found: Reading) -> Reading:
    """Make features of the text column, if one was named and there are no features."""
    column = found.mapping.text
    if found.dataset.features is not None or not column:
        return found
    dataset = with_text_features(found.dataset, column)
    whose = "calibration rows" if dataset.calibration is not None else "all rows"
    count = len(dataset.feature_labels)
    note = f"Features are {count} numbers made of the words of '{column}', learnt from {whose}."
    return with_features_or_images(found, dataset, note)


def inspect_files(raws: Sequence[RawFile], given: ColumnMapping) -> FileOverview:
    """Describe the first file with predictions, or of those the first that cannot be read."""
    opened = [open_columns(raw, given.table, given.query) for raw in raws]
    files = prediction_files(opened, given) or opened[:1]
    for columns in files:
        if found := suggest(columns, given):
            return overview_of(columns, given, found)
    return overview_of(files[0], given)


def read_files(
    raws: list[RawFile], given: ColumnMapping, name: str | None, overview: bool
) -> Reading:
    """Read the files, but neither texts as features nor image files they name."""
    opened = [open_columns(raw, given.table, given.query) for raw in raws]
    files = prediction_files(opened, given)
    _check_count(raws, files)
    notes: list[str] = []
    beside = [columns for columns in opened if columns not in files]
    for columns in beside:
        files = join(files, columns, given, notes)
    halves = _halves([columns.file for columns in files], notes)
    runs = [half_of(columns.file).run for columns in files]
    if len(set(runs)) > 1:
        notes.append(f"Files called '{runs[0]}' and '{runs[1]}' must be of one classifier.")
    shared = runs[0] if len(runs) == 2 and runs[0] == runs[1] else ""
    read_first: dict[int, FileRows] = {}
    # (Columns called as classes are known in the half that has rows of all.)
    for k in sorted(
        range(len(files)), key=lambda k: not has_role(files[k], given, "probabilities")
    ):
        wanted = _drop_absent(given, files[k], files)
        try:
            rows = _rows_like([*read_first.values()], files[k], wanted)
        except MissingRoleError as error:
            raise explained(error, files[k], wanted) from error
        read_first[k] = _in_half(rows, halves[k], notes)
    parts = [read_first[k] for k in sorted(read_first)]
    used = parts[0].mapping
    # (In the order of the files, unless the names say that the first is for evaluation.)
    if halves[0] == EVALUATION:
        parts.reverse()
    called = name or shared or RawFile(files[0].file, b"").stem
    dataset, assembling = assemble(parts, name=called)
    read_of = [what_was_read(part.columns, len(part.is_read), part.role) for part in parts]
    for columns in beside:
        role = "images" if image_only_array(columns) else "further columns"
        read_of.append(what_was_read(columns, count_rows(columns), role))
    checks = check_data(
        dataset,
        given.accept or (),
        kind=used.probability_kind,
        row_id=used.row_id or "",
        incomplete=[columns.incomplete for columns in opened if columns.incomplete],
    )
    report = report_on(
        dataset,
        files=tuple(read_of),
        dropped=tuple(reason for part in parts for reason in part.dropped),
        notes=(*notes, *assembling),
        checks=checks,
    )
    return Reading(dataset, report, used, overview_of(files[0], given) if overview else None)


def read_batch_files(raws: Sequence[RawFile], given: ColumnMapping) -> tuple[Dataset, list[int]]:
    """Read the rows of each file after those of the one before it, and count them."""
    parts: list[FileRows] = []
    for raw in raws:
        parts.append(_rows_like(parts, open_columns(raw, given.table, given.query), given))
    dataset, _ = assemble(parts, name=f"{parts[0].columns.file} and others")
    apart = dataclasses.replace(dataset, split=None)  # halves of different days may overlap
    lost = [part.columns.incomplete for part in parts if part.columns.incomplete]
    kind = parts[0].mapping.probability_kind
    check_data(apart, given.accept or (), kind=kind, incomplete=lost)
    return dataset, [len(part) for part in parts]


def _check_count(raws: Sequence[RawFile], files: Sequence[Columns]) -> None:
    if not files:
        raise InputError(f"'{raws[0].name}' holds images but no predictions. Add their file.")
    if len(files) > 2:
        raise InputError(
            f"{len(files)} files with predictions were given, more than two "
            f"({', '.join(columns.file for columns in files)}). Read several runs with load_runs."
        )


def _halves(names: Sequence[str], notes: list[str]) -> list[str]:
    """Return which half each of two files is, by its name; ``""`` for a single file."""
    if len(names) == 1:
        return [""]
    one, two = (half_of(name).split for name in names)
    if one == two:
        notes.append(f"'{names[0]}' was taken for calibration, '{names[1]}' for evaluation.")
    first = EVALUATION if one != two and (one == EVALUATION or two == CALIBRATION) else CALIBRATION
    return [first, CALIBRATION if first == EVALUATION else EVALUATION]


def _in_half(part: FileRows, half: str, notes: list[str]) -> FileRows:
    """Assign rows to a half unless they have a split column of their own."""
    named = half or half_of(part.columns.file).split
    if part.split is None:
        return dataclasses.replace(part, split=np.full(len(part), half) if half else None)
    if named is not None and not (part.split == named).all():
        notes.append(f"'{part.mapping.split}' of '{part.columns.file}' tells the split.")
    return part


def _drop_absent(given: ColumnMapping, columns: Columns, files: Sequence[Columns]) -> ColumnMapping:
    """Leave out optional columns that only the other file holds, such as images."""
    elsewhere = {name for file in files for name in (*file.shapes, *file.parents.values())}
    absent = elsewhere - {*columns.shapes, *columns.parents.values()}
    changes: dict[str, Any] = {}
    for role, names in given.columns().items():
        if role in ("groups", "metadata", "images", "row_id") and absent & set(names):
            left = tuple(name for name in names if name not in absent)
            changes[role] = left if role in SEVERAL else ""
    return dataclasses.replace(given, **changes)


def _rows_like(parts: Sequence[FileRows], columns: Columns, given: ColumnMapping) -> FileRows:
    """Read a file by the guesses for the first part where it has the same columns."""
    guessed = guess(columns, given)
    if not parts:
        return read_rows(columns, guessed)
    first, follow = parts[0].mapping, dict[str, Any]()
    for role in ("label", "prediction", "split", "row_id", "probabilities", "features"):
        names = set(first.columns().get(role, ()))
        is_open = getattr(given, role) is None and names and names <= set(columns.shapes)
        if is_open and (role not in SEVERAL or set(getattr(guessed, role) or names) == names):
            follow[role] = getattr(first, role)
    if "probabilities" in follow:
        if columns.class_names is None is parts[0].columns.class_names:
            follow["class_names"] = given.class_names or first.class_names
        follow["probability_kind"] = given.probability_kind or first.probability_kind
    return read_rows(columns, guess(columns, dataclasses.replace(given, **follow)))
