"""The public functions: exact Laplacian kernel sums and means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.kernel_sums.compute import compute_sums
from lore_core.kernel_sums.prepare import Problem, as_problem
from lore_core.kernel_sums.schedule import Reporter, Step, run, thread_count
from lore_core.kernel_sums.underflow import GroupSources

__all__ = ["KernelMeans", "laplacian_means", "laplacian_sums", "warmup"]

#: Sums below this may have lost terms to underflow (which begins at 1e-300).
_INEXACT_MASS = 1e-280
#: Size of one uninterrupted step of the fallback: targets of a search, or differences of
#: coordinates in a loop over pairs.
_STEP_TARGETS = 1024
_STEP_DIFFERENCES = 100_000_000
#: What share of the progress the sums are; the rest is the fallback for underflow.
_SUMS_SHARE = 0.9


@dataclass(frozen=True)
class KernelMeans:
    """Kernel-weighted means of values, and how much data stands behind each.

    Attributes
    ----------
    mean : ndarray of shape ([g,] n_t[, m])
        Σ_j k_ij v_j / Σ_j k_ij. NaN where a target has no source.
    mass : ndarray of shape ([g,] n_t)
        Σ_j k_ij; may underflow to 0 far from all sources, while ``mean`` stays exact.
    effective_size : ndarray of shape ([g,] n_t)
        (Σ_j k_ij)² / Σ_j k_ij², in [1, number of sources]; 0 where a target has no source.
    """

    mean: NDArray[np.float64]
    mass: NDArray[np.float64]
    effective_size: NDArray[np.float64]


def laplacian_sums(
    targets: Any,
    sources: Any,
    weights: ArrayLike,
    *,
    bandwidth: ArrayLike,
    target_groups: ArrayLike | None = None,
    source_groups: ArrayLike | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> NDArray[np.float64]:
    r"""Sum weights over sources, each times the Laplacian kernel of its distance to the target.

    Parameters
    ----------
    targets : Embedding or array-like of shape (n_t, d) or (n_t,)
        Where sums are wanted. Any finite coordinates; there may be none.
    sources : Embedding or array-like of shape (n_s, d) or (n_s,), or None
        Where the weights are; None: at the targets ("self" sums).
    weights : array-like of shape (n_s,) or (n_s, m)
        Any finite numbers.
    bandwidth : float or array-like of shape (g,)
        h > 0, in units of the coordinates. Several share sorting, and those that are exactly
        half of another also share exponentials.
    target_groups, source_groups : array-like of int, of shape (n_t,) and (n_s,), optional
        Only pairs of the same group count; −1: the row takes no part. For self sums
        ``target_groups`` is enough.
    exclude_self : bool
        For self sums: leave out the pair (i, i). It is never added, rather than subtracted
        afterwards, so nothing is lost where it would dominate.
    n_jobs : int, optional
        Number of threads; None: one a processor. The result does not depend on it.
    progress : callable, optional
        Called with the share done, in [0, 1]. It may raise, or return False, to stop.

    Returns
    -------
    ndarray of shape (n_t,) or (n_t, m), with a leading axis of length g if bandwidth is a vector
        0 for a target without a source.

    Raises
    ------
    InputError
        If an argument is not as described.
    Cancelled
        If ``progress`` returned False.

    Notes
    -----
    The result is

    .. math:: S_i = \sum_j 1[g_i = h_j]\, w_j \exp(-\lVert t_i - s_j \rVert_1 / h)

    up to rounding. Relative to :math:`\sum_j |w_j| k_{ij}` that is about 1e-14 for a million
    random rows in the plane; a million equally spaced rows, whose rounding errors all have the
    same sign, come to 1e-11. Terms below 1e-300 of the largest weight count as 0. The time is
    O(n log n) for d = 1 and 2, O(n log² n) for d = 3 and O(n² d) beyond, where d does not count
    constant dimensions.
    """
    problem = as_problem(
        targets,
        sources,
        weights,
        weights_name="weights",
        bandwidth=bandwidth,
        target_groups=target_groups,
        source_groups=source_groups,
        exclude_self=exclude_self,
    )
    threads = thread_count(n_jobs)
    reporter = Reporter(progress)
    scaled, divisor = problem.scaled()
    wanted = {float(h): 0 for h in problem.bandwidths}
    sums = compute_sums(scaled, wanted, threads, reporter, 1.0)
    with np.errstate(over="ignore", under="ignore"):
        result = np.stack([sums[float(h)].T * divisor for h in problem.bandwidths])
    reporter.finish()
    return _shaped(result, problem)


def laplacian_means(
    targets: Any,
    sources: Any,
    values: ArrayLike,
    *,
    bandwidth: ArrayLike,
    target_groups: ArrayLike | None = None,
    source_groups: ArrayLike | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> KernelMeans:
    r"""Average values over sources with Laplacian kernel weights; exact at any distance.

    Parameters
    ----------
    targets, sources, bandwidth, target_groups, source_groups, exclude_self, n_jobs, progress
        As in :func:`laplacian_sums`.
    values : array-like of shape (n_s,) or (n_s, m)
        What is averaged; any finite numbers.

    Returns
    -------
    KernelMeans
        Mean, kernel mass and effective sample size of every target.

    Raises
    ------
    InputError
        If an argument is not as described.
    Cancelled
        If ``progress`` returned False.

    Notes
    -----
    With :math:`k_{ij} = \exp(-\lVert t_i - s_j \rVert_1 / h)`, :math:`\sum_j k_{ij}^2` is the
    mass at bandwidth h/2 and comes from the same pass. Where a mass is below 1e-280 the weights
    are taken relative to the nearest source,
    :math:`\exp(-(d_{ij} - \min_j d_{ij}) / h)`, which leaves both ratios as they are; so for
    h → 0 the mean becomes the nearest source's value (ties: their average).
    """
    problem = as_problem(
        targets,
        sources,
        values,
        weights_name="values",
        bandwidth=bandwidth,
        target_groups=target_groups,
        source_groups=source_groups,
        exclude_self=exclude_self,
    )
    threads = thread_count(n_jobs)
    reporter = Reporter(progress)
    m = problem.weights.shape[1]
    problem, divisor = problem.scaled()
    # Values first, then a column of ones: its sums are the masses.
    weighted = problem.with_weights(
        np.column_stack([problem.weights, np.ones(len(problem.weights))])
    )
    wanted = {float(h) / 2: m for h in problem.bandwidths}
    wanted.update({float(h): 0 for h in problem.bandwidths})
    sums = compute_sums(weighted, wanted, threads, reporter, _SUMS_SHARE)
    g, n_t = len(problem.bandwidths), len(problem.targets)
    mean = np.empty((g, n_t, m))
    mass = np.empty((g, n_t))
    effective = np.empty((g, n_t))
    has_source = problem.source_counts() > 0
    inexact = np.zeros((g, n_t), dtype=bool)
    for b, h in enumerate(problem.bandwidths):
        mass[b] = sums[float(h)][m]
        half = sums[float(h) / 2][-1]
        inexact[b] = has_source & (half < _INEXACT_MASS)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mean[b] = (sums[float(h)][:m] / mass[b]).T
            # Not mass²/half: the square would underflow first.
            effective[b] = mass[b] * (mass[b] / half)
        mean[b, ~has_source] = np.nan
        effective[b, ~has_source] = 0.0
    del sums, weighted
    _repair(problem, inexact, mean, effective, threads, reporter)
    mean *= divisor
    reporter.finish()
    if not problem.has_grid:
        mass, effective = mass[0], effective[0]
    return KernelMeans(_shaped(mean, problem), mass, effective)


def _shaped(result: NDArray[np.float64], problem: Problem) -> NDArray[np.float64]:
    """Drop the axes of (g, n_t, m) that the arguments did not have."""
    if not problem.has_columns:
        result = result[:, :, 0]
    return np.ascontiguousarray(result if problem.has_grid else result[0])


def _repair(
    problem: Problem,
    inexact: NDArray[np.bool_],
    mean: NDArray[np.float64],
    effective: NDArray[np.float64],
    threads: int,
    reporter: Reporter,
) -> None:
    """Replace means and effective sizes whose kernel sums underflowed."""
    affected = inexact.any(axis=0)
    if not affected.any():
        return
    chains: list[list[Step]] = []
    d = problem.targets.shape[1]
    for group in np.unique(problem.target_groups[affected]):
        members = np.flatnonzero(problem.source_groups == group)
        near = GroupSources(problem.sources[members], problem.weights[members].T)
        size = _STEP_TARGETS
        if d > 3:
            size = max(1, min(size, _STEP_DIFFERENCES // (len(members) * d)))
        for b, h in enumerate(problem.bandwidths):
            rows = np.flatnonzero(inexact[b] & (problem.target_groups == group))
            for start in range(0, len(rows), size):
                part = rows[start : start + size]
                work = partial(_repair_rows, problem, near, members, part, h, mean[b], effective[b])
                chains.append([Step(work, float(len(part) * len(members)))])
    run([chains], threads, reporter, 1.0 - _SUMS_SHARE)


def _repair_rows(
    problem: Problem,
    near: GroupSources,
    members: NDArray[np.int64],
    rows: NDArray[np.int64],
    h: float,
    mean: NDArray[np.float64],
    effective: NDArray[np.float64],
) -> None:
    own = np.full(len(rows), -1, dtype=np.int64)
    if problem.exclude_self:
        own = np.searchsorted(members, rows).astype(np.int64)
    means, sizes = near.means(problem.targets[rows], own, float(h))
    mean[rows] = means.T
    effective[rows] = sizes


def warmup() -> None:
    """Compile every kernel, so that no later call has to; some seconds at the first call ever."""
    random = np.random.default_rng(0)
    for d in (1, 2, 3, 4):
        points = random.normal(size=(40, d))
        problem = as_problem(
            points,
            None,
            np.ones(40),
            weights_name="weights",
            bandwidth=1.0,
            target_groups=None,
            source_groups=None,
            exclude_self=True,
        )
        # Small parts, so that the kernels that join them are called too.
        compute_sums(problem, {1.0: 0}, 1, Reporter(None), 1.0, {2: 16, 3: 16})
        # Far sources, so that the fallback for underflow is called too.
        laplacian_means(points, points + 1e3, np.ones(40), bandwidth=1e-3, n_jobs=1)
