"""Calibration without bins: isotonic, smooth and cumulative errors; intercept and slope."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from lore_core.data.arrays import Floats, Ints
from lore_core.data.number_text import decimal, p_sentence
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.units import Dependence, as_units, drawn_uniform
from lore_core.data.validation import as_group_labels, as_rows, check_integer
from lore_core.data.weights import as_weights, weighed
from lore_core.metrics.global_metrics import FEWEST_GROUP_ROWS, NORMAL_95
from lore_core.metrics.means import central_interval

#: Of more confidences than this, neighbours are merged.
_MOST_LEVELS = 2000
#: Steps of the grid of the smooth ECE, whose error is of the order of their square.
_STEPS = 2000
#: Halvings of the range in which the bandwidth is the error itself.
_HALVINGS = 48
#: Shorter steps to the likeliest coefficients are not taken.
_LAST_STEP = 1e-9
#: A value and the ends of its interval.
Limits = tuple[float, float, float]
_UNKNOWN = np.nan, np.nan, np.nan


@dataclass(frozen=True, eq=False)
class IsotonicReliability:
    """How often rows of each confidence are right if that can only rise with the confidence.

    Arrays have one value a level: a confidence that occurs, in rising order, or of more than 2,000
    neighbouring ones of about equal number.
    """

    confidence: Floats  #: Mean confidence of each level, in [0, 1]
    count: Ints  #: Rows
    frequency: Floats  #: Isotonic estimate of how often they are right
    #: The middle 95 % of models whose every confidence is right, level by level.
    band_low: Floats
    band_high: Floats
    #: Mean of (outcome − confidence)², which is miscalibration − discrimination + uncertainty.
    score: float
    miscalibration: float  #: What is lost because confidences are not these frequencies; ≥ 0
    discrimination: float  #: What the order of the confidences gains over one for all; ≥ 0
    uncertainty: float  #: The score if every row had the mean outcome
    #: Mean of ``miscalibration`` where every confidence is right, and P(as much or more) then.
    chance_miscalibration: float
    miscalibration_p: float

    @property
    def sentence(self) -> str:
        """The three parts of the score, in words."""
        parts = ("score", "uncertainty", "discrimination", "miscalibration")
        score, spread, discrimination, lost = (decimal(getattr(self, part), 4) for part in parts)
        chance = decimal(self.chance_miscalibration, 4)
        return (
            f"The squared error of the confidence, {score} a row, is {spread} (the outcome's own "
            f"uncertainty) − {discrimination} (discrimination: rows told apart) + {lost} "
            f"(miscalibration; a calibrated model shows {chance} on average, "
            f"{p_sentence(self.miscalibration_p)})."
        )

    def frame(self) -> pd.DataFrame:
        """Return the levels as a DataFrame, one row each."""
        names = ("confidence", "count", "frequency", "band_low", "band_high")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def isotonic_reliability(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
    n_draws: int = 400,
    random_state: int = 0,
) -> IsotonicReliability:
    """Estimate how often rows of each confidence are right, without bins.

    ``confidence`` in [0, 1], ``outcome`` 0 or 1, ``weights`` above 0, and ``units``, whose rows go
    together: (n,). ``n_draws``: simulated models whose every confidence is right, at least 39.
    ``random_state``: their seed.

    CORP (Dimitriadis, Gneiting, Jordan, 2021) and its band of consistency: docs/method.md.
    """
    c, a = as_rows(confidence, outcome)
    check_integer(n_draws, "n_draws", minimum=39)
    w = as_weights(weights, len(c))
    level, count = _levels(c)
    mass: Floats = (count if w is None else np.bincount(level, weights=w)).astype(np.float64)
    mean_confidence = np.bincount(level, weights=weighed(c, w)) / mass
    right = np.bincount(level, weights=weighed(a, w))
    frequency = _isotonic(right / mass, mass)
    mean = np.average(a, weights=w)
    score, spread = float(np.average(np.square(c - a), weights=w)), float(mean * (1 - mean))
    left = float((mass * frequency**2 - 2 * frequency * right + right).sum() / len(c))
    dependence = Dependence.of(c, a, as_units(units, len(c)))
    drawn, lost = _simulated(c, level, mass, w, dependence, n_draws, random_state)
    low, high = central_interval(drawn, 0.95)
    miscalibration = max(score - left, 0.0)
    return IsotonicReliability(
        confidence=mean_confidence,
        count=count,
        frequency=frequency,
        band_low=low,
        band_high=high,
        score=score,
        miscalibration=miscalibration,
        discrimination=max(spread - left, 0.0),
        uncertainty=spread,
        chance_miscalibration=float(lost.mean()),
        miscalibration_p=float((1 + (lost >= miscalibration - 1e-12).sum()) / (n_draws + 1)),
    )


def _levels(c: Floats) -> tuple[Ints, Ints]:
    """Return the level of each row, (n,), and how many rows each has."""
    _, level, count = np.unique(c, return_inverse=True, return_counts=True)
    if len(count) > _MOST_LEVELS:
        # (Rows of one confidence stay together.)
        before = np.cumsum(count) - count
        _, joined = np.unique(before * _MOST_LEVELS // len(c), return_inverse=True)
        level, count = joined[level], np.bincount(joined, weights=count).astype(np.int64)
    return level, count


def score_parts(
    confidence: ArrayLike, outcome: ArrayLike, *, weights: ArrayLike | None = None
) -> dict[str, float]:
    """Split the mean of (outcome − confidence)² as :func:`isotonic_reliability`, of every level."""
    c, a = as_rows(confidence, outcome)
    w = as_weights(weights, len(c))
    level = np.unique(c, return_inverse=True)[1]
    mass = np.bincount(level, weights=w).astype(np.float64)
    frequency = _isotonic(np.bincount(level, weights=weighed(a, w)) / mass, mass)[level]
    given = c, frequency, np.average(a, weights=w)
    score, left, spread = (float(np.average(np.square(a - x), weights=w)) for x in given)
    return {"miscalibration": score - left, "discrimination": spread - left}


def _isotonic(mean: Floats, mass: Floats) -> Floats:
    from scipy.optimize import isotonic_regression  # slow to import

    return np.asarray(isotonic_regression(mean, weights=mass).x)


def _simulated(
    c: Floats,
    level: Ints,
    mass: Floats,
    weights: Floats | None,
    dependence: Dependence | None,
    n_draws: int,
    random_state: int,
) -> tuple[Floats, Floats]:
    """Frequencies (n_draws, n_levels) and miscalibrations (n_draws,) where all are right."""
    rng = np.random.default_rng(random_state)
    confidence_sum, square = (np.bincount(level, weights=weighed(v, weights)) for v in (c, c * c))
    chance = np.clip(confidence_sum / mass, 0.0, 1.0)
    drawn, lost = np.empty((n_draws, len(mass))), np.empty(n_draws)
    for k in range(n_draws):
        if weights is None and dependence is None:
            # (Confidences of a level are nearly the same, so its sum is nearly binomial.)
            right = rng.binomial(mass.astype(np.int64), chance)
        else:
            came_true = drawn_uniform(dependence, len(c), rng) < c
            right = np.bincount(level, weights=weighed(came_true.astype(np.float64), weights))
        r = drawn[k] = _isotonic(right / mass, mass)
        lost[k] = ((square - 2 * chance * right) - (mass * r**2 - 2 * r * right)).sum() / len(c)
    return drawn, lost


def smooth_calibration_error(
    confidence: ArrayLike, outcome: ArrayLike, *, weights: ArrayLike | None = None
) -> float:
    """Calibration error after smoothing along the confidence, in [0, 1].

    ``confidence`` in [0, 1], ``outcome`` 0 or 1, ``weights`` above 0: (n,). Defined by Błasiok and
    Nakkiran, ICLR 2024; see docs/method.md ("Smooth ECE").
    """
    c, a = as_rows(confidence, outcome)
    # Middles of cells, so that the reflection at 0 and 1 repeats whole cells.
    position = np.clip(c * _STEPS - 0.5, 0.0, _STEPS - 1.0)
    left = np.minimum(position.astype(np.int64), _STEPS - 2)
    share = position - left
    residual = weighed(a - c, as_weights(weights, len(c))) / len(c)
    sums = np.bincount(left, weights=residual * (1 - share), minlength=_STEPS)
    sums += np.bincount(left + 1, weights=residual * share, minlength=_STEPS)
    waves = np.fft.rfft(np.concatenate([sums, sums[::-1]]))

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        sigma = (low + high) / 2
        damped = waves * np.exp(-0.5 * np.square(np.pi * sigma * np.arange(len(waves))))
        error = np.abs(np.fft.irfft(damped)[:_STEPS]).sum()
        low, high = (sigma, high) if error > sigma else (low, sigma)
    return low


def calibration_line(
    confidence: ArrayLike,
    outcome: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> tuple[Limits, Limits]:
    """Return calibration intercept and slope, each with its 95 % interval: ``value, low, high``.

    ``confidence`` in [0, 1], ``outcome`` 0 or 1, ``weights`` above 0, ``units``, whose rows go
    together: (n,).

    See docs/method.md ("Intercept, slope, O/E"). There is no intercept if all outcomes are alike,
    and no slope if a confidence parts right from wrong.
    """
    c, a = as_rows(confidence, outcome)
    w, u = as_weights(weights, len(c)), as_units(units, len(c))
    x = logit(np.clip(c, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR))
    ones, right, wrong = np.ones((1, len(x))), x[a == 1], x[a == 0]
    apart = wrong.max(initial=-np.inf) <= right.min(initial=np.inf) or right.max() <= wrong.min()
    slope = _UNKNOWN if apart else _likeliest(np.vstack([x, ones]), 0.0, a, w, u)
    return _likeliest(ones, x, a, w, u) if len(right) and len(wrong) else _UNKNOWN, slope


def _likeliest(
    rows: Floats, offset: Floats | float, a: Floats, weights: Floats | None, units: Ints | None
) -> Limits:
    """Return the coefficient of the first of ``rows`` (q, n) in the likeliest logistic curve."""
    found, step, loss = np.zeros(len(rows)), np.zeros(len(rows)), np.inf
    while loss == np.inf or np.abs(step).max() > _LAST_STEP:  # Newton's, halved while they lose
        odds = offset + (found + step) @ rows
        p = expit(odds)
        cost = np.maximum(odds, 0.0) - np.log(np.maximum(p, 1 - p)) - a * odds
        if (now := float(weighed(cost, weights).sum())) > loss:
            step /= 2
            continue
        found, loss, spread = found + step, now, weighed(p * (1 - p), weights)
        inverse = np.linalg.pinv((rows * spread) @ rows.T)
        step = inverse @ (rows @ weighed(a - p, weights))
    first = inverse[0] @ rows
    variance = float(weighed(spread, weights) @ first**2)
    if units is not None:
        seen = np.bincount(units, first * weighed(a - p, weights))
        variance = max(variance, float(np.square(seen).sum()) * len(seen) / max(len(seen) - 1, 1))
    half = NORMAL_95 * np.sqrt(variance)
    return float(found[0]), found[0] - half, found[0] + half


def multicalibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> float:
    """Largest cumulative calibration error of all rows and of each group, in standard deviations.

    ``groups`` (n,) or (n, g): group names; of several columns the intersections are taken. Those of
    fewer than 10 rows are left out. For the rest see :func:`calibration_line`.

    That of MCGrad (Guy et al., arXiv:2506.11251, 2025), see docs/method.md; but rows of equal
    confidence are summed together.
    """
    names = as_group_labels(groups)
    c, a = as_rows(confidence, outcome, groups=names)
    w = as_weights(weights, len(c))
    of_row = {"off": weighed(a - c, w), "variance": weighed(weighed(c * (1 - c), w), w)}
    rows, found = pd.DataFrame({"c": c} | of_row), []
    for group in (np.zeros(len(c)), names):
        each = rows.groupby(group)["variance"].agg(["size", "sum"])
        sums = rows.groupby([group, "c"])["off"].sum().groupby(level=0).cumsum().groupby(level=0)
        reach = sums.max().clip(lower=0) - sums.min().clip(upper=0)
        found.append((reach / np.sqrt(each["sum"]))[each["size"] >= FEWEST_GROUP_ROWS])
    return float(pd.concat(found).max())
