"""What a fitted recalibrator does to probabilities, as functions of numpy arrays alone.

The recalibrators and the predictor of shipped files (:mod:`lore_core.shipping`) share these, so
that both give the same numbers to the last bit; nothing here may import more than numpy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "completed",
    "expit",
    "log_probabilities",
    "log_shares_of_the_others",
    "log_softmax",
    "logit",
    "lowest_confidence",
    "on_line",
    "pulled",
    "softmax",
    "top_log_odds",
    "with_confidence",
]

#: Probabilities below this are lifted before their logarithm is taken.
SMALLEST = 1e-12
#: Confidences are kept this far from 0 and 1 before a line goes through their log-odds.
MARGIN = 1e-4


def expit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(−x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def logit(p: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """log(p / (1 − p)), for p inside (0, 1)."""
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)))


def softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(x) of each row of (n, K), divided by its sum."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def log_softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of :func:`softmax`; −inf stays −inf."""
    shifted = x - x.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def log_probabilities(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log p of every class, finite, shape (n, K)."""
    return np.asarray(np.log(np.maximum(probabilities, SMALLEST)))


def top_log_odds(
    probabilities: NDArray[np.float64], predicted: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Log-odds of the predicted class against all others together, in about [−28, 28].

    The odds are taken from the other classes' sum, not from 1 − c: a confidence that rounds to 1
    still has them.
    """
    index = np.arange(len(probabilities))
    others = probabilities.copy()
    others[index, predicted] = 0.0
    against = np.maximum(others.sum(axis=1), SMALLEST)
    return np.asarray(
        np.log(np.maximum(probabilities[index, predicted], SMALLEST)) - np.log(against)
    )


def with_confidence(
    probabilities: NDArray[np.float64],
    predicted: NDArray[np.int64],
    confidence: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give the predicted classes new confidences and rescale the other classes in proportion.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
    predicted : ndarray of shape (n,)
    confidence : ndarray of shape (n,)
        In [0, 1].

    Returns
    -------
    ndarray of shape (n, K)
        Rows sum to 1; where the other classes were all zero, the rest is spread evenly over them.
    """
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


def log_shares_of_the_others(
    probabilities: NDArray[np.float64], predicted: NDArray[np.int64], offset: float
) -> NDArray[np.float64]:
    """Log(p + offset), shape (n, K), −inf at the predicted class."""
    logs = np.log(probabilities + offset)
    logs[np.arange(len(probabilities)), predicted] = -np.inf
    return np.asarray(logs)


def completed(
    probabilities: NDArray[np.float64],
    predicted: NDArray[np.int64],
    confidence: NDArray[np.float64],
    *,
    temperature: float,
    offset: float,
) -> NDArray[np.float64]:
    """Give the predicted classes new confidences, and the others softened shares of the rest.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
        The classifier's own.
    predicted : ndarray of shape (n,)
    confidence : ndarray of shape (n,)
        In [0, 1].
    temperature, offset : float
        T and ε of :class:`~lore_core.recalibration.other_classes.OtherClasses`.
    """
    logs = log_shares_of_the_others(probabilities, predicted, offset)
    vectors = np.exp(log_softmax(logs / temperature)) * (1.0 - confidence)[:, None]
    vectors[np.arange(len(vectors)), predicted] = confidence
    return np.asarray(vectors)


def lowest_confidence(n_classes: int, floor: bool) -> float:
    """Return 1/K, below which the largest of K probabilities cannot be, or 0 without a floor."""
    return 1.0 / n_classes if floor else 0.0


def pulled(
    mean: NDArray[np.float64],
    mass: NDArray[np.float64],
    toward: NDArray[np.float64],
    prior_strength: float,
) -> NDArray[np.float64]:
    """(Σ k v + s·toward) / (Σ k + s), from the mean of v and the mass Σ k.

    Where there is nothing to average (NaN) ``toward`` is returned. With s = 0 the mean is returned
    to the last bit, also where the mass underflows.
    """
    if prior_strength == 0:
        return np.where(np.isnan(mean), toward, mean)
    share = mass / (mass + prior_strength)
    return np.where(np.isnan(mean), toward, np.nan_to_num(mean) * share + toward * (1 - share))


def on_line(confidence: NDArray[np.float64], slope: float, intercept: float) -> NDArray[np.float64]:
    """1/(1 + exp(−(α logit p + β))), p kept in [1e-4, 1 − 1e-4], shape (n,)."""
    return expit(slope * logit(np.clip(confidence, MARGIN, 1.0 - MARGIN)) + intercept)
