"""Choose the algorithm, run its steps pass by pass, gather the results."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lore_core.kernel_sums.compiled import HAS_NUMBA
from lore_core.kernel_sums.fixed_point import as_fixed_point
from lore_core.kernel_sums.grid import Entry, Grid, as_grid, as_passes
from lore_core.kernel_sums.plain import plain_sums
from lore_core.kernel_sums.plan_blocks import between_phases, block_work, within_phases
from lore_core.kernel_sums.plan_trees import (
    line_phases,
    plane_phases,
    plane_work,
    space_phases,
    space_work,
)
from lore_core.kernel_sums.prepare import Layout, Problem, arrange
from lore_core.kernel_sums.schedule import Phase, Reporter, run

#: About the nanoseconds from which on rounded coordinates are worth their inaccuracy.
_WORTH_ROUNDING = 5e7


def compute_sums(
    problem: Problem,
    wanted: dict[float, int],
    threads: int,
    reporter: Reporter,
    share: float,
    tolerance: float,
    *,
    ones: bool = False,
) -> dict[float, NDArray[np.float64]]:
    """Return the kernel sums for every wanted bandwidth.

    Parameters
    ----------
    problem : Problem
    wanted : dict of bandwidth to column
        For each bandwidth, the first weight column whose sums are wanted.
    threads : int
    reporter : Reporter
    share : float
        What share of all work this is.
    tolerance : float
        What rounded coordinates may change; see :mod:`~lore_core.kernel_sums.fixed_point`.
    ones : bool
        Add a last weight column of ones.

    Returns
    -------
    dict of bandwidth to ndarray of shape (m − first, n_t)
    """
    if not HAS_NUMBA:
        return plain_sums(problem, wanted, reporter, share, ones=ones)
    n_t = len(problem.targets)
    m = problem.weights.shape[1] + ones
    layout = arrange(problem, apart=problem.targets.shape[1] > 3, ones=ones)
    if not layout.segments:
        return {h: np.zeros((m - first, n_t)) for h, first in wanted.items()}
    results: dict[float, NDArray[np.float64]] = {}
    passes = as_passes(wanted, len(layout.index) * m * 8)
    for number, entries in enumerate(passes):
        is_last = number == len(passes) - 1
        current = layout if is_last else layout.copy()
        grid = as_grid(entries, m)
        sums = np.zeros((len(grid[3]), len(current.index)))
        work, phases = _plan(current, problem, entries, grid, sums, tolerance)
        run(phases, work, threads, reporter, share / len(passes))
        # The sweeps leave the rows reordered.
        rows = slice(None) if problem.is_self else current.index < n_t
        target = current.index[rows]
        row = 0
        for entry in entries:
            result = results[entry.bandwidth] = np.zeros((m - entry.first, n_t))
            for out in result:
                out[target] = sums[row, rows]
                row += 1
    return results


def _plan(
    layout: Layout,
    problem: Problem,
    entries: list[Entry],
    grid: Grid,
    sums: NDArray[np.float64],
    tolerance: float,
) -> tuple[float, Iterable[Phase]]:
    """Return the steps that fill in ``sums``, phase by phase, and about their whole cost."""
    d, exclude_self = len(layout.coordinates), problem.exclude_self
    sizes = [hi - lo for lo, _, hi in layout.segments]
    if d == 1:
        phases = line_phases(layout, grid, sums, exclude_self)
        return sum(step.cost for phase in phases for chain in phase for step in chain), phases
    if d == 2:
        # No pair is left out by its side here: the array is there for the signature only.
        side = np.zeros(0, dtype=np.uint8)
        rows = (*layout.coordinates, side, layout.index, layout.weights, sums)
        segments = [(lo, hi) for lo, _, hi in layout.segments]
        work = sum(plane_work(n, len(sums)) for n in sizes)
        return work, plane_phases(rows, grid, segments, crossing=False, exclude_self=exclude_self)
    if d == 3:
        work = sum(space_work(n, len(sums)) for n in sizes)
        return work, space_phases(layout, grid, sums, exclude_self)
    # Bandwidths that are wanted for effective sizes only may be off by more.
    wanted = [e.bandwidth for e in entries if e.first == 0] or [e.bandwidth for e in entries]
    work = block_work(layout, grid, both_ways=problem.is_self)
    fixed = None
    if work >= _WORTH_ROUNDING:
        fixed = as_fixed_point(layout.coordinates, min(wanted), tolerance)
    if problem.is_self:
        return work, within_phases(layout, grid, sums, fixed, exclude_self)
    return work, between_phases(layout, grid, sums, fixed)
