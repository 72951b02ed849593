"""Cut kernel sums into steps, so short that threads share them and work can be stopped between two.

Up to three dimensions parts of a group are swept, then joined level by level. In more, blocks of
rows meet as in a tournament: the order of additions does not depend on threads.
"""

from collections.abc import Iterator
from itertools import pairwise, zip_longest
from math import log2

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.kernel_sums.blocked import block
from lore_core.kernel_sums.fixed_point import as_fixed_point
from lore_core.kernel_sums.grid import Grid, Pass, count_sums, sub_grids
from lore_core.kernel_sums.pairs import join_order, tree_bounds
from lore_core.kernel_sums.prepare import Layout, Problem
from lore_core.kernel_sums.schedule import Phase, Plan, Step
from lore_core.kernel_sums.sweep1d import line_sweep
from lore_core.kernel_sums.sweep2d import plane_columns, plane_join, plane_order, plane_tree
from lore_core.kernel_sums.sweep3d import space_collect, space_split, space_tree

#: Rows of a part: (smallest, largest). The largest are for so few sums, more sums get fewer rows.
PART_ROWS = {2: (1024, 16_384), 3: (512, 8_192)}
_FEW_SUMS = 8
#: From so many columns of weights on they are summed side by side, twice as many at a time, in
#: groups of so many rows at most: their sums are held twice.
_SIDE_BY_SIDE, _MANY_ROWS = 8, 2**17
#: Rows times sums from which on a sweep or a join is shared between steps.
_STEP_SUMS = 300_000
#: Sums of a plane problem posed in space that are held at once.
_POSED_BYTES = 2**27

Segments = list[tuple[int, int]]


#: Of a group: where each of its 2^levels parts begins, and x there, read before any row moves.
Tree = tuple[list[int], list[float]]


def _as_trees(segments: Segments, part: int, x: NDArray[np.generic]) -> tuple[list[Tree], int]:
    """Divide groups into parts; return them, and how often the most divided was halved."""
    bounds = [tree_bounds(lo, hi, part) for lo, hi in segments]
    trees = [(ends.tolist(), x[ends[:-1]].tolist()) for ends in bounds]
    return trees, max((len(edges) for _, edges in trees), default=1).bit_length() - 1


def _joins(trees: list[Tree], level: int) -> Iterator[tuple[int, int, int, float]]:
    """Yield (lo, mid, hi, split) of the neighbours that become one at a level from 1 on."""
    width = 1 << level
    for bounds, edges in trees:
        for k in range(0, len(edges) - width + 1, width):
            middle = k + width // 2
            yield bounds[k], bounds[middle], bounds[k + width], edges[middle]


