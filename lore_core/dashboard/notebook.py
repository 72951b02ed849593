"""The landscape in a notebook."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lore_core.data.binning import Binning
from lore_core.data.dataset import TOP_LABEL, Dataset
from lore_core.data.defaults import GAMMA, N_BINS, STORED_GAMMAS
from lore_core.data.errors import require
from lore_core.data.validation import InputError

if TYPE_CHECKING:
    from lore_core.dashboard.widget import LandscapeWidget
    from lore_core.embedding.result import Embedding


def landscape(
    dataset: Dataset,
    embedding: Embedding | None = None,
    *,
    target: str | int = TOP_LABEL,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
) -> LandscapeWidget:
    """Show where the confidence is wrong, in a notebook: a map to drag, zoom, play and select on.

    Parameters
    ----------
    dataset : Dataset
        Its evaluation rows are shown.
    embedding : Embedding, optional
        All rows on a 2-D map (:func:`~lore_core.embedding.embed`); by default two-dimensional PCA.
    target : "top-label" or int
        What is being calibrated.
    gamma : float
        Bandwidth γ > 0 at first; the slider has others.
    n_bins, binning
        Confidence bins.

    Returns
    -------
    LandscapeWidget
        The last line of a cell shows it; ``selected_rows`` are the evaluation rows selected on it.

    Raises
    ------
    InputError
        If there are no features, the map is not 2-D, or anywidget is not installed.
    """
    require("A landscape in a notebook", "anywidget")
    from lore_core.dashboard.widget import LandscapeWidget
    from lore_core.embedding import embed
    from lore_core.figures.browser.landscape import ROWS, every_row, packed_rows, still_layers
    from lore_core.figures.pictures.landscape import landscape_figure
    from lore_core.figures.pictures.landscape_picture import Layer
    from lore_core.figures.pictures.picture import shared_limit
    from lore_core.regions.rows import row_table
    from lore_core.view import View
    from lore_core.view.preview import preview_rows
    from lore_core.view.scene import Scene
    from lore_core.view.where import errors_of, reliability_of

    if embedding is None:
        if dataset.features is None:
            raise InputError("'dataset' must have features, or give an 'embedding' of its rows.")
        embedding = embed(dataset.features, "pca", 2)
    if embedding.n_components != 2:
        raise InputError(f"'embedding' must have 2 dimensions; got {embedding.n_components}.")
    view = View(dataset, target, gamma, n_bins, binning, {embedding.name.title: embedding})
    scene = Scene(view, errors_of(view), reliability_of(view), None, embedding, view.map_name)
    gammas = tuple(sorted({*STORED_GAMMAS, gamma}))
    moving = preview_rows(view, on=embedding)
    fields = tuple(moving.field(item) for item in gammas)
    start = gammas.index(gamma)
    chart = landscape_figure(
        fields[start],
        scene.points,
        worst=row_table(view.evaluation, scene.worst, scene.errors, extra=0),
        n_total=scene.n_rows,
        limit=shared_limit(scene.supported),
        rows=f"{view.rows}, {view.kernel_in_words}",
        axes=scene.axes,
        labels=scene.classes,
    )
    layer = Layer("all confidences together", fields, "", scene.n_rows)
    rows = every_row(view.evaluation, view.target_rows, target, scene.errors, scene.points)
    shown = still_layers(replace(chart, layers=(layer,), gammas=gammas, start=start), rows=rows)
    return LandscapeWidget.of(packed_rows(rows, ROWS), shown, scene.points, gamma)
