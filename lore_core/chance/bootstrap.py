"""Bootstrap intervals of every metric, with the same resampled rows for every method compared."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from lore_core.chance.central_interval import central_interval
from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import (
    InputError,
    Points,
    as_confidence,
    as_coordinates,
    as_group_labels,
    as_outcome,
    check_integer,
    check_lengths,
)
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.catalogue import COMPARED
from lore_core.metrics.global_metrics import counted_groups
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth
from lore_core.metrics.resampled import Resampled

#: Resamples behind intervals and paired differences, where they can be waited for.
N_RESAMPLED = 100
#: Draws whose weights are summed in one pass: more costs memory, fewer costs time.
_CHUNK = 16
#: Pairwise work (rows² × dimensions × draws) that still feels interactive, in multiply-adds.
_BLOCKED_BUDGET = 2e10
#: The same for the exact sweeps (rows × log₂ rows^(d−1) × draws).
_SWEEP_BUDGET = 1.2e9
#: The same for the global metrics alone (rows × draws).
_GLOBAL_BUDGET = 2e8


@dataclass(frozen=True)
class BootstrapDraws:
    """Metrics on resampled rows."""

    #: (n_draws, n_metrics); one row a resample. Draws made with the same seed on the same rows are
    #: paired.
    values: pd.DataFrame

    def interval(self, level: float = 0.95) -> pd.DataFrame:
        """Percentile interval of each metric: columns ``low`` and ``high``."""
        low, high = central_interval(self.values, level)
        return pd.DataFrame({"low": low, "high": high}, index=self.values.columns)

    def difference(self, other: BootstrapDraws, level: float = 0.95) -> pd.DataFrame:
        """Interval of this minus ``other``, draw by draw: columns ``low`` and ``high``."""
        return BootstrapDraws(self.values - other.values).interval(level)

    def difference_p(self, other: BootstrapDraws) -> pd.Series[float]:
        """Two-sided p-value of each metric's difference to ``other``, draw by draw."""
        gap = self.values - other.values
        fewer = np.minimum((gap >= 0).sum(), (gap <= 0).sum())
        return pd.Series(np.minimum(2 * (1 + fewer) / (1 + len(gap)), 1.0), index=gap.columns)


def affordable_draws(n_rows: int, n_dimensions: int | None, *, wanted: int = N_RESAMPLED) -> int:
    """Return how many draws fit an interactive wait (a few seconds).

    Parameters
    ----------
    n_rows : int
        Rows resampled.
    n_dimensions : int or None
        Embedding dimensions of the local metrics; None where only global ones are wanted.
    wanted : int
        Upper limit.

    Returns
    -------
    int
        0 where fewer than 20 would fit: such an interval would say nothing.
    """
    if n_dimensions is None:
        fits = int(_GLOBAL_BUDGET / n_rows)
    elif n_dimensions <= 3:
        per_draw = n_rows * np.log2(n_rows + 2) ** (n_dimensions - 1) * 4
        fits = int(_SWEEP_BUDGET / per_draw)
    else:
        fits = int(_BLOCKED_BUDGET / (float(n_rows) ** 2 * (2 + n_dimensions / _CHUNK)))
    return 0 if fits < 20 else min(wanted, fits)


