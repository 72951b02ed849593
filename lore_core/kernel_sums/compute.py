"""Choose the algorithm, cut its work into steps, gather the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import NDArray

from lore_core.kernel_sums.blocked import block_between, block_within, tile_rows
from lore_core.kernel_sums.prepare import Layout, Problem, arrange
from lore_core.kernel_sums.schedule import Reporter, Step, run
from lore_core.kernel_sums.sweep1d import line_sweep
from lore_core.kernel_sums.sweep2d import plane_join, plane_tree
from lore_core.kernel_sums.sweep3d import space_join, space_tree

__all__ = ["compute_sums"]

#: Groups with more rows are swept in parts, so that threads share them and progress is seen.
PART_ROWS = {2: 65_536, 3: 16_384}
#: Each squaring doubles the rounding error of a kernel value, so only so many in a row.
_LONGEST_CHAIN = 4
#: Bandwidths in one pass: at least this many, more if their sums stay within the memory.
_PASS_BANDWIDTHS = 8
_PASS_BYTES = 2**27
#: Partial sums of the symmetric all-pairs sum. A fixed number: results must not depend on threads.
_STRIPES = 8
_WORTH_STRIPES = 1024

Grid = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]
Phases = list[list[list[Step]]]


@dataclass(frozen=True)
class _Entry:
    """One bandwidth of a pass: ``squared`` = half the previous one; columns from ``first`` on."""

    bandwidth: float
    squared: bool
    first: int


def compute_sums(
    problem: Problem,
    wanted: dict[float, int],
    threads: int,
    reporter: Reporter,
    share: float,
    part_rows: dict[int, int] | None = None,
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
    part_rows : dict, optional
        Instead of ``PART_ROWS``: small parts make a small problem use every kernel.

    Returns
    -------
    dict of bandwidth to ndarray of shape (m − first, n_t)
    """
    n_t = len(problem.targets)
    m = problem.weights.shape[1]
    results = {h: np.zeros((m - first, n_t)) for h, first in wanted.items()}
    d = problem.targets.shape[1]
    layout = arrange(problem, apart=d > 3)
    if not layout.segments:
        return results
    stripes = _stripes(layout, problem)
    passes = _passes(wanted, len(layout.index) * m * 8 * stripes)
    for number, entries in enumerate(passes):
        is_last = number == len(passes) - 1
        current = layout if is_last else layout.copy()
        sums = _one_pass(
            current,
            _as_grid(entries, m),
            problem,
            stripes,
            PART_ROWS if part_rows is None else part_rows,
            lambda phases: run(phases, threads, reporter, share / len(passes)),
        )
        rows = slice(None) if problem.is_self else current.index < n_t
        target = current.index[rows]
        row = 0
        for entry in entries:
            for c in range(entry.first, m):
                results[entry.bandwidth][c - entry.first, target] = sums[row, rows]
                row += 1
    return results


