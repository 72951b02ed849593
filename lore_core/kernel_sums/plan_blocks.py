"""Cut the sums over all pairs into steps: blocks of rows, each against each.

A kernel value serves both rows of a pair. As in a tournament, each round pairs every block with
another: its steps write to different rows, so threads need no copies, and the order of additions
does not depend on them.
"""

from collections.abc import Iterator
from itertools import pairwise, zip_longest

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.kernel_sums.blocked import block_across, block_within
from lore_core.kernel_sums.fixed_point import FixedPoint, as_fixed_point
from lore_core.kernel_sums.grid import Grid, Pass
from lore_core.kernel_sums.prepare import Layout, Problem
from lore_core.kernel_sums.schedule import Phase, Plan, Step

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


def _as_rows(layout: Layout, fixed: FixedPoint | None, sums: Floats) -> Rows:
    """Return what :func:`~.blocked.block_within` reads: coordinates in one form or the other."""
    coordinates, columns, unit = layout.coordinates, np.empty((0, 0), dtype=np.int32), 0.0
    if fixed is not None:
        coordinates, (columns, unit) = np.empty((0, 0)), fixed
    points = np.ascontiguousarray(coordinates.T)
    whole = np.ascontiguousarray(columns.T)
    return coordinates, points, columns, whole, unit, layout.weights, sums


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
        exact = [h for h, first in now.wanted.items() if first == 0]
        smallest = min(exact or now.wanted)
        fixed = as_fixed_point(layout.coordinates, smallest, problem.tolerance)
    rows = _as_rows(layout, fixed, sums)
    if problem.is_self:
        return _within_phases(layout, now.grid, rows, problem.exclude_self), cost
    return _between_phases(layout, now.grid, rows), cost


def _within_phases(layout: Layout, grid: Grid, rows: Rows, exclude_self: bool) -> Iterator[Phase]:
    """Sum over all pairs of each group: first within each block, then round by round."""
    d = len(layout.coordinates)
    cost = _pair_cost(d, grid)
    groups = [_blocks(lo, hi, d) for lo, _, hi in layout.segments]
    yield [
        Step(cost * (b - a) ** 2 / 2, block_within, a, b, rows, grid, exclude_self)
        for blocks in groups
        for a, b in blocks
    ]
    for pairings in zip_longest(*(_rounds(blocks) for blocks in groups), fillvalue=[]):
        yield [
            Step(cost * (b - a) * (e - c), block_across, a, b, c, e, rows, grid, True)
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
            yield Step(cost * (b - a) * (end - c), block_across, a, b, c, end, rows, grid, False)

    chains = [
        steps(a, b, cut, hi) for lo, cut, hi in layout.segments for a, b in _blocks(lo, cut, d)
    ]
    for phase in zip_longest(*chains):
        yield [step for step in phase if step is not None]
