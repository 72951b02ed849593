"""Boosting: matrix scaling, then small trees that correct the log-probabilities of all classes."""

from __future__ import annotations

import threading
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Self, TypedDict
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import SMALLEST, by_blocks, log_probabilities, softmax
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.rows import Rows
from lore_core.data.rules import Number, Sizes, Values, refuse
from lore_core.data.validation import OnMaps, check_integer
from lore_core.data.weights import as_weights, weighed
from lore_core.kernel_sums.compute import is_compiled
from lore_core.recalibration.affine_softmax import MatrixScaling
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.dataset_rows import cross_fitted, gains_beyond_noise, parts, sample
from lore_core.recalibration.logistic import feature_table

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


#: Leaves of a tree at most, and rows of a leaf at least.
_LEAVES, LEAF_ROWS = 8, 20
#: What a leaf may add.
LARGEST_STEP = 4.0
#: Parts that a column is cut into at most; where trees focus on few columns.
_PARTS, _FINE_PARTS = 64, 256
#: Columns that each cut is looked for in; where trees focus: so many, half of them of most gain.
_COLUMNS_A_CUT, _FOCUSED_COLUMNS = 8, 16
#: Numbers that are added up at a time; about what numpy takes for a tree at a row.
_NUMBERS, _NANOSECONDS_A_TREE = 2**16, 20.0
#: Of no cut: all rows are below.
_NO_CUT = float(np.finfo(np.float64).max)


class TreeSum(TypedDict):
    """Trees of seven cuts, one after the other, each of one of the leaves there are by then."""

    parent: Annotated[Ints, Values(("t", "7"), 0, 7, whole=True), "which leaf each cut divides"]
    column: Annotated[Ints, Values(("t", "7"), 0, whole=True), "which feature is looked at there"]
    threshold: Annotated[
        Floats, Values(("t", "7")), "thresholds, halfway between values of two rows"
    ]
    step: Annotated[
        Floats,
        Values(("t", "8", "K"), -LARGEST_STEP, LARGEST_STEP),
        "what each leaf adds to each class, from sums over 20 rows or more",
    ]


