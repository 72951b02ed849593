"""What a file holds and what was read of it, in plain words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.errors import InputError, counted, listed, short
from lore_core.data.number_text import percent
from lore_core.data.weights import chosen_weights
from lore_core.reading.checks import Check
from lore_core.reading.columns import Columns
from lore_core.reading.mapping import WRONG_OR_RIGHT, ColumnMapping, class_suffixes
from lore_core.reading.roles import can_be_group, guess
from lore_core.reading.suggestions import Suggestion, question

#: Rows in which distinct numbers are counted.
_SAMPLE = 10_000
_WORDS = {
    "whole": "whole number",
    "number": "number",
    "text": "text",
    "bool": "true or false",
    "date": "date",
    "other": "not readable as values",
}
SMALL_GROUP = 30
#: Rows of a preview, and most classes that are counted in it.
_PREVIEW_ROWS, _MAX_CLASSES = 5, 50
#: In fewer rows all may be right, or certain, by chance.
_FEWEST = 20
NO_FEATURES = (
    "No feature columns: everything global works; add features to see where the confidence is "
    "wrong."
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
    #: Distinct values; of fractions in the first 10,000 rows; None for arrays.
    n_distinct: int | None
    n_missing: int
    examples: tuple[str, ...]  #: The first few distinct values
    first: tuple[str, ...]  #: Values of the first rows
    role: str  #: Guessed field of :class:`ColumnMapping`, or ``"not used"``
    can_be_group: bool  #: Whether the distinct values are few enough to name groups


@dataclass(frozen=True)
class FileOverview:
    """A file as the mapping panel shows it."""

    file: str
    format: str
    n_rows: int
    columns: tuple[ColumnOverview, ...]  #: In file order
    mapping: ColumnMapping  #: The guess; open roles are None
    class_names: tuple[str, ...] | None  #: As far as the file or its column names tell
    notes: tuple[str, ...]  #: What was done while opening the file
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
    class_names = mapping.class_names
    if not class_names and len(mapping.probabilities or ()) > 1:
        class_names = class_suffixes(mapping.probabilities or ())
    return FileOverview(
        columns.file,
        columns.format,
        next(iter(columns.shapes[key]), 0),
        tuple(_column(columns, name, roles.get(name, "not used")) for name in columns.names),
        mapping,
        class_names or None,
        columns.notes,
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
    if len(shape) != 1 or kind == "other":
        words = _WORDS[kind] if len(shape) == 1 else _array_words(shape, _WORDS[kind], role)
        return ColumnOverview(name, words, None, 0, (), (), role, False)
    values = columns.series(name)
    sample = values.iloc[:_SAMPLE] if kind == "number" else values
    distinct = sample.dropna().unique()
    return ColumnOverview(
        name,
        _WORDS[kind],
        len(distinct),
        int(values.isna().sum()),
        tuple(_text(value, 24) for value in distinct[:3]),
        tuple(_text(value, 60) for value in values.iloc[:_PREVIEW_ROWS]),
        role,
        can_be_group(columns, name, values),
    )


def _text(value: object, most: int) -> str:
    return short(f"{value:.4g}" if isinstance(value, (float, np.floating)) else value, most)


def _array_words(shape: tuple[int, ...], of: str, role: str) -> str:
    if not shape:
        return f"a single {of}"
    if role == "images":
        return f"images of {' × '.join(map(str, shape[1:]))}"
    plural = f"{of}s" if of.endswith("number") else of
    if len(shape) == 2:
        return f"{shape[1]:,} columns of {plural}"
    return f"array of shape {' × '.join(map(str, shape))} of {plural}"


@dataclass(frozen=True)
class FileFacts:
    """One file: its name, its format, the rows it held and what its rows are for."""

    name: str
    format: str
    rows: int
    role: str


@dataclass(frozen=True)
class ReadingReport:
    """Plain facts about what was read."""

    files: tuple[FileFacts, ...]  #: With their rows before any were dropped
    rows: int
    split_rows: Mapping[str, int]  #: Rows per split; ``{"all": n}`` without one
    class_counts: Mapping[str, int]  #: Class name to rows with that label, in class order
    accuracy: Mapping[str, float]  #: Accuracy per split; ``{"all": a}`` without one
    n_features: int
    #: Group column to the rows of each group, among the evaluation rows.
    groups: Mapping[str, Mapping[str, int]]
    metadata: tuple[str, ...]  #: Column names
    images: str | None  #: Size and number of the images
    dropped: tuple[str, ...]  #: Which rows were dropped and why
    notes: tuple[str, ...]  #: What was done to the data on the way
    warnings: tuple[str, ...]  #: What to be careful about
    checks: tuple[Check, ...] = ()  #: What was checked, with findings

    @property
    def sentences(self) -> list[str]:
        """The report as plain sentences: facts first, then what was done, then warnings."""
        return [*self.facts, *self.notes, *self.warnings]

    @property
    def facts(self) -> list[str]:
        """The plain facts alone, without notes and warnings."""
        sentences = [
            f"Read {counted(file.rows, 'row')} from '{file.name}' ({file.format})"
            + (f" as {file.role}." if file.role else ".")
            for file in self.files
        ]
        sentences += [f"Dropped {reason}." for reason in self.dropped]
        if "all" in self.split_rows:
            sentences.append(
                f"{counted(self.rows, 'row')} without a split: choose which share fits the "
                "recalibrators."
            )
        else:
            parts = " and ".join(f"{rows:,} {name}" for name, rows in self.split_rows.items())
            sentences.append(f"{counted(self.rows, 'row')}: {parts}.")
        if tuple(self.class_counts) == WRONG_OR_RIGHT:
            wrong, right = self.class_counts.values()
            sentences.append(
                f"Answers and whether they are right: {right:,} right, {wrong:,} wrong."
            )
        else:
            classes = [f"{name} ({count:,})" for name, count in self.class_counts.items()]
            sentences.append(f"{len(classes)} classes: {listed(classes, 12)}.")
        accuracy = [
            percent(value) + ("" if name == "all" else f" on {name} rows")
            for name, value in self.accuracy.items()
        ]
        sentences.append(f"Accuracy {', '.join(accuracy)}.")
        if self.n_features:
            sentences.append(f"{counted(self.n_features, 'feature column')}.")
        else:
            sentences.append(NO_FEATURES)
        if self.groups:
            columns = [f"{name} ({len(values)})" for name, values in self.groups.items()]
            sentences.append(f"Groups: {listed(columns, 12)}.")
        if self.metadata:
            sentences.append(f"Metadata: {listed(self.metadata, 12)}.")
        if self.images:
            sentences.append(f"Images: {self.images}.")
        return sentences


@dataclass(frozen=True, eq=False)
class Reading:
    """A dataset, the report on it, and the mapping that was used (of two files the first one's)."""

    dataset: Dataset
    report: ReadingReport
    mapping: ColumnMapping
    overview: FileOverview | None = None  #: As of :func:`~lore_core.reading.inspect`, if asked for


def report_on(
    dataset: Dataset,
    *,
    files: tuple[FileFacts, ...],
    dropped: tuple[str, ...],
    notes: tuple[str, ...],
    checks: tuple[Check, ...],
) -> ReadingReport:
    """Report on a dataset that was just read."""
    parts = {
        name: mask
        for name in (CALIBRATION, EVALUATION)
        if dataset.split is not None and (mask := dataset.in_split(name)).any()
    } or {"all": np.ones(len(dataset), dtype=bool)}
    shown = parts.get(EVALUATION, next(iter(parts.values())))
    counts = np.bincount(dataset.labels, minlength=dataset.n_classes)
    groups: dict[str, dict[str, int]] = {}
    if dataset.groups is not None:
        for name in dataset.groups.columns:
            sizes = Counter(dataset.groups[name].to_numpy()[shown].tolist())
            groups[str(name)] = {str(key): sizes[key] for key in sorted(sizes)}
    outcome = dataset.outcome
    return ReadingReport(
        files=files,
        rows=len(dataset),
        split_rows={name: int(mask.sum()) for name, mask in parts.items()},
        class_counts=dict(zip(dataset.class_names, map(int, counts), strict=True)),
        accuracy={
            name: float(np.average(outcome[mask], weights=chosen_weights(dataset.weights, mask)))
            for name, mask in parts.items()
        },
        n_features=0 if dataset.features is None else int(dataset.features.shape[1]),
        groups=groups,
        metadata=() if dataset.metadata is None else tuple(map(str, dataset.metadata.columns)),
        images=images_in_words(dataset),
        dropped=dropped,
        notes=notes,
        warnings=(
            *_warnings(dataset, shown, groups),
            *(check.found for check in checks if check.level == "look"),
            *(f"Accepted: {check.found}" for check in checks if check.level == "refuse"),
        ),
        checks=checks,
    )


def images_in_words(dataset: Dataset) -> str | None:
    """Return the images' size and which rows have one, as words; None without images."""
    if dataset.images is None:
        return None
    _, height, width, *colours = dataset.images.shape
    kind = "colour" if colours else "grey"
    size = f"{height} × {width} pixels, {kind}"
    if dataset.has_image is None:
        return f"{size}, one a row"
    return f"{size}, for {int(dataset.has_image.sum()):,} of {len(dataset):,} rows"


def _warnings(
    dataset: Dataset, shown: Mask, groups: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    names = dataset.class_names
    labels, predictions = dataset.labels[shown], dataset.predictions[shown]
    which = "evaluation rows" if dataset.split is not None else "rows"
    counts = np.bincount(labels, minlength=dataset.n_classes)
    absent = [name for name, count in zip(names, counts, strict=True) if count == 0]
    if (counts > 0).sum() == 1:
        yield (
            f"All labels of the {which} are '{names[int(counts.argmax())]}': calibration can only "
            "be judged on that class."
        )
    elif absent:
        yield f"No {which[:-1]} is labelled {listed(map(repr, absent), 8)}."
    if len(labels) >= _FEWEST and np.isin(dataset.probabilities[shown], (0.0, 1.0)).all():
        yield (
            f"Every probability of the {which} is 0 or 1: there is no doubt that could be right or "
            "wrong. Save the probabilities before they are rounded."
        )
    if names != WRONG_OR_RIGHT:
        weights = chosen_weights(dataset.weights, shown)
        yield from _about_predictions(names, labels, predictions, weights, which)
    yield from _small_groups(groups, which)
    if dataset.split is not None:
        for split, need in ((CALIBRATION, "to fit recalibrators on"), (EVALUATION, "to show")):
            if not dataset.in_split(split).any():
                yield f"There are no {split} rows {need}."
    if not dataset.complete and names != WRONG_OR_RIGHT:
        yield (
            "Only the predicted class's confidence is known; the rest of each probability vector "
            "was spread evenly, so NLL and Brier score are not the classifier's."
        )


def _about_predictions(
    names: Sequence[str], labels: Ints, predictions: Ints, weights: Floats | None, which: str
) -> Iterator[str]:
    accuracy = float(np.average(labels == predictions, weights=weights))
    commonest = int(np.bincount(labels, weights=weights).argmax())
    majority = float(np.average(labels == commonest, weights=weights))
    if (labels != labels[0]).any() and accuracy <= majority + _MAJORITY_MARGIN:
        relation = "equals" if abs(accuracy - majority) <= _MAJORITY_MARGIN else "is below"
        yield (
            f"Accuracy {percent(accuracy)} {relation} the majority class: always answering "
            f"'{names[commonest]}' would be right in {percent(majority)}."
        )
    if len(labels) >= _FEWEST and (labels == predictions).all():
        yield (
            f"Every prediction of the {which} is right: are the labels what was predicted, or were "
            "the rows used in training?"
        )
    never = np.setdiff1d(np.arange(len(names)), predictions)
    if len(never):
        yield f"Never predicted: {listed([repr(names[k]) for k in never], 8)}."


def _small_groups(groups: Mapping[str, Mapping[str, int]], which: str) -> Iterator[str]:
    for column, sizes in groups.items():
        small = [f"{name} ({n})" for name, n in sizes.items() if n < SMALL_GROUP]
        if small:
            yield (
                f"Small groups of {column} (fewer than {SMALL_GROUP} {which}): {listed(small, 8)}. "
                "Their numbers are mostly noise."
            )
