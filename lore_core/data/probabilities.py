"""What a fitted recalibrator does to probabilities, as functions of numpy arrays alone.

Fitting and applying share these; nothing here may import more than numpy.
"""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats, Ints

#: Probabilities are clipped to [PROBABILITY_FLOOR, 1] before the logarithm of a likelihood.
PROBABILITY_FLOOR = 1e-6
#: Probabilities below this are lifted before their logarithm is taken.
SMALLEST = 1e-12


def expit(x: Floats) -> Floats:
    """1 / (1 + exp(−x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def logit(p: Floats | float) -> Floats:
    """log(p / (1 − p)), for p inside (0, 1)."""
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)))


def softmax(x: Floats) -> Floats:
    """exp(x) of each row of (n, K), divided by its sum."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def log_softmax(x: Floats) -> Floats:
    """Logarithm of :func:`softmax`; −inf stays −inf."""
    shifted = x - x.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def log_probabilities(probabilities: Floats) -> Floats:
    """Log p of every class, finite, shape (n, K)."""
    return np.asarray(np.log(np.maximum(probabilities, SMALLEST)))


def top_log_odds(probabilities: Floats, predicted: Ints) -> Floats:
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


def with_confidence(probabilities: Floats, predicted: Ints, confidence: Floats) -> Floats:
    """Give the predicted classes new confidences and rescale the other classes in proportion.

    Rows of ``probabilities`` (n, K) sum to 1 again; where the other classes were all zero, the rest
    is spread evenly over them.
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
