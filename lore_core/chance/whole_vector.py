"""What a model whose every probability is right would show of the whole vector's local errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lore_core.chance.simulation import affordable_null_draws
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.dataset import Dataset
from lore_core.data.number_text import p_sentence, points_words, rows_words, share_words
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import Points, as_coordinates, check_integer
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.metrics.vector_error import VectorErrors

#: Chance that any row is called beyond it, and that the average is, where all is right.
ALPHA = 0.05
#: Columns of kernel sums held at once.
_MOST_COLUMNS = 256
#: Simulated models at most and at least.
_DRAWS, _LEAST_DRAWS = 199, 39


@dataclass(frozen=True, eq=False)
class VectorChance:
    """The whole vector's local errors, tested."""

    average: float  #: Root mean square of the vector LCE over supported rows, noise taken off
    #: What that stays below in 95 % of models whose every probability is right.
    chance_level: float
    p_value: float  #: Chance of so large an average there
    #: (n,); rows whose vector LCE is beyond chance: where all is right there is one in 5 % of sets.
    beyond: Mask
    n_supported: int
    n_draws: int

    @property
    def sentence(self) -> str:
        """What the test says of all rows, and of single ones."""
        if not self.n_supported:
            return "No row has ten effective neighbours: raise γ."
        on = f"{rows_words(self.n_supported)} with ten effective neighbours or more"
        size = points_words(self.average, 1)
        level = points_words(self.chance_level, 1)
        against = f"models whose every probability is right stay below {level} in 95 %"
        if self.p_value > ALPHA:
            return (
                f"On {on} the whole vector is off by {size} points, less its noise: not beyond "
                f"chance ({against}; {p_sentence(self.p_value)})."
            )
        found = int(self.beyond.sum())
        where = (
            f"at {rows_words(found)} ({share_words(found / self.n_supported)}) beyond chance by "
            "themselves"
            if found
            else "at no single row beyond chance by itself"
        )
        return (
            f"On {on} the whole vector is off by {size} points, less its noise: beyond chance "
            f"({against}; {p_sentence(self.p_value)}), {where}."
        )


def vector_chance(
    dataset: Dataset,
    embedding: Points,
    errors: VectorErrors,
    *,
    n_draws: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> VectorChance:
    """Test local errors of the whole vector against a model whose every probability is right.

    Parameters
    ----------
    dataset, embedding
        As :func:`~lore_core.metrics.vector_error.vector_errors` took them.
    errors : VectorErrors
        What it returned.
    n_draws : int, optional
        Simulated models, at least 39; by default as many as can be waited for, 199 at most.
    random_state : int
        Their seed.
    progress : callable, optional
        Called with the share done.

    Notes
    -----
    True classes are drawn from the probabilities themselves and the squared vector errors computed
    as if they were the data (the probabilities and neighbours stay). The data are then one more
    draw, so that P(rank) is exact: p = (1 + draws at least as large) / (1 + draws). Rows are held
    against the largest of all rows: each squared error over its root mean square among the draws
    and the data, beyond the 95 % point of the largest of it in every draw.
    """
    known = errors.supported
    draws = n_draws
    if draws is None:
        dimensions = as_coordinates(embedding).shape[1]
        waited_for = affordable_null_draws(len(known), dimensions, dataset.n_classes)
        draws = int(np.clip(waited_for, _LEAST_DRAWS, _DRAWS))
    check_integer(draws, "n_draws", minimum=_LEAST_DRAWS)
    if not known.any():
        nothing = np.zeros(len(known), dtype=bool)
        return VectorChance(float("nan"), float("nan"), float("nan"), nothing, 0, draws)
    squared = np.empty((draws + 1, int(known.sum())))
    squared[0] = errors.squared[known]
    squared[1:] = _drawn(dataset, embedding, errors, draws, random_state, progress)
    mean = squared.mean(axis=1)
    scaled = squared / np.sqrt(np.square(squared).mean(axis=0))
    largest = np.sort(scaled[1:].max(axis=1))
    # The smallest value that a share of 5 % of draws, the data among them, exceeds.
    limit = largest[int(np.ceil((1 - ALPHA) * (draws + 1))) - 1]
    beyond = np.zeros(len(known), dtype=bool)
    beyond[known] = scaled[0] > limit
    level = np.sort(mean[1:])[int(np.ceil((1 - ALPHA) * (draws + 1))) - 1]
    return VectorChance(
        average=errors.average(),
        chance_level=float(np.sqrt(max(level, 0.0))),
        p_value=float((1 + (mean[1:] >= mean[0]).sum()) / (1 + draws)),
        beyond=beyond,
        n_supported=int(known.sum()),
        n_draws=draws,
    )


def _drawn(
    dataset: Dataset,
    embedding: Points,
    errors: VectorErrors,
    n_draws: int,
    random_state: int,
    progress: Progress | None,
) -> Floats:
    """Squared vector errors of the supported rows in every draw, shape (n_draws, n_supported)."""
    z, p, known = as_coordinates(embedding), dataset.probabilities, errors.supported
    n, n_classes = p.shape
    h = scaled_bandwidth(errors.gamma, z.shape[1])
    groups = errors.bin_index
    mass = laplacian_sums(z, None, np.ones(n), bandwidth=h, target_groups=groups)[known]
    upto, length = np.cumsum(p, axis=1), np.square(p).sum(axis=1)
    rng, index = np.random.default_rng(random_state), np.arange(n)
    result = np.empty((n_draws, int(known.sum())))
    at_once = max(1, _MOST_COLUMNS // n_classes)
    for first in range(0, n_draws, at_once):
        tell(progress, first / n_draws, "simulating chance")
        batch = range(first, min(first + at_once, n_draws))
        classes = [_classes(upto, rng) for _ in batch]
        columns = np.tile(p, len(batch))
        for k, drawn in enumerate(classes):
            columns[index, k * n_classes + drawn] -= 1.0
        own = np.column_stack([length - 2 * p[index, drawn] + 1 for drawn in classes])
        sums = laplacian_sums(z, None, columns, bandwidth=h, target_groups=groups)[known]
        noise = laplacian_sums(z, None, own, bandwidth=h / 2, target_groups=groups)[known]
        square = np.square(sums).reshape(len(sums), len(batch), n_classes).sum(axis=2)
        result[batch.start : batch.stop] = ((square - noise) / mass[:, None] ** 2).T
    tell(progress, 1.0, "simulating chance")
    return result


def _classes(upto: Floats, rng: np.random.Generator) -> Ints:
    """Draw a class of every row; ``upto`` (n, K): summed probabilities."""
    level = rng.random((len(upto), 1)) * upto[:, -1:]
    return np.asarray((upto <= level).sum(axis=1).clip(max=upto.shape[1] - 1))
