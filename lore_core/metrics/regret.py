"""What of the reward at given costs recalibration can gain, and what it cannot.

Perez-Lebel, Varoquaux, Koyejo, Doutreligne, Le Morvan, "Decision from suboptimal classifiers:
excess risk pre- and post-calibration", AISTATS 2025.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.validation import InputError, as_confidence, as_rows, check_lengths
from lore_core.metrics.means import joint_intervals

#: Thresholds tried, and draws behind the bound on the best of them.
_LEVELS, _DRAWS = 40, 2000
#: Rows answered otherwise of which fewer are expected to be right, or wrong, give no interval.
_MIN_EXPECTED = 5


@dataclass(frozen=True)
class Gain:
    """A mean gain a row, in units of u."""

    value: float
    #: 95 %; NaN where too few rows are answered otherwise to tell.
    low: float
    high: float
    changed: float  #: Share of the rows that are answered by one and not by the other


@dataclass(frozen=True)
class RewardParts:
    """Rewards a row, in units of the cost u of being unsure, at one ratio of costs."""

    ratio: float  #: w/u
    #: More than this no other threshold on the confidence gains, and so no recalibration that keeps
    #: its order (one-sided, 95 %).
    at_most: float
    recalibrated: Gain  #: The curve learnt on other rows, over the confidence
    improved: Gain  #: The model learnt on other rows, over that curve
    both: Gain  #: That model over the confidence
    n_rows: int


def reward_parts(
    confidence: ArrayLike,
    outcome: ArrayLike,
    recalibrated: ArrayLike,
    improved: ArrayLike,
    ratio: float,
) -> RewardParts:
    """Measure what a recalibrated confidence and a model of the features gain at given costs.

    Every row counts once: there are no weights.

    ``confidence``, ``outcome`` (n,): confidences c in [0, 1] and outcomes 0 or 1. ``recalibrated``,
    ``improved`` (n,): a function of the confidence, and a model's probability of being right from
    the features, both in [0, 1] and learnt on *other* rows. ``ratio``: w/u ≥ 1: a wrong answer
    costs so many times what "unsure" costs.

    Notes
    -----
    An answer instead of "unsure" gains ratio · (a − t) units of u, t = 1 − 1/ratio. So a policy
    that answers where p ≥ t gains over another the mean of that over the rows on which they differ:
    a mean of rows, whose interval covers. Of the fitted two it is the gain; the best possible
    recalibration and the best possible model gain as much at least (their regret: Perez-Lebel et
    al. 2025, section 3).

    The upper bound is on max_s of the mean gain of the threshold s over t: with the standard error
    e(s), max_s (mean(s) + q e(s)), q the 95 % quantile of the largest standardised deviation over
    s (the sums over levels of the confidence are simulated as normal).
    """
    c, a = as_rows(confidence, outcome)
    g, f = as_confidence(recalibrated, "recalibrated"), as_confidence(improved, "improved")
    n = check_lengths(confidence=c, recalibrated=g, improved=f)
    if not (np.isfinite(ratio) and ratio >= 1):
        raise InputError(f"'ratio' must be finite and at least 1 (w ≥ u); got {ratio:g}.")
    t = 1 - 1 / ratio
    value = ratio * (a - t)
    answers = {"c": c >= t, "g": g >= t, "f": f >= t}

    def gain(one: str, other: str) -> Gain:
        apart = answers[one].astype(np.float64) - answers[other]
        changed = apart != 0
        found = joint_intervals(pd.DataFrame({"gain": value * apart})).iloc[0]
        right = g[changed].sum()
        if min(right, changed.sum() - right) < _MIN_EXPECTED:
            found[["low", "high"]] = np.nan
        mean, low, high = (float(found[name]) for name in ("difference", "low", "high"))
        return Gain(mean, low, high, float(changed.mean()))

    return RewardParts(
        ratio=float(ratio),
        at_most=_most(c, value, t),
        recalibrated=gain("g", "c"),
        improved=gain("f", "g"),
        both=gain("f", "c"),
        n_rows=n,
    )


def _most(c: Floats, value: Floats, t: float) -> float:
    """Bound the gain of the best threshold on the confidence."""
    n = len(c)
    edges = np.unique([t, *np.quantile(c, np.arange(1, _LEVELS) / _LEVELS)])
    level = np.searchsorted(edges, c, side="right")
    size = len(edges) + 1
    total = np.bincount(level, value, size) / n
    square = np.bincount(level, value**2, size) / n**2
    at = int(np.searchsorted(edges, t)) + 1
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(_DRAWS, size)) * np.sqrt(square)

    def sums(of: Floats) -> Floats:
        """Gains of a lower threshold, level by level downwards, and of a higher one, upwards."""
        down = np.cumsum(of[..., :at][..., ::-1], axis=-1)
        return np.concatenate([down, -np.cumsum(of[..., at:], axis=-1)], axis=-1)

    error = np.sqrt(np.concatenate([np.cumsum(square[:at][::-1]), np.cumsum(square[at:])]))
    some = error > 0
    if not some.any():
        return 0.0
    reach = np.quantile((sums(drawn)[:, some] / error[some]).max(axis=1), 0.95)
    return float(max((sums(total)[some] + reach * error[some]).max(), 0.0))
