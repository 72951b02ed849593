"""Local errors of the whole probability vector as the bandwidth γ grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress, part_of
from lore_core.data.validation import Points
from lore_core.kernel_sums import laplacian_means, laplacian_sums
from lore_core.metrics.bandwidth import default_gammas
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth, told
from lore_core.metrics.vector_error import checked_rows, residuals

#: Which of its two summaries.
VectorKey = Literal["average", "largest"]
#: Bytes of kernel means held at once.
_MEMORY = 2.0**28


@dataclass(frozen=True, eq=False)
class VectorCurve:
    """Average and largest local error of the whole vector over a grid of bandwidths."""

    gamma: Floats  #: (g,); bandwidths
    #: (g,); mean and maximum of the squared vector LCE less its noise over the supported rows,
    #: below 0 where it is all noise; NaN without any.
    mean_squared: Floats
    largest_squared: Floats
    #: (g, n); mask of the rows with ten effective neighbours or more.
    supported: Mask
    median_effective_size: Floats  #: (g,); median n_eff over all rows
    bin_index: Ints  #: (n,); bin of the predicted class's confidence

    @property
    def average(self) -> Floats:
        """Root mean square of the vector LCE, without noise, shape (g,)."""
        return np.sqrt(np.maximum(self.mean_squared, 0.0))

    @property
    def largest(self) -> Floats:
        """Largest vector LCE, without noise, shape (g,)."""
        return np.sqrt(np.maximum(self.largest_squared, 0.0))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.supported.shape[1])

    def of(self, metric: VectorKey) -> Floats:
        """Return one of the two summaries, shape (g,)."""
        return self.average if metric == "average" else self.largest

    def frame(self) -> pd.DataFrame:
        """Return the curve as a DataFrame, one row a bandwidth."""
        return pd.DataFrame(
            {
                "gamma": self.gamma,
                "average": self.average,
                "largest": self.largest,
                "rows": self.supported.sum(axis=1),
                "median_n_eff": self.median_effective_size,
            }
        )


def vector_curve(
    dataset: Dataset,
    embedding: Points,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    progress: Progress | None = None,
) -> VectorCurve:
    """Average and largest local error of the whole vector for many bandwidths.

    Parameters
    ----------
    dataset, embedding, n_bins, binning, progress
        See :func:`~lore_core.metrics.vector_error.vector_errors`.
    gammas : array-like of shape (g,), optional
        Bandwidths γ > 0; by default :func:`~lore_core.metrics.bandwidth.default_gammas`.

    Raises
    ------
    InputError
        If an argument is out of range, the lengths disagree, or rows have weights.

    Notes
    -----
    At each bandwidth what :func:`~lore_core.metrics.vector_error.vector_errors` finds there, from
    as few passes over the rows as memory allows.
    """
    z = checked_rows(dataset, embedding)
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    index = confidence_bins(dataset.confidence, n_bins, binning).assign(dataset.confidence)
    residual = residuals(dataset)
    length = np.square(residual).sum(axis=1)
    parts: list[tuple[Floats, Floats]] = []
    for chosen, own in _parts(grid, residual.size, progress):
        h = scaled_bandwidth(chosen, z.shape[1])
        means = laplacian_means(
            z, None, residual, bandwidth=h, target_groups=index, progress=told(own)
        )
        noise = laplacian_sums(z, None, length, bandwidth=h / 2, target_groups=index)
        squared = np.square(means.mean, out=means.mean).sum(axis=2) - noise / means.mass**2
        parts.append((squared, means.effective_size))
    squared, size = (np.concatenate(item) for item in zip(*parts, strict=True))
    known = size >= MIN_EFFECTIVE_SIZE
    mean, largest = summaries(squared[:, None], known)
    return VectorCurve(
        gamma=grid,
        mean_squared=mean[:, 0],
        largest_squared=largest[:, 0],
        supported=known,
        median_effective_size=np.median(size, axis=1),
        bin_index=index,
    )


def summaries(squared: Floats, known: Mask) -> tuple[Floats, Floats]:
    """Return mean and maximum of (g, b, n) values over the known rows (g, n), shape (g, b) each.

    NaN where no row is known.
    """
    empty = ~known.any(axis=1)
    inside = known[:, None]
    with np.errstate(invalid="ignore"):
        mean = squared.sum(axis=2, where=inside) / known.sum(axis=1)[:, None]
    largest = squared.max(axis=2, where=inside, initial=-np.inf)
    largest[empty] = np.nan
    return mean, largest


def _parts(
    grid: Floats, n_values: int, progress: Progress | None
) -> Iterator[tuple[Floats, Progress | None]]:
    """Yield bandwidths that are looked at together, with what is told of them."""
    at_once = int(max(1, _MEMORY / (8 * n_values)))
    for first in range(0, len(grid), at_once):
        last = min(first + at_once, len(grid))
        yield grid[first:last], part_of(progress, first / len(grid), last / len(grid))
