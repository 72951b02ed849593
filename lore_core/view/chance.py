"""What chance alone would show of a view, as far as that can be waited for."""

from __future__ import annotations

import numpy as np

from lore_core.data.binning import confidence_bins
from lore_core.data.progress import Progress
from lore_core.inference.simulation import (
    NullBand,
    NullErrors,
    affordable_null_draws,
    null_band,
    null_errors,
)
from lore_core.mergeable import LocalErrorSums, null_errors_of_sums
from lore_core.mergeable.cell_sums.summaries import FINE_ENOUGH_TO_DRAW
from lore_core.mergeable.cell_sums.sums import level_at
from lore_core.view.view import View

#: Simulations, where they can be waited for.
_DRAWS = 200


def chance_errors_of(
    view: View,
    *,
    bin_index: int | None = None,
    n_draws: int | None = None,
    progress: Progress | None = None,
) -> NullErrors | None:
    """All summaries at the view's γ if every confidence were right; None without simulations.

    ``bin_index``: confidence bin of the CDF; by default all rows. ``n_draws``: simulations; by
    default 200, or what takes some seconds, which may be none. Where those of each row by itself
    take longer than that, rows are drawn together with those like them, up to three dimensions.
    """
    c, points = view.aimed.confidence, view.points()
    n_dimensions = points.shape[1]
    wanted = _DRAWS if n_draws is None else n_draws
    affordable = affordable_null_draws(len(points), n_dimensions, 1, wanted=wanted)
    if affordable < wanted and n_dimensions <= 3 and view.aimed.weights is None:
        sums = LocalErrorSums.of(
            c,
            np.zeros(len(c)),
            points,
            bins=confidence_bins(c, **view.bins),
            at_least_level=level_at(view.gamma, n_dimensions, FINE_ENOUGH_TO_DRAW),
        )
        if n_draws is None:
            wanted = affordable_null_draws(len(sums.cells), n_dimensions, 1, wanted=wanted)
        if not wanted:
            return None
        return null_errors_of_sums(
            sums,
            gamma=view.gamma,
            n_draws=wanted,
            bin_index=bin_index,
            random_state=view.seed,
            progress=progress,
        )
    n_draws = affordable if n_draws is None else n_draws
    if not n_draws:
        return None
    within = None
    if bin_index is not None:
        within = confidence_bins(c, **view.bins).assign(c) == bin_index
    return null_errors(
        c,
        points,
        **view.local,
        n_draws=n_draws,
        within=within,
        weights=view.aimed.weights,
        random_state=view.seed,
        progress=progress,
    )


def affordable_band(view: View) -> int:
    """Return how many simulations of a whole curve take some seconds; 0 for none."""
    points = view.points()
    return affordable_null_draws(len(points), points.shape[1], len(view.gammas))


def chance_band_of(
    view: View, *, n_draws: int | None = None, progress: Progress | None = None
) -> NullBand | None:
    """MLCE and ALCE over γ if every confidence were right; None without simulations.

    ``view``, ``n_draws``, ``progress``: see :func:`chance_errors_of`.
    """
    n_draws = affordable_band(view) if n_draws is None else n_draws
    if not n_draws:
        return None
    return null_band(
        view.aimed.confidence,
        view.points(),
        view.gammas,
        **view.bins,
        n_draws=n_draws,
        weights=view.aimed.weights,
        random_state=view.seed,
        progress=progress,
    )
