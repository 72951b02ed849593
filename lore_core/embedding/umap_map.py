"""UMAP by umap-learn, imported on first use: progress, cancel, and a place for new rows."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.errors import require
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError, check_integer
from lore_core.embedding.maps import Place

OPTIONS: dict[str, Any] = {"n_neighbors": 15, "min_dist": 0.1, "n_epochs": None}

# Two Python threads in UMAP's compiled loops abort the process where numba has only its "workqueue"
# layer, so one thread enters at a time.
turn_lock = threading.Lock()


def _place(model: Any, features: Floats, progress: Progress | None = None) -> Floats:
    """Place rows (m, p) on the fitted map."""
    if len(features) == 0:
        return np.empty((0, model.n_components))
    with _exclusive(progress, "placing the remaining rows: epoch"):
        return np.array(model.transform(_as_float32(features)), dtype=np.float64)


def fit_umap(
    features: Floats,
    n_components: int,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
    n_neighbors: int = OPTIONS["n_neighbors"],
    min_dist: float = OPTIONS["min_dist"],
    n_epochs: int | None = OPTIONS["n_epochs"],
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
    tell(
        progress,
        0.0,
        f"finding the neighbours of {n:,} rows (up to half a minute more the first time)",
    )
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
        transform_seed=random_state,
        n_jobs=1,
    )
    with _exclusive(progress, "epoch"):
        model.fit(_as_float32(features))
    fitted = np.array(model.embedding_, dtype=np.float64)
    return fitted, partial(_place, model), f"{n_neighbors} neighbours"


def _as_float32(features: Floats) -> NDArray[np.float32]:
    return np.ascontiguousarray(features, dtype=np.float32)


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


def _watched(
    progress: Progress, what: str, epochs: range, **_settings_of_the_bar: Any
) -> Iterator[int]:
    for epoch in epochs:
        progress(0.3 + 0.7 * epoch / len(epochs), f"{what} {epoch} of {len(epochs)}")
        yield epoch
