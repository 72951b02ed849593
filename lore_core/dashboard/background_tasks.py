"""What workers compute for pages, and what the server does once to be warm."""

from collections.abc import Sequence

import numpy as np

from lore_core.comparison import Comparison, conclude_recalibration
from lore_core.comparison.retraining import GainEstimate
from lore_core.dashboard.worker import map_array, show_part
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress
from lore_core.embedding.embed import embed
from lore_core.embedding.result import Embedding
from lore_core.kernel_sums.compile_once import load_kernels
from lore_core.view import methods, where
from lore_core.view.inference import chance_errors_of
from lore_core.view.view import View


def fit_methods(
    view: View,
    labels: Sequence[str],
    grouping: methods.Grouping | None,
    measured_on: Embedding | None,
    progress: Progress | None = None,
    earlier: Comparison | None = None,
) -> Comparison:
    """Fit methods by their labels, but for those fitted earlier; measure; simulate nothing."""
    known = methods.recalibrators_of(view)
    made = methods.comparison_of(
        view,
        [known[label] for label in labels],
        {},
        grouping=grouping,
        measured_on=measured_on,
        progress=progress,
        earlier=earlier,
        show=show_part,
        map_array=map_array,  # what ten methods made of many rows need not be in memory
    )
    # What the page shows of all rows of all methods goes with it, and not the rows.
    conclude_recalibration(made)
    return made.without_row_values()


def estimate_gains(view: View, progress: Progress | None = None) -> GainEstimate | None:
    """Learn on calibration rows what could be gained."""
    del progress  # it takes a moment
    return methods.gains_of(view)


def small_view() -> View:
    """Make a few rows of three classes on a map, calibration rows among them."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 120)
    labels = (p.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)
    rows = Dataset(p, labels, rng.normal(size=(120, 2))).with_split(0.5)
    return View(rows, maps={"map": embed(rows.features, "pca", 2, random_state=0)})


def prepare_first_page() -> None:
    """Load what the first page needs while the browser of its reader still loads scripts."""
    load_kernels()
    view = small_view()
    where.field_of(view, where.errors_of(view))


def warm_pages() -> None:
    """Compute once what pages compute in the server: modules and compiled sums are read for it."""
    from lore_core.figures import reliability_figure  # no worker draws

    view = small_view()
    errors = where.errors_of(view)
    methods.summary_of(view, errors=errors)
    where.verdict_of(view, where.subgroups_of(view))
    chance_errors_of(view)
    where.curve_of(view)
    where.field_of(view, errors, bin_index=0)
    where.field_of(view, errors)
    _ = reliability_figure(where.reliability_of(view), rows=view.rows).figure
