"""Functions of probabilities, and undone rounding; numpy alone."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints, Mask

#: Lower clip of probabilities in likelihoods.
PROBABILITY_FLOOR = 1e-6
#: Lower clip of probabilities before logarithms.
SMALLEST = 1e-12
#: Numbers per block, so that steps stay in the processor's cache: three times as fast.
_BLOCK = 2**16
#: Up to so many columns the row maximum is taken column by column.
_FEW_COLUMNS = 32
#: Decimals tried. With more, sums stay near 1 for as many classes as there are.
_DECIMALS = range(1, 7)
#: Rounding error of a number, and of a sum in half precision.
_SLACK, _SUM_SLACK = 1e-12, 1e-6
#: Rows with a smaller sum lost more than rounding explains.
_SMALLEST_SUM = 0.5


def expit(x: Floats) -> Floats:
    """Return 1 / (1 + exp(−x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def logit(p: Floats | float) -> Floats:
    """Return log(p / (1 − p)), for p inside (0, 1)."""
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)))


def by_blocks(work: Callable[..., Floats], *arrays: NDArray[Any]) -> Floats:
    """Apply ``work`` to blocks of rows of the arrays, (n, …) each."""
    n, width = len(arrays[0]), max(arrays[0][:1].size, 1)
    count = max(1, _BLOCK // width)
    first = work(*(array[:count] for array in arrays))
    if n <= count:
        return first
    made = np.empty((n, *first.shape[1:]))
    made[:count] = first
    for start in range(count, n, count):
        rows = slice(start, start + count)
        made[rows] = work(*(array[rows] for array in arrays))
    return made


def _blockwise(work: Callable[..., Floats]) -> Callable[..., Floats]:
    return functools.wraps(work)(functools.partial(by_blocks, work))


@_blockwise
def softmax(x: Floats) -> Floats:
    """Return exp(x) of each row of (n, K), divided by its sum."""
    made = x - row_maximum(x)[:, None]
    made = np.exp(made, out=made)
    made /= made.sum(axis=1, keepdims=True)
    return made


@_blockwise
def log_softmax(x: Floats) -> Floats:
    """Return the logarithm of :func:`softmax`; −inf stays −inf."""
    made = x - row_maximum(x)[:, None]
    made -= np.log(np.exp(made).sum(axis=1, keepdims=True))
    return made


def log_share(x: Floats, labels: Ints, factor: float) -> Floats:
    """Return log softmax(``factor`` · x) at one label a row, (n,), without another array (n, K)."""

    def of_rows(rows: Floats, chosen: Ints) -> Floats:
        made = rows * factor
        made -= row_maximum(made)[:, None]
        own = made[np.arange(len(rows)), chosen]
        return np.asarray(own - np.log(np.exp(made, out=made).sum(axis=1)))

    return by_blocks(of_rows, x, labels)


def row_maximum(x: Floats) -> Floats:
    """Return the largest value of each row; of few columns one by one, ten times as fast."""
    if x.shape[1] > _FEW_COLUMNS:
        return np.asarray(x.max(axis=1))
    largest = x[:, 0].copy()
    for column in x.T[1:]:
        np.maximum(largest, column, out=largest)
    return largest


def log_probabilities(probabilities: Floats) -> Floats:
    """Return log p of every class, finite, shape (n, K)."""
    lifted = np.maximum(probabilities, SMALLEST)
    return np.asarray(np.log(lifted, out=lifted))


@_blockwise
def top_log_odds(probabilities: Floats, predicted: Ints) -> Floats:
    """Return log-odds of the predicted class, from the others' sum: finite where c rounds to 1."""
    index = np.arange(len(probabilities))
    others = probabilities.copy()
    others[index, predicted] = 0.0
    rest = np.maximum(others.sum(axis=1), SMALLEST)
    return np.asarray(np.log(np.maximum(probabilities[index, predicted], SMALLEST)) - np.log(rest))


@_blockwise
def with_confidence(probabilities: Floats, predicted: Ints, confidence: Floats) -> Floats:
    """Replace predicted classes' confidences and rescale the others (evenly, if all are zero)."""
    index = np.arange(len(probabilities))
    others = probabilities.copy()
    others[index, predicted] = 0.0
    rest = others.sum(axis=1)
    empty = rest <= 0
    others[empty] = 1.0
    others[index, predicted] = 0.0
    rest[empty] = probabilities.shape[1] - 1
    # Shares first: (1 − new) / rest would overflow where the rest is barely above 0.
    vectors = others / rest[:, None] * (1.0 - confidence)[:, None]
    vectors[index, predicted] = confidence
    return np.asarray(vectors)


def spread_confidence(confidence: Floats, predicted: Ints, n_classes: int) -> Floats:
    """Return vectors (n, K): the confidence on the predicted class, the rest evenly."""
    rest = (1.0 - confidence) / (n_classes - 1)
    vectors = np.repeat(rest[:, None], n_classes, axis=1)
    vectors[np.arange(len(confidence)), predicted] = confidence
    return vectors


def undo_rounded_sums(rows: Floats, tolerance: float) -> tuple[Floats, Floats, Mask]:
    """Return rows (n, K), rounding undone beyond ``tolerance``; old sums; which are unexplained."""
    total = rows.sum(axis=1)
    bad = np.abs(total - 1.0) > tolerance
    unit = _unit_of(rows) if bad.any() else 0.0
    if not unit:
        return rows, total, bad
    # Rows that sum to 1 and round to those given explain them.
    room = np.minimum(rows, unit / 2)
    missing = np.maximum(1.0 - total, 0.0)
    excess = np.maximum(total - 1.0, 0.0)
    explained = (
        (missing <= rows.shape[1] * unit / 2 + _SUM_SLACK)
        & (excess <= room.sum(axis=1) + _SUM_SLACK)
        & (total >= _SMALLEST_SUM)
    )
    share = np.minimum(excess / np.maximum(room.sum(axis=1), _SUM_SLACK), 1.0)
    restored = rows + (missing / rows.shape[1])[:, None] - room * share[:, None]
    return np.where(explained[:, None], restored, rows), total, bad & ~explained


def _unit_of(rows: Floats) -> float:
    """Return the unit of the last decimal of all numbers; 0 if there is none."""
    for decimals in _DECIMALS:
        rounded = np.round(rows, decimals)
        for kind in (np.float64, np.float32, np.float16):
            # A file of less precision holds the nearest numbers to those that were written.
            nearest = rounded.astype(kind).astype(np.float64)
            if np.abs(nearest - rows).max() <= _SLACK:
                return float(10.0**-decimals)
    return 0.0
