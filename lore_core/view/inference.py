"""Null models of a view, as far as they can be waited for, and the whole probability vector."""

from typing import Any

import numpy as np

from lore_core.data.binning import confidence_bins
from lore_core.data.progress import Progress
from lore_core.inference import simulation, whole_vector
from lore_core.mergeable import LocalErrorSums, null_errors_of_sums
from lore_core.mergeable.cell_sums.summaries import FINE_ENOUGH_TO_DRAW
from lore_core.mergeable.cell_sums.sums import level_at
from lore_core.metrics.local_error import VectorErrors, vector_errors
from lore_core.view.view import SumsView, View

#: Simulations at most.
_DRAWS, _DRAWS_OF_SUMS = 200, 99


def chance_errors_of(
    view: View | SumsView,
    *,
    bin_index: int | None = None,
    n_draws: int | None = None,
    progress: Progress | None = None,
) -> simulation.NullErrors | None:
    """Return all summaries at the view's γ if every confidence were right; None if not simulated.

    ``bin_index``: bin of the CDF; by default all rows. ``n_draws``: by default 200 (of sums 99), or
    what takes some seconds, which may be none.
    """
    sums, n_draws = _sums_to_draw(view, n_draws)
    if not n_draws:
        return None
    drawing: dict[str, Any] = {"n_draws": n_draws, "random_state": view.seed, "progress": progress}
    if sums is not None:
        return null_errors_of_sums(sums, gamma=view.gamma, bin_index=bin_index, **drawing)
    assert isinstance(view, View)  # the others are known by sums
    rows, within = view.target_rows, None
    if bin_index is not None:
        within = confidence_bins(rows.confidence, **view.bins).assign(rows.confidence) == bin_index
    drawing |= {"within": within, "weights": rows.weights, "dependence": view.dependence}
    return simulation.null_errors(rows.confidence, view.points(), **view.local, **drawing)


def _sums_to_draw(view: View | SumsView, n_draws: int | None) -> tuple[LocalErrorSums | None, int]:
    """Return sums of rows, if like rows are drawn together, and the number of draws."""
    if isinstance(view, SumsView):
        wanted = _DRAWS_OF_SUMS if n_draws is None else n_draws
        return view.sums, wanted if view.sums.of_units is None else 0  # (by which units?)
    c, points = view.target_rows.confidence, view.points()
    n_dimensions = points.shape[1]
    wanted = _DRAWS if n_draws is None else n_draws
    affordable = simulation.affordable_null_draws(len(points), n_dimensions, 1, wanted=wanted)
    rows = view.target_rows
    counted_alike = rows.weights is None and rows.units is None
    if affordable >= wanted or n_dimensions > 3 or not counted_alike:
        return None, affordable if n_draws is None else n_draws
    sums = LocalErrorSums.of(
        c,
        np.zeros(len(c)),
        points,
        bins=confidence_bins(c, **view.bins),
        at_least_level=level_at(view.gamma, n_dimensions, FINE_ENOUGH_TO_DRAW),
    )
    if n_draws is None:
        wanted = simulation.affordable_null_draws(len(sums.cells), n_dimensions, 1, wanted=wanted)
    return sums, wanted


def affordable_band(view: View) -> int:
    """Return how many simulations of a whole curve take some seconds; 0 for none."""
    points = view.points()
    return simulation.affordable_null_draws(len(points), points.shape[1], len(view.gammas))


def chance_band_of(
    view: View | SumsView, *, n_draws: int | None = None, progress: Progress | None = None
) -> simulation.NullBand | None:
    """Return MLCE and ALCE over γ if every confidence were right; None without simulations."""
    if isinstance(view, SumsView):
        return None
    n_draws = affordable_band(view) if n_draws is None else n_draws
    if not n_draws:
        return None
    return simulation.null_band(
        view.target_rows.confidence,
        view.points(),
        view.gammas,
        **view.bins,
        n_draws=n_draws,
        weights=view.target_rows.weights,
        dependence=view.dependence,
        random_state=view.seed,
        progress=progress,
    )


def vector_errors_of(view: View, progress: Progress | None = None) -> VectorErrors:
    """Return local errors of the whole vector, of the evaluation rows."""
    return vector_errors(view.evaluation, view.points(), **view.local, progress=progress)


def vector_chance_of(
    view: View, errors: VectorErrors | None = None, *, progress: Progress | None = None
) -> whole_vector.VectorChance:
    """Test the whole vector's local errors; ``errors``: where they are known."""
    errors = vector_errors_of(view) if errors is None else errors
    return whole_vector.vector_chance(
        view.evaluation, view.points(), errors, random_state=view.seed, progress=progress
    )
