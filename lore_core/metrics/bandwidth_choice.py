"""The γ and the number of bins that predict calibration rows best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.binning import Binning, accuracy_without_self, confidence_bins
from lore_core.data.defaults import N_BINS
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import InputError, Points, as_confidence, as_placed_rows
from lore_core.data.weights import as_weights, linearised
from lore_core.kernel_sums.api import means_by_bandwidth
from lore_core.metrics.bandwidth import default_gammas
from lore_core.metrics.local_error import kernel_progress, scaled_bandwidth


@dataclass(frozen=True)
class BandwidthSuggestion:
    """The settings with the best leave-one-out likelihood, and all that were tried."""

    #: The suggestion.
    gamma: float
    n_bins: int
    gammas: Floats  #: (g,); bandwidths tried
    tried_bins: tuple[int, ...]  #: Numbers of confidence bins tried
    #: (b, g); mean leave-one-out NLL of the outcome, in nats, for each number of bins and
    #: bandwidth.
    loss: Floats
    #: By how much the suggestion beats the accuracy of the bin alone (γ → ∞), in nats a row, and
    #: the standard error of that difference. The best of many is a little flattered.
    gain: float
    gain_error: float
    #: True where the best γ is the smallest or largest tried: no interior optimum was found.
    at_edge: bool
    n_rows: int  #: Rows it was chosen on

    @property
    def negative_log_likelihood(self) -> Floats:
        """``loss`` with the suggested number of bins, shape (g,)."""
        return np.asarray(self.loss[self.tried_bins.index(self.n_bins)])


def suggest_bandwidth(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int | Sequence[int] = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    progress: Progress | None = None,
) -> BandwidthSuggestion:
    """Choose γ, and the bins if several numbers are given, by leave-one-out likelihood.

    Each row's outcome is predicted by the kernel-weighted accuracy of the *other* rows in its bin
    (LoRe with the row left out, in closed form). Too small a γ predicts single neighbours, too
    large a one averages away what is local. Use calibration rows: never tune on what you evaluate.

    Arguments are those of :func:`~lore_core.metrics.bandwidth.bandwidth_curve`, but ``n_bins`` may
    be several numbers to try. Raises InputError if no bin holds two rows.

    Notes
    -----
    The prediction is (Σ_{j≠i} k a_j + b_i) / (Σ_{j≠i} k + 1), b_i the accuracy of the bin's other
    rows: one pseudo-row keeps the loss finite where all neighbours agree. A row alone in its bin is
    predicted by its own confidence, so that all numbers of bins are judged on the same rows.
    Clipped to [1e-6, 1 − 1e-6]. Both limits, γ→0 and γ→∞, are the bin's accuracy: no locality.
    """
    c, a, z = as_placed_rows(confidence, outcome, embedding)
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    tried = (n_bins,) if isinstance(n_bins, (int, np.integer)) else tuple(dict.fromkeys(n_bins))
    if not tried:
        raise InputError("'n_bins' must name at least one number of bins; got none.")
    tries: list[tuple[Floats, Floats]] = []
    w = as_weights(weights, len(c))
    n = len(tried)
    for step, count in enumerate(tried):
        progress_here = part_of(progress, step / n, (step + 1) / n)
        tries.append(_leave_one_out(c, a, z, w, grid, int(count), binning, progress_here))
    loss = np.stack([losses for losses, _ in tries])
    b, g = np.unravel_index(int(np.argmin(loss)), loss.shape)
    gain = linearised(tries[b][1], w)
    return BandwidthSuggestion(
        gamma=float(grid[g]),
        n_bins=int(tried[b]),
        gammas=grid,
        tried_bins=tuple(int(count) for count in tried),
        loss=loss,
        gain=float(gain.mean()),
        gain_error=float(gain.std() / np.sqrt(len(c))),
        at_edge=bool(g in (0, len(grid) - 1)),
        n_rows=len(c),
    )


def has_pairs(confidence: ArrayLike, n_bins: Sequence[int], binning: Binning) -> bool:
    """Whether some bin holds two rows, for every number of bins: else nothing can be suggested."""
    c = as_confidence(confidence)
    return all(
        (np.bincount(confidence_bins(c, count, binning).assign(c)) > 1).any() for count in n_bins
    )


def _leave_one_out(
    c: Floats,
    a: Floats,
    z: Floats,
    w: Floats | None,
    grid: Floats,
    n_bins: int,
    binning: Binning,
    progress: Progress | None,
) -> tuple[Floats, Floats]:
    """Return the loss at each bandwidth (g,), and what the best gains at each row (n,)."""
    index = confidence_bins(c, n_bins, binning).assign(c)
    if np.bincount(index).max() < 2:
        raise InputError(
            "a bandwidth can only be suggested where some confidence bin holds two rows or more; "
            f"here {len(c)} rows lie in {len(np.unique(index))} bins. Use fewer bins."
        )
    others = accuracy_without_self(index, a, c, w)
    losses, best, least = np.empty(len(grid)), np.empty(0), (np.inf, 0)
    for g, means in means_by_bandwidth(
        z,
        None,
        a[:, None],
        w,
        bandwidth=scaled_bandwidth(grid, z.shape[1]),
        target_groups=index,
        exclude_self=True,
        effective_size=False,
        progress=kernel_progress(progress),
    ):
        mean, mass = means.mean[:, 0], means.mass
        local = np.where(np.isfinite(mean), mean, 0.0)
        row_losses = _nll((mass * local + others) / (mass + 1.0), a)
        losses[g] = np.average(row_losses, weights=w)
        if (losses[g], g) < least:  # of two as good, the smaller bandwidth
            least, best = (losses[g], g), row_losses
    return losses, _nll(others, a) - best


def _nll(predicted: Floats, outcome: Floats) -> Floats:
    p = np.clip(predicted, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR)
    return np.asarray(-(outcome * np.log(p) + (1 - outcome) * np.log1p(-p)))
