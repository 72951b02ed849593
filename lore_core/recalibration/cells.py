"""Calibration rows in cells of at least so many: what a file without single rows holds of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import expit, logit
from lore_core.data.rules import Values, refuse
from lore_core.data.validation import InputError

#: Rows of a cell at least. Ten is the usual threshold of statistical offices for what may be
#: published of a group; see docs/decisions.md.
CELL_SIZE = 10


class Weighted(TypedDict, total=False):
    """What the state of a method that holds rows may say of them."""

    #: Not there: all alike
    row_weights: Annotated[Floats, Values(("n",), np.finfo(float).tiny), "what {who} count for"]


#: Rows of each cell, all below their means; None: rows.
Counts = Annotated[
    Ints | None, Values(("n",), 1, whole=True), "how many calibration rows these are of"
]
#: A value of each row or cell.
Outcomes = Annotated[Floats, Values(("n",), 0.0, 1.0), "outcomes (right or wrong) of {who}"]


def check_rows(state: Mapping[str, Any], name: str, n_rows: int) -> None:
    """Refuse other single rows than a method was fitted on, or more in cells; InputError.

    ``state``: with ``outcome`` and ``count``. ``n_rows``: it was fitted on.
    """
    count, n = state["count"], len(state["outcome"])
    rows = n if count is None else int(count.sum())
    if rows > n_rows or (count is None and rows != n_rows):
        raise refuse(f"{name}: outcome", f"the {n_rows:,} calibration rows", f"{rows:,}")


def check_edges(edges: Floats, name: str) -> None:
    """Refuse edges of confidence bins that do not go from 0 to 1; InputError."""
    if edges[0] != 0 or edges[-1] != 1:
        raise refuse(f"{name}: edges", "numbers from 0 to 1", f"{edges[0]} to {edges[-1]}")


def cells_of(points: Floats, apart: Ints, size: int = CELL_SIZE) -> Ints:
    """Put rows into cells of rows that lie near one another, shape (n,); −1: in none.

    ``points`` (n, d). ``apart`` (n,): rows of unlike numbers never share a cell. ``size``: rows of
    a cell at least, 2·size − 1 at most; where fewer are alike they are in no cell. Raises
    InputError if no cell is left.

    Cut in two halves across the widest dimension, as long as both have enough rows: the cells of
    LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity", ICDE 2006. They are
    small where rows are dense. No row is in two cells, so that no difference of two is a row.
    """
    cell = np.full(len(points), -1, dtype=np.int64)
    found = 0
    waiting = [np.flatnonzero(apart == one) for one in np.unique(apart)]
    while waiting:
        rows = waiting.pop()
        if len(rows) < size:
            continue
        if len(rows) < 2 * size:
            cell[rows] = found
            found += 1
            continue
        here = points[rows]
        widest = int(np.ptp(here, axis=0).argmax())
        ordered = rows[np.argsort(here[:, widest], kind="stable")]
        waiting += [ordered[: len(rows) // 2], ordered[len(rows) // 2 :]]
    if not found:
        raise InputError(
            f"at least {size} calibration rows must share a confidence bin to be shipped without "
            "single rows; there are no such."
        )
    return cell


def sizes_of(cell: Ints) -> Ints:
    """Return the rows of each cell, shape (n_cells,)."""
    return np.asarray(np.bincount(cell[cell >= 0]))


def means_of(values: NDArray[Any], cell: Ints, weights: Floats | None = None) -> Floats:
    """Return the mean of each cell's rows, shape (n_cells,) or (n_cells, m).

    ``values`` (n,) or (n, m): of the rows. ``cell`` (n,): as :func:`cells_of` returns it.
    ``weights`` (n,): what each row counts for; None: all alike.
    """
    if weights is not None:
        return means_of((values.T * weights).T, cell) / (
            means_of(weights, cell).reshape(-1, *[1] * (values.ndim - 1))
        )
    kept = cell >= 0
    count = sizes_of(cell)
    total = np.zeros((len(count), *values.shape[1:]))
    np.add.at(total, cell[kept], values[kept])
    return np.asarray(total / count.reshape(-1, *[1] * (values.ndim - 1)))


def each_weight(weights: Floats | None, count: Ints | None) -> Floats | None:
    """Return what each row counts for, as :func:`each_row` does; None: all alike."""
    return None if weights is None else np.asarray(each_row(weights, count))


def each_row(values: NDArray[Any], count: Ints | None) -> NDArray[Any]:
    """Return the values of cells once for each of their rows; those of rows as they are.

    ``values`` (n, …): of rows or cells. ``count`` (n,): rows of each cell; None: these are rows.
    """
    return values if count is None else np.repeat(values, count, axis=0)


def rounded(confidence: Floats) -> Floats:
    """Round the odds of confidences to 1 %, as the confidence of a single row is not to be read.

    ``confidence`` (m,): in [0, 1]; 0 and 1 stay.
    """
    with np.errstate(divide="ignore"):
        return expit(np.round(logit(confidence), 2))
