"""Join significant rows to regions: by place, by sign, and down to a share of the height.

A kernel mean blurs: rows just outside a region of wrong confidence see its rows and turn
significant too. Where a step is blurred, its edge is crossed at half of the height inside, so a
region is cut at half height.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from lore_core.chance.significance import Significance
from lore_core.data.validation import Points, as_coordinates, check_lengths

#: Neighbours each significant row is joined with, where they are near.
_NEIGHBOURS = 10
#: More significant rows than this are joined through a random part of them.
_MOST_JOINED = 20_000
#: Height of a region: this quantile of its rows' errors, steadier than the peak itself.
_HEIGHT_QUANTILE = 0.95
#: Beyond so many dimensions trees are slower than trying all pairs.
_TREE_DIMENSIONS = 8


def grow_regions(
    tests: Significance,
    index: NDArray[np.int64],
    z: NDArray[np.float64],
    reach: float,
    q: float,
    edge: float,
    min_rows: int,
) -> NDArray[np.int64]:
    """Join significant rows to regions; return each row's region, −1 for none.

    Parameters
    ----------
    tests : Significance
        Of n rows.
    index : ndarray of shape (n,)
        Their confidence bins.
    z : ndarray of shape (n, d)
        Their places.
    reach : float
        L1 distance up to which neighbours are near.
    q, edge, min_rows
        See :func:`~lore_core.regions.search.find_regions`.
    """
    label = np.full(len(z), -1, dtype=np.int64)
    flagged = tests.significant(q)
    n_regions = 0
    for sign in (1, -1):
        rows = np.flatnonzero(flagged & (np.sign(tests.signed) == sign))
        if len(rows) < min_rows:
            continue
        part = _components(z[rows], reach)
        size = np.abs(tests.signed[rows])
        frame = pd.DataFrame({"part": part, "bin": index[rows], "size": size})
        height = frame.groupby(["part", "bin"])["size"].transform("quantile", _HEIGHT_QUANTILE)
        high = rows[size >= edge * height.to_numpy()]
        if len(high) < min_rows:
            continue
        part = _components(z[high], reach)
        for number in np.flatnonzero(np.bincount(part) >= min_rows):
            label[high[part == number]] = n_regions
            n_regions += 1
    return label


def without_small_gaps(
    label: NDArray[np.int64], gap: NDArray[np.float64], min_gap: float
) -> NDArray[np.int64]:
    """Drop regions whose mean gap is below ``min_gap``, and number the others anew."""
    inside = label >= 0
    if not inside.any():
        return label
    mean = np.bincount(label[inside], weights=gap[inside]) / np.bincount(label[inside])
    kept = np.abs(mean) >= min_gap
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return np.asarray(number[label], dtype=np.int64)


def _components(z: NDArray[np.float64], reach: float) -> NDArray[np.int64]:
    """Return the connected part each point belongs to; near neighbours are connected."""
    n = len(z)
    anchors = np.arange(n)
    if n > _MOST_JOINED:
        anchors = np.sort(np.random.default_rng(0).choice(n, _MOST_JOINED, replace=False))
    points = z[anchors]
    k = min(_NEIGHBOURS + 1, len(points))
    distance, neighbour = nearest_rows(points, points, k)
    # In many dimensions no neighbour is near: there "near" is what is usual among neighbours.
    reach = max(reach, 2.0 * float(np.median(distance[:, -1])))
    start = np.repeat(np.arange(len(points)), k)
    near = distance.ravel() <= reach
    edges = sparse.coo_array(
        (np.ones(int(near.sum())), (start[near], neighbour.ravel()[near])),
        shape=(len(points), len(points)),
    )
    _, part = sparse.csgraph.connected_components(edges, directed=False)
    if len(anchors) < n:
        _, closest = nearest_rows(points, z, 1)
        part = part[closest[:, 0]]
    return np.asarray(part, dtype=np.int64)


def nearest_rows(
    points: NDArray[np.float64], queries: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return L1 distances to the k nearest points, and these, both of shape (n_queries, k)."""
    if points.shape[1] <= _TREE_DIMENSIONS:
        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        distance, neighbour = tree.query(queries, k=np.arange(1, k + 1), p=1, workers=-1)
        return distance, neighbour
    from sklearn.neighbors import NearestNeighbors  # slow to import, rarely needed

    search = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="manhattan").fit(points)
    distance, neighbour = search.kneighbors(queries)
    return distance, neighbour


def rows_like(embedding: Points, inside: ArrayLike, others: Points) -> NDArray[np.bool_]:
    """Return which other rows lie in a set of rows: those whose nearest row does.

    Parameters
    ----------
    embedding : Embedding or array-like of shape (n, d)
        Places of the rows.
    inside : array-like of bool, of shape (n,)
        The set: a region of evaluation rows.
    others : Embedding or array-like of shape (m, d)
        Places of other rows: the calibration rows.

    Returns
    -------
    ndarray of bool, of shape (m,)
    """
    z, queries = as_coordinates(embedding), as_coordinates(others, "others")
    members = np.asarray(inside, dtype=bool)
    check_lengths(inside=members, embedding=z)
    if not members.any():
        return np.zeros(len(queries), dtype=bool)
    _, closest = nearest_rows(z, queries, 1)
    return members[closest[:, 0]]
