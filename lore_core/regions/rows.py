"""Rows as a reader wants them: found, and listed in a table."""

from __future__ import annotations

import operator
import re

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.metrics.local_error import LocalErrors

#: Rows that tell how long a column's texts are.
_LOOKED_AT = 1000
#: Names on a map, at most; rows that a class needs to have one; as many as place it.
_MOST_NAMES, _FEWEST_ROWS, _ENOUGH_ROWS = 12, 10, 10_000
#: Beyond so many dimensions trees are slower than trying all pairs.
_TREE_DIMENSIONS = 8
_COMPARISONS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_CONDITION = re.compile(r"(.+?)\s*(>=|<=|>|<|=|:)\s*(.+)")


def worst_rows(
    errors: LocalErrors,
    *,
    within: Mask | None = None,
    n_rows: int = 50,
    min_effective_size: float = 0.0,
) -> Ints:
    """Return the row numbers with the largest LCE, worst first, ``n_rows`` at most.

    ``within`` (n,): mask of the rows to look at. Rows with a smaller n_eff are skipped.
    """
    candidates = errors.supported(min_effective_size)
    if within is not None:
        candidates = candidates & within
    rows, error = np.flatnonzero(candidates), errors.absolute
    # (To sort their numbers along takes ten times as long.)
    rows = rows[error[rows] >= np.sort(error[rows])[-n_rows:].min(initial=np.inf)]
    order = np.argsort(-error[rows], kind="stable")[:n_rows]
    return np.asarray(rows[order], dtype=np.int64)


def telling_rows(
    confidence: Floats, outcome: Floats, rows: Ints, sign: int, *, n_rows: int = 6
) -> Ints:
    """Return those of some ``rows`` that show their error best, ``n_rows`` at most.

    ``sign``: +1: the most confident mistakes; −1: the least confident hits.
    """
    telling = rows[outcome[rows] == (0 if sign > 0 else 1)]
    order = np.argsort(-sign * confidence[telling], kind="stable")[:n_rows]
    return np.asarray(telling[order], dtype=np.int64)


def drawn_rows(within: Mask, always: Ints, n_rows: int) -> Ints:
    """Choose rows ``within`` to draw, the same every time: ``always``, then a random sample."""
    others = within.copy()
    others[always] = False
    rest = np.flatnonzero(others)
    room = max(n_rows - len(always), 0)
    if len(rest) > room:
        rest = np.random.default_rng(0).choice(rest, room, replace=False)
    return np.concatenate([always[:n_rows], np.sort(rest)]).astype(np.int64)


def row_table(
    dataset: Dataset, rows: Ints, errors: LocalErrors | None = None, *, extra: int | None = None
) -> pd.DataFrame:
    """List rows with confidence, outcome, local error, support and metadata.

    ``rows`` (m,): row numbers. ``errors``: adds ``signed_error``, ``lce`` and ``n_eff``. ``extra``:
    at most so many metadata and group columns; by default all. Returns ``row, predicted, true,
    confidence, right``, the errors, groups, metadata.
    """
    if len(rows) == 0:
        return row_table(dataset, np.array([0]), errors, extra=extra).iloc[:0]
    part = dataset.rows(rows)
    table = pd.DataFrame(
        {
            "row": rows,
            "predicted": [part.class_name(k) for k in part.predictions],
            "true": [part.class_name(k) for k in part.labels],
            "confidence": part.confidence,
            "right": part.outcome.astype(bool),
        }
    )
    if errors is not None:
        table["signed_error"] = errors.signed[rows]
        table["lce"] = errors.absolute[rows]
        table["n_eff"] = errors.effective_size[rows]
    frames = [frame for frame in (part.groups, part.metadata) if frame is not None]
    known = pd.concat(frames or [pd.DataFrame()], axis=1)
    known = known.loc[:, ~known.columns.duplicated() & ~known.columns.isin(table.columns)]
    return pd.concat([table, known.iloc[:, :extra]], axis=1)


def telling_column(dataset: Dataset) -> pd.Series | None:
    """Return the column whose words tell most of a row: the longest; None without words.

    Of ``dataset.metadata`` and ``dataset.groups``, without constant columns.
    """
    frames = [frame for frame in (dataset.metadata, dataset.groups) if frame is not None]
    columns = [frame.iloc[:, k] for frame in frames for k in range(frame.shape[1])]
    lengths = {}
    for k, column in enumerate(columns):
        known = column.iloc[:_LOOKED_AT].dropna()
        if not pd.api.types.is_numeric_dtype(column) and known.nunique() > 1:
            lengths[k] = float(known.astype(str).str.len().mean())
    return columns[max(lengths, key=lengths.__getitem__)] if lengths else None


