"""Real or noise: how large a local error chance alone makes, row by row and place by place.

Under the null model "each confidence is right" outcomes are independent, a_j ~ Bernoulli(c_j). A
signed local error S = Σ k (c − a) / Σ k then has mean 0 and, since k_γ^m = k_{γ/m}, moments that
come from the same kind of kernel sums:

* variance  Σ k² c(1 − c) / (Σ k)²,
* third central moment  Σ k³ c(1 − c)(2c − 1) / (Σ k)³.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from lore_core.binning import Binning, confidence_bins
from lore_core.local_error import Kernel, kernel_means
from lore_core.progress import Progress
from lore_core.validation import (
    InputError,
    as_confidence,
    as_outcome,
    check_lengths,
)

__all__ = ["MIN_EFFECTIVE_SIZE", "Significance", "local_significance"]

#: Fewer effective neighbours than this are no evidence, whatever they say.
MIN_EFFECTIVE_SIZE = 10.0
#: Skewness below which the normal distribution is used: the gamma would be of enormous shape.
_SYMMETRIC = 1e-5


@dataclass(frozen=True)
class Significance:
    """How surprising each signed local error would be if every confidence were right.

    Attributes
    ----------
    signed : ndarray of shape (n,)
        SLCE; positive = overconfident.
    standard_error : ndarray of shape (n,)
        Its standard deviation under the null model.
    z : ndarray of shape (n,)
        ``signed / standard_error``; 0 where both are 0.
    p_value : ndarray of shape (n,)
        Two-sided; NaN where not tested.
    adjusted : ndarray of shape (n,)
        p-values after Benjamini and Yekutieli, over all rows tested; NaN where not tested.
    effective_size : ndarray of shape (n,)
        n_eff = (Σk)² / Σk².
    min_effective_size : float
        Rows with a smaller n_eff are not tested.
    """

    signed: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    z: NDArray[np.float64]
    p_value: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    effective_size: NDArray[np.float64]
    min_effective_size: float

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Rows with enough effective neighbours to be tested, shape (n,)."""
        return np.isfinite(self.p_value)

    @property
    def masked_share(self) -> float:
        """Share of the rows that are not tested."""
        return float(1.0 - self.tested.mean())

    def significant(self, q: float = 0.05) -> NDArray[np.bool_]:
        """Return the rows whose error is real, at false discovery rate ``q``, shape (n,).

        Parameters
        ----------
        q : float
            In (0, 1): of the rows returned, in expectation at most this share is calibrated.
        """
        _check_share(q, "q")
        with np.errstate(invalid="ignore"):
            return np.asarray(self.adjusted <= q)

    def cutoff(self, q: float = 0.05) -> float:
        """Return the largest plain p-value among the significant rows; 0 where there is none."""
        found = self.significant(q)
        return float(self.p_value[found].max()) if found.any() else 0.0


