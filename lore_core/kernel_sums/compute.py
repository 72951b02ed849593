"""Choose the plan, run its steps pass by pass, gather the results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.kernel_sums.compiled import HAS_NUMBA, compiled
from lore_core.kernel_sums.grid import as_passes
from lore_core.kernel_sums.plain import plain_sums
from lore_core.kernel_sums.plan_blocks import plan_blocks
from lore_core.kernel_sums.plan_trees import plan_line, plan_plane, plan_space
from lore_core.kernel_sums.prepare import Problem, arrange
from lore_core.kernel_sums.schedule import Workers

#: How sums in one, two and three dimensions are cut into steps; in more they go over all pairs.
_PLANS = {1: plan_line, 2: plan_plane, 3: plan_space}


def compute_sums(
    problem: Problem,
    wanted: dict[float, int],
    workers: Workers,
    share: float,
    *,
    ones: bool = False,
) -> Iterator[tuple[float, Floats]]:
    """Yield every wanted bandwidth with its kernel sums (m − first, n_t), pass by pass.

    ``wanted`` holds for each bandwidth the first weight column whose sums are wanted. This is
    ``share`` of all work. With ``ones``, a column of ones is the last of the m weight columns.
    """
    if not HAS_NUMBA:
        yield from plain_sums(problem, wanted, workers, share, ones=ones).items()
        return
    n_t, m = len(problem.targets), problem.weights.shape[1] + ones
    layout = arrange(problem, apart=problem.targets.shape[1] > 3, ones=ones)
    if not layout.segments:
        yield from ((h, np.zeros((m - first, n_t))) for h, first in wanted.items())
        return
    plan = _PLANS.get(len(layout.coordinates), plan_blocks)
    passes = as_passes(wanted, m, len(layout.index))
    # (Memory that was taken once costs less than new: all passes use the same.)
    room = np.empty((max(now.n_sums for now in passes), len(layout.index)))
    for number, now in enumerate(passes):
        # The sweeps reorder the rows.
        rows = layout if number == len(passes) - 1 else layout.copy()
        sums = room[: now.n_sums]
        sums.fill(0.0)
        workers.run(plan(problem, rows, now, sums), share / len(passes))
        found = iter(sums)
        for entry in now.entries:
            result = np.zeros((m - entry.first, n_t))
            for column in result:
                _put_back(rows.index, next(found), column)
            yield entry.bandwidth, result


@compiled
def _put_back(index, found, column):
    """Write what was found for targets to where they stand; sources are beyond the column."""
    n_t = len(column)
    for i in range(len(index)):
        row = index[i]
        if row < n_t:
            column[row] = found[i]
