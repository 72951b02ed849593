"""Is it worth it to answer? Rewards at given costs, and thresholds for a given error rate."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from lore_core.data.abstention import AnswerThreshold
from lore_core.data.arrays import Floats, Ints
from lore_core.data.number_text import percent
from lore_core.data.units import as_units, by_unit
from lore_core.data.validation import (
    InputError,
    as_confidence,
    as_outcome,
    as_rows,
    check_integer,
    check_lengths,
    check_positive,
    check_share,
)
from lore_core.data.weights import as_weights
from lore_core.metrics.global_metrics import NORMAL_95, exact_interval
from lore_core.metrics.means import mean_interval

#: Thresholds tried at most, those at which tests begin, and how far they lie below a confidence.
_N_THRESHOLDS, _MAX_STARTS, _BELOW = 50, 10, 1e-9


def default_ratios(n: int = 40) -> Floats:
    """Return ``n`` cost ratios w/u from 1 to 100, evenly spaced on a log axis."""
    return np.geomspace(1.0, 100.0, n)


def unsure_threshold(unsure_cost: float, wrong_cost: float) -> float:
    """Return the confidence below which it is better to say "unsure": 1 − u/w.

    Raises InputError unless 0 < u ≤ w, the costs of being unsure and of being wrong.
    """
    u, w = check_positive(unsure_cost, "unsure_cost"), check_positive(wrong_cost, "wrong_cost")
    if u > w:
        raise InputError(
            f"'unsure_cost' must not exceed 'wrong_cost'; got {u:g} and {w:g}. If being unsure "
            "costs more than being wrong, always answer."
        )
    return 1.0 - u / w


@dataclass(frozen=True)
class RewardCurve:
    """Reward a row over cost ratios, in units of the cost u of being unsure."""

    ratio: Floats  #: (r,); cost ratios w/u
    #: (r,); mean reward a row: 0 for a right answer, −1 for "unsure", −w/u for a wrong answer.
    reward: Floats
    answered: Floats  #: (r,); share of rows answered
    #: (r,); gain over the baseline on the same rows, with its 95 % interval (paired, normal); 0
    #: without a baseline.
    gain: Floats
    gain_low: Floats
    gain_high: Floats
    n_rows: int  #: Rows behind it

    def frame(self) -> pd.DataFrame:
        """Return the curve as a DataFrame, one row a ratio."""
        names = ("reward", "answered", "gain", "gain_low", "gain_high")
        columns = {"ratio": self.ratio, "threshold": 1 - 1 / self.ratio}
        return pd.DataFrame(columns | {name: getattr(self, name) for name in names})


def reward_curve(
    confidence: ArrayLike,
    outcome: ArrayLike,
    ratios: ArrayLike | None = None,
    *,
    baseline: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> RewardCurve:
    """Reward of answering only above the threshold 1 − u/w, for many ratios w/u.

    ``confidence`` in [0, 1], ``outcome`` 0 or 1, ``weights`` above 0: (n,). ``ratios`` (r,): cost
    ratios w/u ≥ 1; by default :func:`default_ratios`. ``baseline`` (n,): confidences of the same
    rows before recalibration, to compare with row by row.

    Luo et al. 2022, section 5.3. For a calibrated confidence this threshold maximises the expected
    reward: answering costs (1 − c)·w on average, being unsure u.
    """
    before = confidence if baseline is None else baseline
    named = {"baseline": before, "confidence": confidence}
    return reward_curves(named, outcome, ratios, weights=weights)["confidence"]


def reward_curves(
    confidences: Mapping[str, ArrayLike],
    outcome: ArrayLike,
    ratios: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> dict[str, RewardCurve]:
    """:func:`reward_curve` of several confidences of the same rows, by their names.

    The first is the baseline of the others. ``units`` (n,): whose rows go together.
    """
    a = as_outcome(outcome)
    w, u = as_weights(weights, len(a)), as_units(units, len(a))
    grid = default_ratios() if ratios is None else np.atleast_1d(np.asarray(ratios, np.float64))
    if not (np.isfinite(grid).all() and (grid >= 1).all()):
        bad = grid[~(np.isfinite(grid) & (grid >= 1))][0]
        raise InputError(f"'ratios' must be finite and at least 1 (w ≥ u); got {bad:g}.")
    order = np.argsort(grid, kind="stable")

    def reached(name: str) -> Ints:
        """Count the thresholds, which rise with the ratios, that confidences reach."""
        c = as_confidence(confidences[name], name)
        check_lengths(**{"outcome": a, name: c})
        return np.searchsorted(1 - 1 / grid[order], c, side="right")

    curves: dict[str, RewardCurve] = {}
    before = reached(next(iter(confidences)))
    for name in confidences:
        curve = _curve(grid[order], reached(name), before, a, w, u)[:, np.argsort(order)]
        reward, answered, gain, low, high = curve
        curves[name] = RewardCurve(grid, reward, answered, gain, low, high, len(a))
    return curves


def _curve(
    ratio: Floats, own: Ints, before: Ints, a: Floats, weights: Floats | None, units: Ints | None
) -> Floats:
    """Return reward, share answered, gain and its interval at rising ratios, shape (5, r)."""
    n, size, right = len(a), len(ratio) + 1, a.astype(np.int64)
    powers = [None] if weights is None else [None, weights, weights**2]

    def answered_by(reached: Ints) -> Floats:
        """Return numbers, weights and their squares of rows answered wrong and right: (3, r, 2)."""
        sums = np.array([np.bincount(2 * reached + right, of, 2 * size) for of in powers])
        found = sums.reshape(-1, size, 2)[:, ::-1].cumsum(axis=1)[:, -2::-1]
        return np.broadcast_to(found, (3, size - 1, 2))

    answers, both = answered_by(own), answered_by(np.minimum(own, before))
    only_now, only_before = answers - both, answered_by(before) - both
    # (Sums of weights are rounded, numbers are not.)
    only_now, only_before = (only * (only[0] > 0) for only in (only_now, only_before))
    total, square = (n, n) if weights is None else (weights.sum(), np.square(weights).sum())
    # Wrong and right answers, over "unsure".
    value = np.column_stack([1 - ratio, np.ones(len(ratio))])
    _, first, second = ((only_now - only_before) * value).sum(axis=2)
    squares = ((only_now + only_before)[2] * value**2).sum(axis=1)
    gain = first / total
    # The scatter of linearised values is the error of the weighted mean.
    scatter = squares - 2 * gain * second + gain**2 * square
    half = np.full(len(ratio), np.nan)
    if n > 1:
        half = NORMAL_95 * np.sqrt(np.maximum(scatter, 0.0) * n / (n - 1)) / total
    if units is not None:
        for k, wrong in enumerate(1 - ratio):
            change = ((own > k).astype(np.float64) - (before > k)) * np.where(a > 0, 1.0, wrong)
            _, low, high = mean_interval(by_unit(change, weights, units))
            half[k] = (high - low) / 2
    answered, reward = answers[1].sum(axis=1) / total, (answers[1] * value).sum(axis=1) / total - 1
    return np.array([reward, answered, gain, gain - half, gain + half])


def describe_rewards(
    curves: Mapping[str, RewardCurve], *, unsure_cost: float, wrong_cost: float
) -> str:
    """Say which method saves most at the reader's own costs, and whether significantly.

    ``curves``: by method, with the first as baseline, at the one ratio w/u.
    """
    threshold = unsure_threshold(unsure_cost, wrong_cost)
    first = next(iter(curves))
    best = max(curves, key=lambda method: curves[method].reward[0])
    lead = curves[best]
    costs = f"where unsure costs {unsure_cost:g} and wrong {wrong_cost:g}"
    if best == first or not lead.gain_low[0] > 0:
        return (
            f"No method costs significantly less than “{first}” on these {lead.n_rows:,} rows, "
            f"{costs}."
        )
    gain, low, high = (
        float(values[0]) * unsure_cost for values in (lead.gain, lead.gain_low, lead.gain_high)
    )
    return (
        f"“{best}” costs {gain:.3g} a row less than “{first}” (95 % CI {low:.3g} to {high:.3g}), "
        f"{costs}: it answers {percent(lead.answered[0])} of {lead.n_rows:,} rows, those of "
        f"confidence {percent(threshold)} or more."
    )


def risk_curve(
    confidence: ArrayLike,
    outcome: ArrayLike,
    reference: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> pd.DataFrame:
    """Error rate among rows of high confidence, with a 95 % band for all thresholds at once.

    ``confidence`` in [0, 1], ``outcome`` 0 or 1 (n,): of rows that fitted neither classifier nor
    recalibrator. ``reference`` (m,): confidences of other rows, such as those the recalibrator was
    fitted on; they set up to 50 thresholds, at equal steps of the share of them that is answered.

    Returns a DataFrame, one row a threshold, from high to low: ``threshold`` (rows of this
    confidence or more are answered), ``coverage, n_answered, n_wrong, risk`` and its ``low, high``:
    Clopper and Pearson's, the error of 5 % shared evenly. Raises InputError for ``weights`` and
    ``units``.
    """
    if weights is not None or units is not None:
        raise InputError(
            "an error rate is guaranteed for independent rows that count once: without 'weights' "
            "and 'units'."
        )
    c, a = as_rows(confidence, outcome)
    shares = 1 - np.arange(1, _N_THRESHOLDS) / _N_THRESHOLDS
    steps = np.quantile(as_confidence(reference, "reference"), shares, method="lower") - _BELOW
    threshold = np.unique(np.append(np.maximum(steps, 0.0), 0.0))[::-1]
    order = np.argsort(-c, kind="stable")
    answered = np.searchsorted(-c[order], -threshold, side="right")
    wrong = np.append(0, np.cumsum(a[order] == 0))[answered]
    low, high = exact_interval(wrong, answered, level=1 - 0.05 / len(threshold))
    columns = {
        "threshold": threshold,
        "coverage": answered / len(c),
        "n_answered": answered,
        "n_wrong": wrong,
        "risk": np.where(answered > 0, wrong / np.maximum(answered, 1), np.nan),
    }
    return pd.DataFrame(columns | {"low": low, "high": high})


def answer_threshold(
    curve: pd.DataFrame, risk: float, *, error: float = 0.05, n_joint: int = 1
) -> AnswerThreshold:
    """Choose the lowest confidence from which on at most a share ``risk`` of answers is wrong.

    ``curve``: of :func:`risk_curve`. ``risk`` is chosen before outcomes are seen; the chance that
    more are wrong is at most ``error``, at any of ``n_joint`` thresholds (methods × groups). Learn
    then test, and its proof: docs/method.md ("Answers with a guaranteed error rate").
    """
    alone = check_share(error, "error") / check_integer(n_joint, "n_joint")
    answered, wrong = curve["n_answered"].to_numpy(), curve["n_wrong"].to_numpy()
    given = check_share(risk, "risk"), error, n_joint, int(answered[-1])
    p_value = np.where(answered > 0, special.bdtr(wrong, np.maximum(answered, 1), risk), 1.0)
    begins = np.arange(len(curve))[::-1] % -(-len(curve) // _MAX_STARTS) == 0
    share, found, left = alone / begins.sum(), None, 0.0
    for position, p in enumerate(p_value):
        left += share * begins[position]
        found, left = ((position, left), left) if p <= left else (found, 0.0)
    if found is None:
        needed = _rows_needed(answered, wrong, risk, share)
        return AnswerThreshold(None, *given, rows_needed=needed)
    at, n, k = (curve[name].iloc[found[0]] for name in ("threshold", "n_answered", "n_wrong"))
    bound = min(float(exact_interval(k, n, level=1 - 2 * found[1])[1]), risk)  # (but for rounding)
    return AnswerThreshold(float(at), *given, int(n), int(k), bound)


def _rows_needed(answered: Ints, wrong: Ints, risk: float, error: float) -> int | None:
    """Return about how many rows would do if error rates stay; None if they are all too high."""
    times = np.geomspace(1.0, 1e4, 200)[:, None]
    right, failures = times * np.maximum(answered - wrong, 1e-9), times * wrong
    p_value = special.betainc(right, failures + 1, 1 - risk)
    enough = ((p_value <= error) & (wrong < risk * answered)).any(axis=1)
    return math.ceil(answered[-1] * times[enough.argmax(), 0]) if enough.any() else None
