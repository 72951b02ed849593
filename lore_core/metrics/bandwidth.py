"""Local errors as the bandwidth γ grows, and the γ and bins that predict calibration rows best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning, accuracy_without_self, confidence_bins
from lore_core.data.defaults import LARGEST_GAMMA, LEAST_GAMMA, N_BINS
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.progress import Progress, part_of
from lore_core.data.shown import Shown
from lore_core.data.units import as_units, mean_values
from lore_core.data.validation import InputError, Points, as_placed_rows
from lore_core.data.weights import as_weights, weighed
from lore_core.kernel_sums.api import means_by_bandwidth
from lore_core.metrics.global_metrics import reliability_table
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, kernel_progress, scaled_bandwidth
from lore_core.metrics.metric import CurveKey


def default_gammas(n: int = 30) -> Floats:
    """Return ``n`` bandwidths from 0.01 to 100, evenly spaced on a log axis.

    On an embedding of unit scale this spans both limits of the LCE.
    """
    return np.geomspace(LEAST_GAMMA, LARGEST_GAMMA, n)


@dataclass(frozen=True, repr=False)
class BandwidthCurve(Shown):
    """MLCE and ALCE over a grid of bandwidths."""

    #: (g,); bandwidths, and both summaries.
    gamma: Floats
    mlce: Floats
    alce: Floats
    #: (g,); MLCE over the rows with ten effective neighbours or more; NaN where there is none.
    mlce_supported: Floats
    #: (g,); median n_eff over the rows.
    median_effective_size: Floats
    #: Limits at γ→0: |c − a| of single rows (means over exact duplicates).
    mlce_zero: float
    alce_zero: float
    #: Limits at γ→∞: MCE, ECE, and the MCE over bins of ten (effective) rows or more.
    mlce_infinity: float
    alce_infinity: float
    mlce_supported_infinity: float
    #: By summary, (g,): guaranteed bounds, of sums over cells, or of several runs the mean less and
    #: more one standard deviation; None: it is exact.
    bounds: Mapping[CurveKey, tuple[Floats, Floats]] | None = None
    n_runs: int = 1  #: Runs it is the mean of

    def frame(self) -> pd.DataFrame:
        """Return the curve as a DataFrame, one row a bandwidth."""
        names = ("gamma", "mlce", "mlce_supported", "alce")
        table = pd.DataFrame({name: getattr(self, name) for name in names})
        table["median_n_eff"] = self.median_effective_size
        ends = ("at_least", "at_most") if self.n_runs == 1 else ("low", "high")
        for key, of in (self.bounds or {}).items():
            table[[f"{key}_{end}" for end in ends]] = np.column_stack(of)
        return table


def bandwidth_curve(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    progress: Progress | None = None,
) -> BandwidthCurve:
    """MLCE and ALCE for many bandwidths in one pass (Luo et al. 2022, fig. 1).

    ``gammas`` (g,): above 0; by default :func:`default_gammas`. The rest: see
    :func:`~lore_core.metrics.local_error.local_errors`.

    Lemma 1: as γ→∞ the MLCE converges to the MCE (and the ALCE to the ECE).
    """
    c, a, z = as_placed_rows(confidence, outcome, embedding)
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    index = confidence_bins(c, n_bins, binning).assign(c)
    w = as_weights(weights, len(c))
    found = np.empty((4, len(grid)))
    largest, average, supported, median = found
    for b, means in means_by_bandwidth(
        z,
        None,
        (c - a)[:, None],
        w,
        bandwidth=scaled_bandwidth(grid, z.shape[1]),
        target_groups=index,
        progress=kernel_progress(progress),
    ):
        error, size = np.abs(means.mean[:, 0]), means.effective_size
        largest[b], average[b] = error.max(), np.average(error, weights=w)
        supported[b] = error[size >= MIN_EFFECTIVE_SIZE].max(initial=-np.inf)
        half, odd = divmod(len(c), 2)
        size.partition(half)  # (As numpy's median, in a sixth of the time.)
        median[b] = size[half] if odd else (size[:half].max() + size[half]) / 2
    at_zero = np.abs(_duplicate_means(c - a, index, z, w))
    table = reliability_table(c, a, n_bins=n_bins, binning=binning, weights=w)
    large = table.effective_size >= MIN_EFFECTIVE_SIZE
    return BandwidthCurve(
        gamma=grid,
        mlce=largest,
        alce=average,
        mlce_supported=np.where(np.isfinite(supported), supported, np.nan),
        median_effective_size=median,
        mlce_zero=float(at_zero.max()),
        alce_zero=float(np.average(at_zero, weights=w)),
        mlce_infinity=table.maximum_calibration_error,
        alce_infinity=table.expected_calibration_error,
        mlce_supported_infinity=(
            float(np.abs(table.gap[large]).max()) if large.any() else float("nan")
        ),
    )


def _duplicate_means(values: Floats, index: Ints, points: Floats, weights: Floats | None) -> Floats:
    """Mean of ``values`` over the rows with the same bin and the very same point."""
    if (np.diff(np.sort(points[:, 0])) > 0).all():  # no two rows share a point
        return values
    frame = pd.DataFrame(points)
    frame["bin"] = index
    code = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()
    total = np.bincount(code, weights=weighed(values, weights))
    return np.asarray((total / np.bincount(code, weights=weights))[code])


@dataclass(frozen=True)
class BandwidthSuggestion:
    """The settings with the best leave-one-out likelihood, and all that were tried."""

    gamma: float
    n_bins: int
    gammas: Floats  #: (g,); bandwidths tried
    tried_bins: tuple[int, ...]  #: Numbers of confidence bins tried
    #: (b, g); mean leave-one-out NLL by number of bins and bandwidth, in nats.
    loss: Floats
    #: NLL gained over the accuracy of the bin alone (γ → ∞), in nats a row, and its standard
    #: error. The best of many is a little flattered.
    gain: float
    gain_error: float
    #: True where the best γ is the smallest or largest tried.
    at_edge: bool
    n_rows: int  #: Rows it was chosen on


def suggest_bandwidth(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int | Sequence[int] = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
    progress: Progress | None = None,
) -> BandwidthSuggestion:
    """Choose γ, and the bins if several numbers are given, by leave-one-out likelihood.

    Arguments are those of :func:`~lore_core.metrics.bandwidth.bandwidth_curve`, but ``n_bins`` may
    be several numbers to try. ``units`` (n,): whose rows are left out together. Use calibration
    rows: never tune on what you evaluate. Raises InputError if no bin holds two rows. How a row is
    predicted: docs/method.md ("Suggested γ").
    """
    c, a, z = as_placed_rows(confidence, outcome, embedding)
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    tried = (n_bins,) if isinstance(n_bins, (int, np.integer)) else tuple(dict.fromkeys(n_bins))
    if not tried:
        raise InputError("'n_bins' must name at least one number of bins; got none.")
    tries: list[tuple[Floats, Floats]] = []
    w, u = as_weights(weights, len(c)), as_units(units, len(c))
    n = len(tried)
    for step, count in enumerate(tried):
        progress_here = part_of(progress, step / n, (step + 1) / n)
        tries.append(_leave_one_out(c, a, z, w, u, grid, int(count), binning, progress_here))
    loss = np.stack([losses for losses, _ in tries])
    b, g = np.unravel_index(int(np.argmin(loss)), loss.shape)
    gain = mean_values(tries[b][1], w, u)
    return BandwidthSuggestion(
        gamma=float(grid[g]),
        n_bins=int(tried[b]),
        gammas=grid,
        tried_bins=tuple(int(count) for count in tried),
        loss=loss,
        gain=float(gain.mean()),
        gain_error=float(gain.std() / np.sqrt(len(gain))),
        at_edge=bool(g in (0, len(grid) - 1)),
        n_rows=len(c),
    )


def _leave_one_out(
    c: Floats,
    a: Floats,
    z: Floats,
    w: Floats | None,
    u: Ints | None,
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
    others = accuracy_without_self(index, a, c, w, u)
    losses, best, least = np.empty(len(grid)), np.empty(0), (np.inf, 0)
    for g, means in means_by_bandwidth(
        z,
        None,
        a[:, None],
        w,
        bandwidth=scaled_bandwidth(grid, z.shape[1]),
        target_groups=index,
        units=u,
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
