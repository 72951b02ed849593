"""Kernel means over all rows and over some of them, from one sweep."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import Points, as_coordinates
from lore_core.kernel_sums.api import TOLERANCE, KernelMeans, laplacian_means
from lore_core.kernel_sums.compute import compute_sums
from lore_core.kernel_sums.means import INEXACT_MASS
from lore_core.kernel_sums.prepare import as_problem
from lore_core.kernel_sums.schedule import Workers


def means_of_all_and_some(
    points: Points,
    values: Floats,
    some: Mask,
    *,
    bandwidth: float,
    groups: Ints,
) -> tuple[KernelMeans, KernelMeans]:
    r"""Average values over all rows at every row, and the first of them over some rows alone.

    The same as two calls of :func:`~lore_core.kernel_sums.laplacian_means`, in three fifths of
    their time: rows are sorted once, and exponentials are taken once.

    Parameters
    ----------
    points : Embedding or array-like of shape (n, d)
        Rows.
    values : ndarray of shape (n, m)
        What is averaged, m ≥ 1.
    some : mask of shape (n,)
        Those that the second means are over.
    bandwidth : float
        h > 0, in units of the coordinates.
    groups : ndarray of int, shape (n,)
        Only pairs of the same group count, 0 or above.

    Returns
    -------
    KernelMeans, KernelMeans
        Of all rows, means of shape (n, m); of some, those of the first column, of shape (n,), NaN
        where there are none in the group.
    """
    m, inside = values.shape[1], some.astype(np.float64)
    problem = as_problem(
        points,
        None,
        np.column_stack([values, values[:, 0] * inside, inside]),
        weights_name="values",
        bandwidth=bandwidth,
        target_groups=groups,
        source_groups=None,
        exclude_self=False,
        tolerance=TOLERANCE,
    )
    h = float(problem.bandwidths[0])
    # The last column is one of ones; at h/2, of squared kernels, only the masses are wanted.
    wanted = {h / 2: m + 1, h: 0}
    sums = dict(compute_sums(problem, wanted, Workers(None, None), 1.0, ones=True))
    *values_sums, some_sum, some_mass, mass = sums[h]
    some_half, half = sums[h / 2]
    found = np.empty((m, len(mass))).T  # each column is looked at alone
    for column, total in enumerate(values_sums):
        np.divide(total, mass, out=found[:, column])
    found *= problem.divisor[:m]
    with np.errstate(divide="ignore", invalid="ignore"):
        # (A row is a source of its own, so that no mass of all is below 1.)
        of_all = KernelMeans(found, mass, mass * (mass / half))
        some_mean = some_sum / some_mass * problem.divisor[m]
        some_size = some_mass * (some_mass / some_half)
    counts = np.bincount(groups, inside)[groups]
    some_size[counts == 0] = 0.0
    far = np.flatnonzero((counts > 0) & (some_half < INEXACT_MASS))
    if len(far):
        z = as_coordinates(points)
        exactly = laplacian_means(
            z[far],
            z[some],
            values[some, 0],
            bandwidth=bandwidth,
            target_groups=groups[far],
            source_groups=groups[some],
        )
        some_mean[far], some_size[far] = exactly.mean, exactly.effective_size
    return of_all, KernelMeans(some_mean, some_mass, some_size)
