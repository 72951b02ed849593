"""Sums and means of a checked problem: choose the plan, run it pass by pass, gather the results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib.util import find_spec

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.kernel_sums.cache_files import is_complete, kernel_folder
from lore_core.kernel_sums.grid import as_passes
from lore_core.kernel_sums.plain import plain_means, plan_plain
from lore_core.kernel_sums.prepare import Problem, arrange
from lore_core.kernel_sums.schedule import Plan, Step, Workers

#: False for a process that only applies a shipped recalibrator, which may have numpy alone.
try:
    HAS_NUMBA = find_spec("numba") is not None
except ImportError:
    HAS_NUMBA = False
#: Nanoseconds of numpy's sums after which kernels are loaded (in 4e8: more will follow), compiled.
_LOADING_COST, _COMPILING_COST = 1e8, 1e10
#: About what numpy took for sums in this process, in nanoseconds.
_plain_costs: list[float] = []
#: Of so few sources a row, by dimensions, pairs are summed faster than rows are swept.
_FEW_SOURCES = {2: 300, 3: 2_000}
#: Sums below this may have lost terms to underflow (which begins at 1e-300).
INEXACT_MASS = 1e-280
#: Differences of coordinates in one uninterrupted step of the fallback.
_STEP_DIFFERENCES = 50_000_000
#: What share of the progress the sums are; the rest is the fallback for underflow.
_SUMS_SHARE = 0.9


def is_compiled(cost: float) -> bool:
    """Return whether kernels do what takes numpy so long: not while loading them costs more."""
    if not HAS_NUMBA or "lore_core.kernel_sums.compiled" in sys.modules:
        return HAS_NUMBA
    # (What numpy does adds up: more will follow.)
    _plain_costs.append(cost)
    cost = sum(_plain_costs)
    return cost >= _LOADING_COST and (cost >= _COMPILING_COST or is_complete(kernel_folder()))


def _is_plain(problem: Problem, wanted: dict[float, int], m: int) -> bool:
    """Return whether numpy computes the sums."""
    if not HAS_NUMBA or is_compiled(0.0):  # then nothing is to be counted
        return not HAS_NUMBA
    of_a_pair = 8.0 + problem.targets.shape[1] + (6.0 + m / 8) * len(wanted)
    return not is_compiled(_count_pairs(problem) * of_a_pair)


def _count_pairs(problem: Problem) -> float:
    targets, sources = (
        np.bincount(groups + 1, minlength=problem.n_groups + 1)[1:]
        for groups in (problem.target_groups, problem.source_groups)
    )
    return float(targets @ sources)


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
    n_t, m = len(problem.targets), problem.weights.shape[1] + ones
    d = problem.targets.shape[1]
    is_plain, by_pairs = _is_plain(problem, wanted, m), d > 3
    if d in _FEW_SOURCES and not problem.is_self:
        by_pairs = _count_pairs(problem) <= _FEW_SOURCES[d] * (n_t + len(problem.sources))
    layout = arrange(problem, apart=by_pairs or is_plain, ones=ones)
    if not layout.segments:
        yield from ((h, np.zeros((m - first, n_t))) for h, first in wanted.items())
        return
    plan = plan_plain
    if not is_plain:
        from lore_core.kernel_sums.plans import SWEEPS, plan_blocks

        plan = plan_blocks if by_pairs else SWEEPS[d]
    passes = as_passes(wanted, m, len(layout.index))
    # (Memory that was taken once costs less than new: all passes use the same.)
    room = np.empty((max(len(now.grid[3]) for now in passes), len(layout.index)))
    for now in passes:
        # The sweeps reorder the rows.
        rows = layout if now is passes[-1] else deepcopy(layout)
        sums = room[: len(now.grid[3])]
        sums.fill(0.0)
        workers.run(plan(problem, rows, now, sums), share / len(passes))
        # (Sources are beyond the targets; what takes no part is nowhere.)
        place = np.full(n_t + len(problem.sources), -1, dtype=np.intp)
        place[rows.index] = np.arange(len(rows.index))
        place, found = place[:n_t], iter(sums)
        nowhere = np.flatnonzero(place < 0)
        for h, first in now.wanted.items():
            result = np.empty((m - first, n_t))
            for column in result:
                next(found).take(place, out=column, mode="clip")
                column[nowhere] = 0.0
            yield h, result


def means_of_each(
    problem: Problem, workers: Workers, *, effective_size: bool = True
) -> Iterator[tuple[int, Floats, Floats, Floats]]:
    """Yield the number of each bandwidth with its means, masses and effective sizes.

    Of shape (m, n_t), (n_t,) and (n_t,), as soon as a pass has them, in no order. Sizes that are
    not asked for are NaN.
    """
    m = problem.weights.shape[1]
    parts = {
        b: (float(h), float(h) / 2 if effective_size else float(h))
        for b, h in enumerate(problem.bandwidths)
    }
    # At half the bandwidth the mass alone.
    wanted = {half: m for _, half in parts.values()} | {h: 0 for h, _ in parts.values()}
    sources_in = np.bincount(problem.source_groups + 1, minlength=problem.n_groups + 1)
    sources_in[0] = 0
    alone = np.flatnonzero(sources_in[problem.target_groups + 1] <= problem.exclude_self)
    repair_share = (1.0 - _SUMS_SHARE) / len(parts)
    sums: dict[float, Floats] = {}
    # After the values a column of ones, whose sums are the masses.
    for known, found in compute_sums(problem, wanted, workers, _SUMS_SHARE, ones=True):
        sums[known] = found
        for b in [b for b, needed in parts.items() if all(h in sums for h in needed)]:
            h, half = parts.pop(b)
            values, mass, smallest = sums[h][:-1], sums[h][-1], sums[half][-1]
            # (Where no other bandwidth needs the sums, the means take their place.)
            is_last = not any(h in needed for needed in parts.values())
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                mean = np.divide(values, mass, out=values if is_last else None)
                # Not mass²/half: the square would underflow first.
                size = mass * (mass / smallest) if effective_size else None
            if size is not None:
                size[alone] = 0.0
            mean[:, alone] = np.nan
            inexact = smallest < INEXACT_MASS
            inexact[alone] = False
            workers.run(_repair(problem, h, inexact, mean, size), repair_share)
            mean *= problem.divisor[:, None]
            yield b, mean, mass, np.broadcast_to(np.nan, mass.shape) if size is None else size
        sums = {h: kept for h, kept in sums.items() if any(h in of for of in parts.values())}


def _repair(problem: Problem, h: float, inexact: Mask, mean: Floats, size: Floats | None) -> Plan:
    """Replace means (m, n_t) and effective sizes of one bandwidth where sums underflowed."""
    phase = []
    for group in np.unique(problem.target_groups[inexact]).tolist():
        sources = np.flatnonzero(problem.source_groups == group)
        rows = np.flatnonzero(inexact & (problem.target_groups == group))
        count = max(1, _STEP_DIFFERENCES // problem.sources[sources].size)
        for start in range(0, len(rows), count):
            part = rows[start : start + count]
            cost = len(part) * len(sources)
            phase.append(Step(cost, _repair_rows, problem, sources, part, h, mean, size))
    return [phase], sum(step.cost for step in phase)


def _repair_rows(
    problem: Problem, sources: Ints, rows: Ints, h: float, mean: Floats, size: Floats | None
) -> None:
    """Replace means (m, n_t) and effective sizes of some targets: the nearest source weighs 1."""
    # The position of the source that is the target itself and is left out, or −1.
    own = np.full(len(rows), -1, dtype=np.int64)
    if problem.exclude_self:
        own = np.searchsorted(sources, rows).astype(np.int64)
    values = np.ascontiguousarray(problem.weights[sources].T)
    found = plain_means(problem.targets[rows], own, problem.sources[sources], values, h)
    mean[:, rows] = found[0]
    if size is not None:
        size[rows] = found[1]
