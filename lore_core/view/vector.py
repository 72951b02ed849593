"""The whole probability vector of a view: at its bandwidth, class by class, and over γ."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress
from lore_core.inference.vector_bands import VectorBand, vector_band
from lore_core.inference.whole_vector import VectorChance, classes_by_chance, vector_chance
from lore_core.metrics.bandwidth import ROUND_GAMMAS
from lore_core.metrics.vector_bandwidth import VectorCurve, vector_curve
from lore_core.metrics.vector_error import VectorErrors, vector_errors
from lore_core.view.view import View

#: Bandwidths of curves: every third of the sliders'.
_GAMMAS = ROUND_GAMMAS[::3]
#: Simulated curves, and where rows or classes are many; rows a curve should have, and has at least.
_DRAWS, _FEW_DRAWS, _ENOUGH_ROWS, _LEAST_ROWS = 99, 39, 5_000, 2_000
#: Work of half a minute on two cores: sorted sweeps of columns, and pairs of rows one by one.
_SWEEPS, _PAIRS = 6e9, 1.6e11


def vector_errors_of(view: View, progress: Progress | None = None) -> VectorErrors:
    """Local errors of the whole vector, of the evaluation rows.

    Raises InputError if they have weights.
    """
    return vector_errors(view.evaluation, view.points(), **view.local, progress=progress)


def vector_chance_of(
    view: View, errors: VectorErrors, *, progress: Progress | None = None
) -> VectorChance:
    """Test the whole vector's local errors.

    ``errors``: from :func:`vector_errors_of`.
    """
    return vector_chance(
        view.evaluation, view.points(), errors, random_state=view.seed, progress=progress
    )


def classes_of(view: View, errors: VectorErrors, chance: VectorChance) -> pd.DataFrame:
    """Return every class with what chance shows, the most wrong first.

    ``errors``, ``chance``: from :func:`vector_errors_of` and :func:`vector_chance_of`.
    """
    return classes_by_chance(view.evaluation, errors, chance, **view.bins)


def vector_curve_of(view: View, progress: Progress | None = None) -> VectorCurve:
    """Average and largest local error of the whole vector over γ.

    Of the evaluation rows, or where these are too many to be simulated within half a minute of as
    many as are not: ``n_rows`` of the curve says how many.
    """
    dataset, points = _curve_rows(view)
    return vector_curve(dataset, points, _GAMMAS, **view.bins, progress=progress)


def vector_band_of(
    view: View, curve: VectorCurve, *, progress: Progress | None = None
) -> VectorBand:
    """Hold the whole vector's curve over γ against models whose every probability is right.

    ``curve``: from :func:`vector_curve_of`.
    """
    dataset, points = _curve_rows(view)
    n_draws = _DRAWS if curve.n_rows >= min(_ENOUGH_ROWS, len(view.evaluation)) else _FEW_DRAWS
    return vector_band(
        dataset, points, curve, n_draws=n_draws, random_state=view.seed, progress=progress
    )


def _curve_rows(view: View) -> tuple[Dataset, Floats]:
    """Return the rows of curves, all or a uniform sample, and their coordinates."""
    dataset, points = view.evaluation, view.points()
    most = _most_rows(len(points), points.shape[1], dataset.n_classes)
    if most == len(points):
        return dataset, points
    chosen: Ints = np.sort(
        np.random.default_rng(view.seed).choice(len(points), size=most, replace=False)
    )
    return dataset.rows(chosen), points[chosen]


def _most_rows(n_rows: int, n_dimensions: int, n_classes: int) -> int:
    """Return of how many rows curves can be waited for."""

    def fitting(n_draws: int) -> int:
        columns = n_draws * (n_classes + 1) * len(_GAMMAS)
        if n_dimensions > 3:
            return int(np.sqrt(_PAIRS / columns))
        n, power = float(n_rows), n_dimensions - 1
        while n * np.log2(n + 2) ** power * columns > _SWEEPS:
            n /= 1.1
        return int(n)

    enough = fitting(_DRAWS)
    if enough < min(_ENOUGH_ROWS, n_rows):
        enough = max(fitting(_FEW_DRAWS), _LEAST_ROWS)
    return min(n_rows, enough)
