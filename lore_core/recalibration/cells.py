"""Cells of calibration rows, whose means stand for single rows in files."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import expit, logit
from lore_core.data.rules import Values, refuse
from lore_core.data.validation import InputError

#: Least rows of a cell: the usual threshold of statistical offices, see docs/decisions.md.
CELL_SIZE = 10


#: None: all rows count alike.
RowWeights = Annotated[Floats | None, Values(("n",), np.finfo(float).tiny), "what {who} count for"]
#: Rows of each cell, all below their means; None: rows.
Counts = Annotated[
    Ints | None, Values(("n",), 1, whole=True), "how many calibration rows these are of"
]
#: A value of each row or cell.
Outcomes = Annotated[Floats, Values(("n",), 0.0, 1.0), "outcomes (right or wrong) of {who}"]


def check_rows(state: Mapping[str, Any], name: str, n_rows: int) -> None:
    """Refuse other single rows than the ``n_rows`` of the fit, or more in cells; InputError."""
    count, n = state["count"], len(state["outcome"])
    rows = n if count is None else int(count.sum())
    if rows > n_rows or (count is None and rows != n_rows):
        raise refuse(f"{name}: outcome", f"the {n_rows:,} calibration rows", f"{rows:,}")


def check_edges(edges: Floats, name: str) -> None:
    """Refuse edges of confidence bins that do not go from 0 to 1; InputError."""
    if edges[0] != 0 or edges[-1] != 1:
        raise refuse(f"{name}: edges", "numbers from 0 to 1", f"{edges[0]} to {edges[-1]}")


def cells_of(points: Floats, apart: Ints, size: int = CELL_SIZE) -> Ints:
    """Put neighbours alike in ``apart`` into Mondrian cells of ``size`` to 2·size − 1; −1: none."""
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
    """Return the mean of each cell's rows, from values of shape (n,) or (n, m)."""
    if weights is not None:
        return means_of((values.T * weights).T, cell) / (
            means_of(weights, cell).reshape(-1, *[1] * (values.ndim - 1))
        )
    inside = cell >= 0
    count = sizes_of(cell)
    total = np.zeros((len(count), *values.shape[1:]))
    np.add.at(total, cell[inside], values[inside])
    return np.asarray(total / count.reshape(-1, *[1] * (values.ndim - 1)))


def in_cells(state: Mapping[str, Any], cell: Ints, names: Sequence[str]) -> dict[str, Any]:
    """Return the rows and weights of cells, and the means of ``names`` of a state, by weights."""
    count, weights = sizes_of(cell), state["row_weights"]
    return {
        "count": count,
        "row_weights": count * (1.0 if weights is None else means_of(weights, cell)),
        **{name: means_of(state[name], cell, weights) for name in names},
    }


def joined_steps(count: Ints, size: int) -> Ints:
    """Join neighbours of so many rows until they are ``size``; return each one's number, (m,)."""
    joined = np.empty(len(count), dtype=np.int64)
    number, so_far = 0, 0
    for position, n in enumerate(count):
        joined[position], so_far = number, so_far + int(n)
        if so_far >= size:
            number, so_far = number + 1, 0
    return np.minimum(joined, max(number - 1, 0))


def rounded(confidence: Floats) -> Floats:
    """Round the odds of confidences to 1 %, so that no single row's can be read; 0 and 1 stay."""
    with np.errstate(divide="ignore"):
        return expit(np.round(logit(confidence), 2))
