"""Proper scores of whole probability vectors: NLL and Brier, of rows, classes and all together."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import Dataset
from lore_core.data.errors import counted
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.validation import as_labels, as_probabilities, check_lengths
from lore_core.data.weights import as_weights


def negative_log_likelihood(
    probabilities: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """NLL: mean of −log p of the true class, probabilities clipped to [1e-6, 1], in nats.

    ``probabilities`` (n, K), or P(y = 1) (n,). ``labels`` (n,): class indices. ``weights`` (n,):
    what each row counts for, above 0.
    """
    rows = row_nll(*_checked(probabilities, labels))
    return float(np.average(rows, weights=as_weights(weights, len(rows))))


def brier_score(
    probabilities: ArrayLike, labels: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """Brier score: mean squared distance of the probability vector to the truth.

    ``probabilities``, ``labels``, ``weights``: see :func:`negative_log_likelihood`.

    Returns a float: for two classes (p₁ − y)², in [0, 1]; for K > 2 the sum over classes, in [0,
    2]: scikit-learn's ``scale_by_half="auto"`` (Brier, "Verification of forecasts expressed in
    terms of probability", 1950).
    """
    rows = row_brier(*_checked(probabilities, labels))
    return float(np.average(rows, weights=as_weights(weights, len(rows))))


def class_nll(probabilities: Floats) -> Floats:
    """Return −log p of every class of each row, shape (n, K)."""
    return -np.log(np.maximum(probabilities, PROBABILITY_FLOOR))


def class_brier(probabilities: Floats) -> Floats:
    """Return the Brier score of each row had each class been true, shape (n, K)."""
    # Σ_k (p_k − 1[k = y])² = Σ p_k² − 2 p_y + 1
    squares = np.einsum("ij,ij->i", probabilities, probabilities)
    total = squares[:, None] - 2 * probabilities + 1
    return np.asarray(total / 2 if probabilities.shape[1] == 2 else total)


#: By metric: from probabilities (n, K) to the value of each row for each class, (n, K).
BY_CLASS = {"NLL": class_nll, "Brier": class_brier}


def row_nll(probabilities: Floats, labels: Ints) -> Floats:
    """−log p of the true class of each row, shape (n,); ``probabilities`` (n, K)."""
    return class_nll(probabilities[np.arange(len(labels)), labels])


def unclipped_nll(rows: Dataset) -> tuple[int, float]:
    """Return the number of rows whose p the NLL clips, and the NLL without that; 0 if unknown."""
    own = rows.probabilities[np.arange(len(rows)), rows.labels]
    with np.errstate(divide="ignore"):
        full = float(np.average(-np.log(own), weights=rows.weights))
    return int((own < PROBABILITY_FLOOR).sum()) * rows.complete, full


def clip_note(unclipped: Mapping[str, tuple[int, float]]) -> str:
    """Say by model what :func:`unclipped_nll` found; nothing where none clips p."""
    values = [
        f"{'infinite' if np.isinf(nll) else f'{nll:.3f}'} ({counted(n, 'such row')})"
        + (f" with “{name}”" if name else "")
        for name, (n, nll) in unclipped.items()
        if n
    ]
    text = f"NLL counts p below 1e-6 as 1e-6; without that it is {', '.join(values)}."
    return text if values else ""


def row_brier(probabilities: Floats, labels: Ints) -> Floats:
    """Brier score of each row, shape (n,); ``probabilities`` (n, K)."""
    own = probabilities[np.arange(len(labels)), labels]
    total = np.einsum("ij,ij->i", probabilities, probabilities) - 2 * own + 1
    return np.asarray(total / 2 if probabilities.shape[1] == 2 else total)


def _checked(probabilities: ArrayLike, labels: ArrayLike) -> tuple[Floats, Ints]:
    p = as_probabilities(probabilities)
    y = as_labels(labels, p.shape[1])
    check_lengths(labels=y, probabilities=p)
    return p, y
