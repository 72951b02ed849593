"""Embeddings: coordinates, the map that made them as numbers, and what maps are called."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lore_core.data.archive_files import Form, fields_of, form_of
from lore_core.data.arrays import Floats, Ints, Selection
from lore_core.data.number_text import percent
from lore_core.data.probabilities import by_blocks
from lore_core.data.progress import Progress
from lore_core.data.rules import Number, Values, check_fields, refuse
from lore_core.data.shown import Shown
from lore_core.data.validation import InputError, as_coordinates

Method = Literal["pca", "tsne", "umap", "identity"]
METHODS: tuple[Method, ...] = get_args(Method)
#: How people write the methods.
METHOD_NAMES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP", "identity": "All features"}


@dataclass(frozen=True)
class MapName:
    """A method, and the dimensions of its map."""

    method: Method  #: See :func:`~lore_core.embedding.embed.embed`
    #: Dimensions; None where they were not said, or are those of the features.
    n_components: int | None = None

    @classmethod
    def parse(cls, typed: str, argument: str) -> MapName:
        """Read ``pca``, ``pca-20`` or ``tsne-3``, as ``argument`` was given."""
        method, dash, dimensions = typed.partition("-")
        if method not in METHODS or (dash and not dimensions.isdecimal()):
            raise InputError(
                f"'{argument}' must be one of {', '.join(METHODS)}, or one with its number of "
                f"dimensions such as 'pca-20'; got {typed!r}."
            )
        return cls(method, int(dimensions) if dash else None)

    @property
    def typed(self) -> str:
        """As options and arguments have it: ``pca-20``, ``identity``."""
        if self.method == "identity" or self.n_components is None:
            return self.method
        return f"{self.method}-{self.n_components}"

    @property
    def title(self) -> str:
        """As pages, figures, tables and reports have it: ``PCA 20-D``, ``All features``."""
        sized = self.method != "identity" and self.n_components is not None
        return METHOD_NAMES[self.method] + (f" {self.n_components}-D" if sized else "")

    @property
    def learned(self) -> bool:
        """Whether the map is learned from neighbours, which takes its time."""
        return self.method in ("tsne", "umap")


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
    # Far from 0 the products of features that are added up hold little of what differs.
    mean = features.mean(axis=0, dtype=np.float64)
    centred = features - mean
    off = centred.mean(axis=0)
    mean += off
    centred -= off
    components, variance = _components(centred, n_components, random_state)
    total = np.einsum("ij,ij", centred, centred)
    explained = variance.sum() * (n - 1) / total if n > 1 and total > 0 else 1.0
    # (As a file holds them: products of another order differ in a last bit.)
    ordered = np.ascontiguousarray(components, dtype=np.float64)
    # (What is left of the mean is a last bit, which learned maps of these components multiply.)
    place = mean + centred.mean(axis=0)
    return LinearMap(place, ordered, (f"{percent(min(explained, 1.0), 0)} of the variance",))


def _components(centred: Floats, n_components: int, random_state: int) -> tuple[Floats, Floats]:
    """Return principal components (d, p) and variances along them, as scikit-learn's PCA."""
    n, p = centred.shape
    if p <= 1_000 and n >= 10 * p:  # importing scikit-learn takes longer
        variances, directions = np.linalg.eigh(centred.T @ centred / (n - 1))
        found = directions.T[::-1][:n_components]
        signs = np.sign(found[np.arange(n_components), np.abs(found).argmax(axis=1)])
        return found * signs[:, None], variances[::-1][:n_components]
    from sklearn.decomposition import PCA

    pca = PCA(n_components, random_state=random_state)
    # Features that do not vary at all explain 0/0 of their variance; the map is still zeros.
    with np.errstate(invalid="ignore", divide="ignore"):
        pca.fit(centred)
    return pca.components_, pca.explained_variance_


