"""Is it worth it? Rewards when being unsure costs little and being wrong costs much."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.number_text import percent
from lore_core.data.validation import (
    InputError,
    as_confidence,
    as_outcome,
    check_lengths,
    check_positive,
)
from lore_core.data.weights import as_weights
from lore_core.kernel_sums.schedule import thread_count
from lore_core.metrics.global_metrics import NORMAL_95


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
        return pd.DataFrame(
            {
                "ratio": self.ratio,
                "threshold": 1 - 1 / self.ratio,
                "reward": self.reward,
                "answered": self.answered,
                "gain": self.gain,
                "gain_low": self.gain_low,
                "gain_high": self.gain_high,
            }
        )


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

    Notes
    -----
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
) -> dict[str, RewardCurve]:
    """:func:`reward_curve` of several confidences of the same rows, by their names.

    The first is the baseline of the others.
    """
    a = as_outcome(outcome)
    w = as_weights(weights, len(a))
    grid = default_ratios() if ratios is None else np.atleast_1d(np.asarray(ratios, np.float64))
    if not (np.isfinite(grid).all() and (grid >= 1).all()):
        bad = grid[~(np.isfinite(grid) & (grid >= 1))][0]
        raise InputError(f"'ratios' must be finite and at least 1 (w ≥ u); got {bad:g}.")
    order = np.argsort(1 - 1 / grid, kind="stable")
    position, thresholds = np.argsort(order), (1 - 1 / grid)[order]
    first, *_ = names = list(confidences)

    def reached(name: str) -> Ints:
        c = as_confidence(confidences[name], name)
        check_lengths(**{"outcome": a, name: c})
        return np.searchsorted(thresholds, c, side="right")

    before = reached(first)

    def curve(name: str) -> RewardCurve:
        own = before if name == first else reached(name)
        rows = _rows_alike(own, before, a, w, len(grid))
        return _curve(grid, position, rows, len(a))

    with ThreadPoolExecutor(thread_count(None)) as threads:
        return dict(zip(names, threads.map(curve, names), strict=True))


def _curve(grid: Floats, position: Ints, rows: _RowsAlike, n: int) -> RewardCurve:
    """Return the curve of rows, given the position of each threshold among all in their order."""
    reward, answered, gain, error = (np.empty(len(grid)) for _ in range(4))
    total = rows.mass.sum()

    def rewards(answers: Mask, ratio: float) -> Floats:
        return np.where(answers, -(1 - rows.outcome) * ratio, -1.0)

    for k, ratio in enumerate(grid):
        answers = rows.own > position[k]
        own = rewards(answers, ratio)
        reward[k] = (rows.mass * own).sum() / total
        answered[k] = (rows.mass * answers).sum() / total
        difference = own - rewards(rows.before > position[k], ratio)
        gain[k] = (rows.mass * difference).sum() / total
        # The scatter of linearised values is the error of the weighted mean.
        scatter = (rows.squares * (difference - gain[k]) ** 2).sum() * (n / total) ** 2
        error[k] = np.sqrt(scatter / (n - 1) / n) if n > 1 else np.nan
    return RewardCurve(
        ratio=grid,
        reward=reward,
        answered=answered,
        gain=gain,
        gain_low=gain - NORMAL_95 * error,
        gain_high=gain + NORMAL_95 * error,
        n_rows=n,
    )


class _RowsAlike(NamedTuple):
    """Rows that no threshold tells apart, together: a million are some thousand kinds; (m,)."""

    own: Ints  #: How many thresholds the confidence reaches
    before: Ints  #: The same before
    outcome: Floats
    mass: Floats  #: Sums of the rows' weights
    squares: Floats  #: And of their squares


def _rows_alike(
    own: Ints, before: Ints, a: Floats, weights: Floats | None, n_thresholds: int
) -> _RowsAlike:
    sides = (n_thresholds + 1, n_thresholds + 1, 2)
    size = int(np.prod(sides))
    w = np.ones(len(a)) if weights is None else weights
    if size > len(a):  # each row is a kind
        return _RowsAlike(own, before, a, w, w**2)
    kind = np.ravel_multi_index((own, before, a.astype(np.int64)), sides)
    mass, squares = (np.bincount(kind, of, size).astype(np.float64) for of in (w, w**2))
    index, other, outcome = np.unravel_index(np.arange(size), sides)
    return _RowsAlike(index, other, outcome.astype(np.float64), mass, squares)


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
