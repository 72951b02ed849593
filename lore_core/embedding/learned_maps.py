"""t-SNE by openTSNE and UMAP by umap-learn, imported on first use: progress, cancel, new rows."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.errors import require
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError, check_integer, check_positive
from lore_core.embedding.result import Place

#: Fixed, not "all cores": the neighbour search depends on the number of threads.
N_THREADS = 2
#: Up to this many rows Barnes–Hut trees are faster than interpolation: 1 s against 5 s at 500.
_BARNES_HUT_ROWS = 5_000
EARLY_ITERATIONS = 250
_EARLY_EXAGGERATION = 12.0
_ITERATIONS_PER_REPORT = 5
_PLACE_BLOCK = 1_000

# openTSNE keeps its interpolation grid on the fitted map: one thread places rows at a time.
_place_lock = threading.Lock()


def _place_by_tsne(model: Any, features: Floats, progress: Progress | None = None) -> Floats:
    """Place rows (m, p) on the fitted map, each on its own: they do not move one another."""
    n = len(features)
    places = np.empty((n, model.shape[1]))
    for start in range(0, n, _PLACE_BLOCK):
        block = features[start : start + _PLACE_BLOCK]
        tell(progress, start / n, f"placing the remaining rows: {start:,} of {n:,}")
        with _place_lock:
            # Start, step sizes and number of steps are openTSNE's own for placing new rows.
            places[start : start + len(block)] = model.transform(
                block, perplexity=min(5.0, (len(model) - 1) / 3)
            )
    return places


def fit_tsne(
    features: Floats,
    n_components: int,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
    perplexity: float = 30.0,
    n_iter: int = 500,
) -> tuple[Floats, Place, str]:
    """Fit a t-SNE map of rows (n, p) in 2 or 3 dimensions; the options are those of ``embed``.

    Returns the rows on it (n, d), what places others, and what a reader should know about it.

    How it is fitted: docs/method.md ("Kernel and scale").
    """
    n = len(features)
    perplexity = min(check_positive(perplexity, "perplexity"), (n - 1) / 3)
    n_iter = check_integer(n_iter, "n_iter")
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
    phases = ((0, EARLY_ITERATIONS, _EARLY_EXAGGERATION), (EARLY_ITERATIONS, n_iter, 1.0))
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
    return fitted, partial(_place_by_tsne, model), f"perplexity {perplexity:.4g}"


# Two Python threads in UMAP's compiled loops abort the process where numba has only its "workqueue"
# layer, so one thread enters at a time.
turn_lock = threading.Lock()


def _place_by_umap(model: Any, features: Floats, progress: Progress | None = None) -> Floats:
    """Place rows (m, p) on the fitted map."""
    if len(features) == 0:
        return np.empty((0, model.n_components))
    table = np.ascontiguousarray(features, dtype=np.float32)
    with _exclusive(progress, "placing the remaining rows: epoch"):
        return np.array(model.transform(table), dtype=np.float64)


def fit_umap(
    features: Floats,
    n_components: int,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
    n_neighbors: int = 15,
    min_dist: float = 0.1,
    n_epochs: int | None = None,
) -> tuple[Floats, Place, str]:
    """Fit a UMAP map of rows (n, p) in 2 or 3 dimensions; the options are those of ``embed``.

    Returns the rows on it (n, d), what places others, and what a reader should know about it.
    ``n_neighbors`` is lowered to n − 1 where there are few rows; ``n_epochs`` is by default 500 up
    to 10,000 rows, 200 above.

    McInnes, Healy, Melville, "UMAP: Uniform Manifold Approximation and Projection for Dimension
    Reduction", arXiv 1802.03426, 2018.
    """
    n = len(features)
    n_neighbors = min(check_integer(n_neighbors, "n_neighbors", minimum=2), n - 1)
    if not 0 <= min_dist <= 1:
        raise InputError(f"'min_dist' must lie in [0, 1]; got {min_dist!r}.")
    if n_epochs is not None:
        n_epochs = check_integer(n_epochs, "n_epochs")
    require("A UMAP map", "umap")
    tell(progress, 0.0, f"finding the neighbours of {n:,} rows (up to 30 s more the first time)")
    with warnings.catch_warnings():
        # Raised on import where TensorFlow, which only parametric UMAP needs, is not installed.
        warnings.filterwarnings("ignore", "Tensorflow not installed", ImportWarning)
        import umap

    model = umap.UMAP(
        n_components=n_components,
        n_neighbors=n_neighbors,
        min_dist=min_dist,
        n_epochs=n_epochs,
        random_state=random_state,
        n_jobs=1,
    )
    _cache_compiled()
    with _exclusive(progress, "epoch"):
        model.fit(np.ascontiguousarray(features, np.float32))
    fitted = np.array(model.embedding_, dtype=np.float64)
    return fitted, partial(_place_by_umap, model), f"{n_neighbors} neighbours"


def _cache_compiled() -> None:
    """Let numba save what umap-learn compiles in every process: some ten seconds."""
    from umap import layouts, umap_

    for module, name in (
        (umap_, "smooth_knn_dist"),
        (umap_, "compute_membership_strengths"),
        (layouts, "_nb_optimize_layout_euclidean_single_epoch"),
    ):
        # (Other versions may have none of this name; RuntimeError: no folder can be written.)
        with suppress(AttributeError, RuntimeError):
            getattr(module, name).enable_caching()


@contextmanager
def _exclusive(progress: Progress | None, what: str) -> Iterator[None]:
    """Let one thread into UMAP, with its epochs reported and its known warnings silenced."""
    from umap import layouts

    while not turn_lock.acquire(timeout=0.25):  # (the wait can be cancelled)
        tell(progress, 0.0, "waiting for another UMAP to finish")
    with ExitStack() as stack, warnings.catch_warnings():
        stack.callback(turn_lock.release)
        warnings.filterwarnings("ignore", ".*overridden to 1 by setting random_state", UserWarning)
        warnings.filterwarnings("ignore", "Spectral initialisation failed", UserWarning)
        warnings.filterwarnings("ignore", "Graph is not fully connected", UserWarning)
        # umap-learn calls nothing else between epochs. Under the lock its bar is replaced, not
        # written to a file of ours: raising Cancelled out of tqdm leaves tqdm's own lock taken, and
        # other threads wait for ever.
        stack.callback(setattr, layouts, "tqdm", layouts.tqdm)
        if progress is not None:
            layouts.tqdm = partial(_watched, progress, what)
        yield


def _watched(progress: Progress, what: str, epochs: range, **_settings: Any) -> Iterator[int]:
    for epoch in epochs:
        progress(0.3 + 0.7 * epoch / len(epochs), f"{what} {epoch} of {len(epochs)}")
        yield epoch
