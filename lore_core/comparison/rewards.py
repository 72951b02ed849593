"""Is it worth it? Rewards of the same rows under every method."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from lore_core.data.arrays import Mask
from lore_core.data.dataset import Dataset
from lore_core.data.weights import chosen_weights
from lore_core.metrics.rewards import RewardCurve, reward_curves


def compare_rewards(
    datasets: Mapping[str, Dataset],
    ratios: ArrayLike | None = None,
    *,
    rows: Mask | None = None,
) -> dict[str, RewardCurve]:
    """Reward of every method over cost ratios, and its gain over the first.

    Parameters
    ----------
    datasets : mapping of str to Dataset
        The same evaluation rows as each method left them; the first is what the others are held
        against.
    ratios : array-like of shape (r,), optional
        Cost ratios w/u ≥ 1; by default :func:`~lore_core.metrics.rewards.default_ratios`.
    rows : ndarray of shape (n,), optional
        Mask of the rows that count; by default all.
    """
    counted: Mask | slice = slice(None) if rows is None or rows.all() else rows
    first = next(iter(datasets.values()))
    return reward_curves(
        {label: item.confidence[counted] for label, item in datasets.items()},
        first.outcome[counted],
        ratios,
        weights=chosen_weights(first.weights, counted),
    )
