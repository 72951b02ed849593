"""Beta calibration: a curve with a slope of its own at each end of [0, 1]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.probabilities import SMALLEST, by_blocks, expit, log_probabilities
from lore_core.data.rows import Rows
from lore_core.data.rules import Sizes, Values, refuse
from lore_core.data.weights import as_weights, weighed
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.platt_scaling import smoothed_targets

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class State(TypedDict):
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
    state_type = State
    coefficients_: Floats

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
        from scipy.optimize import minimize

        of_class, weights = calibration.n_classes == 2, as_weights(calibration.weights)
        outcome = calibration.labels if of_class else calibration.outcome
        ends = _ends(calibration.probabilities, calibration.predictions, of_class)
        found = minimize(
            total_loss,
            np.array([1.0, 1.0, 0.0]),
            args=(ends, smoothed_targets(np.asarray(outcome, dtype=np.float64), weights), weights),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None), (0, None), (None, None)],
            options={"ftol": 1e-13, "gtol": 1e-7 * len(ends), "maxiter": 500},
        )
        return {"of_class": of_class, "coefficients": np.asarray(found.x)}

    @staticmethod
    def apply(state: State, rows: Rows) -> Rows:
        """Draw the probabilities through the curve."""
        ends = _ends(rows.probabilities, rows.predicted, state["of_class"])
        p = expit(ends @ state["coefficients"])
        if state["of_class"]:
            return rows.with_probabilities(np.column_stack([1.0 - p, p]))
        return rows.with_confidence(p)

    @staticmethod
    def check_state(state: State, name: str, sizes: Sizes) -> None:
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


def total_loss(
    coefficients: Floats, ends: Floats, targets: Floats, weights: Floats | None = None
) -> tuple[float, Floats]:
    """Return the NLL of soft targets (n,), and its gradient; ``ends`` (n, q) make the log-odds."""
    odds = ends @ coefficients
    loss = np.logaddexp(0.0, odds) - targets * odds
    off = weighed(expit(odds) - targets, weights)
    return float(weighed(loss, weights).sum()), np.asarray(ends.T @ off)
