"""What a file holds and what was read of it, in plain words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.errors import InputError, counted, listed, short
from lore_core.data.number_text import percent
from lore_core.data.shown import Shown
from lore_core.reading.checks import Check
from lore_core.reading.columns import Columns
from lore_core.reading.mapping import WRONG_OR_RIGHT, ColumnMapping
from lore_core.reading.roles import guess
from lore_core.reading.suggestions import Suggestion, question

#: Rows in which examples are looked for.
_SAMPLE = 10_000
_WORDS = {
    "whole": "whole number",
    "number": "number",
    "text": "text",
    "bool": "true or false",
    "date": "date",
    "other": "not readable as values",
}
#: Rows of a preview, and most classes that are counted in it.
_PREVIEW_ROWS, _MAX_CLASSES = 5, 50
#: In fewer rows all may be right, or certain, by chance.
_FEWEST = 20
NO_FEATURES = (
    "No feature columns: everything global works; add features to see where confidence is wrong."
)
#: Accuracy within this of the majority class's share gets a warning.
_MAJORITY_MARGIN = 0.01


@dataclass(frozen=True)
class ColumnOverview:
    """One column in plain words."""

    name: str  #: As in the file
    #: ``"whole number"``, ``"number"``, ``"text"``, ``"true or false"``, ``"date"``, or for an
    #: array ``"100 columns of numbers"``.
    kind: str
    examples: tuple[str, ...]  #: The first few distinct values
    first: tuple[str, ...]  #: Values of the first rows
    role: str  #: Guessed field of :class:`ColumnMapping`, or ``"not used"``


@dataclass(frozen=True)
class FileOverview:
    """A file as the mapping panel shows it."""

    file: str
    format: str
    n_rows: int
    columns: tuple[ColumnOverview, ...]  #: In file order
    mapping: ColumnMapping  #: The guess; open roles are None
    #: Rows of each class, by the name of their split; of all rows together without one.
    class_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: Other mappings that read it, where it cannot be read with this one.
    suggestions: tuple[Suggestion, ...] = ()
    question: str = ""  #: Which of them is meant?


def overview_of(
    columns: Columns, given: ColumnMapping, suggestions: tuple[Suggestion, ...] = ()
) -> FileOverview:
    """Describe an open file under a partial mapping."""
    try:
        mapping = guess(columns, given)
    except InputError:  # it names what is not there
        mapping = guess(columns, ColumnMapping(table=given.table, query=given.query))
    roles: dict[str, str] = {}
    for role, names in mapping.columns().items():
        for name in names:
            # A group is metadata, too; the more telling role is shown.
            if roles.get(name, "metadata") == "metadata":
                roles[name] = role
    key = mapping.label or next(iter(mapping.probabilities or columns.names))
    return FileOverview(
        columns.file,
        columns.format,
        next(iter(columns.shapes[key]), 0),
        tuple(_column(columns, name, roles.get(name, "not used")) for name in columns.names),
        mapping,
        _class_counts(columns, suggestions[0].mapping if suggestions else mapping, mapping.split),
        suggestions,
        question(suggestions, mapping) if suggestions else "",
    )


def _class_counts(
    columns: Columns, mapping: ColumnMapping, split_name: str | None
) -> dict[str, dict[str, int]]:
    label = mapping.label or guess(columns, mapping).label
    if not label or not columns.flat(label):
        return {}
    labels = columns.series(label).astype(str)
    split = pd.Series("all", index=labels.index)
    if split_name and columns.shapes[split_name] == columns.shapes[label]:
        split = columns.series(split_name).astype(str)
    often = labels.value_counts().index[:_MAX_CLASSES]
    table = pd.crosstab(labels[labels.isin(often)], split)
    return {str(name): {str(k): int(n) for k, n in table[name].items()} for name in table}


def _column(columns: Columns, name: str, role: str) -> ColumnOverview:
    shape, kind = columns.shapes[name], columns.kinds[name]
    words = _WORDS[kind]
    if len(shape) == 1 and kind != "other":
        values = columns.series(name)
        distinct = values.iloc[:_SAMPLE].dropna().unique()[:3]
        examples = tuple(_text(value, 24) for value in distinct)
        first = tuple(_text(value, 60) for value in values.iloc[:_PREVIEW_ROWS])
        return ColumnOverview(name, words, examples, first, role)
    if role == "images" and shape:
        words = f"images of {' × '.join(map(str, shape[1:]))}"
    elif len(shape) == 2:
        words = f"{shape[1]:,} columns of {words}{'s' * words.endswith('number')}"
    elif len(shape) != 1:
        words = f"array of shape {shape} of {words}{'s' * words.endswith('number')}"
    return ColumnOverview(name, words, (), (), role)


def _text(value: object, most: int) -> str:
    return short(f"{value:.4g}" if isinstance(value, (float, np.floating)) else value, most)


@dataclass(frozen=True)
class ReadingReport:
    """What was read, in plain sentences."""

    files: tuple[str, ...]  #: A sentence on each, with its rows before any were dropped
    dropped: tuple[str, ...]  #: Which rows were dropped and why
    facts: tuple[str, ...]  #: Sentences on files, rows, classes, accuracy and columns
    notes: tuple[str, ...]  #: What was done to the data on the way
    warnings: tuple[str, ...]  #: What to be careful about
    checks: tuple[Check, ...] = ()  #: What was checked, with findings

    @property
    def sentences(self) -> list[str]:
        """The report as plain sentences: facts first, then what was done, then warnings."""
        return [*self.facts, *self.notes, *self.warnings]


@dataclass(frozen=True, eq=False, repr=False)
class Reading(Shown):
    """A dataset, the report on it, and the mapping that was used (of two files the first one's)."""

    dataset: Dataset
    report: ReadingReport
    mapping: ColumnMapping
    overview: FileOverview | None = None  #: As of :func:`~lore_core.reading.inspect`, if asked for


def what_was_read(columns: Columns, n_rows: int, role: str) -> str:
    """Return a sentence on a file: the rows it held and what they are for."""
    role = f" as {role}" if role else ""
    return f"Read {counted(n_rows, 'row')} from '{columns.file}' ({columns.format}){role}."


def report_on(
    dataset: Dataset,
    *,
    files: tuple[str, ...],
    dropped: tuple[str, ...],
    notes: tuple[str, ...],
    checks: tuple[Check, ...],
) -> ReadingReport:
    """Report on a dataset that was just read."""
    warnings = (
        *_warnings(dataset),
        *(check.found for check in checks if check.level == "look"),
        *(f"Accepted: {check.found}" for check in checks if check.level == "refuse"),
    )
    facts = tuple(_facts(dataset, files, dropped))
    return ReadingReport(files, dropped, facts, notes, warnings, checks)


def with_features_or_images(reading: Reading, dataset: Dataset, note: str) -> Reading:
    """Return what was read of a dataset that got features or images since, with a note on them."""
    report = reading.report
    facts = tuple(_facts(dataset, report.files, report.dropped))
    report = replace(report, facts=facts, notes=(*report.notes, note))
    return replace(reading, dataset=dataset, report=report)


def _facts(dataset: Dataset, files: Sequence[str], dropped: Sequence[str]) -> Iterator[str]:
    yield from files
    yield from (f"Dropped {reason}." for reason in dropped)
    rows, parts = counted(len(dataset), "row"), _parts(dataset)
    if dataset.units is not None:
        rows += f" of {dataset.n_units:,} units"
    if dataset.split is None:
        yield f"{rows} without a split: choose which share fits the recalibrators."
    else:
        yield f"{rows}: {' and '.join(f'{len(part):,} {name}' for name, part in parts.items())}."
    counts = np.bincount(dataset.labels, minlength=dataset.n_classes)
    if dataset.class_names == WRONG_OR_RIGHT:
        yield f"Answers and whether they are right: {counts[1]:,} right, {counts[0]:,} wrong."
    else:
        named = zip(dataset.class_names, counts, strict=True)
        yield f"{len(counts)} classes: {listed((f'{name} ({n:,})' for name, n in named), 12)}."
    accuracy = (
        percent(part.accuracy) + (f" on {name} rows" if name else "")
        for name, part in parts.items()
    )
    yield f"Accuracy {', '.join(accuracy)}."
    n_features = 0 if dataset.features is None else dataset.features.shape[1]
    yield f"{counted(n_features, 'feature column')}." if n_features else NO_FEATURES
    yield from _facts_on_columns(dataset)


def _facts_on_columns(dataset: Dataset) -> Iterator[str]:
    if dataset.groups is not None:
        shown = dataset.in_split(EVALUATION)
        sizes = dataset.groups[shown if shown.any() else ~shown].nunique().items()
        yield f"Groups: {listed((f'{name} ({n})' for name, n in sizes), 12)}."
    if dataset.metadata is not None:
        yield f"Metadata: {listed(dataset.metadata, 12)}."
    if dataset.images is not None:
        _, height, width, *colours = dataset.images.shape
        some = dataset.has_image
        which = "one a row" if some is None else f"for {some.sum():,} of {len(some):,} rows"
        size = f"{height} × {width} pixels, {'colour' if colours else 'grey'}"
        yield f"Images: {size}, {which}."


def _parts(dataset: Dataset) -> dict[str, Dataset]:
    """Return the predictions of each half that has rows; of all, named "", without a split."""
    plain = dataset.predictions_only()
    if dataset.split is None:
        return {"": plain}
    masks = {name: dataset.in_split(name) for name in (CALIBRATION, EVALUATION)}
    return {name: plain.rows(mask) for name, mask in masks.items() if mask.any()}


def _warnings(dataset: Dataset) -> Iterator[str]:
    parts, names = _parts(dataset), dataset.class_names
    shown = parts.get(EVALUATION, next(iter(parts.values())))
    which = "evaluation rows" if dataset.split is not None else "rows"
    counts = np.bincount(shown.labels, minlength=dataset.n_classes)
    absent = [name for name, count in zip(names, counts, strict=True) if count == 0]
    if (counts > 0).sum() == 1:
        yield f"All labels of the {which} are '{names[int(counts.argmax())]}'."
    elif absent:
        yield f"No {which[:-1]} is labelled {listed(map(repr, absent), 8)}."
    if len(shown) >= _FEWEST and np.isin(shown.probabilities, (0.0, 1.0)).all():
        yield f"Every probability of the {which} is 0 or 1. Save them before they are rounded."
    if names != WRONG_OR_RIGHT:
        yield from _about_predictions(shown, which)
    for split, need in ((CALIBRATION, "to fit recalibrators on"), (EVALUATION, "to show")):
        if dataset.split is not None and split not in parts:
            yield f"There are no {split} rows {need}."


def _about_predictions(rows: Dataset, which: str) -> Iterator[str]:
    commonest = int(np.bincount(rows.labels, weights=rows.weights).argmax())
    majority = float(np.average(rows.labels == commonest, weights=rows.weights))
    if majority < 1 and rows.accuracy <= majority + _MAJORITY_MARGIN:
        yield (
            f"Accuracy {percent(rows.accuracy)} is no better than that of always answering "
            f"'{rows.class_names[commonest]}', {percent(majority)}."
        )
    if len(rows) >= _FEWEST and rows.outcome.all():
        yield (
            f"Every prediction of the {which} is right: are the labels what was predicted, or were "
            "the rows used in training?"
        )
    low = rows.probabilities[:, 1].min()
    if rows.n_classes == 2 and len(rows) >= _FEWEST and low >= 0.5 and not rows.labels.all():
        yield (
            f"No row has a P({rows.class_names[1]}) below 0.5. If it is that of the predicted "
            "class, name the predictions, too (--column prediction=NAME)."
        )
    if not rows.complete:
        yield (
            "Only the predicted class's confidence is known; the rest of each probability vector "
            "was spread evenly, so NLL and Brier score are not the classifier's."
        )
