"""How long a map takes, roughly: enough to decide whether to wait for it.

Fitted to times measured on two cores of a small virtual machine; a desktop is faster.
"""

from __future__ import annotations

import math

from lore_core.data.validation import InputError, check_integer
from lore_core.embedding.embed import MAX_FIT_ROWS
from lore_core.embedding.names import METHODS


def estimate_seconds(method: str, n: int, p: int, n_components: int = 2) -> float:
    """Estimate how long :func:`embed` takes with its default options.

    Parameters
    ----------
    method : "pca", "tsne", "umap" or "identity"
    n, p : int
        Rows and features.
    n_components : int
        Dimensions of the map.

    Returns
    -------
    float
        Seconds, right to a factor of about two on an idle machine of two cores. UMAP's first map
        in a process takes some 10 to 30 seconds more, for compilation; that is not included.

    Raises
    ------
    InputError
        If the method is unknown or a number is below 1.
    """
    if method not in METHODS:
        raise InputError(f"'method' must be 'pca', 'tsne', 'umap' or 'identity'; got {method!r}.")
    n = check_integer(n, "n")
    p = check_integer(p, "p")
    if method == "identity":
        return 1e-8 * n * p
    if method == "pca":
        return 0.1 + 6e-8 * n * p
    fitted = min(n, MAX_FIT_ROWS)
    placed = n - fitted
    if method == "umap":
        epochs = 500 if fitted <= 10_000 else 200
        return 0.3 + fitted * (1.0e-6 * epochs + 1e-4) + 1.3e-4 * placed + 1e-7 * n * p
    reduced = 6e-8 * n * p if p > 50 else 0.0
    if n_components == 3:
        # Barnes–Hut in three dimensions.
        return 0.5 + reduced + 4.4e-5 * fitted * math.sqrt(fitted) + 4e-4 * placed
    if fitted <= 5_000:
        return 0.5 + reduced + 1.5e-3 * fitted
    return 7.0 + reduced + 6e-4 * fitted + 2e-4 * placed
