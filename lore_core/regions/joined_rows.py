"""Nearest rows on a map, and which rows lie where a set of others does."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.validation import Points, as_coordinates, check_lengths

#: Beyond so many dimensions trees are slower than trying all pairs.
_TREE_DIMENSIONS = 8


def nearest_rows(points: Floats, queries: Floats, k: int) -> tuple[Floats, Ints]:
    """Return L1 distances to the k nearest points, and these, both of shape (n_queries, k)."""
    if points.shape[1] <= _TREE_DIMENSIONS:
        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        distance, neighbour = tree.query(queries, k=np.arange(1, k + 1), p=1, workers=-1)
        return distance, neighbour
    from sklearn.neighbors import NearestNeighbors  # slow to import, rarely needed

    search = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="manhattan").fit(points)
    distance, neighbour = search.kneighbors(queries)
    return distance, neighbour


def rows_like(embedding: Points, inside: ArrayLike, others: Points) -> Mask:
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