def bootstrap_draws(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points | None = None,
    *,
    losses: pd.DataFrame | None = None,
    groups: ArrayLike | None = None,
    min_group_size: int = 1,
    gamma: float = 0.2,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    bins: ConfidenceBins | None = None,
    n_draws: int = N_RESAMPLED,
    random_state: int = 0,
    progress: Progress | None = None,
) -> BootstrapDraws:
    """Recompute the metrics on resampled rows.

    Parameters
    ----------
    confidence, outcome : array-like of shape (n,)
        Confidences in [0, 1] and outcomes 0 or 1.
    embedding : Embedding or array-like of shape (n, d), optional
        Adds ``MLCE supported``, ``ALCE`` and ``MLCE``.
    losses : DataFrame of shape (n, q), optional
        Further per-row losses whose means are wanted (NLL, Brier).
    groups : array-like of shape (n,) or (n, g), optional
        Adds ``max group gap`` and ``max group-wise MCE``; of several columns the intersections are
        taken.
    min_group_size : int
        Groups with fewer rows, before resampling, are left out of it.
    gamma, n_bins, binning
        See :func:`~lore_core.metrics.local_error.local_errors`. Bins are those of the original
        rows.
    bins : ConfidenceBins, optional
        Bins chosen elsewhere, instead of ``n_bins`` and ``binning``.
    n_draws : int
        Resamples of n rows with replacement.
    random_state : int
        Seed. The same seed and n give the same rows, so that methods can be compared in pairs.
    progress : callable, optional
        Called with the share done.

    Returns
    -------
    BootstrapDraws
        One column a metric, in the order of the catalogue, then losses that are no metrics.

    Raises
    ------
    InputError
        If no group has ``min_group_size`` rows.

    Notes
    -----
    A resample is a vector of counts, so the local sums of many draws are weight columns of one
    pass. Rows drawn twice weigh twice, which makes small neighbourhoods noisier than they were:
    resampled ECE, MLCE and ALCE lean upwards, and so do their intervals. So does the group-wise
    MCE, a maximum over noisy cells.
    """
    c, a = as_confidence(confidence), as_outcome(outcome)
    n = check_lengths(outcome=a, confidence=c, losses=losses)
    n_draws = check_integer(n_draws, "n_draws")
    chosen = confidence_bins(c, n_bins, binning) if bins is None else bins
    index = chosen.assign(c)
    z = np.empty((n, 0)) if embedding is None else as_coordinates(embedding)
    bandwidth = scaled_bandwidth(gamma, z.shape[1])
    supported = np.zeros(n, dtype=bool)
    if embedding is not None:
        means = laplacian_means(z, None, c, bandwidth=bandwidth, target_groups=index)
        supported = means.effective_size >= MIN_EFFECTIVE_SIZE
    members, cells = _group_members(groups, index, min_group_size)
    rows = Resampled(
        confidence=c,
        outcome=a,
        weights=np.empty((n, 0)),
        bin_index=index,
        members=sparse.csr_array((np.ones(n), (index, np.arange(n)))),
        groups=members,
        cells=cells,
        supported=supported,
        coordinates=z,
        bandwidth=bandwidth,
    )
    values = {} if losses is None else {str(k): losses[k].to_numpy(np.float64) for k in losses}
    rng = np.random.default_rng(random_state)
    parts = []
    for start in range(0, n_draws, _CHUNK):
        size = min(_CHUNK, n_draws - start)
        weights = np.empty((n, size))
        for draw in range(size):
            weights[:, draw] = np.bincount(rng.integers(0, n, n), minlength=n)
        parts.append(_metrics(dataclasses.replace(rows, weights=weights), values))
        tell(progress, (start + size) / n_draws, f"bootstrap draw {start + size} of {n_draws}")
    return BootstrapDraws(pd.concat(parts, ignore_index=True))


def _metrics(drawn: Resampled, losses: dict[str, Floats]) -> pd.DataFrame:
    """Every metric of every resample that has what it needs, then losses that are no metrics."""
    measured = {}
    for metric in COMPARED:
        if metric.name in losses:
            measured[metric.name] = drawn.mean(losses[metric.name])
        elif metric.resample is not None and drawn.allows(metric):
            measured[metric.name] = metric.resample(drawn)
    others = {name: drawn.mean(values) for name, values in losses.items() if name not in measured}
    return pd.DataFrame(measured | others)


def _group_members(
    groups: ArrayLike | None, index: Ints, min_group_size: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Which rows lie in which group, and in which cell of group and bin, of those that count."""
    if groups is None:
        return sparse.csr_array((0, len(index))), sparse.csr_array((0, len(index)))
    names = as_group_labels(groups).astype(str)
    n = check_lengths(confidence=index, groups=names)
    _, member, size = np.unique(names, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(size[member] >= check_integer(min_group_size, "min_group_size"))
    if not len(kept):
        raise InputError(
            f"'min_group_size' must leave at least one group; the largest has {size.max()} rows, "
            f"got {min_group_size}."
        )
    large = np.flatnonzero(counted_groups(size, min_group_size)[member])
    return _sets(member[large], large, n), _sets(
        member[kept] * (index.max() + 1) + index[kept], kept, n
    )


def _sets(names: Ints, rows: Ints, n: int) -> sparse.csr_array:
    """Which of n rows lie in which set, as ones; ``names`` are those of ``rows``."""
    used, place = np.unique(names, return_inverse=True)
    return sparse.csr_array((np.ones(len(rows)), (place, rows)), (len(used), n))
