"""Parse the files of one dataset: halves by their names, images beside them, a report on all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.validation import InputError
from lore_core.reading.assemble import assemble
from lore_core.reading.checks import check_data
from lore_core.reading.columns import Columns
from lore_core.reading.file_pairs import half_of
from lore_core.reading.file_rows import FileRows, group_frame, pictures, read_rows
from lore_core.reading.formats import open_columns
from lore_core.reading.guess import guess
from lore_core.reading.mapping import ColumnMapping
from lore_core.reading.overview import FileOverview, overview_of
from lore_core.reading.raw_file import RawFile
from lore_core.reading.reading_report import FileFacts, ReadingReport, report_on


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read: the dataset, the report on it, and the mapping that was used.

    For a pair of files the mapping is that of the first one.
    """

    dataset: Dataset
    report: ReadingReport
    mapping: ColumnMapping


def inspect_files(raws: Sequence[RawFile], given: ColumnMapping) -> FileOverview:
    """Describe the first of several files that holds more than images."""
    with _enough_memory(raws):
        opened = [open_columns(raw, given.table, given.query) for raw in raws]
        chosen = next((columns for columns in opened if not _only_images(columns)), opened[0])
        return overview_of(chosen, given)


def read_files(raws: list[RawFile], given: ColumnMapping, name: str | None) -> Reading:
    """Read all that the files hold; what is made of their texts, and files they name, is not."""
    with _enough_memory(raws):
        return _read(raws, given, name)


@contextmanager
def _enough_memory(raws: Sequence[RawFile]) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"'{raws[0].name}' does not fit into memory. Save fewer rows or features, or float32 "
            "instead of float64."
        ) from error


def _read(raws: list[RawFile], given: ColumnMapping, name: str | None) -> Reading:
    opened = [(raw, open_columns(raw, given.table, given.query)) for raw in raws]
    image_files = [columns for _, columns in opened if _only_images(columns)]
    files = [(raw, columns) for raw, columns in opened if columns not in image_files]
    if not files:
        raise InputError(
            f"'{raws[0].name}' holds images but no predictions. Give the file with probabilities "
            "and labels, too."
        )
    if len(files) > 2:
        raise InputError(
            f"{len(files)} files with predictions were given "
            f"({', '.join(raw.name for raw, _ in files)}); one dataset takes one file, or two for "
            "calibration and test. Read several runs with load_runs."
        )
    notes: list[str] = []
    splits = _splits([raw for raw, _ in files], notes)
    runs = [half_of(raw.name).run for raw, _ in files]
    if len(set(runs)) > 1:
        notes.append(
            f"The files are called differently ('{runs[0]}' and '{runs[1]}'): both must be of one "
            "classifier."
        )
    parts: list[FileRows] = []
    for (_, columns), split in zip(files, splits, strict=True):
        others = [other for _, other in files if other is not columns]
        wanted = _held(given, columns, others)
        if parts:
            wanted = _like(wanted, parts[0].mapping, columns)
        parts.append(_in_split(read_rows(columns, guess(columns, wanted)), split, notes))
    mapping_used = parts[0].mapping
    parts = _shared_groups(parts)
    for columns in image_files:
        parts = _attach(parts, columns, notes)
    order = sorted(range(len(parts)), key=lambda index: splits[index] == EVALUATION)
    parts = [parts[index] for index in order]
    if name is None:
        halves = [half_of(raw.name) for raw, _ in files]
        shared = halves[0].run if len(files) == 2 and halves[0].run == halves[1].run else ""
        name = shared or files[0][0].stem
    made = assemble(parts, name=name)
    facts = tuple(_facts(part) for part in parts)
    facts += tuple(
        FileFacts(columns.file, columns.format, _image_rows(columns), "images")
        for columns in image_files
    )
    report = report_on(
        made.dataset,
        files=facts,
        dropped=tuple(reason for part in parts for reason in part.dropped),
        notes=(*notes, *made.notes),
        checks=check_data(
            made.dataset,
            given.accept or (),
            kind=mapping_used.probability_kind,
            row_id=mapping_used.row_id or "",
            incomplete=[columns.incomplete for _, columns in opened if columns.incomplete],
        ),
    )
    return Reading(made.dataset, report, mapping_used)


def _splits(raws: Sequence[RawFile], notes: list[str]) -> list[str | None]:
    """Return which half each of two files is, by its name; alone a file is neither."""
    if len(raws) == 1:
        return [None]
    one, two = (half_of(raw.name).split for raw in raws)
    if one == two:
        notes.append(
            f"The file names do not tell which is which: '{raws[0].name}' was taken for "
            f"calibration and '{raws[1].name}' for evaluation."
        )
        return [CALIBRATION, EVALUATION]
    if one is None or two is None:
        calibration_first = one == CALIBRATION or two == EVALUATION
        splits = [CALIBRATION, EVALUATION] if calibration_first else [EVALUATION, CALIBRATION]
        unnamed = raws[0 if one is None else 1].name
        notes.append(f"'{unnamed}' was taken for {splits[0 if one is None else 1]}.")
        return [*splits]
    return [one, two]


