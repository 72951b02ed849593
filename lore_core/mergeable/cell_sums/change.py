"""Whether the errors of new rows differ from those of earlier ones by more than chance."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from lore_core.data.arrays import Floats, Ints
from lore_core.data.validation import check_integer
from lore_core.mergeable.cell_sums.cells import Cells
from lore_core.mergeable.cell_sums.local_values import Weight, turned
from lore_core.mergeable.cell_sums.sums import LocalErrorSums

#: Rows that are compared share a confidence bin and a cell 2^−this wide, by dimensions of the map.
_STRATUM = {1: 3, 2: 2, 3: 1}
#: Places are so many times as wide as that: 2 to the power of these.
_SCALES = (0, 1, 2, 3)
#: Rows of a place at least, before and after.
_FEWEST_ROWS = 30
#: Simulated numbers at a time.
_STEP = 4_000_000


@dataclass(frozen=True)
class Change:
    """What changed from some rows to others, and whether chance alone changes as much."""

    #: How often rows whose errors are the same everywhere show a place that changed as much.
    p_value: float
    #: Places, the one that changed most (in standard errors) first: ``bin`` (−1: all), ``from_<m>,
    #: to_<m>`` a dimension m of the map (NaN: all of it), ``rows_before``, ``rows_after``,
    #: ``change`` (in the signed error, after − before), ``z``.
    places: pd.DataFrame
    #: Share of the new rows without an earlier row of their bin and cell.
    unseen: float
    n_draws: int


def _strata(sums: LocalErrorSums, level: int) -> tuple[Cells, Floats]:
    """Return cells of confidence bin and place; rows, right ones and mean confidence, (3, s)."""
    coarse = dataclasses.replace(sums, cells=sums.cells.at_level(level))
    cells = coarse.cells
    rows, other = (cells.table[weight] for weight in (Weight.ROWS, Weight.OTHER))
    right = np.where(turned(sums.bins)[cells.bin_index], other, rows - other)
    return cells, np.stack([rows, right, coarse.mean_confidence_of_cells()])


def stratified_change(before: Floats, after: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what each stratum adds to a change, its weight, and the variance without one.

    ``before``, ``after`` (3, …): rows, right ones and Σ confidence of each stratum. See
    :func:`change_between`.
    """
    (n_a, right_a, sure_a), (n_b, right_b, sure_b) = before, after
    n, right = n_a + n_b, right_a + right_b
    at_least_one = np.maximum(n, 1)
    weight = n_a * n_b / at_least_one
    moved = (n_a * (sure_b - right_b) - n_b * (sure_a - right_a)) / at_least_one
    return moved, weight, weight * right * (n - right) / (at_least_one * np.maximum(n - 1, 1))


def change_between(
    before: LocalErrorSums, after: LocalErrorSums, *, n_draws: int = 999, random_state: int = 0
) -> Change:
    """Test whether the signed error changed anywhere between two sets of rows.

    The rows are no part of one another, on one map and in the same bins, else an InputError is
    raised. ``n_draws``: simulations; p is no less than 1 / (n_draws + 1).

    Notes
    -----
    Only rows of one stratum, a confidence bin and a narrow cell of the map, are compared: more rows
    in a bad place are no change of the error there. With nA, nB the rows of a stratum before and
    after, N = nA + nB, K of them right, and r̄ the mean of confidence − outcome, a place (one or
    all bins; a cell of several widths, or all of the map) has, summed over its strata,

    z = Σ (nA nB / N) (r̄B − r̄A) / √(Σ nA nB K (N − K) / (N² (N − 1))),

    the statistic of Cochran, Mantel and Haenszel; ``change`` is the mean of r̄B − r̄A, weighted by
    nA nB / N. The largest size of z is compared with its distribution where, in every stratum, the
    right rows are divided by chance (hypergeometric): exact where all rows of a stratum have one
    confidence and one probability of being right.
    """
    before.check_comparable(after)
    n_draws = check_integer(n_draws, "n_draws", minimum=19)
    level = max(before.wide_level(_STRATUM), after.wide_level(_STRATUM))
    (cells, one), (of_after, two) = _strata(before, level), _strata(after, level)
    _, here, there = np.intersect1d(cells.keys, of_after.keys, return_indices=True)
    unseen = 1.0 - float(two[0, there].sum() / max(two[0].sum(), 1.0))
    (n_a, right_a, _), (n_b, right_b, _) = one[:, here], two[:, there]
    n, right = n_a + n_b, right_a + right_b
    sums = [np.stack([of[0], of[1], of[0] * of[2]]) for of in (one[:, here], two[:, there])]
    moved, weight, spread = stratified_change(*sums)
    expected = right * n_b / n
    of_strata = cells.bin_index[here], cells.coordinates[here]
    members, named = _places(*of_strata, (n_a, n_b), before.width_at(level))
    variance = members @ spread
    known = variance > 0
    members, named, variance = members[known], named[known], variance[known]
    if not len(variance):
        return Change(1.0, named.assign(change=[], z=[]), unseen, n_draws)
    z = (members @ moved) / np.sqrt(variance)
    random = np.random.default_rng(random_state)
    largest = np.empty(n_draws)
    step = max(1, _STEP // len(n))
    for start in range(0, n_draws, step):
        count = min(step, n_draws - start)
        drawn = random.hypergeometric(
            right.astype(np.int64)[:, None],
            (n - right).astype(np.int64)[:, None],
            n_b.astype(np.int64)[:, None],
            (len(n), count),
        )
        scores = (members @ (expected[:, None] - drawn)) / np.sqrt(variance)[:, None]
        largest[start : start + count] = np.abs(scores).max(axis=0)
    beyond = np.count_nonzero(largest >= np.abs(z).max() - 1e-9)
    table = named.assign(change=(members @ moved) / (members @ weight), z=z)
    order = np.argsort(-np.abs(z), kind="stable")
    return Change(
        (1 + beyond) / (1 + n_draws), table.iloc[order].reset_index(drop=True), unseen, n_draws
    )


def _places(
    bin_index: Ints, coordinates: Ints, rows: tuple[Floats, Floats], width: float
) -> tuple[sparse.csr_matrix, pd.DataFrame]:
    """Return which strata are of which place, (p, s), and where places are."""
    blocks, tables = [], []
    for of_bin in (True, False):
        bins = bin_index if of_bin else np.full(len(bin_index), -1)
        for scale in (*_SCALES, None):
            places = np.zeros_like(coordinates) if scale is None else coordinates >> scale
            labels, inverse = np.unique(
                np.column_stack([bins, places]), axis=0, return_inverse=True
            )
            inverse = inverse.ravel()
            before, after = (np.bincount(inverse, n, len(labels)) for n in rows)
            enough = (before >= _FEWEST_ROWS) & (after >= _FEWEST_ROWS)
            ones = np.ones(len(inverse))
            block = sparse.csr_matrix((ones, (inverse, np.arange(len(inverse)))))
            blocks.append(block[enough])
            table = pd.DataFrame({"bin": labels[enough, 0]})
            for m in range(coordinates.shape[1]):
                low = labels[enough, 1 + m] * width * (1 if scale is None else 2**scale)
                table[f"from_{m + 1}"] = np.nan if scale is None else low
                table[f"to_{m + 1}"] = np.nan if scale is None else low + width * 2**scale
            tables.append(table.assign(rows_before=before[enough], rows_after=after[enough]))
    return sparse.vstack(blocks, format="csr"), pd.concat(tables, ignore_index=True)
