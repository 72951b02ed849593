"""t-SNE by openTSNE, imported on first use: progress, cancel, and a place for new rows."""

import threading
from functools import partial
from typing import Any

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.errors import require
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import check_integer, check_positive
from lore_core.embedding.maps import Place

OPTIONS: dict[str, Any] = {"perplexity": 30.0, "n_iter": 500, "exaggeration": 1.0}

#: Fixed, not "all cores": the neighbour search depends on the number of threads.
N_THREADS = 2
#: Up to this many rows Barnes–Hut trees are faster than interpolation: 1 s against 5 s at 500.
_BARNES_HUT_ROWS = 5_000
EARLY_ITERATIONS = 250
_EARLY_EXAGGERATION = 12.0
_ITERATIONS_PER_REPORT = 5
_PLACE_ITERATIONS = 250
_PLACE_BLOCK = 10_000

# openTSNE keeps its interpolation grid on the fitted map: one thread places rows at a time.
_place_lock = threading.Lock()


def _place(model: Any, features: Floats, progress: Progress | None = None) -> Floats:
    """Place rows (m, p) on the fitted map, each on its own: they do not move one another."""
    n = len(features)
    places = np.empty((n, model.shape[1]))
    for start in range(0, n, _PLACE_BLOCK):
        block = features[start : start + _PLACE_BLOCK]

        def report(
            iteration: int, _error: float, _places: Any, start: int = start, size: int = len(block)
        ) -> None:
            done = start + size * iteration / _PLACE_ITERATIONS
            tell(progress, done / n, f"placing the remaining rows: {int(done):,} of {n:,}")

        with _place_lock:
            # Perplexity, start and step sizes are openTSNE's own for placing new rows.
            partial_map = model.prepare_partial(
                block, initialization="median", k=25, perplexity=min(5.0, (len(model) - 1) / 3)
            )
            partial_map.optimize(
                n_iter=_PLACE_ITERATIONS,
                learning_rate=0.1,
                exaggeration=1.5,
                momentum=0.8,
                max_grad_norm=0.25,
                inplace=True,
                propagate_exception=True,
                callbacks=None if progress is None else [report],
                callbacks_every_iters=_ITERATIONS_PER_REPORT,
            )
        places[start : start + len(block)] = partial_map
    return places


def fit_tsne(
    features: Floats,
    n_components: int,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
    perplexity: float = OPTIONS["perplexity"],
    n_iter: int = OPTIONS["n_iter"],
    exaggeration: float = OPTIONS["exaggeration"],
) -> tuple[Floats, Place, str]:
    """Fit a t-SNE map of rows (n, p) in 2 or 3 dimensions; the options are those of ``embed``.

    Returns the rows on it (n, d), what places others, and what a reader should know about it.

    In 2-D above 5,000 rows the negative gradient is interpolated, else computed with Barnes–Hut
    trees, whose time grows much faster with n. ``perplexity`` is lowered to (n − 1)/3 where there
    are few rows; ``n_iter`` follow the 250 iterations of early exaggeration. The start, scaled-down
    principal components, keeps the large-scale arrangement alike from run to run.

    Poličar, Stražar, Zupan, "openTSNE: A Modular Python Library for t-SNE Dimensionality Reduction
    and Embedding", Journal of Statistical Software 109(3), 2024.
    """
    n = len(features)
    perplexity = min(check_positive(perplexity, "perplexity"), (n - 1) / 3)
    n_iter = check_integer(n_iter, "n_iter")
    exaggeration = check_positive(exaggeration, "exaggeration")
    require("A t-SNE map", "openTSNE")

    def report(iteration: int) -> None:
        total = EARLY_ITERATIONS + n_iter
        tell(progress, 0.1 + 0.9 * iteration / total, f"iteration {iteration} of {total}")

    tell(progress, 0.0, f"finding the neighbours of {n:,} rows")

    import openTSNE

    model = openTSNE.TSNE(
        n_components=n_components,
        perplexity=perplexity,
        # Fewer features than dimensions have too few principal components to start from.
        initialization="pca" if features.shape[1] >= n_components else "random",
        negative_gradient_method="fft" if n_components == 2 and n > _BARNES_HUT_ROWS else "bh",
        n_jobs=N_THREADS,
        random_state=random_state,
    ).prepare_initial(features)
    report(0)
    phases = ((0, EARLY_ITERATIONS, _EARLY_EXAGGERATION), (EARLY_ITERATIONS, n_iter, exaggeration))
    for before, iterations, factor in phases:
        model.optimize(
            n_iter=iterations,
            exaggeration=factor,
            momentum=0.8,
            inplace=True,
            propagate_exception=True,
            callbacks=[lambda i, _error, _model, before=before: report(before + i)],
            callbacks_every_iters=_ITERATIONS_PER_REPORT,
        )
    # openTSNE moves the map to the middle of its range when it first places new rows; moved now,
    # so that fitted and placed rows share one origin.
    model -= (np.max(model, axis=0) + np.min(model, axis=0)) / 2
    fitted = np.array(model, dtype=np.float64)
    return fitted, partial(_place, model), f"perplexity {perplexity:.4g}"