def class_positions(dataset: Dataset, coordinates: Floats, within: Mask) -> pd.DataFrame:
    """Find where to write the most frequent predicted classes' names on a map: amid their rows.

    ``coordinates`` (n, d): the map, d 2 or 3. ``within`` (n,): mask of the rows shown. Returns
    ``name, x, y``, in space ``z``: the row nearest to the median of the class's rows, of very many
    every second, third … of them.
    """
    predicted = np.where(within, dataset.predictions, -1)
    count = np.bincount(predicted + 1, minlength=dataset.n_classes + 1)[1:]
    named = [k for k in np.argsort(-count, kind="stable")[:_MOST_NAMES] if count[k] >= _FEWEST_ROWS]
    places = []
    for k in named:
        own = coordinates[np.flatnonzero(predicted == k)[:: 1 + count[k] // _ENOUGH_ROWS]]
        nearest = own[np.argmin(np.abs(own - np.median(own, axis=0)).sum(axis=1))]
        places.append((dataset.class_name(int(k)), *nearest))
    return pd.DataFrame(places, columns=["name", *"xyz"[: coordinates.shape[1]]])


def nearest_rows(points: Floats, queries: Floats, k: int) -> tuple[Floats, Ints]:
    """Return L1 distances to the k nearest points, and these, both of shape (n_queries, k)."""
    if points.shape[1] <= _TREE_DIMENSIONS:
        from scipy.spatial import cKDTree  # brings much of scipy

        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        distance, neighbour = tree.query(queries, k=np.arange(1, k + 1), p=1, workers=-1)
        return distance, neighbour
    from sklearn.neighbors import NearestNeighbors  # slow to import, rarely needed

    search = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="manhattan").fit(points)
    distance, neighbour = search.kneighbors(queries)
    return distance, neighbour


def rows_with(dataset: Dataset, words: str) -> Mask:
    """Return which rows fit some words, shape (n,).

    ``words``: conditions with commas between them; a row has to meet all. One is words that any
    column contains (``rotated``), words of one column (``predicted: shirt``; where that is a whole
    value of it, that value alone), or a bound (``age >= 60``, ``confidence < 0.7``). Columns are
    ``predicted``, ``true``, ``confidence``, groups and metadata. Case does not count.
    """
    columns = columns_of(dataset)
    found = np.ones(len(dataset), dtype=bool)
    for condition in filter(None, (part.strip() for part in words.split(","))):
        found &= _meets(columns, condition, len(dataset))
    return found


def columns_of(dataset: Dataset) -> dict[str, pd.Series]:
    """Return what is known of the rows, by names in small letters: classes, confidence, columns."""
    names = np.array(dataset.class_names, dtype=object)
    columns = {
        "predicted": pd.Series(names[dataset.predictions]),
        "true": pd.Series(names[dataset.labels]),
        "confidence": pd.Series(dataset.confidence),
    }
    for frame in (dataset.groups, dataset.metadata):
        if frame is not None:
            columns |= {str(name).lower(): frame[name] for name in frame.columns}
    return columns


def _meets(columns: dict[str, pd.Series], condition: str, n_rows: int) -> Mask:
    parts = _CONDITION.fullmatch(condition)
    column = columns.get(parts[1].lower()) if parts else None
    if parts is None or column is None:
        found = np.zeros(n_rows, dtype=bool)
        for each in columns.values():
            if not pd.api.types.is_numeric_dtype(each):
                found |= _contain(each, condition)
        return found
    bound = float(pd.to_numeric(parts[3], errors="coerce"))
    if pd.api.types.is_numeric_dtype(column) and not np.isnan(bound):
        compare = _COMPARISONS.get(parts[2], operator.eq)
        return np.asarray(compare(column.to_numpy(np.float64, na_value=np.nan), bound))
    return _contain(column, parts[3], whole=True)


def _contain(column: pd.Series, words: str, *, whole: bool = False) -> Mask:
    """``whole``: only the value equal to the words, if there is one."""
    codes, values = pd.factorize(column.astype(str))
    wanted, text = words.lower(), [value.lower() for value in values]
    is_whole = whole and wanted in text
    fits = np.array([wanted == one if is_whole else wanted in one for one in text], dtype=bool)
    # A missing one has the code −1.
    return np.append(fits, False)[codes]
