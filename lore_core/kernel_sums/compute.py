"""Sums and means of a checked problem: choose the plan, run it pass by pass, gather the results."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.kernel_sums.compiled import HAS_NUMBA, compiled
from lore_core.kernel_sums.grid import as_passes
from lore_core.kernel_sums.plain import plain_sums
from lore_core.kernel_sums.plan_blocks import plan_blocks
from lore_core.kernel_sums.plan_trees import plan_line, plan_plane, plan_space
from lore_core.kernel_sums.prepare import Problem, arrange
from lore_core.kernel_sums.schedule import Phase, Plan, Step, Workers
from lore_core.kernel_sums.underflow import GroupSources

#: How sums in one, two and three dimensions are cut into steps; in more they go over all pairs.
_PLANS = {1: plan_line, 2: plan_plane, 3: plan_space}
#: Sums below this may have lost terms to underflow (which begins at 1e-300).
INEXACT_MASS = 1e-280
#: Size of one uninterrupted step of the fallback: targets of a search, or differences of
#: coordinates in a loop over pairs.
_STEP_TARGETS = 1024
_STEP_DIFFERENCES = 100_000_000
#: What share of the progress the sums are; the rest is the fallback for underflow.
_SUMS_SHARE = 0.9


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


def means_of_each(
    problem: Problem,
    workers: Workers,
    *,
    effective_size: bool = True,
    first: Sequence[int] | None = None,
) -> Iterator[tuple[int, Floats, Floats, Floats]]:
    """Yield the number of each bandwidth with its means, masses and effective sizes.

    As of :func:`~lore_core.kernel_sums.laplacian_means`, of shape (m, n_t), (n_t,) and (n_t,), as
    soon as a pass has them: in no order, and none held longer than it is needed. Sizes that are not
    asked for are NaN. ``first`` (g,): from which column on means are wanted; by default all are.
    """
    m = problem.weights.shape[1]
    parts = {
        b: (float(h), float(h) / 2 if effective_size else float(h))
        for b, h in enumerate(problem.bandwidths)
    }
    begin = [0] * len(parts) if first is None else list(first)
    wanted = {half: m for _, half in parts.values()}
    for b, (h, _) in parts.items():
        wanted[h] = min(wanted[h], begin[b]) if h in wanted else begin[b]
    has_source = problem.source_counts() > 0
    near = _Nearest(problem)
    sums: dict[float, Floats] = {}
    # After the values a column of ones, whose sums are the masses.
    for known, found in compute_sums(problem, wanted, workers, _SUMS_SHARE, ones=True):
        sums[known] = found
        for b in [b for b, needed in parts.items() if all(h in sums for h in needed)]:
            h, half = parts.pop(b)
            values, mass, smallest = sums[h][begin[b] - wanted[h] : -1], sums[h][-1], sums[half][-1]
            # (Where no other bandwidth needs the sums, the means take their place.)
            is_last = not any(h in needed for needed in parts.values())
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                mean = np.divide(values, mass, out=values if is_last else None)
                # Not mass²/half: the square would underflow first.
                size = mass * (mass / smallest) if effective_size else None
            if size is not None:
                size[~has_source] = 0.0
            mean[:, ~has_source] = np.nan
            near.repair(b, has_source & (smallest < INEXACT_MASS), mean, size, workers)
            mean *= problem.divisor[begin[b] :, None]
            yield b, mean, mass, np.broadcast_to(np.nan, mass.shape) if size is None else size
        sums = {h: kept for h, kept in sums.items() if any(h in of for of in parts.values())}


class _Nearest:
    """The sources of each group, for targets so far from them that kernel sums underflow."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._groups: dict[int, tuple[Ints, GroupSources]] = {}

    def repair(
        self, b: int, inexact: Mask, mean: Floats, size: Floats | None, workers: Workers
    ) -> None:
        """Replace means (m, n_t) and effective sizes of one bandwidth where sums underflowed."""
        problem, share = self._problem, (1.0 - _SUMS_SHARE) / len(self._problem.bandwidths)
        chains: Phase = []
        d, h = problem.targets.shape[1], float(problem.bandwidths[b])
        for group in np.unique(problem.target_groups[inexact]):
            members, near = self._of(int(group))
            count = _STEP_TARGETS
            if d > 3:
                count = max(1, min(count, _STEP_DIFFERENCES // (len(members) * d)))
            rows = np.flatnonzero(inexact & (problem.target_groups == group))
            for start in range(0, len(rows), count):
                part = rows[start : start + count]
                work = partial(_repair_rows, problem, near, members, part, h, mean, size)
                chains.append([Step(work, float(len(part) * len(members)))])
        cost = sum(step.cost for chain in chains for step in chain)
        workers.run(Plan([chains], cost), share)

    def _of(self, group: int) -> tuple[Ints, GroupSources]:
        if group not in self._groups:
            members = np.flatnonzero(self._problem.source_groups == group)
            near = GroupSources(self._problem.sources[members], self._problem.weights[members].T)
            self._groups[group] = members, near
        return self._groups[group]


def _repair_rows(
    problem: Problem,
    near: GroupSources,
    members: Ints,
    rows: Ints,
    h: float,
    mean: Floats,
    size: Floats | None,
) -> None:
    own = np.full(len(rows), -1, dtype=np.int64)
    if problem.exclude_self:
        own = np.searchsorted(members, rows).astype(np.int64)
    means, sizes = near.means(problem.targets[rows], own, float(h))
    mean[:, rows] = means[len(means) - len(mean) :]
    if size is not None:
        size[rows] = sizes