def _part_rows(d: int, n_sums: int) -> int:
    least, most = PART_ROWS[d]
    return max(least, min(most, most * _FEW_SUMS // n_sums))


def _plane_cost(n: int, n_sums: int) -> float:
    """Return about the cost of :func:`_plane_phases` for n rows, in rows · levels · sums."""
    return n * (5.0 + log2(n)) * (n_sums + 3)


def _space_cost(n: int, n_sums: int) -> float:
    return _plane_cost(n, n_sums) * (log2(n) + 1) / 2


def plan_line(problem: Problem, layout: Layout, now: Pass, sums: Floats) -> Plan:
    """Sweep every group for every bandwidth."""
    rows, alone = (layout.coordinates[0], layout.weights, sums), problem.exclude_self
    phase = [
        Step(hi - lo, line_sweep, lo, hi, rows, grid, alone)
        for lo, _, hi in layout.segments
        for grid in sub_grids(now.grid, _STEP_SUMS // (hi - lo))
    ]
    return [phase], sum(step.cost for step in phase)


def plan_plane(problem: Problem, layout: Layout, now: Pass, sums: Floats) -> Plan:
    """Sweep groups of the plane."""
    # No pair is left out by its side here.
    rows = (*layout.coordinates, np.empty(0), layout.index, layout.weights, sums)
    segments = [(lo, hi) for lo, _, hi in layout.segments]
    cost = sum(_plane_cost(hi - lo, len(sums)) for lo, hi in segments)
    n_columns, most = len(layout.weights), max(hi - lo for lo, hi in segments)
    if n_columns < _SIDE_BY_SIDE or most > _MANY_ROWS or any(now.wanted.values()):
        return _plane_phases(rows, now.grid, segments, problem.exclude_self), cost
    count = -(-n_columns // _SIDE_BY_SIDE // 2)
    blocks = list(pairwise(n_columns * k // count for k in range(count + 1)))
    phase = []
    for lo, hi in segments:
        for part in sub_grids(now.grid, _STEP_SUMS // (hi - lo)):
            of_a_block = _plane_cost(hi - lo, count_sums(part)) / count
            work = rows, part, problem.exclude_self
            phase += [Step(of_a_block, plane_columns, lo, hi, *block, *work) for block in blocks]
    return [phase], cost


def plan_space(problem: Problem, layout: Layout, now: Pass, sums: Floats) -> Plan:
    """Sweep groups of the space."""
    phases = _space_phases(layout, now.grid, sums, problem.exclude_self)
    return phases, sum(_space_cost(hi - lo, len(sums)) for lo, _, hi in layout.segments)


def _plane_phases(
    rows: tuple[NDArray[np.generic], ...], grid: Grid, segments: Segments, exclude_self: bool
) -> Iterator[Phase]:
    n_sums = len(grid[3])
    trees, n_levels = _as_trees(segments, _part_rows(2, n_sums), rows[0])
    yield [
        Step(_plane_cost(c - a, n_sums), plane_tree, a, c, rows, grid, exclude_self)
        for bounds, _ in trees
        for a, c in pairwise(bounds)
    ]
    for level in range(1, n_levels + 1):
        orders: Phase = []
        sums: Phase = []
        for a, b, c, split in _joins(trees, level):
            n = c - a
            order, code = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.uint8)
            orders.append(Step(3 * n, plane_order, a, b, c, rows, order, code))
            for part in sub_grids(grid, _STEP_SUMS // n):
                work = plane_join, a, c, split, rows, part, order, code
                sums.append(Step(n * count_sums(part), *work))
        yield orders
        yield sums


def _space_phases(layout: Layout, grid: Grid, sums: Floats, exclude_self: bool) -> Iterator[Phase]:
    """Sweep groups of the space: parts, then for each level of joins a problem in the plane."""
    x, y, z = layout.coordinates
    rows = (x, y, z, layout.index, layout.weights, sums)
    groups = [(lo, hi) for lo, _, hi in layout.segments]
    trees, n_levels = _as_trees(groups, _part_rows(3, len(sums)), x)
    yield [
        Step(_space_cost(c - a, len(sums)), space_tree, a, c, rows, grid, exclude_self)
        for bounds, _ in trees
        for a, c in pairwise(bounds)
    ]
    n = len(x)
    if n_levels == 0:
        return
    # One plane for all levels.
    together = sub_grids(grid, _POSED_BYTES // (16 * n))
    most = max(count_sums(part) for part in together)
    code, side, index = np.empty(n, np.uint8), np.empty(n), np.empty(n, np.int32)
    posed, answers = np.empty((most, n)), np.empty((most, n))
    for level in range(1, n_levels + 1):
        joins = [
            (*join, np.empty(join[2] - join[0], dtype=np.int32)) for join in _joins(trees, level)
        ]
        yield [
            Step(4 * (c - a), join_order, a, b, c, rows, order, code[a:c])
            for a, b, c, _, order in joins
        ]
        segments = [(a, c) for a, _, c, *_ in joins]
        for part in together:
            m = count_sums(part)
            plane = (y, z, side, index, posed[:m], answers[:m])
            yield [
                Step(m * (c - a), space_split, a, c, 0, split, rows, part, order, code[a:c], plane)
                for a, _, c, split, order in joins
            ]
            # Each of the sums has a weight column of its own.
            posed_grid = (*part[:2], part[2] - part[2][0], np.arange(m))
            yield from _plane_phases(plane, posed_grid, segments, exclude_self)
            yield [
                Step(m * (c - a), space_collect, a, c, 0, split, rows, part, plane)
                for a, _, c, split, _ in joins
            ]


#: Rows of a block, in up to so many dimensions; a quarter of it beyond.
_BLOCK_ROWS = 512
_BLOCK_DIMENSIONS = 1024
#: Cost (about nanoseconds) of a step that need not end at a block.
_STEP_COST = 3e7
#: Cost from which on rounded coordinates are worth their inaccuracy.
_WORTH_ROUNDING = 5e7

Rows = tuple[object, ...]
Block = tuple[int, int]


def _pair_cost(d: int, grid: Grid) -> float:
    """Estimate the nanoseconds one pair takes."""
    chains = int((~grid[1]).sum())
    return 0.06 * d + 0.4 * chains + 0.15 * (len(grid[1]) - chains) + 0.15 * len(grid[3])


def _blocks(lo: int, hi: int, d: int) -> list[Block]:
    size = _BLOCK_ROWS if d <= _BLOCK_DIMENSIONS else _BLOCK_ROWS // 4
    count = -(-(hi - lo) // size)
    bounds = [lo + (hi - lo) * k // count for k in range(count + 1)]
    return list(pairwise(bounds))


def plan_blocks(problem: Problem, layout: Layout, now: Pass, sums: Floats) -> Plan:
    """Sum over all pairs of each group."""
    d = len(layout.coordinates)
    pairs = sum(
        (hi - lo) ** 2 / 2 if problem.is_self else (cut - lo) * (hi - cut)
        for lo, cut, hi in layout.segments
    )
    cost = pairs * _pair_cost(d, now.grid)
    fixed = None
    if cost >= _WORTH_ROUNDING:
        # Bandwidths that are wanted for effective sizes only may be off by more.
        exact = [h for h, first in now.wanted.items() if first < len(layout.weights) - 1]
        smallest = min(exact or now.wanted)
        fixed = as_fixed_point(layout.coordinates, smallest, problem.tolerance)
    # What :func:`~.blocked.block` reads: coordinates in one form or the other.
    coordinates, columns, unit = layout.coordinates, np.empty((0, 0), dtype=np.int32), 0.0
    if fixed is not None:
        coordinates, (columns, unit) = np.empty((0, 0)), fixed
    points, whole = np.ascontiguousarray(coordinates.T), np.ascontiguousarray(columns.T)
    rows = (coordinates, points, columns, whole, unit, layout.weights, sums)
    if problem.is_self:
        return _within_phases(layout, now.grid, rows, problem.exclude_self), cost
    return _between_phases(layout, now.grid, rows), cost


def _within_phases(layout: Layout, grid: Grid, rows: Rows, exclude_self: bool) -> Iterator[Phase]:
    """Sum over all pairs of each group: first within each block, then round by round."""
    d = len(layout.coordinates)
    cost = _pair_cost(d, grid)
    groups = [_blocks(lo, hi, d) for lo, _, hi in layout.segments]
    yield [
        Step(cost * (b - a) ** 2 / 2, block, a, b, a, b, rows, grid, True, exclude_self)
        for blocks in groups
        for a, b in blocks
    ]
    for pairings in zip_longest(*(_rounds(blocks) for blocks in groups), fillvalue=[]):
        yield [
            Step(cost * (b - a) * (e - c), block, a, b, c, e, rows, grid, True, False)
            for pairing in pairings
            for (a, b), (c, e) in pairing
        ]


def _rounds(blocks: list[Block]) -> Iterator[list[tuple[Block, Block]]]:
    """Yield rounds of disjoint pairs, in which each block meets each other exactly once."""
    # The circle method: one stays, the others move on by one place a round.
    n = len(blocks)
    size = n + n % 2
    circle = list(range(1, size))
    for _ in range(size - 1):
        seats = [0, *circle]
        yield [
            (blocks[min(pair)], blocks[max(pair)])
            for pair in zip(seats[: size // 2], reversed(seats[size // 2 :]), strict=True)
            if max(pair) < n
        ]
        circle = circle[1:] + circle[:1]


def _between_phases(layout: Layout, grid: Grid, rows: Rows) -> Iterator[Phase]:
    """Sum over all sources for each block of targets, some of them a phase."""
    d = len(layout.coordinates)
    cost = _pair_cost(d, grid)

    def steps(a: int, b: int, cut: int, hi: int) -> Iterator[Step]:
        size = max(64, int(_STEP_COST / (cost * (b - a))))
        for c in range(cut, hi, size):
            end = min(c + size, hi)
            yield Step(cost * (b - a) * (end - c), block, a, b, c, end, rows, grid, False, False)

    chains = [
        steps(a, b, cut, hi) for lo, cut, hi in layout.segments for a, b in _blocks(lo, cut, d)
    ]
    for phase in zip_longest(*chains):
        yield [step for step in phase if step is not None]


#: Plans of one, two and three dimensions; in more :func:`plan_blocks` goes over all pairs.
SWEEPS = {1: plan_line, 2: plan_plane, 3: plan_space}
