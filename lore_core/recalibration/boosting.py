"""Boosting: matrix scaling, then small trees that correct the log-probabilities of all classes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Self, TypedDict
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import log_probabilities, log_share, softmax
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.rows import Rows
from lore_core.data.rules import Number, Sizes, Values, refuse
from lore_core.data.validation import OnMaps, check_integer
from lore_core.data.weights import as_weights, weighed
from lore_core.recalibration.affine_softmax import MatrixScaling
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.dataset_rows import cross_fitted, parts, sample
from lore_core.recalibration.logistic import feature_table

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

    from lore_core.data.dataset import Dataset


#: Leaves of a tree at most, and rows of a leaf at least.
_LEAVES, LEAF_ROWS = 8, 20
#: What a leaf may add.
LARGEST_STEP = 4.0
#: Parts that a column is cut into at most.
_PARTS = 64
#: Columns, chosen at random, that each cut is looked for in.
_COLUMNS_A_CUT = 8
#: Rows times trees that are worked on at a time.
_NUMBERS = 2**17

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
        Values(("m", "K"), -LARGEST_STEP, LARGEST_STEP),
        "what each leaf adds to each class, from sums over 20 rows or more",
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
    """Return the sum of trees at each row of values (n, p), shape (n, K), level by level."""
    total = np.zeros((len(values), trees["step"].shape[1]))
    # (Taken from flat arrays of small numbers, half as long as indexed.)
    child = np.column_stack([trees["right"], trees["left"]]).ravel().astype(np.int32)
    root, column = trees["root"].astype(np.int32), trees["column"].astype(np.int32)
    at_once = max(1, _NUMBERS // max(1, len(root)))
    for start in range(0, len(values), at_once):
        some = values[start : start + at_once]
        row = np.arange(len(some), dtype=np.int32) * values.shape[1]
        flat, node = some.ravel(), np.repeat(root[:, None], len(some), axis=1)
        while True:
            low = flat.take(column.take(node) + row) <= trees["threshold"].take(node)
            below = child.take(2 * node + low)
            if np.array_equal(below, node):
                break
            node = below
        for leaf in node:
            total[start : start + at_once] += trees["step"].take(leaf, axis=0)
    return total


def cuts_of(column: Floats) -> Floats:
    """Return where a column may be cut, rising: between values, at 63 quantiles at most."""
    values = np.unique(column)
    below = values[:-1]
    if len(values) > _PARTS:
        position = np.arange(1, _PARTS) * len(column) // _PARTS
        below = np.setdiff1d(np.sort(column)[position], values[-1:])
    above = values[np.searchsorted(values, below, side="right")]
    return np.asarray(below / 2 + above / 2)


def as_codes(values: Floats, cuts: Sequence[Floats]) -> NDArray[np.float32]:
    """Return how many cuts lie below each value of (n, p): at most cut k where the code is ≤ k."""
    codes = np.empty(values.shape, dtype=np.float32, order="F")
    for j, known in enumerate(cuts):
        codes[:, j] = np.searchsorted(known, values[:, j])
    return codes


def joined(
    trees: Sequence[DecisionTreeRegressor],
    steps: Sequence[Floats],
    cuts: Sequence[Floats],
    n_classes: int,
) -> TreeSum:
    """Return trees of codes as trees of values; ``steps``: what each node adds, (nodes, K)."""
    sizes = [len(step) for step in steps]
    root = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    made: TreeSum = {
        "root": root,
        "left": np.empty(sum(sizes), dtype=np.int64),
        "right": np.empty(sum(sizes), dtype=np.int64),
        "column": np.zeros(sum(sizes), dtype=np.int64),
        "threshold": np.zeros(sum(sizes)),
        "step": np.concatenate([np.empty((0, n_classes)), *steps]),
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


#: Share of its Newton step that a leaf adds.
_RATE = 0.2
#: λ: rows of p (1 − p) = 1 that say "leave it" in every leaf.
_RIDGE = 1.0
#: Least curvature of a row: bounds the targets of rows with extreme probabilities.
_LEAST_SPREAD = 1e-3
#: Trees tried, and how many more than the best number before giving up.
_MOST_TREES, _PATIENCE = 150, 10
#: Rows that the number of trees is chosen on at least: fewer get none.
_LEAST_ROWS = 80
#: Rows that trees are grown on at most, probabilities of these, and rows that cuts are found on.
_MOST_ROWS, _MOST_PROBABILITIES, _CUT_ON = 10_000, 2_000_000, 5_000
#: What was fitted on calibration rows, for as long as these are there: three methods start from it.
_FITTED: WeakKeyDictionary[Dataset, tuple[State, Dataset]] = WeakKeyDictionary()
_TURN = threading.Lock()


class State(TreeSum):
    """What boosting fits: matrix scaling, and trees that correct its log-probabilities."""

    base: Recalibrator  #: the matrix scaling
    n_features: Annotated[int, Number(0, whole=True)]


@dataclass(eq=False, repr=False)
class BoostingRecalibration(Recalibrator):
    """Matrix scaling, and small trees that look for what it leaves wrong, in all classes.

    p' = softmax(log p + Σ_t η v_t(x)) with p by :class:`~lore_core.recalibration.MatrixScaling`,
    and trees t of eight leaves at most on x = [log p of all classes, features], with a number v for
    each class in each leaf.

    Parameters
    ----------
    n_trees : int, optional
        By default chosen by fivefold cross-validation, 150 at most.

    Attributes
    ----------
    base_ : MatrixScaling
        The matrix scaling.

    Notes
    -----
    Each tree is a Newton step of the NLL along a direction r of classes, drawn from a normal
    distribution with a fixed seed: r · (y − p) / h is fitted by least squares of weights h = Σ p_k
    r_k² − (Σ p_k r_k)². A leaf has v_k = (1 − 1/K) Σ (y_k − p_k) / (Σ p_k (1 − p_k) + 1), within
    ±4, and 20 calibration rows or more; η = 0.2. Cuts are at 63 quantiles at most, each looked for
    in eight random columns and 5,000 random rows at most. The trees are grown on 10,000 rows, or
    2,000,000/K, at most, and on p that is cross-fitted.

    The number of trees with the lowest left-out NLL is taken. Where that is no more than a standard
    error below matrix scaling's (paired by rows), there are none: matrix scaling it is.

    The most probable class can change. A row of weight 2 is not two rows: leaves, quantiles, folds
    and the penalty of matrix scaling count rows.

    References
    ----------
    Friedman, Annals of Statistics, 2001. Iosipov, Vakhrushev, "SketchBoost", NeurIPS 2022.
    """

    label = "Boosting"
    color = 16
    takes_weights = True
    needs_features = True
    numbers_in_words = "what matrix scaling and trees are made of"
    state_type = State

    _: KW_ONLY
    n_trees: int | None = None

    def _check_params(self) -> None:
        if self.n_trees is not None:
            check_integer(self.n_trees, "n_trees", minimum=0)

    def _fit_on(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        if self.n_trees is None:
            return fitted_boosting(calibration, progress)[0]
        return _fit(calibration, int(self.n_trees), progress)[0]

    @property
    def remark(self) -> str:
        """A remark where no trees were chosen."""
        return "" if len(self.state()["root"]) else "no trees: matrix scaling alone"

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Add the trees to the log-probabilities of matrix scaling."""
        features = feature_table(rows, BoostingRecalibration.label, state["n_features"])
        scaled = state["base"].applied_to(rows)
        if not len(state["root"]):
            return scaled
        return scaled.with_probabilities(_corrected(state, scaled.probabilities, features))

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
        """Refuse another base than matrix scaling, and trees whose ways lead back."""
        if not isinstance(state["base"], MatrixScaling):
            raise refuse(f"{name}: base", "a matrix scaling", type(state["base"]).__name__)
        if state["n_features"] != sizes["p"]:
            raise refuse(f"{name}: n_features", f"{sizes['p']}", state["n_features"])
        check_trees(state, name, sizes["K"] + sizes["p"])


