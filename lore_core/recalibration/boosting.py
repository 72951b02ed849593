"""Boosting: a logistic regression, then small trees on confidence, class and features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import expit, top_log_odds
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.rows import Rows
from lore_core.data.rules import Sizes, Values, refuse
from lore_core.data.validation import OnMaps, check_integer
from lore_core.data.weights import as_weights, weighed
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.dataset_rows import rows_of, sample
from lore_core.recalibration.logistic import (
    LogisticRecalibration,
    Regression,
    feature_table,
    fitted_regression,
    regression_log_odds,
    smoothed_targets,
)
from lore_core.recalibration.temperature_scaling import OtherClasses

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
    """Return the sum of trees at each row of values (n, p), shape (n,), level by level."""
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


#: Share of its Newton step that a leaf adds.
_RATE = 0.1
#: λ: rows of p (1 − p) = 1 that say "leave it" in every leaf.
_RIDGE = 1.0
#: Least p (1 − p) of a row: bounds the targets of rows with extreme confidences by 1,000.
_LEAST_SPREAD = 1e-3
#: Trees tried, and how many more than the best number before giving up.
_MOST_TREES, _PATIENCE = 150, 10
_FOLDS = 4
#: Rows their number is chosen on, and rows each tree is grown on, at most.
_CHOSEN_ON, _GROWN_ON = 8_000, 20_000


class State(TreeSum):
    """What boosting fits: a logistic regression, and trees that correct its log-odds."""

    base: Recalibrator  #: the logistic regression


@dataclass(eq=False, repr=False)
class BoostingRecalibration(Recalibrator):
    """Logistic regression, and small trees that look for what it leaves wrong.

    logit p' = the regression's log-odds (:class:`~lore_core.recalibration.LogisticRecalibration`) +
    Σ_t η v_t(x), trees t of eight leaves at most on x = [log-odds of the confidence, what the
    regression adds for the predicted class, features].

    Parameters
    ----------
    n_trees : int, optional
        By default chosen by fourfold cross-validation, 150 at most.

    Attributes
    ----------
    base_ : LogisticRecalibration
        The regression.

    Notes
    -----
    Each tree is one Newton step of the NLL of "the prediction is right" on Platt's smoothed targets
    a: (a − p) / h fitted by least squares of weights h = p (1 − p). A leaf has v = Σ (a − p) / (Σ h
    + 1), within ±4, and 20 calibration rows or more; η = 0.1. Cuts are at 63 quantiles at most,
    each looked for in eight random columns, with a fixed seed. Of more than 20,000 rows each tree
    is grown on other 20,000.

    The smallest number of trees whose left-out NLL is within one standard error of the lowest
    (paired by rows, on at most 8,000) is taken; with 0 the method is the logistic regression. The
    other classes share the rest as the regression's do.

    A row of weight 2 is not two rows: leaves, quantiles, folds and the regression's penalty count
    rows.

    References
    ----------
    Friedman, Annals of Statistics, 2001. Chen, Guestrin, "XGBoost", KDD 2016.
    """

    label = "Boosting"
    color = 16
    takes_weights = True
    needs_features = True
    numbers_in_words = "what a regression and trees are made of"
    state_type = State

    _: KW_ONLY
    n_trees: int | None = None

    def _check_params(self) -> None:
        if self.n_trees is not None:
            check_integer(self.n_trees, "n_trees", minimum=0)

    def _fit_on(self, calibration: Dataset, embedding: OnMaps, progress: Progress | None) -> State:
        feature_table(calibration, self.label)
        wanted = None if self.n_trees is None else int(self.n_trees)
        base = LogisticRecalibration().fit(calibration)
        if wanted is None:
            some = sample(calibration, _CHOSEN_ON)
            wanted = chosen_number(some, base.strength_, part_of(progress, 0.0, 0.7))
        fitted: Any = base.state()
        growing = GrowingTrees.of(calibration, fitted)
        for number in range(wanted):
            tell(progress, 0.7 + 0.3 * number / wanted, f"tree {number + 1} of {wanted}")
            growing.add()
        tell(progress, 1.0, f"{wanted} trees")
        return {"base": base, **joined(growing.trees, growing.steps, growing.cuts)}

    @property
    def remark(self) -> str:
        """A remark where no trees were chosen."""
        return "" if len(self.state()["root"]) else "no trees: logistic regression alone"

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Add the trees to the log-odds of the regression."""
        fitted: Any = state["base"].state()
        values, odds = _seen(fitted, rows)
        confidence = expit(odds + sum_of_trees(state, values))
        return OtherClasses(**fitted["other_classes"]).complete(rows, confidence)

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
        """Refuse another base than a regression, and trees whose ways lead back."""
        if not isinstance(state["base"], LogisticRecalibration):
            raise refuse(f"{name}: base", "a logistic regression", type(state["base"]).__name__)
        check_trees(state, name, sizes["p"] + 2)