def sum_of_trees(trees: TreeSum, values: Floats) -> Floats:
    """Return the sum of trees at each row of values (n, p), shape (n, K)."""
    of_trees = trees["parent"], trees["column"], trees["threshold"], trees["step"]
    total = np.zeros((len(values), trees["step"].shape[2]))
    at_once = max(1, _NUMBERS // total.shape[1])
    add = _add_leaves
    if is_compiled(len(values) * len(trees["step"]) * _NANOSECONDS_A_TREE):
        from lore_core.kernel_sums.tree_cuts import add_leaves as add
    for start in range(0, len(values), at_once):
        some, sums = values[start : start + at_once].T.copy(), total[start : start + at_once]
        add(some, *of_trees, sums)
    return total


def _add_leaves(
    values: Floats, parent: Ints, column: Ints, threshold: Floats, step: Floats, sums: Floats
) -> None:
    """As the kernel of this name, by numpy alone."""
    for parents, columns, at, of_leaves in zip(parent, column, threshold, step, strict=True):
        leaf = np.zeros(values.shape[1], dtype=np.uint8)
        for k in range(_LEAVES - 1):
            above = values[columns[k]] > at[k]
            above &= leaf == parents[k]
            leaf += above * np.uint8(k + 1 - parents[k])
        sums += of_leaves.take(leaf, axis=0)


def cuts_of(column: Floats, n_parts: int = _PARTS) -> Floats:
    """Return where a column may be cut, rising: between values, by default at 63 quantiles."""
    values = np.unique(column)
    below = values[:-1]
    if len(values) > n_parts:
        position = np.arange(1, n_parts) * len(column) // n_parts
        below = np.setdiff1d(np.sort(column)[position], values[-1:])
    above = values[np.searchsorted(values, below, side="right")]
    return np.asarray(below / 2 + above / 2)


#: Share of its Newton step that a leaf adds.
_RATE = 0.2
#: λ: rows of p (1 − p) = 1 that say "leave it" in every leaf; where trees focus.
_RIDGE, _FOCUSED_RIDGE = 1.0, 0.2
#: Least curvature of a row: bounds the targets of rows with extreme probabilities.
_LEAST_SPREAD = 1e-3
#: Trees tried, and how many more than the best number before giving up.
_MOST_TREES, _PATIENCE = 150, 10
#: Rows that the number of trees is chosen on at least: fewer get none.
_LEAST_ROWS = 80
#: Rows that trees are grown on at most, probabilities of these, and rows that cuts are found on.
_MOST_ROWS, _MOST_PROBABILITIES, _CUT_ON = 10_000, 1_000_000, 5_000
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

    ``n_trees``: by default chosen by fivefold cross-validation, 150 at most of each kind. Fitted:
    ``base_``, the matrix scaling.

    Formulas: docs/recalibrators.md ("How they work"). The most probable class can change. A row of
    weight 2 is not two rows: leaves, quantiles, folds and the penalty of matrix scaling count rows.

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
        return "" if len(self.state()["step"]) else "no trees: matrix scaling alone"

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Add the trees to the log-probabilities of matrix scaling."""
        features = feature_table(rows, BoostingRecalibration.label, state["n_features"])
        scaled = state["base"].applied_to(rows)
        if not len(state["step"]):
            return scaled
        return scaled.with_probabilities(_corrected(state, scaled.probabilities, features))

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
        """Refuse another base than matrix scaling, and trees whose ways lead back."""
        if not isinstance(state["base"], MatrixScaling):
            raise refuse(f"{name}: base", "a matrix scaling", type(state["base"]).__name__)
        if state["n_features"] != sizes["p"]:
            raise refuse(f"{name}: n_features", f"{sizes['p']}", state["n_features"])
        n_columns = sizes["K"] + sizes["p"]
        if state["column"].max(initial=0) >= n_columns:
            raise refuse(f"{name}: column", f"one of {n_columns}", state["column"].max())


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
    weights = weighed(np.ones(len(some)), as_weights(grown_on.weights))
    known, part = np.unique(fold[some], return_inverse=True)
    others = [] if n_trees is not None else [weights * (part != i) for i in range(len(known))]
    knows = np.array([*others, weights])
    if n_trees is None:
        trees, left_out[some] = chosen_trees(grown_on, features[some], knows, part, progress)
    else:
        growing = GrowingTrees.of(grown_on, features[some], knows)
        for _ in range(n_trees):
            growing.add()
        trees = growing.sum(-1, n_trees)
    n_trees = len(trees["step"])
    if n_trees and len(rest):
        left_out[rest] = _corrected(trees, left_out[rest], features[rest])
    tell(progress, 1.0, f"{n_trees} trees")
    state: State = {"base": base, "n_features": features.shape[1], **trees}
    return state, changed.with_checked(left_out)


def chosen_trees(
    rows: Dataset, features: Floats, knows: Floats, fold: Ints, progress: Progress | None
) -> tuple[TreeSum, Floats]:
    """Grow trees on all columns alike; where they gain, also on few; return the best, or the mean.

    Also returns left-out vectors (n, K), the rows' own without trees; ``fold``: `chosen_number`.
    """
    tried: list[tuple[Any, Floats]] = []
    for n_tried, focused in enumerate((False, True)):
        growing = GrowingTrees.of(rows, features, knows, focused=focused)
        half = part_of(progress, n_tried / 2, (n_tried + 1) / 2)
        number, vectors = chosen_number(growing, fold, rows.units, half)
        if not number:
            return tried[0] if tried else (growing.sum(-1, 0), rows.probabilities)
        tried.append((growing.sum(-1, number), vectors))
    (trees, vectors), (few, others) = tried
    both: Any = {name: np.concatenate([trees[name], few[name]]) for name in trees}
    both["step"] /= 2.0
    mean = softmax((log_probabilities(vectors) + log_probabilities(others)) / 2.0)
    return min(*tried, (both, mean), key=lambda item: float(growing.losses(item[1]).sum()))


def chosen_number(
    growing: GrowingTrees, fold: Ints, units: Ints | None, progress: Progress | None
) -> tuple[int, Floats]:
    """Grow trees, the last sum's on all rows; return their number, and left-out vectors (n, K).

    ``fold`` (n,): which of the other sums does not know a row. 0: no gain, and no such vectors.
    """
    own = np.arange(len(fold))
    best, vectors = 0, growing.p[fold, own]
    start = lowest = growing.losses(vectors)
    for number in range(1, (_MOST_TREES if len(fold) >= _LEAST_ROWS else 0) + 1):
        growing.add()
        left_out = growing.p[fold, own]
        losses = growing.losses(left_out)
        if losses.sum() < lowest.sum():
            best, lowest, vectors = number, losses, left_out
        if number - best >= _PATIENCE:
            break
        tell(progress, number / _MOST_TREES, f"comparing: {number} trees")
    return best if gains_beyond_noise(start - lowest, units) else 0, vectors


def _corrected(trees: TreeSum, probabilities: Floats, features: Floats) -> Floats:
    def of_rows(some: Floats, table: Floats) -> Floats:
        logs = log_probabilities(some)
        return softmax(logs + sum_of_trees(trees, np.column_stack([logs, table])))

    return by_blocks(of_rows, probabilities, features)


@dataclass
class GrowingTrees:
    """Sums of trees on the same rows, each without those it is not to know, grown side by side."""

    codes: NDArray[np.uint8]  #: (K + p, n): how many cuts of each column lie below a row
    cuts: Floats  #: (K + p, 64 or 256), each column's, and then no more
    labels: Ints  #: (n,)
    knows: Floats  #: (m, n): weights of rows in each sum, 0 where it is not to know them
    p: Floats  #: (m, n, K): probabilities of classes, with what the trees so far make of them
    gains: Floats  #: (m, K + p): what cuts of each column gained so far, in each sum
    focused: bool  #: whether cuts are looked for in the columns of most gain, too
    trees: list[TreeSum] = field(default_factory=list)  #: Of each round, one for each sum

    @classmethod
    def of(cls, rows: Dataset, features: Floats, knows: Floats, *, focused: bool = False) -> Self:
        """Start from the rows' probabilities; ``focused``: on few columns, cut more finely."""
        logs = log_probabilities(rows.probabilities)
        columns = np.vstack([logs.T, features.T])
        codes = np.empty(columns.shape, dtype=np.uint8)
        n_parts = _FINE_PARTS if focused else _PARTS
        cuts = np.full((len(columns), n_parts), _NO_CUT)
        for column, code, of_column in zip(columns, codes, cuts, strict=True):
            found = cuts_of(column, n_parts)
            of_column[: len(found)] = found
            code[:] = np.searchsorted(found, column)
        p = np.repeat(softmax(logs)[None], len(knows), axis=0)
        gains = np.zeros((len(knows), len(columns)))
        return cls(codes, cuts, rows.labels, knows, p, gains, focused)

    def add(self) -> None:
        """Add a tree to each sum."""
        from lore_core.kernel_sums.tree_cuts import cut_trees  # compiled: only to fit

        rng = np.random.default_rng(len(self.trees))
        n_classes = self.p.shape[2]
        direction = np.asarray(rng.normal(size=n_classes))
        direction = (direction - np.mean(direction)) / np.std(direction)
        moments = self.p @ np.column_stack([direction, direction**2])
        mean, square = moments[..., 0], moments[..., 1]
        slope = (direction[self.labels] - mean) * self.knows
        bend = np.maximum(square - mean**2, _LEAST_SPREAD) * self.knows
        n, n_columns = len(self.labels), len(self.codes)
        some = np.arange(n) if n <= _CUT_ON else np.sort(rng.choice(n, _CUT_ON, replace=False))
        turns = np.array([rng.permutation(n_columns) for _ in range(_LEAVES - 1)])
        n_tried, enough = (_FOCUSED_COLUMNS, SMALLEST) if self.focused else (_COLUMNS_A_CUT, np.inf)
        of_rows, least = (self.codes, some, slope, bend), (LEAF_ROWS, _LEAST_SPREAD, enough)
        made, leaf = cut_trees(turns, n_tried, self.gains, *of_rows, self.cuts.shape[1], least)
        parent, column, cut = made
        step, buffer = np.empty((len(leaf), _LEAVES, n_classes)), np.empty_like(self.p[0])
        for p, of_leaf, leaves, knows in zip(self.p, step, leaf, self.knows, strict=True):
            self._correct(p, of_leaf, leaves, knows, buffer)
        self.trees.append(
            {"parent": parent, "column": column, "threshold": self.cuts[column, cut], "step": step}
        )

    def _correct(self, p: Floats, step: Floats, leaf: Ints, knows: Floats, buffer: Floats) -> None:
        """Set what the leaves of a tree add, (8, K), and add it."""
        n_classes = p.shape[1]
        inside = (leaf == np.arange(_LEAVES)[:, None]) * knows
        of_label = leaf * n_classes + self.labels
        count = np.bincount(of_label, knows, _LEAVES * n_classes).reshape(_LEAVES, n_classes)
        mean = inside @ p
        bend = mean - inside @ np.multiply(p, p, out=buffer)
        ridge = _FOCUSED_RIDGE if self.focused else _RIDGE
        newton = (1.0 - 1.0 / n_classes) * (count - mean) / (bend + ridge)
        step[:] = _RATE * np.clip(newton, -LARGEST_STEP, LARGEST_STEP)
        p *= np.exp(step).take(leaf, axis=0, out=buffer, mode="clip")
        p *= (1.0 / (p @ np.ones(n_classes)))[:, None]

    def losses(self, vectors: Floats) -> Floats:
        """Return the weighted NLL of each row by its vector, (n, K)."""
        own = vectors[np.arange(len(vectors)), self.labels]
        return np.asarray(self.knows[-1] * -np.log(np.maximum(own, SMALLEST)))

    def sum(self, which: int, n_trees: int) -> TreeSum:
        """Return the first trees of a sum."""
        trees, cuts = self.trees[:n_trees], (-1, _LEAVES - 1)
        steps = np.array([tree["step"][which] for tree in trees])
        return {
            "parent": np.array([tree["parent"][which] for tree in trees], np.int64).reshape(cuts),
            "column": np.array([tree["column"][which] for tree in trees], np.int64).reshape(cuts),
            "threshold": np.array([tree["threshold"][which] for tree in trees]).reshape(cuts),
            "step": steps.reshape(-1, _LEAVES, self.p.shape[2]),
        }
