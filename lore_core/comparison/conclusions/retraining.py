"""Conclusion about retraining: what it can gain, and what recalibration can."""

from __future__ import annotations

import math

from lore_core.comparison.conclusions.conclusion import Conclusion
from lore_core.data.number_text import HUNDREDTHS, decimal
from lore_core.metrics.grouping_loss import MIN_OF_EACH, MIN_ROWS, LossParts
from lore_core.metrics.regret import RewardParts

#: Gains of Brier score below this are of no consequence.
_SMALL = 0.001


def conclude_retraining(
    losses: LossParts | None,
    rewards: RewardParts | None = None,
    *,
    unsure_cost: float = 1.0,
    has_features: bool = True,
    weighted: bool = False,
) -> Conclusion:
    """Say what recalibrating the confidence can gain, and what only the features can.

    ``losses, rewards``: of the same rows; None where they are too few. ``unsure_cost``: the cost u
    of being unsure, in the reader's unit. ``has_features``: whether trees saw features, or the
    predicted class alone. ``weighted``: whether rows have weights, so that nothing was looked at.

    "At most" is the upper end of a 95 % interval (of the reward a one-sided bound), "at least" the
    lower end of one.
    """
    if weighted:
        return Conclusion(
            "Whether to recalibrate or to retrain is not said of weighted rows: the bounds were "
            "tried on rows that count alike only."
        )
    if losses is None:
        return Conclusion(
            f"Whether to recalibrate or to retrain takes {MIN_ROWS} rows, {MIN_OF_EACH} of them "
            f"right and {MIN_OF_EACH} wrong, to tell."
        )
    by = "class and features" if has_features else "class"
    score = decimal(losses.score * HUNDREDTHS, 1)
    most, least = losses.calibration.high, losses.grouping.low
    text = (
        f"Of the confidence's Brier score, {score} points, a curve of the confidence alone gains "
        f"at most {_points(most)}"
    )
    finds = least >= _SMALL
    if finds:
        text += (
            f"; telling rows of one confidence apart by their {by} gains at least "
            f"{_points(least)} more, and takes what sees more than the confidence: matrix "
            "scaling, LoRe smooth, a better model, or more data."
        )
    else:
        text += (
            f"; that {by} tell rows of one confidence apart is not shown"
            f"{'' if least == 0 else f' to be worth {_points(_SMALL)}'}."
        )
    if rewards is not None:
        text += f" {_of_reward(rewards, unsure_cost, by)}"
    return Conclusion(text, is_significant=finds or losses.calibration.low > 0)


def _of_reward(rewards: RewardParts, u: float, by: str) -> str:
    """Say the same of the reward."""
    most, improved = rewards.at_most * u, rewards.improved
    text = f"At w/u = {rewards.ratio:g} a rising curve gains at most {most:.3g} a row"
    if math.isnan(improved.low):
        return f"{text}; what trees on {by} gain cannot be told on these rows."
    if improved.low > 0:
        value, low, high = (x * u for x in (improved.value, improved.low, improved.high))
        return (
            f"{text}; trees on {by} gain {value:.3g} more than a fitted curve "
            f"(95 %: {low:.3g} to {high:.3g})."
        )
    return f"{text}; trees on {by} gain nothing more, beyond chance."


def retraining_in_subgroup(losses: LossParts | None) -> str:
    """Say what can be gained on the held-out rows of a subgroup; "" where they are too few.

    ``losses``: of the rows of the subgroup that had no part in finding it.
    """
    if losses is None:
        return ""
    most, least = losses.calibration.high, losses.grouping.low
    text = (
        "A curve of the confidence, for these rows alone, gains at most "
        f"{_points(min(most, losses.score))} of their "
        f"{decimal(losses.score * HUNDREDTHS, 1)} points of Brier score"
    )
    if least < _SMALL:
        return f"{text}."
    return (
        f"{text}; telling them apart by class and features gains at least {_points(least)} "
        "more, and takes a better model, or more rows like these."
    )


def _points(share: float) -> str:
    """Write a gain in points; small ones with two decimals."""
    value = share * HUNDREDTHS
    return decimal(value, 1 if value >= 10 else 2)
