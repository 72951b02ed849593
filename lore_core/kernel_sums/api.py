"""The public functions: exact Laplacian kernel sums and means."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.validation import Points, in_memory
from lore_core.kernel_sums.compute import compute_sums, means_of_each
from lore_core.kernel_sums.prepare import as_problem
from lore_core.kernel_sums.schedule import Workers

#: Rows that make parts, joins and a problem in the plane posed from space.
_WARMUP_ROWS = 8_200


@dataclass(frozen=True)
class KernelMeans:
    """Kernel-weighted means of values, their mass and their effective sample size."""

    mean: Floats  #: ([g,] n_t[, m]); Σ_j k_ij v_j / Σ_j k_ij. NaN where a target has no source.
    #: ([g,] n_t); Σ_j k_ij; may underflow to 0 far from all sources, while ``mean`` stays exact.
    mass: Floats
    #: ([g,] n_t); (Σ_j k_ij)² / Σ_j k_ij², in [1, number of sources]; 0 where a target has no
    #: source. NaN if not computed.
    effective_size: Floats


def laplacian_sums(
    targets: Points,
    sources: Points | None,
    weights: ArrayLike,
    *,
    bandwidth: ArrayLike,
    target_groups: ArrayLike | None = None,
    source_groups: ArrayLike | None = None,
    exclude_self: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Floats:
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
        Number of threads; None: one a processor, or fewer where the environment limits OpenMP to
        fewer (``OMP_NUM_THREADS``). The result does not depend on it.
    progress : callable, optional
        Called with the share done, in [0, 1]. It may raise, to stop.

    Returns
    -------
    ndarray of shape (n_t,) or (n_t, m), with a leading axis of length g if bandwidth is a vector
        0 for a target without a source.

    Raises
    ------
    InputError
        If an argument is not as described.

    Notes
    -----
    .. math:: S_i = \sum_j 1[g_i = h_j]\, w_j \exp(-\lVert t_i - s_j \rVert_1 / h)

    Rounding, relative to :math:`\sum_j |w_j| k_{ij}`, is about 1e-14 for a million random rows in
    the plane; a million equally spaced rows, whose rounding errors all have the same sign, come to
    1e-11. Terms below 1e-299 of the largest weight count as 0. The time is O(n log n) for d = 1 and
    2, O(n log² n) for d = 3 and O(n² d) beyond.
    """
    problem = as_problem(
        targets,
        sources,
        weights,
        "weights",
        bandwidth=bandwidth,
        target_groups=target_groups,
        source_groups=source_groups,
        exclude_self=exclude_self,
    )
    workers = Workers(n_jobs, progress)
    sums = dict(compute_sums(problem, {float(h): 0 for h in problem.bandwidths}, workers, 1.0))
    with np.errstate(over="ignore", under="ignore"):
        columns = np.stack([sums[float(h)] * problem.divisor[:, None] for h in problem.bandwidths])
    result = columns.transpose(0, 2, 1) if _n_axes(weights) == 2 else columns[:, 0]
    workers.report(1.0)
    return result if _n_axes(bandwidth) else np.asarray(result[0])


def laplacian_means(
    targets: Points,
    sources: Points | None,
    values: ArrayLike,
    weights: Floats | None = None,
    *,
    bandwidth: ArrayLike,
    effective_size: bool = True,
    **options: Any,
) -> KernelMeans:
    r"""Average values over sources with Laplacian kernel weights; exact at any distance.

    ``bandwidth`` and ``options`` are those of :func:`laplacian_sums`. ``values`` (n_s,) or (n_s,
    m): any finite numbers. ``weights`` (n_s,): w > 0: w_j k_ij in place of k_ij.
    ``effective_size``: whether effective sizes are wanted; without them it takes about two thirds
    of the time. Raises InputError if an argument is not as described.

    With :math:`k_{ij} = \exp(-\lVert t_i - s_j \rVert_1 / h)`, :math:`\sum_j k_{ij}^2` is the mass
    at bandwidth h/2 and comes from the same pass. Where a mass is below 1e-280 the weights are
    taken relative to the nearest source, :math:`\exp(-(d_{ij} - \min_j d_{ij}) / h)`, which leaves
    both ratios as they are; so for h → 0 the mean becomes the nearest source's value (ties: their
    average).

    Of weighted sources the mean is that of w v over that of w, as exact.
    """
    found = means_by_bandwidth(
        targets,
        sources,
        values,
        weights,
        bandwidth=bandwidth,
        effective_size=effective_size,
        **options,
    )
    of_each = [vars(means).values() for _, means in sorted(found, key=itemgetter(0))]
    mean, mass, size = map(np.stack, zip(*of_each, strict=True))
    if _n_axes(bandwidth) == 0:
        mean, mass, size = mean[0], mass[0], size[0]
    return KernelMeans(mean if _n_axes(values) == 2 else mean[..., 0], mass, size)


def _n_axes(values: ArrayLike) -> int:
    return int(np.ndim(in_memory(values)))


def means_by_bandwidth(
    targets: Points,
    sources: Points | None,
    values: ArrayLike,
    weights: Floats | None = None,
    *,
    bandwidth: ArrayLike,
    effective_size: bool = True,
    n_jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
    **options: Any,
) -> Iterator[tuple[int, KernelMeans]]:
    """Yield the means of :func:`laplacian_means` one bandwidth at a time, in a third of the memory.

    Yielded are the number of a bandwidth, each once and in no order, and its means (n_t, m).
    """
    scale, columns = 1.0, values
    if weights is not None:
        # (Squares of weights of one size neither overflow nor vanish.)
        scale = float(weights.max(initial=0.0)) or 1.0
        w = weights / scale
        more = [w, w**2] if effective_size else [w]
        columns = np.column_stack([(np.asarray(values, np.float64).T * w).T, *more])
    problem = as_problem(targets, sources, columns, "values", bandwidth=bandwidth, **options)
    workers, sizes = Workers(n_jobs, progress), {"effective_size": effective_size}
    for b, mean, mass, size in means_of_each(
        problem, workers, weighted=weights is not None, **sizes
    ):
        yield b, KernelMeans(mean.T, mass * scale, size)
    workers.report(1.0)


def _compile_in_processes() -> None:
    """Compile the kernels at a low priority; what is used before goes other ways meanwhile."""
    script = "import os; hasattr(os, 'nice') and os.nice(5); "
    script += "from lore_core.kernel_sums import warmup; warmup(({}))"
    # (A server that ends finds them by their groups.)
    how: Any = {"stderr": subprocess.DEVNULL, "process_group": 0 if os.name == "posix" else None}
    # The second has less to compile, but needs what the first compiles for the plane.
    processes = [
        subprocess.Popen([sys.executable, "-c", script.format(dimensions)], **how)
        for dimensions in ("2, 1", "4, 3")
    ]
    try:
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.kill()


def warmup(dimensions: Iterable[int] | None = None) -> None:
    """Compile every kernel, or load what is in the cache; some seconds at the first call ever.

    ``dimensions``: of points; None: all, by two processes, after which they are loaded here.
    """
    if dimensions is None:
        _compile_in_processes()
        dimensions = 1, 2, 3, 4
    # What has loaded the kernels uses them, however few the rows are.
    importlib.import_module("lore_core.kernel_sums.compiled")
    random = np.random.default_rng(0)
    for d in dimensions:
        points = random.normal(size=(600 if d > 3 else _WARMUP_ROWS, d))
        laplacian_sums(points, None, points[:, 0], bandwidth=1.0)
