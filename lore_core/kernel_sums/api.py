"""The public functions: exact Laplacian kernel sums and means."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import Points, in_memory
from lore_core.kernel_sums.compute import compute_sums, means_of_each
from lore_core.kernel_sums.prepare import TOLERANCE, as_problem
from lore_core.kernel_sums.schedule import Workers

#: Share of the progress of the squares of weights, where effective sizes are wanted.
_SQUARES_SHARE = 0.4
#: A smaller share of a mass, as a difference, may be rounding.
_HARDLY_ANY = 1e-4
#: Rows that make parts, joins and a problem in the plane posed from space.
_WARMUP_ROWS = 2_100


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
    tolerance: float = TOLERANCE,
    n_jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Floats:
    """Sum weights over sources, each times the Laplacian kernel of its distance to the target.

    S_i = Σ_j w_j exp(−‖t_i − s_j‖₁ / h) over j of i's group: an array (n_t,) or (n_t, m), with a
    leading axis where there are several ``bandwidth``; 0 for a target without a source.

    ``targets`` (n_t, d) or (n_t,), ``sources`` alike: finite coordinates, or an Embedding; without
    sources they are the targets ("self" sums). ``weights`` (n_s,) or (n_s, m): finite numbers.
    ``bandwidth``: h > 0; several share sorting, and those exactly half of another exponentials.
    ``target_groups``, ``source_groups``: whole numbers; only pairs of the same group count, a row
    of −1 takes no part, self sums need the first alone. ``exclude_self``: of self sums, never add
    the pair (i, i), so that nothing is lost where it would dominate. ``tolerance``: from eight
    dimensions and some thousand rows on, coordinates are rounded to 32-bit whole numbers, twice as
    fast, where it is certain that no kernel value changes by more than this share; 0: never.
    ``n_jobs``: threads, by default one a processor, or fewer by ``OMP_NUM_THREADS``; the result
    does not depend on it. ``progress``: called with the share done, it may raise to stop.

    Rounding, relative to Σ_j |w_j| k_ij, is about 1e-14 for a million random rows in the plane,
    1e-11 for equally spaced ones. Terms below 1e-299 of the largest weight count as 0. The time is
    O(n log n) for d = 1 and 2, O(n log² n) for d = 3 and O(n² d) beyond.
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
        tolerance=tolerance,
    )
    workers = Workers(n_jobs, progress)
    columns = np.empty((len(problem.bandwidths), len(problem.divisor), len(problem.targets)))
    wanted = dict.fromkeys(problem.bandwidths.tolist(), 0)
    for h, sums in compute_sums(problem, wanted, workers, 1.0):
        with np.errstate(over="ignore", under="ignore"):
            columns[problem.bandwidths == h] = sums * problem.divisor[:, None]
    result = columns.transpose(0, 2, 1) if _n_axes(weights) == 2 else columns[:, 0]
    workers.finish()
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

    ``bandwidth`` and ``options`` are those of :func:`laplacian_sums`; by its ``tolerance`` no mean
    changes by more than that share of (max v − min v)/2. ``values`` (n_s,) or (n_s, m): any finite
    numbers. ``weights`` (n_s,): w > 0: w_j k_ij in place of k_ij. ``effective_size``: whether
    effective sizes are wanted; without them it takes about two thirds of the time. Raises
    InputError if an argument is not as described.

    Targets so far from all sources that sums underflow take O(n) each; weights, a second pass.
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
    if _n_axes(bandwidth) == 0:
        ((_, of),) = found
        mean, mass, size = of.mean, of.mass, of.effective_size
    else:
        arrays: list[Floats] = []
        for b, of in found:
            parts = [of.mean.T, of.mass, of.effective_size][: 2 + effective_size]
            arrays = arrays or [np.empty((np.size(bandwidth), *part.shape)) for part in parts]
            for array, part in zip(arrays, parts, strict=True):
                array[b] = part
        mean, mass = arrays[0].transpose(0, 2, 1), arrays[1]
        # NaN stands for "not asked for" without taking memory.
        size = arrays[2] if effective_size else np.broadcast_to(np.nan, mass.shape)
    return KernelMeans(mean if _n_axes(values) == 2 else mean[..., 0], mass, size)


def _n_axes(values: ArrayLike) -> int:
    return int(np.ndim(in_memory(values)))


