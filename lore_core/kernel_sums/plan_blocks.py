"""Cut the sums over all pairs into steps: blocks of rows, each against each.

A kernel value serves both rows of a pair. As in a tournament, each round pairs every block with
another: its steps write to different rows, so threads need no copies, and the order of additions
does not depend on them.
"""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

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
#: Blocks of targets in one phase.
_PHASE_BLOCKS = 64

Rows = tuple[object, ...]


def _pair_cost(d: int, grid: Grid) -> float:
    """Estimate the nanoseconds one pair takes."""
    chains = int((~grid[1]).sum())
    return 0.06 * d + 0.4 * chains + 0.15 * (len(grid[1]) - chains) + 0.15 * len(grid[3])


def _blocks(lo: int, hi: int, d: int) -> list[tuple[int, int]]:
    size = _BLOCK_ROWS if d <= _BLOCK_DIMENSIONS else _BLOCK_ROWS // 4
    count = -(-(hi - lo) // size)
    bounds = [lo + (hi - lo) * k // count for k in range(count + 1)]
    return list(pairwise(bounds))


def _as_rows(layout: Layout, fixed: FixedPoint | None, sums: Floats) -> Rows:
    """Return what :func:`~.blocked.block_within` reads: coordinates in one form or the other."""
    if fixed is None:
        coordinates, columns, unit = layout.coordinates, np.empty((0, 0), dtype=np.int32), 0.0
    else:
        coordinates, columns, unit = np.empty((0, 0)), fixed.columns, fixed.unit
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
        exact = [e.bandwidth for e in now.entries if e.first == 0]
        smallest = min(exact or [e.bandwidth for e in now.entries])
        fixed = as_fixed_point(layout.coordinates, smallest, problem.tolerance)
    if problem.is_self:
        phases = _within_phases(layout, now.grid, sums, fixed, problem.exclude_self)
    else:
        phases = _between_phases(layout, now.grid, sums, fixed)
    return Plan(phases, cost)


def _within_phases(
    layout: Layout, grid: Grid, sums: Floats, fixed: FixedPoint | None, exclude_self: bool
) -> Iterator[Phase]:
    """Sum over all pairs of each group: first within each block, then round by round."""
    d = len(layout.coordinates)
    rows = _as_rows(layout, fixed, sums)
    cost = _pair_cost(d, grid)
    groups = [_blocks(lo, hi, d) for lo, _, hi in layout.segments]
    yield [
        [Step(partial(block_within, a, b, rows, grid, exclude_self), cost * (b - a) ** 2 / 2)]
        for blocks in groups
        for a, b in blocks
    ]
    rounds = [_rounds(len(blocks)) for blocks in groups]
    while rounds:
        phase: Phase = []
        unfinished = []
        for blocks, pairings in zip(groups, rounds, strict=True):
            pairing = next(pairings, None)
            if pairing is None:
                continue
            unfinished.append((blocks, pairings))
            for one, other in pairing:
                (a, b), (c, e) = blocks[one], blocks[other]
                work = partial(block_across, a, b, c, e, rows, grid, True)
                phase.append([Step(work, cost * (b - a) * (e - c))])
        groups = [blocks for blocks, _ in unfinished]
        rounds = [pairings for _, pairings in unfinished]
        if phase:
            yield phase


def _rounds(n: int) -> Iterator[list[tuple[int, int]]]:
    """Yield rounds of disjoint pairs, in which each of n meets each other exactly once."""
    # The circle method: one stays, the others move on by one place a round.
    size = n + n % 2
    circle = list(range(1, size))
    for _ in range(size - 1):
        seats = [0, *circle]
        yield [
            (min(pair), max(pair))
            for pair in zip(seats[: size // 2], reversed(seats[size // 2 :]), strict=True)
            if max(pair) < n
        ]
        circle = circle[1:] + circle[:1]


def _between_phases(
    layout: Layout, grid: Grid, sums: Floats, fixed: FixedPoint | None
) -> Iterator[Phase]:
    """Sum over all sources for each block of targets."""
    d = len(layout.coordinates)
    rows = _as_rows(layout, fixed, sums)
    cost = _pair_cost(d, grid)
    phase: Phase = []
    for lo, cut, hi in layout.segments:
        for a, b in _blocks(lo, cut, d):
            size = max(64, int(_STEP_COST / (cost * (b - a))))
            phase.append(
                [
                    Step(
                        partial(block_across, a, b, c, min(c + size, hi), rows, grid, False),
                        cost * (b - a) * (min(c + size, hi) - c),
                    )
                    for c in range(cut, hi, size)
                ]
            )
            if len(phase) >= _PHASE_BLOCKS:
                yield phase
                phase = []
    yield phase