def local_significance(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Any,
    *,
    gamma: float = 0.2,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    kernel: Kernel = "laplacian",
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
    progress: Progress | None = None,
) -> Significance:
    """Test every row's signed local error: standard error, z and p-value.

    Parameters
    ----------
    confidence, outcome, embedding, gamma, n_bins, binning, kernel, progress
        See :func:`~lore_core.local_error.local_errors`.
    min_effective_size : float
        Rows with a smaller n_eff are not tested.

    Returns
    -------
    Significance

    Raises
    ------
    InputError
        If an argument is out of range or the lengths disagree.

    Notes
    -----
    *p-values.* A few rare mistakes make S skewed: normal tails would call every single mistake at a
    confidence of 99 % significant. The heavy tail is that of the gamma distribution with the same
    first three moments (Pearson's type III), the light one that of the normal distribution, which
    is a little too long; two-sided p-values are twice the tail. One outcome
    of average weight moves S by 1/n_eff; of the usual continuity correction, half of that step,
    half is applied, because unequal weights make finer steps. For equal weights, where the truth is
    a binomial tail, p then lies between the exact tail and the mid-p.

    *Many rows* are tested at once, and neighbours share their outcomes, so the false discovery
    rate is controlled by the procedure of Benjamini and Yekutieli (2001), which holds under any
    dependence.
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    check_lengths(outcome=a, confidence=c)
    index = confidence_bins(c, n_bins, binning).assign(c)
    signed, error, p, size = null_test(
        embedding, index, None, index, c, a, gamma=gamma, kernel=kernel, progress=progress
    )
    tested = (size >= min_effective_size) & np.isfinite(signed)
    p = np.where(tested, p, np.nan)
    adjusted = np.full(len(p), np.nan)
    if tested.any():
        adjusted[tested] = stats.false_discovery_control(p[tested], method="by")
    return Significance(
        signed=signed,
        standard_error=error,
        z=_ratio(signed, error),
        p_value=p,
        adjusted=adjusted,
        effective_size=size,
        min_effective_size=float(min_effective_size),
    )


def null_test(
    targets: Any,
    target_bins: NDArray[np.int64],
    sources: Any,
    source_bins: NDArray[np.int64],
    confidence: NDArray[np.float64],
    outcome: NDArray[np.float64],
    *,
    gamma: float,
    kernel: Kernel = "laplacian",
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Test the signed local error at any targets; confidence and outcome are the sources'.

    Parameters
    ----------
    targets, target_bins, sources, source_bins, gamma, kernel, progress
        See :func:`~lore_core.local_error.kernel_means`.
    confidence, outcome : ndarray of shape (n_sources,)

    Returns
    -------
    signed, standard_error, p_value, effective_size : ndarray of shape (n_targets,)
        NaN (n_eff 0) for a target without a source, or too far from all of them for its kernel
        weights to be numbers.
    """
    variance = confidence * (1 - confidence)
    means = kernel_means(
        targets,
        target_bins,
        sources,
        source_bins,
        np.column_stack([confidence - outcome, variance, variance * (2 * confidence - 1)]),
        gammas=gamma / np.array([1.0, 2.0, 3.0]),
        kernel=kernel,
        effective_size=False,
        progress=progress,
    )
    mass, square, cube = means.mass
    with np.errstate(all="ignore"):
        # Ratios one by one: the square of a small mass would underflow.
        size = np.where(square > 0, mass * (mass / square), 0.0)
        signed = np.where(size > 0, means.mean[0, :, 0], np.nan)
        error = np.sqrt(np.maximum(means.mean[1, :, 1], 0.0) / size)
        third = means.mean[2, :, 2] * (cube / mass / mass / mass)
        skewness = np.where(error > 0, third / error**3, 0.0)
    # A quarter of the step that one outcome of average weight makes: see `local_significance`.
    step = 0.25 / np.maximum(size, 1.0)
    p = two_sided_p_value(signed, error, skewness, step)
    return signed, error, p, size


def two_sided_p_value(
    value: NDArray[np.float64],
    standard_error: NDArray[np.float64],
    skewness: NDArray[np.float64],
    correction: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """Twice the tail beyond a value of mean 0: gamma on the heavy side, normal on the other.

    Parameters
    ----------
    value, standard_error, skewness : ndarray of shape (n,)
    correction : array-like
        How much nearer to 0 each value is taken (continuity correction).

    Returns
    -------
    ndarray of shape (n,)
        In [0, 1]. Without any variance only 0 is possible: then 1 for 0 and 0 for anything else.
    """
    size = np.maximum(np.abs(value) - correction, 0.0)
    with np.errstate(all="ignore"):
        t = size / standard_error
        # The tail looked at is the upper one of S·sign(S).
        skew = skewness * np.where(value < 0, -1.0, 1.0)
        shape = 4.0 / skew**2
        root = np.sqrt(shape)
        heavy = special.gammaincc(shape, shape + t * root)
        # On its light side the gamma distribution ends; the sum need not end there.
        tail = np.where(skew > _SYMMETRIC, heavy, special.ndtr(-t))
    p = np.where(size == 0, 1.0, np.minimum(2.0 * tail, 1.0))
    impossible = (standard_error == 0) & (size > 0)
    return np.where(np.isnan(value), np.nan, np.where(impossible, 0.0, p))


def _ratio(value: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(value == 0, 0.0, value / error)


def _check_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise InputError(f"'{name}' must lie strictly between 0 and 1; got {value!r}.")
