"""Features to an :class:`Embedding`, and how long that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats
from lore_core.data.errors import check_choice
from lore_core.data.progress import Progress, part_of, tell
from lore_core.data.validation import InputError, as_coordinates, check_integer
from lore_core.embedding import learned_maps, result

if TYPE_CHECKING:  # it needs pandas, which a process that applies a saved map may not have
    from lore_core.data.dataset import Dataset

#: Options of the maps that are learned.
_OPTIONS = {
    "tsne": ("perplexity", "n_iter", "max_fit_rows"),
    "umap": ("n_neighbors", "min_dist", "n_epochs", "max_fit_rows"),
}
#: Where there are more features, neighbours are searched among this many principal components: by
#: t-SNE, and for the place of a new row.
MAX_NEIGHBOUR_DIMENSIONS = 50
#: t-SNE and UMAP need neighbours to speak of.
_MIN_ROWS = 10
#: Above this, t-SNE and UMAP are fitted on a random part of the rows.
MAX_FIT_ROWS = 20_000


def embed(
    features: ArrayLike | None,
    method: str = "pca",
    n_components: int = 2,
    scale: str | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> result.Embedding:
    """Map features to the few coordinates on which local calibration is measured.

    ``features`` (n, p): one row a prediction, a hidden layer or the input table. ``method``: "pca",
    "tsne", "umap" or "identity", which keeps the features as they are. ``n_components``: dimensions
    of the map: 1 to min(n, p) for PCA, 2 or 3 for t-SNE and UMAP, ignored by "identity". ``scale``:
    "unit" (default of t-SNE and UMAP) divides each dimension by its standard deviation, "isotropic"
    (default of PCA and identity) all of them by the RMS of their standard deviations, "none" none;
    a dimension that does not vary is left as it is. ``random_state``: the same seed gives the same
    map on the same machine. ``progress``: called with the share done and a short message; raises
    :class:`lore_core.data.progress.Cancelled` to stop.

    ``options`` of t-SNE: ``perplexity`` (30), ``n_iter`` (500); of UMAP: ``n_neighbors`` (15),
    ``min_dist`` (0.1), ``n_epochs``; of both: ``max_fit_rows`` (20,000): of more rows a random part
    of that many is fitted, and the others are placed on it, each by its neighbours; ``None`` fits
    on all rows. Raises InputError if features are not finite numbers, or an argument is outside
    what the method allows.

    Examples
    --------
    >>> import numpy as np
    >>> embedding = embed(np.array([[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]]))
    >>> embedding.label
    'PCA 2-D, isotropic scale'
    """
    if features is None:
        raise InputError("'features' must be given: these data have none, so there is no map.")
    table = _as_table(features, method)
    n, p = table.shape
    method = check_choice(cast(result.Method, method), "method", result.METHODS)
    learned, known = method in _OPTIONS, _OPTIONS.get(method, ())
    default: result.Scale = "unit" if learned else "isotropic"
    chosen_scale = check_choice(cast(result.Scale, scale or default), "scale", result.SCALES)
    for name in options.keys() - set(known):
        choice = ", ".join(map(repr, known)) or "none"
        raise InputError(f"options of method '{method}' must be among: {choice}; got '{name}'.")
    random_state = check_integer(random_state, "random_state", minimum=0, maximum=2**32 - 1)
    if learned:
        made, coordinates, fitted = _fit_neighbour_map(
            table, method, n_components, random_state, progress, options
        )
    else:
        made = result.IdentityMap()
        if method == "pca":
            tell(progress, 0.0, "finding the principal components")
            n_components = check_integer(n_components, "n_components")
            made = result.fit_pca(table, n_components, random_state=random_state)
        coordinates, fitted = made.place(table), n
    factors = result.scale_factors(coordinates, chosen_scale)
    tell(progress, 1.0, "done")
    return result.Embedding(
        coordinates=coordinates / factors,
        method=method,
        n_components=coordinates.shape[1],
        scale=chosen_scale,
        scale_factors=factors,
        random_state=random_state,
        fitted_rows=fitted,
        total_rows=n,
        n_features=p,
        projection=made,
    )


def _as_table(features: ArrayLike, method: str) -> Floats:
    """Return features as float64; for PCA float32 stay what they are, which takes half of it."""
    if (
        method == "pca"
        and isinstance(features, np.ndarray)
        and features.dtype == np.float32
        and features.ndim == 2
        and features.size
        and np.isfinite(features).all()
    ):
        return features  # (what is computed of them is float64 all the same)
    return as_coordinates(features, "features")


def make_map(
    dataset: Dataset,
    name: result.MapName,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
) -> result.Embedding:
    """Make the map of a name, with the default scale and options of its method.

    Of calibration and evaluation rows together; in two dimensions where the name says none.
    """
    d = 2 if name.n_components is None else name.n_components
    return embed(dataset.features, name.method, d, random_state=random_state, progress=progress)


def make_maps(
    features: ArrayLike, names: str | Sequence[str], argument: str = "feature_map", **options: Any
) -> dict[str, result.Embedding]:
    """Make one or more maps such as ``pca-20``; PCA of at most min(n, p) dimensions.

    ``argument``: see :meth:`MapName.parse`. ``options``: those of :func:`embed`.
    """
    made = {}
    for typed in [names] if isinstance(names, str) else names:
        name = result.MapName.parse(typed, argument)
        d = name.n_components or 2
        if name.method == "pca":
            d = min(d, *np.shape(features))
        map_ = embed(features, name.method, d, **options)
        made[map_.name.typed] = map_
    return made


def _fit_neighbour_map(
    table: Floats,
    method: str,
    n_components: int,
    random_state: int,
    progress: Progress | None,
    options: dict[str, Any],
) -> tuple[result.Map, Floats, int]:
    """Fit t-SNE or UMAP; return the map, all rows on it, and how many rows it was fitted on."""
    name = result.METHOD_NAMES[method]
    if n_components not in (2, 3):
        raise InputError(f"'n_components' of {name} must be 2 or 3; got {n_components!r}.")
    n = len(table)
    if n < _MIN_ROWS:
        raise InputError(f"'features' must have at least {_MIN_ROWS} rows for {name}; got {n}.")
    limit = options.pop("max_fit_rows", MAX_FIT_ROWS)
    limit = n if limit is None else check_integer(limit, "max_fit_rows", minimum=_MIN_ROWS)
    if (table == table[0]).all():
        # No row has a nearer neighbour than another: there is nothing to arrange.
        flat = result.LinearMap(table[0].copy(), np.zeros((n_components, table.shape[1])))
        return flat, np.zeros((n, n_components)), n
    fit_on = np.ones(n, dtype=bool)
    if n > limit:
        fit_on[:] = False
        fit_on[np.random.default_rng(random_state).choice(n, limit, replace=False)] = True
    share = 1.0 if n <= limit else 0.6
    axes, points = None, table
    if min(fit_on.sum(), table.shape[1]) > MAX_NEIGHBOUR_DIMENSIONS:
        axes = result.fit_pca(table[fit_on], MAX_NEIGHBOUR_DIMENSIONS, random_state=random_state)
        points = axes.place(table)
    fit = learned_maps.fit_tsne if method == "tsne" else learned_maps.fit_umap
    arranged = points if method == "tsne" else table
    fitted, place, note = fit(
        arranged[fit_on],
        n_components,
        random_state=random_state,
        progress=part_of(progress, 0.0, share),
        **options,
    )
    coordinates = np.empty((n, n_components))
    coordinates[fit_on] = fitted
    if n > limit:
        coordinates[~fit_on] = place(arranged[~fit_on], part_of(progress, share, 1.0))
    notes: tuple[str, ...] = (note,)
    if method == "tsne" and axes is not None:
        notes += (f"neighbours among {MAX_NEIGHBOUR_DIMENSIONS} principal components",)
    return result.NeighbourMap(points, coordinates, axes, notes), coordinates, min(n, limit)


def estimate_seconds(method: str, n: int, p: int, n_components: int = 2) -> float:
    """Estimate how many seconds :func:`embed` takes with its default options.

    ``n``, ``p``: rows and features. Fitted to times on two idle cores of a small virtual machine,
    right to a factor of about two. UMAP's first map in a process takes some 10 to 30 seconds more,
    for compilation.
    """
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
