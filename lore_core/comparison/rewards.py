"""Is it worth it? Rewards of the same rows under every method."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.data.dataset import Dataset
from lore_core.data.weights import chosen_weights
from lore_core.metrics.rewards import RewardCurve, reward_curve


def compare_rewards(
    datasets: Mapping[str, Dataset],
    ratios: ArrayLike | None = None,
    *,
    rows: NDArray[np.bool_] | None = None,
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
    first = next(iter(datasets.values())).confidence
    counted = np.ones(len(first), dtype=bool) if rows is None else rows
    return {
        method: reward_curve(
            dataset.confidence[counted],
            dataset.outcome[counted],
            ratios,
            baseline=first[counted],
            weights=chosen_weights(dataset.weights, counted),
        )
        for method, dataset in datasets.items()
    }
