"""MLCE and ALCE as the bandwidth γ grows, their two limits, and a γ suggested by the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lore_core.binning import Binning, confidence_bins
from lore_core.local_error import Kernel, kernel_means
from lore_core.metrics import PROBABILITY_FLOOR, reliability_table
from lore_core.progress import Progress
from lore_core.validation import (
    InputError,
    as_confidence,
    as_coordinates,
    as_group_labels,
    as_outcome,
    check_lengths,
)

__all__ = [
    "BandwidthCurve",
    "BandwidthSuggestion",
    "bandwidth_curve",
    "default_gammas",
    "suggest_bandwidth",
]


def default_gammas(n: int = 30) -> NDArray[np.float64]:
    """Return ``n`` bandwidths from 0.01 to 100, evenly spaced on a log axis.

    On an embedding of unit scale this spans both limits of the LCE.
    """
    return np.geomspace(0.01, 100.0, n)


@dataclass(frozen=True)
class BandwidthCurve:
    """MLCE and ALCE over a grid of bandwidths.

    Attributes
    ----------
    gamma, mlce, alce : ndarray of shape (g,)
        Bandwidths and the two summaries at each.
    mlce_supported : ndarray of shape (g,)
        MLCE over the rows with n_eff ≥ ``min_effective_size``; NaN where there is none. The plain
        MLCE is often set by a single row in an almost empty bin.
    median_effective_size : ndarray of shape (g,)
        Median n_eff over the rows: how many rows an error rests on.
    mlce_zero, alce_zero : float
        Limits at γ→0: |c − a| of single rows (means over exact duplicates).
    mlce_infinity, alce_infinity, mlce_supported_infinity : float
        Limits at γ→∞: MCE, ECE, and the MCE over bins of ``min_effective_size`` rows or more.
    min_effective_size : float
        Support asked for by ``mlce_supported``.
    """

    gamma: NDArray[np.float64]
    mlce: NDArray[np.float64]
    alce: NDArray[np.float64]
    mlce_supported: NDArray[np.float64]
    median_effective_size: NDArray[np.float64]
    mlce_zero: float
    alce_zero: float
    mlce_infinity: float
    alce_infinity: float
    mlce_supported_infinity: float
    min_effective_size: float

    def frame(self) -> pd.DataFrame:
        """Return the curve as a DataFrame, one row a bandwidth."""
        return pd.DataFrame(
            {
                "gamma": self.gamma,
                "mlce": self.mlce,
                "mlce_supported": self.mlce_supported,
                "alce": self.alce,
                "median_n_eff": self.median_effective_size,
            }
        )


def bandwidth_curve(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Any,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    kernel: Kernel = "laplacian",
    exclude_self: bool = False,
    min_effective_size: float = 10.0,
    progress: Progress | None = None,
) -> BandwidthCurve:
    """MLCE and ALCE for many bandwidths in one pass (Luo et al. 2022, fig. 1).

    Parameters
    ----------
    confidence, outcome, embedding, n_bins, binning, kernel, exclude_self, progress
        See :func:`~lore_core.local_error.local_errors`.
    gammas : array-like of shape (g,), optional
        Bandwidths γ > 0; by default :func:`default_gammas`.
    min_effective_size : float
        Rows with a smaller n_eff are left out of ``mlce_supported``.

    Returns
    -------
    BandwidthCurve

    Notes
    -----
    Lemma 1: as γ→∞ the MLCE converges to the MCE (and the ALCE to the ECE).
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    check_lengths(outcome=a, confidence=c)
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    index = confidence_bins(c, n_bins, binning).assign(c)
    means = kernel_means(
        embedding,
        index,
        None,
        index,
        (c - a)[:, None],
        gammas=grid,
        kernel=kernel,
        exclude_self=exclude_self,
        progress=progress,
    )
    error = np.abs(means.mean[..., 0])
    points = as_group_labels(embedding) if kernel == "group" else as_coordinates(embedding)
    at_zero = np.abs(_duplicate_means(c - a, index, points))
    table = reliability_table(c, a, n_bins=n_bins, binning=binning)
    supported = np.where(means.effective_size >= min_effective_size, error, -np.inf).max(axis=1)
    large = table.count >= min_effective_size
    return BandwidthCurve(
        gamma=grid,
        mlce=np.nanmax(error, axis=1),
        alce=np.nanmean(error, axis=1),
        mlce_supported=np.where(np.isfinite(supported), supported, np.nan),
        median_effective_size=np.median(means.effective_size, axis=1),
        mlce_zero=float(at_zero.max()),
        alce_zero=float(at_zero.mean()),
        mlce_infinity=table.maximum_calibration_error,
        alce_infinity=table.expected_calibration_error,
        mlce_supported_infinity=(
            float(np.abs(table.gap[large]).max()) if large.any() else float("nan")
        ),
        min_effective_size=min_effective_size,
    )


