"""What a model whose every probability is right would show of the whole vector over γ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.data.arrays import Floats, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress
from lore_core.data.validation import Points, check_integer
from lore_core.inference.vector_draws import drawn_vectors
from lore_core.inference.whole_vector import upper_level
from lore_core.metrics.vector_bandwidth import VectorCurve, VectorKey, summaries

#: Simulated models at least.
_LEAST_DRAWS = 39


@dataclass(frozen=True, eq=False)
class VectorBand:
    """Curves of the whole vector over γ: the data's, and those of models that are right."""

    gamma: Floats  #: (g,); bandwidths
    #: (b + 1, g); as in :class:`~lore_core.metrics.vector_bandwidth.VectorCurve`: first the data's,
    #: then those of b draws.
    mean_squared: Floats
    largest_squared: Floats

    @property
    def n_draws(self) -> int:
        """b, the number of draws."""
        return len(self.mean_squared) - 1

    def level(self, metric: VectorKey) -> Floats:
        """Return what 95 % of curves of a model that is right stay below as a whole, shape (g,).

        NaN where no row has ten effective neighbours.
        """
        mean, deviation, apart = self._spread(metric)
        return np.sqrt(np.maximum(mean + _limit(apart) * deviation, 0.0))

    def excess(self, metric: VectorKey) -> Floats:
        """Return how many standard deviations the data lie above the mean of all curves, (g,)."""
        return np.asarray(self._spread(metric)[2][0])

    def clear(self, metric: VectorKey) -> Mask:
        """Mask of the bandwidths where the data are above the level, shape (g,)."""
        apart = self._spread(metric)[2]
        return np.asarray(apart[0] > _limit(apart))

    def _spread(self, metric: VectorKey) -> tuple[Floats, Floats, Floats]:
        """Return mean, standard deviation, and how many of these each curve lies above the mean."""
        values = self.mean_squared if metric == "average" else self.largest_squared
        mean, deviation = values.mean(axis=0), values.std(axis=0)
        apart = np.divide(values - mean, deviation, out=np.zeros_like(values), where=deviation > 0)
        return mean, deviation, apart


def _limit(apart: Floats) -> float:
    return upper_level(apart[1:].max(axis=1))


def vector_band(
    dataset: Dataset,
    embedding: Points,
    curve: VectorCurve,
    *,
    n_draws: int = 99,
    random_state: int = 0,
    progress: Progress | None = None,
) -> VectorBand:
    """Simulate the whole vector's curve over γ for models whose every probability is right.

    Parameters
    ----------
    dataset, embedding
        As :func:`~lore_core.metrics.vector_bandwidth.vector_curve` took them.
    curve : VectorCurve
        What it returned.
    n_draws : int
        Simulated models, at least 39.
    random_state, progress
        See :func:`~lore_core.inference.whole_vector.vector_chance`.

    Notes
    -----
    At every bandwidth a curve is measured in standard deviations of all curves, the data's among
    them, and the level is as many of these as 5 % of the draws exceed somewhere: where every
    probability is right, the data do so at any bandwidth with a chance of 5 %.
    """
    check_integer(n_draws, "n_draws", minimum=_LEAST_DRAWS)
    means, largest = [curve.mean_squared[:, None]], [curve.largest_squared[:, None]]
    for squared, _ in drawn_vectors(
        dataset,
        embedding,
        curve.gamma,
        curve.bin_index,
        curve.supported,
        n_draws=n_draws,
        random_state=random_state,
        progress=progress,
    ):
        drawn = summaries(squared, curve.supported)
        means.append(drawn[0])
        largest.append(drawn[1])
    return VectorBand(
        curve.gamma, np.concatenate(means, axis=1).T, np.concatenate(largest, axis=1).T
    )
