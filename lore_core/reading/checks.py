"""Plausibility checks of data that were read; a failed one is reported or stops the reading."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import confidence_bins
from lore_core.data.dataset import CALIBRATION, EVALUATION, Dataset
from lore_core.data.errors import InputError, check_choice, counted, listed
from lore_core.data.number_text import percent
from lore_core.data.probabilities import SMALLEST
from lore_core.metrics.proper_scores import row_nll

#: Checks that stop the reading unless they are accepted.
CLASS_ORDER, SCALE, OVERLAP = "class order", "scale", "overlap"
INCOMPLETE, CONFIDENCE, FEATURES = "incomplete", "confidence", "features"
ACCEPTABLE = (CLASS_ORDER, SCALE, OVERLAP, INCOMPLETE, CONFIDENCE, FEATURES)

#: z-score from which on a finding counts, at any size of data.
_STRICT_Z = 6.0
#: Share of the rows by which another order of classes must raise the accuracy.
_MIN_GAIN = 0.1
#: z-score where only one kind of mistake leads to a finding, or other rows are as they should be.
_LENIENT_Z = 3.0
#: Share of pairs of predictions above which the confidence is that of one class.
_MIN_ORDERED_SHARE = 0.99
#: Accuracy of unconfident answers, and mean of 1 − confidence, that show another meaning.
_MIN_ACCURACY, _MIN_DOUBT = 0.9, 0.8
#: Folds: each is tried with the order of classes that fits the others best.
_FOLDS = 5
#: Largest probability, and ratio of the share of positive rows to it, of a wrong scale.
_MAX_PROBABILITY, _MIN_RATIO = 0.011, 5.0
#: Rows in both halves that are no coincidence: number, and share of the smaller half.
_MIN_COPIES, _MIN_COPY_SHARE = 5, 0.01
#: Fewer rows are not checked.
_MIN_ROWS = 20
#: Share of a column's spread to which nearly equal rows are rounded.
_ROUNDING = 0.03
#: Columns in which rows are compared first.
_FEW_COLUMNS = 6
#: Rows of a half and columns of features that are compared; values of a column that can be.
_COMPARED, _MAX_COMPARED, _MIN_VALUES = 2000, 256, 20
#: Distance of distributions that differ, and factor of noise below which they do not (1 in 100).
_FAR, _NOISE, _QUANTILES = 0.3, 1.63, np.linspace(0.05, 0.95, 19)
#: Columns of what several rows may belong to; share of rows with a name that repeats itself.
_UNIT_NAME = re.compile(
    r"(?:patient|user|customer|person|participant|speaker|image|document|doc|question|session|"
    r"clip|video|study|household|subject(?=.))(?:[_\-. ]?(?:id|name|no|number|key))?",
    re.IGNORECASE,
)
_MIN_REPEATED = 0.1
#: Rows from which on neighbours are compared, strata of confidence; z of 1 in 1,000.
_MIN_NEIGHBOURS, _LEVELS, _NEIGHBOURS_Z = 100, 12, 3.09


@dataclass(frozen=True)
class Check:
    """One check of the data and its result."""

    name: str  #: What was checked, in a word or two
    found: str  #: What it found, in a sentence
    #: Passed; to be inspected; or refused, as the data probably mean something else.
    level: Literal["fine", "look", "refuse"] = "fine"


class DoubtfulDataError(InputError):
    """Raised for data that probably mean something else.

    ``check`` names the check, which can be accepted; ``found`` is the message alone.
    """

    def __init__(self, check: Check, name: str) -> None:
        super().__init__(
            f"'{name}': {check.found} If it is as it should be, accept that: "
            f'mapping={{"accept": "{check.name}"}}, or --column "accept={check.name}".'
        )
        self.check, self.found = check.name, f"'{name}': {check.found}"
        self.arguments = (check, name)


def check_data(
    dataset: Dataset,
    accept: Collection[str] = (),
    *,
    kind: str | None = None,
    row_id: str = "",
    incomplete: Sequence[str] = (),
) -> tuple[Check, ...]:
    """Check that data are what they were read as; DoubtfulDataError for a doubt not accepted."""
    for name in accept:
        check_choice(name, "accept", ACCEPTABLE)
    missing = (Check(INCOMPLETE, sentence, "refuse") for sentence in incomplete)
    found = (*missing, *_checks(dataset, kind, row_id))
    for check in found:
        if check.level == "refuse" and check.name not in accept:
            raise DoubtfulDataError(check, dataset.name)
    return found


def _checks(dataset: Dataset, kind: str | None, row_id: str) -> Iterator[Check]:
    if dataset.n_classes == 2 and kind in _SINGLE_KINDS:
        doubt_of, fine = _SINGLE_KINDS[kind]
        yield _check(CONFIDENCE, doubt_of(dataset), fine)
    if len(dataset) < _MIN_ROWS:
        yield Check(CLASS_ORDER, "Too few rows to tell whether labels and probabilities agree.")
    else:
        fine = "Labels fit the probabilities best with the classes as they are."
        yield _check(CLASS_ORDER, _class_order(dataset), fine)
    if dataset.n_classes == 2:
        yield _check(SCALE, _scale(dataset), "Probabilities are of the size of what happens.")
    if dataset.split is not None:
        one, two = (np.flatnonzero(dataset.in_split(name)) for name in (CALIBRATION, EVALUATION))
        if min(len(one), len(two)) >= _MIN_ROWS:
            yield _overlap(dataset, (one, two), row_id)
            if dataset.features is not None:
                doubt = _features_of_halves(dataset, (one, two))
                yield _check(FEATURES, doubt, "The features of both halves are of one kind.")
            yield _compare_losses(dataset, (one, two))
    if dataset.features is not None:
        yield _feature_columns(dataset)
    yield _repeated_names(dataset)
    yield _neighbouring_rows(dataset)


def _repeated_names(dataset: Dataset) -> Check:
    """Check for columns called like what several rows belong to, and units in both halves."""
    name = "units"
    if dataset.units is not None:
        one, two = (set(dataset.units[dataset.in_split(x)]) for x in (CALIBRATION, EVALUATION))
        if common := len(one & two):
            text = (
                f"{counted(common, 'unit')} have calibration and evaluation rows: what is fitted "
                "on some is measured on others. Split by units."
            )
            return Check(name, text, "look")
        return Check(name, "No unit has both calibration and evaluation rows.")
    frames = [frame for frame in (dataset.metadata, dataset.groups) if frame is not None]
    for column, values in ((str(c), frame[c]) for frame in frames for c in frame):
        sizes = values.value_counts()
        repeated = int(sizes[sizes > 1].sum())
        is_unit = _UNIT_NAME.fullmatch(column) is not None
        if is_unit and len(sizes) >= _MIN_ROWS and repeated >= _MIN_REPEATED * len(dataset):
            text = (
                f"'{column}' names {len(sizes):,} things for {len(dataset):,} rows. If rows of one "
                "go together, intervals and p-values are too small: map it as unit "
                f"(--column unit={column}, or on the Data page)."
            )
            return Check(name, text, "look")
    return Check(name, "No column is called like something that several rows belong to.")


def _neighbouring_rows(dataset: Dataset) -> Check:
    """Check whether residuals of rows that follow each other are correlated.

    Residuals are less their means among rows of like confidence and, in a file sorted by the class,
    of one class. z = Σ e_i e_{i+1} / √Σ e_i² e_{i+1}², over pairs of different units, is normal
    where rows are independent.
    """
    name = "neighbouring rows"
    if len(dataset) < _MIN_NEIGHBOURS:
        return Check(name, "Too few rows to tell whether those that follow each other go together.")
    c = dataset.confidence
    residual, level = c - dataset.outcome, confidence_bins(c, _LEVELS, "equal-mass").assign(c)
    is_sorted = np.count_nonzero(np.diff(dataset.labels)) < 3 * dataset.n_classes
    for code in (level, dataset.labels) if is_sorted else (level,):
        size = np.bincount(code)
        means = np.bincount(code, residual) / np.maximum(size, 1)
        residual = residual - np.where(size >= _MIN_ROWS, means, 0.0)[code]
    product = residual[1:] * residual[:-1]
    if dataset.units is not None:
        product = product[dataset.units[1:] != dataset.units[:-1]]
    error = float(np.sqrt(np.square(product).sum()))
    if product.sum() <= _NEIGHBOURS_Z * error:
        return Check(name, "Rows that follow each other are no more alike than others.")
    correlation = float(np.corrcoef(residual[1:], residual[:-1])[0, 1])
    return Check(
        name,
        f"Rows that follow each other are wrong together (correlation {correlation:.2f}; of files "
        "of independent rows 1 in 1,000 shows as much). Do several belong to one thing, such as a "
        "patient? Then map its column as unit (--column unit=NAME); else ask what they are sorted "
        "by.",
        "look",
    )


def _check(name: str, doubt: str | None, fine: str) -> Check:
    return Check(name, fine) if doubt is None else Check(name, doubt, "refuse")


def _confidence(dataset: Dataset) -> str | None:
    """Describe a confidence that is the probability of one class, whichever is predicted."""
    predicted, labels, names = dataset.predictions, dataset.labels, dataset.class_names
    stated = dataset.probabilities[np.arange(len(dataset)), predicted]
    # (In few rows P(class 0), which is rare in files, is no better a guess.)
    for k in (1, 0) if len(dataset) >= _MIN_ROWS else (1,):
        other = predicted != k
        small = stated[other] < 0.5
        if not small.any():
            continue
        if other.all():
            ordered = small.all()
        else:
            pairs = _larger_pairs(stated, ~other)
            ordered = pairs >= _MIN_ORDERED_SHARE * other.sum() * (~other).sum()
        if not ordered:
            continue
        as_read = dataset.probabilities[other]
        if row_nll(as_read[:, ::-1], labels[other]).mean() < row_nll(as_read, labels[other]).mean():
            return (
                f"the confidence is smaller where {names[1 - k]!r} is predicted, and fits the "
                f"labels better as P({names[k]}) of every row. Probably it is that: map it as "
                f"positive, without a prediction{'' if k == 1 else ', after taking it from 1'}."
            )
    return None


def _confidence_in_answers(dataset: Dataset) -> str | None:
    """Describe a confidence that is lower where answers are right."""
    stated, right = dataset.probabilities[:, 1], dataset.labels == 1
    low = stated < 0.5
    n, m = int((low & right).sum()), int((low & ~right).sum())
    if n + m >= _MIN_ROWS and n > m:
        # (Where hardly any is wrong, there is nothing to rank.)
        clear = n >= _MIN_ACCURACY * (n + m) and (1 - stated[low]).mean() >= _MIN_DOUBT
        if clear or _rank_score(stated[low], right[low]) < -_LENIENT_Z:
            return (
                f"of {counted(n + m, 'answer')} with a confidence below 50 %, "
                f"{percent(n / (n + m))} are right. Probably it is the probability of one class: "
                "give max(p, 1 - p), or the true classes and p as P(y = 1)."
            )
    return None


def _single_logit(dataset: Dataset) -> str | None:
    """Describe logits that are probabilities already."""
    odds = dataset.probabilities[:, 1] / np.maximum(dataset.probabilities[:, 0], SMALLEST)
    given = np.log(np.maximum(odds, SMALLEST))
    if len(dataset) >= _MIN_ROWS and given.min() >= -1e-6 and given.max() <= 1 + 1e-6:
        given = np.clip(given, 0.0, 1.0)
        read = row_nll(dataset.probabilities, dataset.labels)
        better = read - row_nll(np.column_stack([1 - given, given]), dataset.labels)
        if better.mean() > _LENIENT_Z * better.std() / np.sqrt(len(better)):
            return (
                "all logits lie in [0, 1] and fit the labels better as probabilities. Probably "
                "they are: map the column as positive, by probability_kind."
            )
    return None


_RIGHT_ANSWERS = "Answers with little confidence are not right the more often."
#: Kind of probabilities to its check, and the sentence where that finds nothing.
_SINGLE_KINDS = {
    "confidence": (_confidence, "The confidence is that of the predicted class."),
    "correct": (_confidence_in_answers, _RIGHT_ANSWERS),
    "logits": (_single_logit, "Logits are no probabilities."),
}


def _class_order(dataset: Dataset) -> str | None:
    """Describe classes in another order, in all rows or in those of one half."""
    test = _inversion if dataset.n_classes == 2 else _reordering
    doubt = (_both_classes(dataset) if dataset.n_classes == 2 else None) or test(dataset, _STRICT_Z)
    if doubt or dataset.split is None:
        return doubt
    for name in (CALIBRATION, EVALUATION):
        rows = dataset.in_split(name)
        z = _LENIENT_Z if _fits(dataset, ~rows) else _STRICT_Z
        if rows.sum() >= _MIN_ROWS and (doubt := test(dataset.rows(rows), z)):
            return f"of the {name} rows, {doubt}"
    return None


def _both_classes(dataset: Dataset) -> str | None:
    """Describe rows that are there twice, once for each of two classes."""
    n = len(dataset) // 2 * 2
    p, labels = dataset.probabilities[:n, 1], dataset.labels[:n]
    for one, two in ((np.s_[::2], np.s_[1::2]), (np.s_[: n // 2], np.s_[n // 2 :])):
        are_so = np.allclose(p[one] + p[two], 1.0, rtol=0, atol=1e-6) and np.ptp(p) > 0
        if are_so and (n >= _MIN_ROWS or (labels[one] == labels[two]).all()):
            return "each row is there twice, with P and 1 - P, once a class. Keep one of each two."
    return None


def _fits(dataset: Dataset, rows: Mask) -> bool:
    """Return whether probabilities significantly go with the labels as they are."""
    if dataset.n_classes == 2:
        right = dataset.labels[rows] == 1
        return _rank_score(dataset.probabilities[rows, 1], right) > _STRICT_Z
    # (Predictions are right more often than by their shares alone.)
    labels, guessed = dataset.labels[rows], dataset.probabilities[rows].argmax(axis=1)
    counts = (np.bincount(of, minlength=dataset.n_classes) for of in (labels, guessed))
    chance = float(np.prod([*counts], axis=0).sum()) / max(len(labels), 1)
    return bool((guessed == labels).sum() - chance > _STRICT_Z * np.sqrt(chance))


def _inversion(dataset: Dataset, z: float) -> str | None:
    """Describe P(y = 1) that is significantly lower where y = 1, if 1 − P fits better."""
    probabilities, labels, names = dataset.probabilities, dataset.labels, dataset.class_names
    other, as_read = (row_nll(of, labels).mean() for of in (probabilities[:, ::-1], probabilities))
    if _rank_score(probabilities[:, 1], labels == 1) > -z or other >= as_read:
        return None
    return (
        f"the probabilities fit the labels better the other way round: rows of {names[1]!r} have "
        f"the smaller P({names[1]}). Probably it is that of {names[0]!r}, or the classes are in "
        "another order: correct the columns, or give class_names in their order."
    )


def _sorted_rows(dataset: Dataset) -> str | None:
    """Describe probabilities that are sorted in every row, if the labels are of other classes."""
    p, names = dataset.probabilities, dataset.class_names
    k = 0 if p[0, 0] >= p[0, -1] else len(names) - 1  # the first or last is always predicted
    falling = p if k == 0 else p[:, ::-1]
    if any((rows[:, 1:] > rows[:, :-1]).any() for rows in (falling[:100], falling)):
        return None
    error = np.sqrt(np.maximum((p[:, k] * (1 - p[:, k])).mean(), SMALLEST) / len(p))
    if abs((dataset.labels == k).mean() - p[:, k].mean()) <= _STRICT_Z * error:
        return None
    return (
        f"the probabilities fall from '{names[k]}' to '{names[-1 - k]}' in every row, as if each "
        "row was sorted by itself. Give them in one order of the classes."
    )


def _reordering(dataset: Dataset, z: float) -> str | None:
    """Describe labels that fit the probabilities better with the classes in another order."""
    if doubt := _sorted_rows(dataset):
        return doubt
    k, labels, names = dataset.n_classes, dataset.labels, dataset.class_names
    guessed = dataset.probabilities.argmax(axis=1)
    right, best = guessed == labels, _best_order(labels, guessed, k)
    if not _is_better(guessed == best[labels], right, z):
        return None
    # (An unusual seed: folds must not depend on the labels' own.)
    fold = np.random.default_rng(7_305_196).integers(_FOLDS, size=len(labels))
    held_out = np.zeros(len(labels), dtype=bool)
    for chosen in (fold == number for number in range(_FOLDS)):
        order_of_others = _best_order(labels[~chosen], guessed[~chosen], k)
        held_out[chosen] = guessed[chosen] == order_of_others[labels[chosen]]
    shifts = [guessed == (labels + step) % k for step in (1, -1)]
    if not _is_better(max(held_out, *shifts, key=np.sum), right, z):
        return None
    order = [f"{names[i]} for {names[best[i]]}" for i in range(k) if best[i] not in (i, -1)]
    return (
        "the labels fit the probabilities better if they stood for other classes "
        f"({listed(order, 4)}): {percent(float((guessed == best[labels]).mean()))} instead of "
        f"{percent(float(right.mean()))} would be right. Correct the labels, or give class_names "
        "in the order of the probabilities."
    )


def _is_better(moved: Mask, right: Mask, z: float) -> bool:
    gained, lost = int((moved & ~right).sum()), int((right & ~moved).sum())
    sure = (gained - lost) > z * np.sqrt(gained + lost)
    return bool(sure and gained - lost > _MIN_GAIN * len(right))


def _best_order(labels: Ints, guessed: Ints, k: int) -> Ints:
    """Return the class each label most likely stands for, by best assignment; −1 for none."""
    seen, row = np.unique(labels, return_inverse=True)
    classes, column = np.unique(guessed, return_inverse=True)
    size = len(classes)
    table = np.bincount(row * size + column, minlength=len(seen) * size).reshape(-1, size)
    rows, columns = _assigned(table)
    some = table[rows, columns] > 0
    best = np.arange(k)
    best[classes[columns[some]]] = -1
    best[seen[rows[some]]] = classes[columns[some]]
    return best


def _assigned(gains: Floats | Ints) -> tuple[Ints, Ints]:
    """Return rows and columns of a table whose sum is the largest, at most one of each."""
    columns = gains.argmax(axis=1)
    if len(np.unique(columns)) == len(columns):  # each row has its own best
        return np.arange(len(columns)), columns
    from scipy import optimize  # it takes a second to load

    rows, columns = optimize.linear_sum_assignment(gains, maximize=True)
    return rows, columns


def _larger_pairs(values: Floats, chosen: Mask) -> float:
    """Count pairs of a chosen and another row whose first value is larger; equal ones half."""
    rank = pd.Series(values).rank()[chosen]
    return float(rank.sum() - len(rank) * (len(rank) + 1) / 2)


def _rank_score(values: Floats, positive: Mask) -> float:
    """Return the z-score of larger values in positive rows (rank-sum); 0 if too few."""
    m, others = int(positive.sum()), int((~positive).sum())
    if min(m, others) < 5:
        return 0.0
    excess = _larger_pairs(values, positive) - m * others / 2
    return float(excess / np.sqrt(m * others * (m + others + 1) / 12))


def _scale(dataset: Dataset) -> str | None:
    """Describe a P(y = 1) that was divided by 100 by mistake."""
    largest = float(dataset.probabilities[:, 1].max())
    share = float(dataset.labels.mean())
    is_small = largest <= _MAX_PROBABILITY and share > _MIN_RATIO * max(largest, 1e-12)
    if is_small and len(dataset) >= _MIN_ROWS:
        return (
            f"no row has a P({dataset.class_names[1]}) above {largest:.2g}, but {percent(share)} "
            "are of that class. Probably it was divided by 100: multiply it."
        )
    return None


def _overlap(dataset: Dataset, halves: tuple[Ints, Ints], row_id: str) -> Check:
    smaller = min(len(half) for half in halves)
    many = max(_MIN_COPIES, _MIN_COPY_SHARE * smaller)
    named = _same_names(dataset, halves, row_id)
    common, is_clear = _in_both(dataset, halves, many, min)
    near, is_near = _in_both(dataset, halves, many, max, _ROUNDING)
    if named >= many:
        count, how = named, f"have the same '{row_id}'"
    elif common >= many and is_clear:
        count, how = common, "are equal, value by value"
    elif near >= many and is_near:
        count, how = near, "are nearly equal, in every value"
    elif common:
        rows = counted(common, "row")
        return Check(OVERLAP, f"{rows} of calibration and evaluation equal each other.", "look")
    else:
        return Check(OVERLAP, "No row stands in both calibration and evaluation rows.")
    return Check(
        OVERLAP,
        f"{counted(count, 'calibration row')} and as many evaluation rows {how}. What is fitted on "
        "a row must not be measured on it. Take them out of one half.",
        "refuse",
    )


def _same_names(dataset: Dataset, halves: tuple[Ints, Ints], row_id: str) -> int:
    """Count row names in both halves; 0 if their labels differ, so they name different rows."""
    if dataset.metadata is None or row_id not in dataset.metadata:
        return 0
    names = dataset.metadata[row_id]
    one, two = (
        pd.Series(dataset.labels[half], index=names.iloc[half]).groupby(level=0).first()
        for half in halves
    )
    both = pd.concat([one, two], axis=1, join="inner")
    same = bool((both[0] == both[1]).all()) and both[0].nunique() > 1
    return len(both) if same and len(both) >= _MIN_ROWS else 0


def _in_both(
    dataset: Dataset,
    halves: tuple[Ints, Ints],
    many: float,
    within: Callable[[float, float], float],
    unit: float = 0.0,
) -> tuple[int, bool]:
    """Count rows that are in both halves, and say whether that is many and no coincidence.

    Equal are those that are equal when rounded to ``unit`` of their spread.
    """
    parts = [dataset.features, dataset.probabilities, dataset.labels[:, None]]
    known = [part for part in parts if part is not None]
    # Most rows differ in a few columns from all of the other half: no more is looked at.
    few = _row_keys([known[0][:, :_FEW_COLUMNS]], unit)
    first, second = (pd.Series(few[half], index=half) for half in halves)
    like = first.index[first.isin(second)], second.index[second.isin(first)]
    rows: Ints | slice = slice(None)
    if min(map(len, like)) < many:
        rows = np.concatenate(like)
        halves = np.arange(len(like[0])), np.arange(len(like[0]), len(rows))
    keys = _row_keys(known, unit, rows)
    # (Rows that are alike within a half may be alike across by coincidence.)
    counts = [np.unique(keys[half], return_counts=True) for half in halves]
    one, two = (values[count == 1] for values, count in counts)
    common = len(np.intersect1d(one, two, assume_unique=True))
    alike = [1 - len(of) / max(len(half), 1) for of, half in zip((one, two), halves, strict=True)]
    return common, common > 10 * within(*alike) * min(map(len, halves))


def _row_keys(parts: Sequence[NDArray[Any]], unit: float, rows: Ints | slice = slice(None)) -> Ints:
    """Return a number for each row: equal for equal rows, rounded to ``unit`` of their spread."""
    known = [part[rows] for part in parts]
    if unit:
        widths = [unit * np.maximum(part.std(axis=0), SMALLEST) for part in parts]
        known = [np.round(part / width) for part, width in zip(known, widths, strict=True)]
    hashes = [pd.util.hash_pandas_object(pd.DataFrame(part), index=False) for part in known]
    keys = pd.util.hash_pandas_object(pd.concat(hashes, axis=1), index=False)
    return keys.to_numpy().view(np.int64)


def _compare_losses(dataset: Dataset, halves: tuple[Ints, Ints]) -> Check:
    """Check whether the loss is significantly lower on calibration than on evaluation rows."""
    name = "fit of the halves"
    if not dataset.complete:
        return Check(name, "Too little is known to compare calibration and evaluation rows.")
    loss = row_nll(dataset.probabilities, dataset.labels)
    one, two = (loss[half] for half in halves)
    error = np.sqrt(one.var() / len(one) + two.var() / len(two))
    if two.mean() - one.mean() > _STRICT_Z * error > 0:
        return Check(
            name,
            f"Calibration rows are better predicted than evaluation rows, significantly (NLL "
            f"{one.mean():.3f} and {two.mean():.3f}): were they used in training?",
            "look",
        )
    return Check(name, "Calibration rows are not better predicted than evaluation rows.")


def _features_of_halves(dataset: Dataset, halves: tuple[Ints, Ints]) -> str | None:
    """Describe features that are in another order, or scaled otherwise, in one of the halves."""
    every: Floats = np.asarray(dataset.features)
    last = every.shape[1] - 1
    # (Also of those from the last to the first column the same ones.)
    columns = np.linspace(0, last, min(last + 1, _MAX_COMPARED)).round().astype(np.int64)
    rows = [half[:: -(-len(half) // _COMPARED)] for half in halves]
    one, two = (every[of][:, columns].astype(np.float64) for of in rows)
    counts = [[len(np.unique(column)) for column in x.T] for x in (one, two)]
    vary = np.flatnonzero(np.min(counts, axis=0) >= _MIN_VALUES)
    if not len(vary):
        return None
    one, two = one[:, vary], two[:, vary]
    noise = _NOISE * np.sqrt(1 / len(one) + 1 / len(two))
    own = _distances(one, two)
    differs, far = (own >= max(_FAR, times * noise) for times in (2, 1))
    if not far.any():
        return None
    at = [np.quantile(x, _QUANTILES, axis=0) for x in (one, two)]
    mine, theirs = _assigned(-sum(np.abs(a[:, None] - b) for a, b in zip(*at, strict=True)))
    moved = (mine != theirs) & differs & (_distances(one[:, mine], two[:, theirs]) <= noise)
    # (In real shifts a few of many columns may come to look like others.)
    if moved.sum() >= max(2, 0.75 * differs.sum()):
        return (
            f"{moved.sum():,} feature columns of the evaluation rows are distributed as others of "
            "the calibration rows, not as their own. Save both with the columns in one order."
        )
    scaled = far & (np.abs(np.log(one.std(axis=0) / two.std(axis=0))) > np.log(2))
    alike = _distances(*((x - x.mean(axis=0)) / x.std(axis=0) for x in (one, two))) <= noise
    if alike.mean() >= 0.9 and (alike & scaled).mean() > 0.5:
        return (
            "most feature columns are distributed alike in both halves, but on another scale. "
            "Scale calibration and evaluation rows in one way."
        )
    return None


def _distances(one: Floats, two: Floats) -> Floats:
    """Return the Kolmogorov–Smirnov distance of each column of two tables, at quantiles of one."""
    at = np.quantile(one, _QUANTILES, axis=0)
    differences = [(one <= values).mean(axis=0) - (two <= values).mean(axis=0) for values in at]
    return np.asarray(np.abs(differences).max(axis=0))


def _feature_columns(dataset: Dataset) -> Check:
    """Check whether a feature column is constant or numbers the rows."""
    name = "feature columns"
    features: Floats = np.asarray(dataset.features)
    names = dataset.feature_names or tuple(f"feature {k}" for k in range(features.shape[1]))
    n, span = len(features), np.ptp(features, axis=0)
    constant = [names[k] for k in np.flatnonzero(span == 0)]
    numbers = [
        names[k]
        for k in np.flatnonzero(span == n - 1)
        if n >= _MIN_ROWS and (np.diff(np.sort(features[:, k])) == 1).all()
    ]
    text = f"The same in every row: {listed(constant, 8)}. " if constant else ""
    if numbers:
        text += f"Only numbers the rows: {listed(numbers, 8)}. Leave it out of the features."
    return Check(name, text.rstrip(), "look") if text else Check(name, "All of them vary.")
