"""A small task, done while nobody asks: what the first reader would wait for is loaded then."""

from __future__ import annotations

import numpy as np

from lore_core.data.dataset import Dataset
from lore_core.embedding.embed import embed
from lore_core.figures import reliability_figure
from lore_core.view.inference import chance_errors_of
from lore_core.view.methods import summary_of
from lore_core.view.view import View
from lore_core.view.where import (
    curve_of,
    errors_of,
    field_of,
    places_of,
    reliability_of,
    verdict_of,
)


def small_view() -> View:
    """Make a few rows of three classes on a map, calibration rows among them."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 120)
    labels = (p.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)
    rows = Dataset(p, labels, rng.normal(size=(120, 2))).with_split(0.5)
    return View(rows, maps={"map": embed(rows.features, "pca", 2, random_state=0)})


def warm_pages() -> None:
    """Compute once what pages compute in the server: modules and compiled sums are read for it."""
    view = small_view()
    errors = errors_of(view)
    summary_of(view, errors=errors)
    verdict_of(view, places_of(view))
    chance_errors_of(view)
    curve_of(view)
    field_of(view, errors, bin_index=0)
    field_of(view, errors)
    _ = reliability_figure(reliability_of(view), rows=view.rows).figure
