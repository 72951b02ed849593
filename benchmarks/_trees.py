"""A prototype of exact sums in more than three dimensions by trees, against the product's tiles.

Langrené and Warin (arXiv 2005.03246) give O(n log^{d−1} n) for the Laplacian kernel in any number
of dimensions d. Here that is built on the product's sweep of the plane: a dimension more is a tree
more, each of whose joins poses a problem of a dimension less on pairs of opposite sides. Such a
problem splits in two: rows whose half is their side, and the others, as a pair that differs in half
*and* side lies in one of them.
"""

import os
import time
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np
from _report import markdown_table, seconds
from numba import njit

from lore_core.kernel_sums import laplacian_sums
from lore_core.kernel_sums.exponential import half_power
from lore_core.kernel_sums.grid import rates
from lore_core.kernel_sums.pairs import add_terms, merge_order, rank_order, reorder, tree_bounds
from lore_core.kernel_sums.sweep2d import plane_tree

_SIZES = (3_000, 10_000, 30_000, 100_000)
_DIMENSIONS = (4, 5, 6)

#: Up to so many rows pairs are summed directly: of 32 to 256 the fastest.
_LEAF = 64

_compiled = njit(nogil=True, error_model="numpy", fastmath={"contract"})


@_compiled
def _plane(coordinates, side, index, weights, sums, grid, crossing):
    third = side[: len(side) if crossing else 0].astype(np.float64)
    rows = (coordinates[0], coordinates[1], third, index, weights, sums)
    plane_tree(0, len(index), rows, grid, False)


def _one_dimension_more(lower: Any) -> Any:
    """Return a kernel in one dimension more than ``lower``.

    Rows are sorted by the first of the ``coordinates`` (d, n); with ``crossing`` only pairs of
    different ``side`` count. Rows are left in another order, ``index`` with them.
    """

    @_compiled
    def leaf(lo, hi, coordinates, side, index, weights, sums, grid, crossing, buffer):
        n = hi - lo
        distance = np.zeros(n * n)
        for s in range(n):
            for x in coordinates:
                for i in range(n):
                    distance[s * n + i] += abs(x[lo + i] - x[lo + s])
            if crossing:
                for i in range(n):
                    if side[lo + i] == side[lo + s]:
                        distance[s * n + i] = np.inf
        add_terms(lo, n, lo, n, distance, weights, sums, grid, np.empty(n * n))
        order = np.empty(n, np.int32)
        rank_order(lo, hi, coordinates[1], order)
        bring(lo, hi, coordinates, side, index, weights, sums, order, buffer)

    @_compiled
    def bring(lo, hi, coordinates, side, index, weights, sums, order, buffer):
        for x in coordinates:
            reorder(lo, hi, x, order, buffer)
        for weight in weights:
            reorder(lo, hi, weight, order, buffer)
        for row in sums:
            reorder(lo, hi, row, order, buffer)
        index[lo:hi] = index[order[: hi - lo]]
        side[lo:hi] = side[order[: hi - lo]]

    @_compiled
    def pose(lo, coordinates, half, chosen, weights, sums, grid, factor):
        """Solve the problem of the ``chosen`` rows in the other dimensions; add its answers."""
        n = len(chosen)
        below = np.empty((len(coordinates) - 1, n))
        posed = np.empty((len(weights), n))
        side = np.empty(n, np.uint8)
        for i in range(n):
            p = chosen[i]
            for k in range(len(below)):
                below[k, i] = coordinates[k + 1, lo + p]
            for c in range(len(weights)):
                posed[c, i] = weights[c, lo + p] * factor[p]
            side[i] = half[p]
        answers = np.zeros_like(posed)
        position = np.arange(n).astype(np.int32)
        lower(below, side, position, posed, answers, grid, True)
        for c in range(len(sums)):
            for i in range(n):
                p = chosen[position[i]]
                sums[c, lo + p] += factor[p] * answers[c, i]

    @_compiled
    def tree(coordinates, side, index, weights, sums, grid, crossing):
        n = len(index)
        lift, slope = grid[0][0, 0], grid[0][1, 0]
        bounds = tree_bounds(0, n, _LEAF)
        edge = coordinates[0][bounds[:-1]]
        order = np.empty(n, np.int32)
        half = np.empty(n, np.uint8)
        chosen = np.empty(n, np.int32)
        factor = np.empty(n)
        buffer = np.empty(n)
        for number in range(len(edge)):
            a, c = bounds[number], bounds[number + 1]
            leaf(a, c, coordinates, side, index, weights, sums, grid, crossing, buffer)
            done = number + 1
            width = 1
            while done % (2 * width) == 0:
                a, b = bounds[done - 2 * width], bounds[done - width]
                split = edge[done - width]
                merge_order(a, b, c, coordinates[1], order, half)
                bring(a, c, coordinates, side, index, weights, sums, order, buffer)
                for i in range(c - a):
                    factor[i] = half_power(abs(coordinates[0, a + i] - split) * lift * slope)
                for group in range(2 if crossing else 1):
                    count = 0
                    for i in range(c - a):
                        if not crossing or (half[i] ^ side[a + i]) == group:
                            chosen[count] = i
                            count += 1
                    if count:
                        pose(a, coordinates, half, chosen[:count], weights, sums, grid, factor)
                width *= 2

    return tree