def _part_of(
    progress: Callable[[float], object] | None, first: float, last: float
) -> Callable[[float], object] | None:
    return None if progress is None else lambda share: progress(first + (last - first) * share)


def means_by_bandwidth(
    targets: Points,
    sources: Points | None,
    values: ArrayLike,
    weights: Floats | None = None,
    *,
    bandwidth: ArrayLike,
    effective_size: bool = True,
    units: Ints | None = None,
    n_jobs: int | None = None,
    progress: Callable[[float], object] | None = None,
    **options: Any,
) -> Iterator[tuple[int, KernelMeans]]:
    """Yield the means of :func:`laplacian_means` one bandwidth at a time, in a third of the memory.

    Yielded are the number of a bandwidth, each once and in no order, and its means (n_t, m).
    ``units`` (n,), with ``target_groups`` and ``exclude_self``: no row of a target's unit counts;
    effective sizes are then NaN.
    """
    if units is not None:
        rows, groups = (targets, sources, values, weights), options.pop("target_groups")
        pairs = np.unique(np.stack([groups, units]), axis=1, return_inverse=True)[1]
        options |= {"bandwidth": bandwidth, "effective_size": False, "n_jobs": n_jobs}
        own = dict(means_by_bandwidth(*rows, target_groups=pairs, **options))
        options |= {"target_groups": groups, "progress": progress}
        for b, whole in means_by_bandwidth(*rows, **options):
            mass = whole.mass - own[b].mass
            mass[mass <= _HARDLY_ANY * whole.mass] = 0.0
            total = np.nan_to_num(whole.mean.T) * whole.mass
            total -= np.nan_to_num(own[b].mean.T) * own[b].mass
            mean = (total / np.where(mass > 0, mass, np.nan)).T
            yield b, KernelMeans(mean, mass, whole.effective_size)
        return
    if weights is None:
        problem = as_problem(targets, sources, values, "values", bandwidth=bandwidth, **options)
        workers = Workers(n_jobs, progress)
        for b, mean, *of in means_of_each(problem, workers, effective_size=effective_size):
            yield b, KernelMeans(mean.T, *of)
        workers.finish()
        return
    # (Squares of weights of one size neither overflow nor vanish.)
    scale = float(weights.max(initial=0.0)) or 1.0
    w, v, h = weights / scale, np.asarray(values, np.float64), np.asarray(bandwidth, np.float64)
    columns, begin = np.column_stack([(v.T * w).T, w]), _SQUARES_SHARE * effective_size
    how: dict[str, Any] = {"n_jobs": n_jobs, **options}
    squares = {}
    if effective_size:
        how |= {"effective_size": False, "progress": _part_of(progress, 0.0, begin)}
        of_squares = means_by_bandwidth(targets, sources, w * w, bandwidth=h / 2, **how)
        squares = {b: means.mean[:, 0] for b, means in of_squares}
    how |= {"effective_size": effective_size, "progress": _part_of(progress, begin, 1.0)}
    for b, plain in means_by_bandwidth(targets, sources, columns, bandwidth=h, **how):
        weight, size = plain.mean[:, -1], plain.effective_size
        with np.errstate(invalid="ignore"):
            if effective_size:
                size = np.where(size > 0, size * weight**2 / squares[b], 0.0)
            mean = plain.mean[:, :-1] / weight[:, None]
            mass = np.where(plain.mass > 0, plain.mass * weight, 0.0) * scale
        yield b, KernelMeans(mean, mass, size)


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
        rows = 600 if d > 3 else _WARMUP_ROWS
        points = random.normal(size=(rows, d))
        # Several bandwidths, so that there are parts small enough to be joined.
        many = np.geomspace(1.0, 2.0, 72 if d in (2, 3) else 2)
        laplacian_sums(points[:rows], None, points[:rows, 0], bandwidth=many)
        laplacian_sums(points[:rows], None, np.ones((rows, 8)), bandwidth=many[:2])
        if d == 1:
            trees = importlib.import_module("lore_core.kernel_sums.tree_cuts")
            none, codes = np.zeros((1, 2), np.int64), np.zeros((2, 1), np.uint8)
            of_rows = np.zeros((1, 2)), codes, none[0, :1], *np.zeros((2, 1, 1))
            trees.cut_trees(none, 2, *of_rows, 2, (1, 1.0, 1.0))
            least = np.zeros((1, 2))
            trees.add_leaves(least, none, none, least, least[None], least)