def fitted_boosting(
    calibration: Dataset, progress: Progress | None = None
) -> tuple[State, Dataset]:
    """Return what boosting fits, and the calibration rows as it is cross-fitted in five parts.

    On the same rows it is fitted once.
    """
    with _TURN:
        if calibration not in _FITTED:
            _FITTED[calibration] = _fit(calibration, None, progress)
        return _FITTED[calibration]


def _fit(
    calibration: Dataset, n_trees: int | None, progress: Progress | None
) -> tuple[State, Dataset]:
    features = feature_table(calibration, BoostingRecalibration.label)
    n, k = calibration.probabilities.shape
    base, fold = MatrixScaling().fit(sample(calibration)), parts(calibration)
    changed = calibration
    if n > 1:
        changed = cross_fitted(MatrixScaling(strength=base.strength_), calibration, fold)
    order = np.random.default_rng(0).permutation(n)
    some, rest = np.split(order, [min(_MOST_ROWS, _MOST_PROBABILITIES // k)])
    grown_on, left_out = changed.rows(some), changed.probabilities.copy()
    if n_trees is None:
        n_trees, left_out[some] = chosen_number(
            grown_on, features[some], fold[some], part_of(progress, 0.0, 0.8)
        )
    growing = GrowingTrees.of(grown_on, features[some])
    for number in range(n_trees):
        tell(progress, 0.8 + 0.2 * number / n_trees, f"tree {number + 1} of {n_trees}")
        growing.add()
    trees = joined(growing.trees, growing.steps, growing.cuts, k)
    if n_trees and len(rest):
        left_out[rest] = _corrected(trees, left_out[rest], features[rest])
    tell(progress, 1.0, f"{n_trees} trees")
    state: State = {"base": base, "n_features": features.shape[1], **trees}
    return state, changed.with_checked(left_out)


def chosen_number(
    rows: Dataset, features: Floats, fold: Ints, progress: Progress | None
) -> tuple[int, Floats]:
    """Choose the number of trees by cross-validation; return left-out vectors (n, K), too."""
    logs, weights = log_probabilities(rows.probabilities), as_weights(rows.weights)
    if len(logs) < _LEAST_ROWS:
        return 0, rows.probabilities
    inputs = np.column_stack([logs, features])
    folds = []
    for left_out in np.unique(fold):
        here = fold == left_out
        growing = GrowingTrees.of(rows.rows(~here), features[~here])
        folds.append((np.flatnonzero(here), growing, as_codes(inputs[here], growing.cuts)))
    start = _losses(logs, rows.labels, weights)
    best, lowest, vectors = 0, start, rows.probabilities
    for number in range(1, _MOST_TREES + 1):
        for here, growing, codes in folds:
            tree, step = growing.add()
            logs[here] += step[tree.tree_.apply(codes)]
        losses = _losses(logs, rows.labels, weights)
        if losses.sum() < lowest.sum():
            best, lowest, vectors = number, losses, softmax(logs)
        if number - best >= _PATIENCE:
            break
        tell(progress, number / _MOST_TREES, f"comparing: {number} trees")
    gain = start - lowest
    if rows.units is not None:
        gain = np.bincount(rows.units, gain).astype(np.float64)
    if gain.sum() <= gain.std() * np.sqrt(len(gain)):
        return 0, rows.probabilities
    return best, vectors


def _losses(logs: Floats, labels: Ints, weights: Floats | None) -> Floats:
    return weighed(-log_share(logs, labels, 1.0), weights)


def _corrected(trees: TreeSum, probabilities: Floats, features: Floats) -> Floats:
    logs = log_probabilities(probabilities)
    return softmax(logs + sum_of_trees(trees, np.column_stack([logs, features])))


@dataclass
class GrowingTrees:
    """Rows that trees are fitted to, one after the other."""

    codes: NDArray[np.float32]  #: (n, K + p)
    cuts: list[Floats]  #: of each column
    logs: Floats  #: (n, K) log-probabilities, with what the trees so far add
    labels: Ints  #: (n,)
    weights: Floats | None  #: (n,) of mean 1; None: all rows count alike
    trees: list[DecisionTreeRegressor] = field(default_factory=list)
    steps: list[Floats] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Dataset, features: Floats) -> Self:
        """Start from the rows' probabilities."""
        logs = log_probabilities(rows.probabilities)
        values = np.column_stack([logs, features])
        cuts = [cuts_of(column) for column in values.T]
        return cls(as_codes(values, cuts), cuts, logs, rows.labels, as_weights(rows.weights))

    def add(self) -> tuple[DecisionTreeRegressor, Floats]:
        """Fit one more tree; return it, and what its nodes add, shape (nodes, K)."""
        from sklearn.tree import DecisionTreeRegressor

        p, number = softmax(self.logs), len(self.trees)
        n_classes, n_columns = p.shape[1], self.codes.shape[1]
        off = -p
        off[np.arange(len(p)), self.labels] += 1.0
        rng = np.random.default_rng(number)
        direction = rng.normal(size=n_classes)
        curvature = np.maximum(p @ direction**2 - (p @ direction) ** 2, _LEAST_SPREAD)
        tree = DecisionTreeRegressor(
            max_leaf_nodes=_LEAVES,
            min_samples_leaf=LEAF_ROWS,
            max_features=min(_COLUMNS_A_CUT, n_columns),
            random_state=number,
        )
        targets, counts = off @ direction / curvature, weighed(curvature, self.weights)
        # Checks of inputs would take a third of the time.
        some = slice(None) if len(p) <= _CUT_ON else rng.choice(len(p), _CUT_ON, replace=False)
        tree.fit(self.codes[some], targets[some], sample_weight=counts[some], check_input=False)
        node = tree.tree_.apply(self.codes)
        inside = (node == np.arange(tree.tree_.node_count)[:, None]).astype(np.float64)
        slope = inside @ weighed(off, self.weights)
        bend = inside @ weighed(p * (1.0 - p), self.weights)
        newton = (1.0 - 1.0 / n_classes) * slope / (bend + _RIDGE)
        step = _RATE * np.clip(newton, -LARGEST_STEP, LARGEST_STEP)
        self.logs = self.logs + step[node]
        self.trees.append(tree)
        self.steps.append(step)
        return tree, step