def chosen_number(calibration: Dataset, strength: float, progress: Progress | None) -> int:
    """Choose the number of trees by fourfold cross-validation."""
    n = len(calibration)
    if n < 4 * LEAF_ROWS:
        return 0
    fold = np.random.default_rng(0).permutation(n) % _FOLDS
    parts = []
    for left_out in range(_FOLDS):
        here = np.flatnonzero(fold == left_out)
        known = calibration.rows(fold != left_out)
        features = feature_table(known, BoostingRecalibration.label)
        fitted = fitted_regression(known, features, strength)
        growing = GrowingTrees.of(known, fitted)
        values, odds = _seen(fitted, rows_of(calibration.rows(here), None, "Boosting"))
        parts.append((here, growing, as_codes(values, growing.cuts), odds))
    weights = as_weights(calibration.weights)
    targets = smoothed_targets(calibration.outcome, weights)
    losses: list[Floats] = []
    best = 0
    for number in range(_MOST_TREES + 1):
        loss = np.empty(n)
        for here, growing, codes, odds in parts:
            if number:
                tree, step = growing.add()
                odds[:] += step[tree.apply(codes)]
            loss[here] = np.logaddexp(0.0, odds) - targets[here] * odds
        losses.append(weighed(loss, weights))
        if losses[-1].sum() < losses[best].sum():
            best = number
        if number - best >= _PATIENCE:
            break
        tell(progress, number / _MOST_TREES, f"comparing: {number} trees")
    return fewest_as_good(np.array(losses))


def fewest_as_good(losses: Floats) -> int:
    """Return the first row of losses (m, n) within one standard error of the lowest, paired."""
    worse = losses - losses[int(losses.sum(axis=1).argmin())]
    error = worse.std(axis=1) * np.sqrt(losses.shape[1])
    return int(np.argmax(worse.sum(axis=1) <= error))


@dataclass
class GrowingTrees:
    """Rows that trees are fitted to, one after the other."""

    codes: NDArray[np.float32]  #: (n, p)
    cuts: list[Floats]  #: of each column
    odds: Floats  #: (n,) log-odds, with what the trees so far add
    targets: Floats  #: (n,) in (0, 1)
    weights: Floats | None  #: (n,) of mean 1; None: all rows count alike
    trees: list[DecisionTreeRegressor] = field(default_factory=list)
    steps: list[Floats] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Dataset, fitted: Regression) -> Self:
        """Start from a :class:`Regression` that was fitted on the rows."""
        values, odds = _seen(fitted, rows_of(rows, None, BoostingRecalibration.label))
        cuts = [cuts_of(column) for column in values.T]
        weights = as_weights(rows.weights)
        return cls(
            as_codes(values, cuts), cuts, odds, smoothed_targets(rows.outcome, weights), weights
        )

    def add(self) -> tuple[DecisionTreeRegressor, Floats]:
        """Fit one more tree; return it, and what its nodes add."""
        from sklearn.tree import DecisionTreeRegressor

        p = expit(self.odds)
        spread = np.maximum(p * (1.0 - p), _LEAST_SPREAD)
        off = self.targets - p
        number, some = len(self.trees), np.arange(len(p))
        if len(p) > _GROWN_ON:
            some = np.random.default_rng(number).choice(len(p), _GROWN_ON, replace=False)
        counts = weighed(spread, self.weights)
        tree = DecisionTreeRegressor(
            max_leaf_nodes=_LEAVES,
            min_samples_leaf=LEAF_ROWS,
            max_features=min(_COLUMNS_A_CUT, self.codes.shape[1]),
            random_state=number,
        ).fit(self.codes[some], (off / spread)[some], sample_weight=counts[some])
        node = tree.apply(self.codes)
        size = tree.tree_.node_count
        newton = np.bincount(node, weighed(off, self.weights), size) / (
            np.bincount(node, counts, size) + _RIDGE
        )
        step = _RATE * np.clip(newton, -LARGEST_STEP, LARGEST_STEP)
        self.odds = self.odds + step[node]
        self.trees.append(tree)
        self.steps.append(step)
        return tree, step


def _seen(fitted: Regression, rows: Rows) -> tuple[Floats, Floats]:
    """Return inputs of trees, shape (n, 2 + p), and log-odds of the regression, shape (n,)."""
    features = feature_table(rows, BoostingRecalibration.label, len(fitted["weights"]))
    seen = [
        top_log_odds(rows.probabilities, rows.predicted),
        fitted["of_class"][rows.predicted],
        features,
    ]
    return np.column_stack(seen), regression_log_odds(fitted, rows, features)