@dataclass(frozen=True, eq=False)
class NeighbourMap:
    """Rows that t-SNE or UMAP arranged; a new row is placed between the nearest of them.

    By modified Shepard interpolation (Franke and Nielson 1980): docs/method.md ("Kernel and
    scale").
    """

    #: The rows' features, or the principal components in which neighbours are searched.
    points: Annotated[Floats, Values(("n", "q"))]
    places: Annotated[Floats, Values(("n", "d"))]  #: Where the rows lie, unscaled
    reduction: LinearMap | None = None  #: From features to those principal components
    notes: tuple[str, ...] = ()  #: What a reader should know about the map

    def place(self, features: Floats) -> Floats:
        """Return unscaled coordinates, shape (m, d)."""
        return self._between(features if self.reduction is None else self.reduction.place(features))

    def rows(self, selection: Selection) -> Self:
        """Return the map that knows the chosen rows alone (mask, indices or slice)."""
        return replace(self, points=self.points[selection], places=self.places[selection])

    def as_new(self, selection: Selection, among: Selection) -> Floats:
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
            found[start : start + len(block)] = self._weighted_mean(block, chosen)
        return found

    def _weighted_mean(self, points: Floats, chosen: Ints) -> Floats:
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


#: How dimensions are divided, so that a bandwidth γ means the same on every map.
Scale = Literal["unit", "isotropic", "none"]
SCALES: tuple[Scale, ...] = get_args(Scale)
#: A standard deviation below this share of the largest coordinate is rounding, not spread.
_ROUNDING = 1e-12

#: The maps that place new rows from a file: from features to unscaled coordinates.
Map = IdentityMap | LinearMap | NeighbourMap
MAPS = get_args(Map)


@dataclass(frozen=True, eq=False)
class Embedding(Shown):
    """Coordinates z = φ2(φ1(x)) on which "similar rows" are close, and the map that made them."""

    coordinates: Annotated[Floats, Values(("m", "d"))]  #: (n, d); scaled; read-only
    method: Method
    n_components: Annotated[int, Number(1, whole=True)]  #: d
    scale: Scale
    #: (d,); what each dimension was divided by.
    scale_factors: Annotated[Floats, Values(("d",), np.finfo(float).tiny)]
    random_state: int  #: Seed of the map
    #: Rows the map was fitted on and made for; where these are more, others were placed on it.
    fitted_rows: Annotated[int, Number(0, whole=True)]
    total_rows: Annotated[int, Number(0, whole=True)]
    n_features: Annotated[int, Number(1, whole=True)]  #: p, what :meth:`transform` expects
    projection: Map = field(repr=False)

    def __post_init__(self) -> None:
        for name in ("coordinates", "scale_factors"):
            array = np.asarray(getattr(self, name), dtype=np.float64).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.coordinates)

    def __repr__(self) -> str:
        return f"Embedding({self.label!r}, rows={len(self):,})"

    @property
    def name(self) -> MapName:
        """Method and dimensions."""
        return MapName(self.method, self.n_components)

    @property
    def label(self) -> str:
        """Short name, "t-SNE 2-D, unit scale"."""
        return f"{self.name.title}, {'unscaled' if self.scale == 'none' else f'{self.scale} scale'}"

    @property
    def description(self) -> str:
        """What was done, in one sentence without a full stop."""
        parts = [f"{self.label}, of {self.n_features:,} features", *self.projection.notes]
        if self.fitted_rows < self.total_rows:
            parts.append(
                f"fitted on {self.fitted_rows:,} of {self.total_rows:,} rows, "
                "the rest placed by transform"
            )
        return "; ".join(parts)

    @cached_property
    def digest(self) -> str:
        """Sha256 of the coordinates: two embeddings share it only if they hold the same points."""
        state = hashlib.sha256(str(self.coordinates.shape).encode())
        state.update(np.ascontiguousarray(self.coordinates).view(np.uint8).data)
        return state.hexdigest()

    def transform(self, new_features: ArrayLike) -> Floats:
        """Place new rows (m, p) on this map, in this scale; on t-SNE and UMAP between known rows.

        ``new_features``: the same features, in the same order. Returns shape (m, d). Raises
        InputError if the number of features differs or a value is not finite.
        """
        features = as_coordinates(new_features, "new_features")
        if features.shape[1] != self.n_features:
            raise InputError(
                f"'new_features' must have the {self.n_features:,} features the map was fitted "
                f"on; got {features.shape[1]:,}."
            )
        return self.projection.place(features) / self.scale_factors

    @property
    def known_rows(self) -> int:
        """Rows that new ones are placed between; 0 for PCA and identity, which need none."""
        return len(self.projection.points) if isinstance(self.projection, NeighbourMap) else 0

    def rows(self, selection: Selection) -> Embedding:
        """Return the chosen rows (mask, indices or slice), in the same scale.

        A t-SNE or UMAP map then knows the chosen rows alone.
        """
        made = self.projection
        made = made.rows(selection) if isinstance(made, NeighbourMap) else made
        return replace(self, coordinates=self.coordinates[selection], projection=made)

    def without_coordinates(self) -> Embedding:
        """Return the map alone: it places new rows, and holds none."""
        return replace(self, coordinates=np.empty((0, self.n_components)))

    def known_by(self, of: Callable[[Floats], Floats]) -> Embedding:
        """Return the map with ``of`` applied to its known rows, such as means; itself if none.

        ``of``: from one value a row, shape (n, m), to another table.
        """
        if not isinstance(self.projection, NeighbourMap):
            return self
        known = replace(
            self.projection, points=of(self.projection.points), places=of(self.projection.places)
        )
        return replace(self, projection=known)

    def as_new(self, selection: Selection, *, among: Selection) -> Embedding:
        """Return the chosen rows as a map that knows only rows ``among`` would place them.

        What is fitted on ``rows(among)`` meets rows that had no part in the map. On t-SNE and UMAP
        they lie a little off where they do as a part of it; PCA and identity know no difference.
        """
        chosen = self.rows(selection)
        if not isinstance(self.projection, NeighbourMap):
            return chosen
        places = self.projection.as_new(selection, among) / self.scale_factors
        return replace(chosen, coordinates=places)


