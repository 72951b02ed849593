"""Maps as numbers: the features themselves, principal components, and rows of known places."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lore_core.data.arrays import Floats, Ints
from lore_core.data.number_text import percent
from lore_core.data.probabilities import by_blocks
from lore_core.data.progress import Progress
from lore_core.data.rules import Values
from lore_core.data.validation import InputError

#: Rows between which a new one is placed. Of 3 to 25, with weights of this and of other kinds, 5 to
#: 10 predicted best on t-SNE and UMAP maps; see docs/decisions.md.
N_NEIGHBOURS = 7
#: What places rows (m, p) on a map that t-SNE or UMAP fitted.
Place = Callable[[Floats, Progress | None], Floats]
#: Distances held at a time.
_BLOCK = 2**23


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

    mean: Annotated[Floats, Values(("p",))]  #: Column means of the fitted rows
    components: Annotated[Floats, Values(("d", "p"))]  #: Orthonormal directions
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
    explained = pca.explained_variance_.sum() * (n - 1) / total if n > 1 and total > 0 else 1.0
    return LinearMap(
        mean + pca.mean_,
        # (As a file holds them: products of another order differ in a last bit.)
        np.ascontiguousarray(pca.components_, dtype=np.float64),
        (f"{percent(min(explained, 1.0), 0)} of the variance",),
    )


@dataclass(frozen=True, eq=False)
class NeighbourMap:
    """Rows that t-SNE or UMAP arranged; a new row is placed between the nearest of them.

    Notes
    -----
    Of the K = 7 rows nearest in ``points``, at distances d_i, the place is the mean with weights
    ((R − d_i) / (R d_i))², where R is the distance of the row after them (modified Shepard
    interpolation). A row at the point of a known one lies where that lies.

    References
    ----------
    Franke, Nielson, "Smooth interpolation of large sets of scattered data", International Journal
    for Numerical Methods in Engineering 15, 1980.
    """

    #: The rows' features, or the principal components in which neighbours are searched.
    points: Annotated[Floats, Values(("n", "q"))]
    places: Annotated[Floats, Values(("n", "d"))]  #: Where the rows lie, unscaled
    reduction: LinearMap | None = None  #: From features to those principal components
    notes: tuple[str, ...] = ()  #: What a reader should know about the map

    def place(self, features: Floats) -> Floats:
        """Return unscaled coordinates, shape (m, d)."""
        return self._between(features if self.reduction is None else self.reduction.place(features))

    def rows(self, selection: NDArray[Any] | slice) -> Self:
        """Return the map that knows the chosen rows alone (mask, indices or slice)."""
        return dataclasses.replace(
            self, points=self.points[selection], places=self.places[selection]
        )

    def as_new(self, selection: NDArray[Any] | slice, among: NDArray[Any] | slice) -> Floats:
        """Place known rows ``selection`` as if only those ``among`` were known, shape (m, d)."""
        return self.rows(among)._between(self.points[selection])

    def _between(self, points: Floats) -> Floats:
        n = len(self.points)
        n_near = min(N_NEIGHBOURS + 1, n)
        # Differences of squares lose digits; around the middle fewer. Here they only choose.
        middle = self.points.mean(axis=0)
        known = (self.points - middle).astype(np.float32)
        squares = np.einsum("ij,ij->i", known, known)
        found = np.empty((len(points), self.places.shape[1]))
        for start in range(0, len(points), max(_BLOCK // n, 1)):
            block = points[start : start + max(_BLOCK // n, 1)]
            near = squares - 2.0 * ((block - middle).astype(np.float32) @ known.T)
            chosen = np.argpartition(near, n_near - 1, axis=1)[:, :n_near]
            found[start : start + len(block)] = self._mean_place(block, chosen)
        return found

    def _mean_place(self, points: Floats, chosen: Ints) -> Floats:
        distance = np.linalg.norm(self.points[chosen] - points[:, None, :], axis=2)
        reach = distance.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = ((reach - distance) / (reach * distance)) ** 2
        here = distance == 0
        met = here.any(axis=1)
        weight[met] = here[met]
        # All equally far, or none but one.
        weight[~(weight.sum(axis=1) > 0)] = 1.0
        weight /= weight.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("ij,ijk->ik", weight, self.places[chosen]))
