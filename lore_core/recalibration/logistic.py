"""Logistic curves: Platt scaling, beta calibration, and a regression that sees features too."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import (
    SMALLEST,
    by_blocks,
    expit,
    log_probabilities,
    logit,
    top_log_odds,
)
from lore_core.data.rows import Rows
from lore_core.data.rules import STRENGTH, Sizes, Values, refuse
from lore_core.data.units import random_folds
from lore_core.data.validation import InputError, check_positive
from lore_core.data.weights import as_weights, chosen_weights, effective_rows, weighed
from lore_core.recalibration.affine_problem import best_candidate
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.temperature_scaling import OtherClasses

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: Log-odds that differ less than this are one confidence, rounded differently.
_SMALLEST_SPREAD = 1e-9
#: Penalties tried, from Platt scaling on.
_STRENGTHS = (1e6, 1e4, 1e3, 1e2, 1e1, 1.0)
_FOLDS = 4


def smoothed_targets(outcome: Floats, weights: Floats | None = None) -> Floats:
    """Return Platt's targets of outcomes; with weights N₊ + N₋ is the effective size (Σw)²/Σw²."""
    right = outcome.sum()
    wrong = len(outcome) - right
    if weights is not None:
        n = effective_rows(weights, len(outcome))
        right = n * float(np.average(outcome, weights=weights))
        wrong = n - right
    return np.asarray(np.where(outcome == 1, (right + 1) / (right + 2), 1 / (wrong + 2)))


def soft_loss(odds: Floats, targets: Floats, weights: Floats | None = None) -> tuple[float, Floats]:
    """Return the NLL of soft targets (n,), and its gradient by the log-odds (n,)."""
    # log(1 + e^x) without overflow, in a fifth of the time of logaddexp.
    loss = np.maximum(odds, 0.0) + np.log1p(np.exp(-np.abs(odds))) - targets * odds
    return float(weighed(loss, weights).sum()), weighed(expit(odds) - targets, weights)


def fitted_curve(
    ends: Floats,
    targets: Floats,
    weights: Floats | None,
    *,
    strength: float = 0.0,
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
) -> Floats:
    """Fit log-odds ``ends`` (n, q) · c to soft targets; ``strength``: of a pull to (1, …, 0)."""
    start = np.append(np.ones(ends.shape[1] - 1), 0.0)
    problem = LogisticProblem(ends, targets, weights, start, np.ones(len(start)))
    return problem.fit(start, strength, tolerance=1e-14, gradient=1e-8, bounds=bounds)


class PlattState(TypedDict):
    """What Platt scaling fits."""

    slope: float  #: α
    intercept: float  #: β


class PlattScaling(Recalibrator):
    """p' = 1 / (1 + exp(−(αℓ + β))) with ℓ the log-odds of the top-label confidence.

    Fitted: ``slope_, intercept_``, α and β; 1 and 0 leave every confidence as it is.

    On smoothed targets: docs/recalibrators.md ("How they work"). A row of weight 2 is not two rows.

    Platt, "Probabilistic outputs", 1999. Lin, Lin, Weng, Machine Learning 68, 2007.
    """

    label = "Platt scaling"
    color = 5
    takes_weights = True
    state_type = PlattState
    numbers_in_words = "slope and intercept of a curve"

    def _fit_on(self, calibration: Dataset, *_: object) -> PlattState:
        odds = top_log_odds(calibration.probabilities, calibration.predictions)
        weights = calibration.weights
        share = smoothed_targets(calibration.outcome, weights)
        centre, spread = float(odds.mean()), float(odds.std())
        if spread < _SMALLEST_SPREAD:
            mean = float(np.average(share, weights=weights))
            return {"slope": 1.0, "intercept": float(logit(mean)) - centre}
        ends = np.column_stack([(odds - centre) / spread, np.ones(len(odds))])
        slope, intercept = fitted_curve(ends, share, weights).tolist()
        return {"slope": slope / spread, "intercept": intercept - slope / spread * centre}

    @staticmethod
    def apply(state: PlattState, rows: Rows) -> Rows:
        """Draw the log-odds of the confidences through the curve."""
        odds = top_log_odds(rows.probabilities, rows.predicted)
        return rows.with_confidence(expit(state["slope"] * odds + state["intercept"]))


class BetaState(TypedDict):
    """What beta calibration fits."""

    of_class: bool  #: of the second of two classes; False: of whichever class is predicted
    #: a ≥ 0, b ≥ 0 and m
    coefficients: Annotated[Floats, Values((3,)), "coefficients of a curve"]