def _passes(wanted: dict[float, int], column_bytes: int) -> list[list[_Entry]]:
    """Arrange the bandwidths into chains of halves, and the chains into passes."""
    limit = max(_PASS_BANDWIDTHS, _PASS_BYTES // max(column_bytes, 1))
    left = dict(sorted(wanted.items(), reverse=True))
    passes: list[list[_Entry]] = [[]]
    while left:
        h = next(iter(left))
        chain = [_Entry(h, False, left.pop(h))]
        while len(chain) < _LONGEST_CHAIN and h / 2 in left:
            h /= 2
            chain.append(_Entry(h, True, left.pop(h)))
        if len(passes[-1]) + len(chain) > limit and passes[-1]:
            passes.append([])
        passes[-1].extend(chain)
    return passes


def _as_grid(entries: list[_Entry], m: int) -> Grid:
    counts = [m - entry.first for entry in entries]
    return (
        np.array([entry.bandwidth for entry in entries]),
        np.array([entry.squared for entry in entries]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([np.arange(entry.first, m) for entry in entries]).astype(np.int64),
    )


def _line_phases(layout: Layout, grid: Grid, sums: NDArray[np.float64], alone: bool) -> Phases:
    rows = (layout.coordinates[0], layout.weights, sums)
    return [
        [
            [Step(partial(line_sweep, lo, hi, rows, grid, alone), hi - lo)]
            for lo, _, hi in layout.segments
        ]
    ]


def _tree_phases(
    layout: Layout, grid: Grid, sums: NDArray[np.float64], alone: bool, part: int
) -> Phases:
    """Subtrees of large groups first, all at the same time; then level by level their joins."""
    x, *others = layout.coordinates
    rows: tuple[NDArray[np.generic], ...]
    if len(others) == 1:
        # No pair is left out by its side here: the array is there for the signature only.
        side = np.zeros(0, dtype=np.uint8)
        rows = (x, *others, side, layout.index, layout.weights, sums)
    else:
        rows = (x, *others, layout.index, layout.weights, sums)
    phases: Phases = [[]]
    for lo, _, hi in layout.segments:
        n = hi - lo
        levels = max(0, int(np.ceil(log2(n / part)))) if n > part else 0
        bounds = [lo + (n * k >> levels) for k in range((1 << levels) + 1)]
        for a, c in pairwise(bounds):
            if len(others) == 1:
                work = partial(plane_tree, a, c, rows, grid, False, alone)
            else:
                work = partial(space_tree, a, c, rows, grid, alone)
            phases[0].append([Step(work, (c - a) * (5.0 + log2(c - a)))])
        join = plane_join if len(others) == 1 else space_join
        for level in range(1, levels + 1):
            if len(phases) <= level:
                phases.append([])
            for k in range(0, 1 << levels, 1 << level):
                a, b, c = (bounds[k + (i << level >> 1)] for i in range(3))
                work = partial(join, a, b, c, float(x[b]), rows, grid)
                phases[level].append([Step(work, float(c - a))])
    return phases


def _stripes(layout: Layout, problem: Problem) -> int:
    """Return how many arrays of partial sums a pass needs."""
    largest = max(hi - lo for lo, _, hi in layout.segments)
    symmetric = len(layout.coordinates) > 3 and problem.is_self
    return _STRIPES if symmetric and largest > _WORTH_STRIPES else 1


def _between_phases(layout: Layout, grid: Grid, sums: NDArray[np.float64]) -> Phases:
    """Every tile of targets on its own."""
    d = len(layout.coordinates)
    rows = (layout.coordinates, layout.coordinates.T.copy(), layout.weights, sums)
    chains: list[list[Step]] = []
    for lo, cut, hi in layout.segments:
        for a, b in _tiles(lo, cut, d):
            work = partial(block_between, a, b, cut, hi, rows, grid)
            chains.append([Step(work, _block_cost(b - a, hi - cut, d))])
    return [chains]


def _within_phases(
    layout: Layout, grid: Grid, sums: list[NDArray[np.float64]], alone: bool
) -> Phases:
    """One chain a stripe of tiles: each writes to all later rows, in an array of its own."""
    d = len(layout.coordinates)
    points = layout.coordinates.T.copy()
    chains: list[list[Step]] = []
    for lo, _, hi in layout.segments:
        tiles = _tiles(lo, hi, d)
        stripes = len(sums) if hi - lo > _WORTH_STRIPES else 1
        for stripe in range(stripes):
            rows = (layout.coordinates, points, layout.weights, sums[stripe])
            chains.append(
                [
                    Step(
                        partial(block_within, a, b, hi, rows, grid, alone),
                        _block_cost(b - a, hi - a, d),
                    )
                    for a, b in tiles[stripe::stripes]
                ]
            )
    return [chains]


def _tiles(lo: int, hi: int, d: int) -> list[tuple[int, int]]:
    size = tile_rows(d)
    return [(a, min(a + size, hi)) for a in range(lo, hi, size)]


def _block_cost(n_targets: int, n_sources: int, d: int) -> float:
    """Return the cost of all pairs in the unit of the sweeps: one row at one level."""
    return n_targets * n_sources * (d + 20) / 1000


def _one_pass(
    layout: Layout,
    grid: Grid,
    problem: Problem,
    stripes: int,
    part_rows: dict[int, int],
    execute: Callable[[Phases], None],
) -> NDArray[np.float64]:
    """Return the sums of one pass in the layout's rows, which the sweeps leave reordered."""
    shape = (len(grid[3]), len(layout.index))
    d = len(layout.coordinates)
    sums = np.zeros(shape)
    if d == 1:
        execute(_line_phases(layout, grid, sums, problem.exclude_self))
    elif d <= 3:
        execute(_tree_phases(layout, grid, sums, problem.exclude_self, part_rows[d]))
    elif not problem.is_self:
        execute(_between_phases(layout, grid, sums))
    else:
        parts = [sums, *(np.zeros(shape) for _ in range(stripes - 1))]
        execute(_within_phases(layout, grid, parts, problem.exclude_self))
        for part in parts[1:]:
            sums += part
    return sums
