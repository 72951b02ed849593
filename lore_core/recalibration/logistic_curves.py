"""Logistic curves: Platt scaling; beta calibration, with a slope of its own at each end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np

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
from lore_core.data.rules import Sizes, Values, refuse
from lore_core.data.weights import as_weights, effective_rows, weighed
from lore_core.recalibration.base import Recalibrator

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: Log-odds that differ less than this are one confidence, rounded differently.
_SMALLEST_SPREAD = 1e-9


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
    from scipy.optimize import minimize

    start = np.append(np.ones(ends.shape[1] - 1), 0.0)

    def value(coefficients: Floats) -> tuple[float, Floats]:
        off = coefficients - start
        loss, gradient = soft_loss(ends @ coefficients, targets, weights)
        return loss + strength * float(off @ off) / 2, ends.T @ gradient + strength * off

    options = {"ftol": 1e-14, "gtol": 1e-8 * len(ends), "maxiter": 500}
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


class PlattState(TypedDict):
    """What Platt scaling fits."""

    slope: float  #: α
    intercept: float  #: β


class PlattScaling(Recalibrator):
    """p' = 1 / (1 + exp(−(αℓ + β))) with ℓ the log-odds of the top-label confidence.

    Attributes
    ----------
    slope_, intercept_ : float
        α and β; 1 and 0 leave every confidence as it is.

    Notes
    -----
    A logistic regression without penalty on Platt's smoothed targets: a right row counts as (N₊ +
    1)/(N₊ + 2) and a wrong one as 1/(N₋ + 2). So the slope stays finite where confidence separates
    right from wrong; on many rows this hardly matters.

    A row of weight 2 is not two rows: N₊ and N₋ sum to the effective sample size, (Σw)²/Σw².

    References
    ----------
    Platt, "Probabilistic outputs", 1999. Lin, Lin, Weng, Machine Learning 68, 2007.
    """

    label = "Platt scaling"
    color = 5
    takes_weights = True
    state_type = PlattState
    numbers_in_words = "slope and intercept of a curve"
    slope_: float
    intercept_: float

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

    Attributes
    ----------
    coefficients_ : ndarray of shape (3,)
        a, b and m; with 1, 1 and 0 nothing changes, with a = b it is Platt scaling.

    Notes
    -----
    Minimises the NLL on Platt's smoothed targets (see :class:`~lore_core.PlattScaling`), so that a
    and b stay finite where p separates the outcomes. For these a row of weight 2 is not two rows.

    References
    ----------
    Kull, Silva Filho, Flach, "Beta calibration", AISTATS 2017.
    """

    label = "Beta calibration"
    color = 9
    takes_weights = True
    state_type = BetaState
    coefficients_: Floats

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