class BetaCalibration(Recalibrator):
    """p' = 1 / (1 + exp(−(a log p − b log(1 − p) + m))), a and b at least 0.

    Of two classes p is the probability of the second, and the most probable class can change. Of
    more it is the confidence.

    Fitted: ``coefficients_`` (3,), a, b and m; with 1, 1 and 0 nothing changes, with a = b it is
    Platt scaling.

    On the targets of :class:`~lore_core.PlattScaling`. A row of weight 2 is not two rows.

    Kull, Silva Filho, Flach, "Beta calibration", AISTATS 2017.
    """

    label = "Beta calibration"
    color = 9
    takes_weights = True
    state_type = BetaState

    def _fit_on(self, calibration: Dataset, *_: object) -> BetaState:
        of_class, weights = calibration.n_classes == 2, as_weights(calibration.weights)
        outcome: Any = calibration.labels if of_class else calibration.outcome
        ends = _ends(calibration.probabilities, calibration.predictions, of_class)
        targets = smoothed_targets(outcome.astype(np.float64), weights)
        bounds = [(0, None), (0, None), (None, None)]
        coefficients = fitted_curve(ends, targets, weights, bounds=bounds)
        return {"of_class": of_class, "coefficients": coefficients}

    @staticmethod
    def apply(state: BetaState, rows: Rows) -> Rows:
        """Draw the probabilities through the curve."""
        ends = _ends(rows.probabilities, rows.predicted, state["of_class"])
        p = expit(ends @ state["coefficients"])
        if state["of_class"]:
            return rows.with_probabilities(np.column_stack([1.0 - p, p]))
        return rows.with_confidence(p)

    @staticmethod
    def check_state(state: BetaState, name: str, sizes: Sizes) -> None:
        """Refuse curves that fall, and one of a class among many."""
        if (state["coefficients"][:2] < 0).any():
            raise refuse(f"{name}: coefficients", "a and b from 0", state["coefficients"])
        if state["of_class"] and sizes["K"] != 2:
            raise refuse(f"{name}: of_class", "true for two classes alone", sizes["K"])


def _ends(probabilities: Floats, predicted: Ints, of_class: bool) -> Floats:
    """Return log p, −log(1 − p) and 1 of each row, shape (n, 3)."""
    if of_class:
        other, own = log_probabilities(probabilities).T
        return np.column_stack([own, -other, np.ones(len(own))])
    return by_blocks(_ends_of_top, probabilities, predicted)


def _ends_of_top(probabilities: Floats, predicted: Ints) -> Floats:
    index = np.arange(len(predicted))
    own = log_probabilities(probabilities[index, predicted])
    rest = probabilities.copy()
    rest[index, predicted] = 0.0
    other = np.log(np.maximum(rest.sum(axis=1), SMALLEST))
    return np.column_stack([own, -other, np.ones(len(own))])


class State(TypedDict):
    """What logistic recalibration fits."""

    slope: float  #: of the log-odds
    #: Each less its centre and divided by its scale
    weights: Annotated[Floats, Values(("p",)), "how each feature is weighed"]
    centre: Annotated[
        Floats, Values(("p",)), "means of the features, from sums over all calibration rows"
    ]
    scale: Annotated[
        Floats,
        Values(("p",), np.finfo(float).tiny),
        "standard deviations of the features, from sums over all calibration rows",
    ]
    of_class: Annotated[Floats, Values(("K",)), "what is added where a class is predicted"]
    strength: Annotated[float, STRENGTH]  #: the penalty that was chosen
    other_classes: Annotated[dict[str, float], OtherClasses]