@lru_cache(maxsize=3)
def _tree(d: int) -> Any:
    return _plane if d == 2 else _one_dimension_more(_tree(d - 1))


def tree_sums(points: np.ndarray, weights: np.ndarray, bandwidth: float) -> np.ndarray:
    """Return the kernel sums of every row over all rows, by one thread.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        d at least 3.
    weights : ndarray of shape (n, m)
    bandwidth : float

    Returns
    -------
    ndarray of shape (n, m)
    """
    n, d = points.shape
    m = weights.shape[1]
    order = np.argsort(points[:, 0], kind="stable")
    index = order.astype(np.int32)
    sums = np.zeros((m, n))
    grid = (rates(np.array([bandwidth])), np.zeros(1, np.bool_), np.array([0, m]), np.arange(m))
    coordinates = np.ascontiguousarray(points[order].T)
    _tree(d)(
        coordinates,
        np.zeros(n, np.uint8),
        index,
        np.ascontiguousarray(weights[order].T),
        sums,
        grid,
        False,
    )
    result = np.empty((n, m))
    result[index] = sums.T
    return result


def _processor_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least processor time of up to three calls, which other programs change little."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < 10:
        started = time.process_time()
        result = call()
        times.append(time.process_time() - started)
    return min(times), result


def tree_section(sizes: tuple[int, ...] = _SIZES) -> str:
    """Measure trees and tiles side by side on one thread; return the section of the document."""
    rng = np.random.default_rng(4)
    lines = []
    for d in _DIMENSIONS:
        ratios = []
        few = rng.normal(size=(200, d))
        tree_sums(few, few[:, :1], 1.0)  # compiles
        for n in sizes:
            points, gap = rng.normal(size=(n, d)), rng.uniform(-1, 1, size=(n, 1))

            def tiles(x: Any = points, w: Any = gap) -> Any:
                return laplacian_sums(x, None, w, bandwidth=0.2 * x.shape[1], n_jobs=1)

            took_tree, by_tree = _processor_seconds(
                lambda x=points, w=gap: tree_sums(x, w, 0.2 * x.shape[1])
            )
            took_tiles, by_tiles = _processor_seconds(tiles)
            error = float((np.abs(by_tree - by_tiles) / tiles(points, np.abs(gap))).max())
            ratios.append(took_tiles / took_tree)
            print(f"{d:>3}-D {n:>9,} rows  tree {seconds(took_tree):>9}  tiles {took_tiles:.3g} s")
            lines.append(
                [
                    f"{d}",
                    f"{n:,}",
                    seconds(took_tiles),
                    seconds(took_tree),
                    f"{ratios[-1]:.2g}×",
                    _crossing(sizes, ratios) if n == sizes[-1] else "",
                    f"{error:.0e}",
                ]
            )
    head = ["d", "n", "tiles", "tree", "tree faster by", "as fast from about", "disagreement"]
    return f"""## More than three dimensions: tiles, or a tree

An exact tree is known for every number of dimensions, O(n log^(d−1) n) (Langrené and Warin, arXiv
2005.03246). A prototype of it (`benchmarks/_trees.py`), built on the product's sweep of the plane,
beside the product's O(n²) tiles: standard normal points in one bin, γ = 0.2, one column of weights,
one thread each, processor time, measured on {date.today().isoformat()}, {os.cpu_count()} cores.
Disagreement is relative to the sum of absolute terms.

{markdown_table(head, lines)}
"""


def _crossing(sizes: tuple[int, ...], ratios: list[float]) -> str:
    """Return the n at which both are as fast, on the line through the last two in log-log."""
    (a, b), (before, last) = np.log(sizes[-2:]), np.log(ratios[-2:])
    n = np.exp(b - last * (b - a) / (last - before)) if last > before else np.inf
    if n > 30 * sizes[-1]:
        return "beyond"
    return f"{float(f'{n:.1g}'):,.0f} rows"