def _duplicate_means(
    values: NDArray[np.float64], index: NDArray[np.int64], points: NDArray[Any]
) -> NDArray[np.float64]:
    """Mean of ``values`` over the rows with the same bin and the very same point."""
    columns = points[:, None] if points.ndim == 1 else points
    frame = pd.DataFrame(columns)
    frame["bin"] = index
    code = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()
    total = np.bincount(code, weights=values)
    return np.asarray((total / np.bincount(code))[code])


@dataclass(frozen=True)
class BandwidthSuggestion:
    """The γ with the best leave-one-out likelihood, and the whole curve behind it.

    Attributes
    ----------
    gamma : float
        The suggestion.
    gammas, negative_log_likelihood : ndarray of shape (g,)
        Mean leave-one-out NLL of the outcome, in nats.
    at_edge : bool
        True where the best γ is the smallest or largest tried: no interior optimum was found.
    n_rows : int
        Rows it was chosen on.
    """

    gamma: float
    gammas: NDArray[np.float64]
    negative_log_likelihood: NDArray[np.float64]
    at_edge: bool
    n_rows: int


def suggest_bandwidth(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Any,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    progress: Progress | None = None,
) -> BandwidthSuggestion:
    """Choose γ by the leave-one-out likelihood of the local accuracy.

    Each row's outcome is predicted by the kernel-weighted accuracy of the *other* rows in its bin
    (LoRe with the row left out, in closed form). Too small a γ predicts single neighbours, too
    large a one averages away what is local. Use calibration rows: never tune on what you evaluate.

    Parameters
    ----------
    confidence, outcome, embedding, gammas, n_bins, binning, progress
        See :func:`bandwidth_curve`.

    Returns
    -------
    BandwidthSuggestion

    Raises
    ------
    InputError
        If no bin holds two rows.

    Notes
    -----
    The prediction is (Σ_{j≠i} k a_j + b_i) / (Σ_{j≠i} k + 1), b_i the accuracy of the bin's other
    rows: one pseudo-row keeps the loss finite where all neighbours agree. Clipped to
    [1e-6, 1 − 1e-6]. Both limits, γ→0 and γ→∞, are the bin's accuracy: no locality at all.
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    check_lengths(outcome=a, confidence=c)
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    index = confidence_bins(c, n_bins, binning).assign(c)
    means = kernel_means(
        embedding,
        index,
        None,
        index,
        a[:, None],
        gammas=grid,
        exclude_self=True,
        effective_size=False,
        progress=progress,
    )
    others = np.bincount(index) - 1
    known = others[index] > 0
    if not known.any():
        raise InputError(
            "a bandwidth can only be suggested where some confidence bin holds two rows or more; "
            f"here {len(c)} rows lie in {len(np.unique(index))} bins. Use fewer bins."
        )
    leave_one_out = (np.bincount(index, weights=a)[index] - a) / np.maximum(others[index], 1)
    local = np.where(np.isfinite(means.mean[..., 0]), means.mean[..., 0], 0.0)
    predicted = (means.mass * local + leave_one_out) / (means.mass + 1.0)
    predicted = np.clip(predicted[:, known], PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    hit = a[known]
    loss = -(hit * np.log(predicted) + (1 - hit) * np.log1p(-predicted)).mean(axis=1)
    best = int(np.argmin(loss))
    return BandwidthSuggestion(
        gamma=float(grid[best]),
        gammas=grid,
        negative_log_likelihood=loss,
        at_edge=best in (0, len(grid) - 1),
        n_rows=int(known.sum()),
    )