@dataclass(eq=False, repr=False)
class LogisticRecalibration(Recalibrator):
    """p' = 1 / (1 + exp(−(α ℓ + w · x + β_ŷ))), ℓ the log-odds of the confidence, ŷ its class.

    x are the features, each of mean 0 and variance 1 on the calibration rows.

    ``strength``: λ of the penalty below; by default chosen by cross-validation.

    On PlattScaling's targets, with a penalty (docs/recalibrators.md). It corrects errors along
    features and of classes, not local ones. A row of weight 2 is not two rows.
    """

    label = "Logistic regression"
    color = 12
    takes_weights = True
    needs_features = True
    state_type = State

    _: KW_ONLY
    strength: float | None = None

    def _check_params(self) -> None:
        if self.strength is not None:
            check_positive(self.strength, "strength")

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        features = feature_table(calibration, self.label)
        weights = as_weights(calibration.weights)
        centre, scale = features.mean(axis=0), features.std(axis=0)
        scale[~(scale > 0)] = 1.0
        odds = top_log_odds(calibration.probabilities, calibration.predictions)
        unit = float(np.sqrt(np.mean(odds**2))) or 1.0
        inputs = np.column_stack([odds / unit, np.ones(len(odds)), (features - centre) / scale])
        start = np.zeros(inputs.shape[1] + calibration.n_classes)
        pull = np.ones(len(start))
        pull[:2] = 0.0
        targets = smoothed_targets(calibration.outcome, weights)
        problem = LogisticProblem(inputs, targets, weights, start, pull, calibration.predictions)
        if self.strength is None:
            fold = random_folds(calibration.units, len(odds), _FOLDS)
            strength = _STRENGTHS[best_candidate(problem, start, _STRENGTHS, fold, 1e-6)]
        else:
            strength = float(self.strength)
        found = problem.fit(start, strength, tolerance=1e-10)
        slope, shift, of_features, of_class = np.split(found, [1, 2, inputs.shape[1]])
        return {
            "slope": float(slope[0]) / unit,
            "weights": of_features,
            "centre": centre,
            "scale": scale,
            "of_class": shift + of_class,
            "strength": strength,
            "other_classes": dataclasses.asdict(OtherClasses.fit(calibration)),
        }

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Replace confidences by the regression's."""
        features = feature_table(rows, LogisticRecalibration.label, len(state["weights"]))
        odds = state["slope"] * top_log_odds(rows.probabilities, rows.predicted)
        centre, scale, weights = state["centre"], state["scale"], state["weights"]
        odds += by_blocks(lambda some: (some - centre) / scale @ weights, features)
        confidence = expit(odds + state["of_class"][rows.predicted])
        return OtherClasses(**state["other_classes"]).complete(rows, confidence)


@dataclass(frozen=True)
class LogisticProblem:
    """Soft outcomes that expit(inputs · c) is fitted to, or expit(inputs · c + c_class)."""

    inputs: Floats  #: (n, q)
    targets: Floats  #: (n,) in [0, 1]
    weights: Floats | None  #: (n,) of mean 1; None: all rows count alike
    usual: Floats  #: (q,) or (q + K,); what coefficients are pulled to
    pull: Floats  #: Of the same shape: 1, or 0 for those that are free
    predicted: Ints | None = None  #: (n,); None: classes count alike

    def rows(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the problem of the chosen rows."""
        return dataclasses.replace(
            self,
            inputs=self.inputs[chosen],
            targets=self.targets[chosen],
            weights=chosen_weights(self.weights, chosen),
            predicted=None if self.predicted is None else self.predicted[chosen],
        )

    def _of_odds(self, coefficients: Floats) -> tuple[float, Floats]:
        shared, of_class = np.split(coefficients, [self.inputs.shape[1]])
        odds = self.inputs @ shared
        if self.predicted is not None:
            odds += of_class[self.predicted]
        return soft_loss(odds, self.targets, self.weights)

    def loss(self, coefficients: Floats) -> float:
        """Return the total NLL."""
        return self._of_odds(coefficients)[0]

    def penalised(self, coefficients: Floats, strength: float) -> tuple[float, Floats]:
        """Return total NLL and penalty, and their gradient."""
        loss, off = self._of_odds(coefficients)
        gradient = self.inputs.T @ off
        if self.predicted is not None:
            n_classes = len(coefficients) - len(gradient)
            gradient = np.append(gradient, np.bincount(self.predicted, off, n_classes))
        apart = (coefficients - self.usual) * self.pull
        return loss + strength * float(apart @ apart) / 2, gradient + strength * apart

    def fit(
        self,
        start: Floats,
        strength: float,
        *,
        tolerance: float,
        gradient: float = 1e-6,
        bounds: Sequence[tuple[float | None, float | None]] | None = None,
    ) -> Floats:
        """Minimise; ``tolerance``: share of the loss a step has to gain; ``gradient``: of a row."""
        from scipy.optimize import minimize

        found = minimize(
            self.penalised,
            start,
            args=(strength,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 1000, "ftol": tolerance, "gtol": gradient * len(self.targets)},
        )
        return np.asarray(found.x)


def feature_table(rows: Dataset | Rows, method: str, count: int | None = None) -> Floats:
    """Return features as numbers (n, p); refuse rows without any, or not ``count`` of them."""
    if rows.features is None:
        raise InputError(f"{method} must have the features of every row; '{rows.name}' has none.")
    table = np.asarray(rows.features, dtype=np.float64).reshape(len(rows.features), -1)
    if count not in (None, found := table.shape[1]):
        raise InputError(
            f"'{rows.name}' must have the {count} features {method} was fitted on; got {found}."
        )
    return table