def _in_split(part: FileRows, split: str | None, notes: list[str]) -> FileRows:
    """Return the part with the split of its file; a split column of its own comes first."""
    named = split or half_of(part.columns.file).split
    if part.split is not None and named is not None and not (part.split == named).all():
        notes.append(
            f"The column '{part.mapping.split}' of '{part.columns.file}' tells the split; the "
            f"file's name would make all its rows {named} rows."
        )
    if part.split is not None or split is None:
        return part
    return dataclasses.replace(part, split=np.full(len(part.rows), split, dtype="<U11"))


def _held(given: ColumnMapping, columns: Columns, others: Sequence[Columns]) -> ColumnMapping:
    """Leave out optional columns that only the other file holds: images of one half, say."""
    held = {*columns.shapes, *columns.parents.values()}
    elsewhere = {name for other in others for name in (*other.shapes, *other.parents.values())}
    absent = elsewhere - held
    changes: dict[str, Any] = {}
    for role, names in given.columns().items():
        if role in ("groups", "metadata") and absent & set(names):
            changes[role] = tuple(name for name in names if name not in absent)
        elif role in ("images", "row_id") and absent & set(names):
            changes[role] = ""
    return dataclasses.replace(given, **changes)


def _like(given: ColumnMapping, first: ColumnMapping, columns: Columns) -> ColumnMapping:
    """Let the second file follow the first one's guesses where it has the same columns."""
    follow: dict[str, Any] = {}
    for role in ("label", "prediction", "split", "row_id"):
        name = getattr(first, role)
        if getattr(given, role) is None and name and name in columns.shapes:
            follow[role] = name
    for role in ("probabilities", "features"):
        names = getattr(first, role)
        if getattr(given, role) is None and names and all(name in columns.shapes for name in names):
            guessed = getattr(guess(columns, given), role) or ()
            if set(guessed) == set(names):
                follow[role] = names
                if role == "probabilities" and given.probability_kind is None:
                    follow["probability_kind"] = first.probability_kind
    return dataclasses.replace(given, **follow)


def _shared_groups(parts: list[FileRows]) -> list[FileRows]:
    """Let a group of one file be a group of the other, where that has the column."""
    if len(parts) == 1:
        return parts
    names = list(dict.fromkeys(str(name) for part in parts for name in part.groups))
    shared = tuple(name for name in names if all(name in part.columns.shapes for part in parts))
    changed = []
    for part in parts:
        mapping = dataclasses.replace(part.mapping, groups=shared)
        if tuple(part.groups) == shared:
            changed.append(part)
        else:
            frame = group_frame(part, shared)
            changed.append(dataclasses.replace(part, mapping=mapping, groups=frame))
    return changed


def _only_images(columns: Columns) -> bool:
    if columns.format != "NPZ":
        return False
    mapping = guess(columns, ColumnMapping())
    return bool(mapping.images) and not mapping.probabilities


def _image_rows(columns: Columns) -> int:
    images = guess(columns, ColumnMapping()).images
    return columns.shapes[images][0] if images else 0


def _attach(parts: list[FileRows], columns: Columns, notes: list[str]) -> list[FileRows]:
    """Give the images of an image file to the part with as many rows.

    Raises InputError if no file or several have as many rows, or labels stored beside the images
    differ.
    """
    mapping = guess(columns, ColumnMapping())
    count = _image_rows(columns)
    fitting = [part for part in parts if part.rows_of_file == count and part.images is None]
    if len(fitting) > 1:
        hint = half_of(columns.file, anywhere=True).split
        fitting = [
            part
            for part in fitting
            if hint and part.split is not None and (part.split == hint).all()
        ]
    if len(fitting) != 1:
        rows = ", ".join(f"'{part.columns.file}' {part.rows_of_file:,}" for part in parts)
        raise InputError(
            f"'{columns.file}' holds {count:,} images, which must belong to exactly one file of as "
            f"many rows; rows: {rows}. Name it after its file, or put the images into that file."
        )
    (part,) = fitting
    label = mapping.label
    # Labels stored beside the images prove the order, if both files write them alike.
    if label and columns.kinds[label] == part.columns.kinds[part.label]:
        beside = columns.series(label).iloc[part.rows].reset_index(drop=True)
        differ = np.flatnonzero((beside.astype(str) != part.labels.astype(str)).to_numpy())
        if len(differ):
            row = int(differ[0])
            raise InputError(
                f"'{columns.file}' is not in the row order of '{part.columns.file}': its label at "
                f"row {int(part.rows[row])} is {beside.iloc[row]!s}, not "
                f"{part.labels.iloc[row]!s}. Save both in the same order."
            )
    images = pictures(columns, str(mapping.images))[part.rows]
    notes.append(
        f"The images of '{columns.file}' were attached to '{part.columns.file}', row by row."
    )
    return [dataclasses.replace(p, images=images) if p is part else p for p in parts]


def _facts(part: FileRows) -> FileFacts:
    roles = set() if part.split is None else set(part.split)
    role = f"{roles.pop()} rows" if len(roles) == 1 else ""
    return FileFacts(part.columns.file, part.columns.format, part.rows_of_file, role)