def _checked(parts: dict[str, Any]) -> Embedding:
    """Return the embedding of a file's parts, which must fit together."""
    check_fields(Embedding, parts, "map")
    made: Any = parts["projection"]
    p, d = parts["n_features"], parts["n_components"]
    if len(parts["scale_factors"]) != d:
        raise refuse("map: scale_factors", f"{d} numbers", len(parts["scale_factors"]))
    linear, end = made, d
    if isinstance(made, NeighbourMap):
        if not len(made.points) or made.places.shape[1] != d:
            raise refuse("map: places", f"rows of {d} numbers", made.places.shape)
        linear, end = made.reduction, made.points.shape[1]
    ways = linear.components.shape if isinstance(linear, LinearMap) else (p, p)
    if ways != (end, p):
        raise refuse("map: n_features", f"{p} features to {end} dimensions", ways)
    return Embedding(**parts)


FORMS = (Form("Embedding", Embedding, fields_of, _checked), *map(form_of, MAPS))


def scale_factors(coordinates: Floats, scale: Scale) -> Floats:
    """Return the number each dimension of unscaled coordinates (n, d) is divided by, shape (d,).

    ``"unit"``: the population standard deviation σ_k. ``"isotropic"``: sqrt(mean_k σ_k²) for all.
    ``"none"``: 1, as for a dimension (isotropic: a whole map) that does not vary.
    """
    d = coordinates.shape[1]
    if scale == "none":
        return np.ones(d)
    deviation = coordinates.std(axis=0)
    deviation[deviation <= _ROUNDING * np.abs(coordinates).max(axis=0)] = 0.0
    if scale == "isotropic":
        deviation = np.full(d, np.sqrt(np.mean(deviation**2)))
    return np.where(deviation > 0, deviation, 1.0)


def maps_by_name(given: Any) -> dict[str | None, Any]:
    """Return maps by their names: one given without a name has the name None, None is no map."""
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else {None: given}


def chosen_map(given: Any, name: str | None, what: str = "feature_map") -> Any:
    """Return one map: ``given`` itself, or of several by name the named or (None) first one.

    ``what``: how an error calls the name. Raises InputError if there is none, or none of that name.
    """
    if not isinstance(given, Mapping):
        return given
    if not given:
        raise InputError("'embedding' must hold at least one map; got an empty dict.")
    if name in given:
        return given[name]
    if name is None:
        return next(iter(given.values()))
    raise InputError(f"'{what}' must be one of {list(given)}; got {name!r}.")
