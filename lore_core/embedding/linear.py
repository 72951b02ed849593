"""Maps that are a matrix: the features themselves, and their principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats
from lore_core.data.number_text import percent
from lore_core.data.probabilities import by_blocks
from lore_core.data.validation import InputError


@dataclass(frozen=True, eq=False)
class IdentityMap:
    """The features as they are."""

    notes: ClassVar[tuple[str, ...]] = ()

    def place(self, features: Floats) -> Floats:
        """Return a copy of the features, shape (m, p)."""
        return features.copy()


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Subtract the mean, then project: (x − mean) Vᵀ."""

    mean: Floats  #: (p,); column means of the fitted rows
    components: Floats  #: (d, p); orthonormal directions
    notes: tuple[str, ...] = ()  #: What a reader should know about the map

    def place(self, features: NDArray[np.floating[Any]]) -> Floats:
        """Return the projected features, shape (m, d)."""
        return by_blocks(lambda rows: (rows - self.mean) @ self.components.T, features)


def fit_pca(
    features: NDArray[np.floating[Any]], n_components: int, *, random_state: int = 0
) -> LinearMap:
    """Fit ``n_components`` principal components to rows (n, p), which are not standardised.

    ``random_state`` seeds the randomised solver, used where n and p are both above 500. Each
    direction's largest entry in absolute value is positive. Raises InputError if there are to be
    more components than min(n, p).
    """
    n, p = features.shape
    if n_components > min(n, p):
        raise InputError(
            f"'n_components' of PCA must be a whole number in [1, {min(n, p)}], the smaller of "
            f"{n:,} rows and {p:,} features; got {n_components}."
        )
    from sklearn.decomposition import PCA

    # Far from 0 the products of features that scikit-learn adds up hold little of what differs.
    mean = features.mean(axis=0, dtype=np.float64)
    centred = features - mean
    off = centred.mean(axis=0)
    mean += off
    centred -= off
    pca = PCA(n_components, random_state=random_state)
    # Features that do not vary at all explain 0/0 of their variance; the map is still zeros.
    with np.errstate(invalid="ignore", divide="ignore"):
        pca.fit(centred)
    total = np.einsum("ij,ij", centred, centred)
    kept = pca.explained_variance_.sum() * (n - 1) / total if n > 1 and total > 0 else 1.0
    return LinearMap(
        mean + pca.mean_,
        # (As a file holds them: products of another order differ in a last bit.)
        np.ascontiguousarray(pca.components_, dtype=np.float64),
        (f"{percent(min(kept, 1.0), 0)} of the variance",),
    )
