"""What chance alone would show of a view, as far as that can be waited for."""

from __future__ import annotations

from lore_core.chance.simulation import (
    NullBand,
    NullErrors,
    affordable_null_draws,
    null_band,
    null_errors,
)
from lore_core.data.binning import confidence_bins
from lore_core.data.progress import Progress
from lore_core.view.view import View


def chance_errors_of(
    view: View,
    *,
    bin_index: int | None = None,
    n_draws: int | None = None,
    progress: Progress | None = None,
) -> NullErrors | None:
    """All summaries at the view's γ if every confidence were right; None without simulations.

    ``bin_index``: confidence bin of the CDF; by default all rows. ``n_draws``: simulations; by
    default what takes some seconds, which for very many rows is none.
    """
    c, points = view.aimed.confidence, view.points()
    if n_draws is None:
        n_draws = affordable_null_draws(len(points), points.shape[1], 1)
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


def chance_band_of(
    view: View, *, n_draws: int | None = None, progress: Progress | None = None
) -> NullBand | None:
    """MLCE and ALCE over γ if every confidence were right; None without simulations.

    ``view``, ``n_draws``, ``progress``: see :func:`chance_errors_of`.
    """
    points = view.points()
    if n_draws is None:
        n_draws = affordable_null_draws(len(points), points.shape[1], len(view.gammas))
    if not n_draws:
        return None
    return null_band(
        view.aimed.confidence,
        points,
        view.gammas,
        **view.bins,
        n_draws=n_draws,
        weights=view.aimed.weights,
        random_state=view.seed,
        progress=progress,
    )
