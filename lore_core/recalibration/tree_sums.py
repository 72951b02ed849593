"""Sums of small trees as plain arrays: scikit-learn grows them, numpy alone applies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.rules import Values, refuse

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

#: Leaves of a tree at most, and rows of a leaf at least.
_LEAVES, LEAF_ROWS = 8, 20
#: What a leaf may add.
LARGEST_STEP = 4.0
#: Values of a column are told apart by so many cuts at most, one less.
_PARTS = 64
#: Columns, chosen at random, that each cut is looked for in.
_COLUMNS_A_CUT = 8
#: Pairs of row and tree that are worked on at a time.
_PAIRS = 2**20

_NODES = Values(("m",), 0, whole=True, below="m")
_NODES_OF_TREES = Values(("t",), 0, whole=True, below="m")


class TreeSum(TypedDict):
    """Trees, one after the other; a leaf is its own child, and other children come later."""

    left: Annotated[Ints, _NODES, "where rows up to a threshold go on"]
    right: Annotated[Ints, _NODES, "where the others go on"]
    root: Annotated[Ints, _NODES_OF_TREES, "where each tree starts"]
    column: Annotated[Ints, Values(("m",), 0, whole=True), "which feature is looked at there"]
    threshold: Annotated[Floats, Values(("m",)), "thresholds, halfway between values of two rows"]
    #: 0 where rows go on
    step: Annotated[
        Floats,
        Values(("m",), -LARGEST_STEP, LARGEST_STEP),
        "what each leaf adds, from sums over 20 rows or more",
    ]


def check_trees(trees: TreeSum, name: str, n_columns: int) -> None:
    """Refuse trees that share nodes, or in which a way leads back; InputError."""
    root, m = trees["root"], len(trees["left"])
    if (np.diff(root, prepend=-1) <= 0).any() or (m > 0) != (len(root) > 0) or root[:1].any():
        raise refuse(f"{name}: root", f"the first nodes of trees, from 0 to {m:,}", root)
    if trees["column"].max(initial=0) >= n_columns:
        raise refuse(f"{name}: column", f"one of {n_columns}", trees["column"].max())
    own = np.arange(m)
    end = np.append(root[1:], m)[np.searchsorted(root, own, side="right") - 1]
    for side, child in (("left", trees["left"]), ("right", trees["right"])):
        if ((child < own) | (child >= end)).any():
            raise refuse(f"{name}: {side}", "later nodes of the same tree", child)
    if ((trees["left"] == own) != (trees["right"] == own)).any():
        raise refuse(f"{name}: left", "two children, or none", trees["left"])


def sum_of_trees(trees: TreeSum, values: Floats) -> Floats:
    """Return what trees add to each row of values (n, p), shape (n,), level by level."""
    total = np.zeros(len(values))
    at_once = max(1, _PAIRS // max(1, len(trees["root"])))
    for start in range(0, len(values), at_once):
        some = values[start : start + at_once]
        row = np.arange(len(some))[:, None]
        node = np.broadcast_to(trees["root"], (len(some), len(trees["root"])))
        while True:
            low = some[row, trees["column"][node]] <= trees["threshold"][node]
            below = np.where(low, trees["left"][node], trees["right"][node])
            if np.array_equal(below, node):
                break
            node = below
        total[start : start + at_once] = trees["step"][node].sum(axis=1)
    return total


def cuts_of(column: Floats) -> Floats:
    """Return where a column may be cut, rising: between values, at 63 quantiles at most."""
    values = np.unique(column)
    below = values[:-1]
    if len(values) > _PARTS:
        place = np.arange(1, _PARTS) * len(column) // _PARTS
        below = np.setdiff1d(np.sort(column)[place], values[-1:])
    above = values[np.searchsorted(values, below, side="right")]
    return np.asarray(below / 2 + above / 2)


def as_codes(values: Floats, cuts: Sequence[Floats]) -> NDArray[np.float32]:
    """Return how many cuts lie below each value of (n, p): at most cut k where the code is ≤ k."""
    codes = np.empty(values.shape, dtype=np.float32, order="F")
    for j, known in enumerate(cuts):
        codes[:, j] = np.searchsorted(known, values[:, j])
    return codes


def grown(
    codes: NDArray[np.float32], target: Floats, weights: Floats, seed: int
) -> DecisionTreeRegressor:
    """Fit a tree of eight leaves at most, of 20 rows each at least, by weighted least squares."""
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(
        max_leaf_nodes=_LEAVES,
        min_samples_leaf=LEAF_ROWS,
        max_features=min(_COLUMNS_A_CUT, codes.shape[1]),
        random_state=seed,
    ).fit(codes, target, sample_weight=weights)


def joined(
    trees: Sequence[DecisionTreeRegressor], steps: Sequence[Floats], cuts: Sequence[Floats]
) -> TreeSum:
    """Return trees of codes as trees of values; ``steps``: what each node of each tree adds."""
    sizes = [len(step) for step in steps]
    root = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    made: TreeSum = {
        "root": root,
        "left": np.empty(sum(sizes), dtype=np.int64),
        "right": np.empty(sum(sizes), dtype=np.int64),
        "column": np.zeros(sum(sizes), dtype=np.int64),
        "threshold": np.zeros(sum(sizes)),
        "step": np.concatenate([np.empty(0), *steps]),
    }
    for start, size, tree in zip(root, sizes, trees, strict=True):
        found, own = tree.tree_, np.arange(size)
        leaf = found.children_left == -1
        here = slice(start, start + size)
        made["left"][here] = start + np.where(leaf, own, found.children_left)
        made["right"][here] = start + np.where(leaf, own, found.children_right)
        for node in start + np.flatnonzero(~leaf):
            column = found.feature[node - start]
            made["column"][node] = column
            made["threshold"][node] = cuts[column][int(found.threshold[node - start])]
    return made
