"""Feature maps as numbers: which can be applied to new rows from a file, and which cannot."""

from __future__ import annotations

from typing import Any

import numpy as np

from lore_core.data.validation import InputError
from lore_core.embedding.linear import IdentityMap, LinearMap
from lore_core.embedding.result import Embedding
from lore_core.embedding.stored_map import StoredMap
from lore_core.embedding.stored_tsne import StoredTSNE
from lore_core.embedding.stored_umap import StoredUMAP
from lore_core.embedding.tsne import TSNEMap
from lore_core.embedding.umap_map import UMAPMap


def as_numbers(embedding: Embedding) -> dict[str, Any]:
    """Return a map as plain values and arrays.

    Parameters
    ----------
    embedding : Embedding
        Its coordinates are not looked at.

    Raises
    ------
    InputError
        If a map of this kind cannot be applied to new rows from a file.
    """
    made = embedding._map
    parts: dict[str, Any]
    if isinstance(made, IdentityMap):
        parts = {"kind": "identity"}
    elif isinstance(made, LinearMap):
        parts = {"kind": "linear", **_linear(made)}
    elif isinstance(made, (TSNEMap, StoredTSNE)):
        stored = made if isinstance(made, StoredTSNE) else StoredTSNE.of(made)
        reduction = None if stored.reduction is None else _linear(stored.reduction)
        parts = {"kind": "t-SNE", **_stored(stored), "reduction": reduction}
    elif isinstance(made, (UMAPMap, StoredUMAP)):
        kept = made if isinstance(made, StoredUMAP) else StoredUMAP.of(made)
        parts = {"kind": "UMAP", **_stored(kept)}
    else:
        raise InputError(
            f"a map of type {type(made).__name__} cannot be applied to new rows from a file. Fit "
            "on PCA, t-SNE, UMAP or identity features; or save with maps=False and pass "
            "coordinates=embedding.transform(features) when you predict."
        )
    return {
        **parts,
        "method": embedding.method,
        "n_components": embedding.n_components,
        "n_features": embedding.n_features,
        "scale": embedding.scale,
        "scale_factors": embedding.scale_factors,
        "random_state": embedding.random_state,
        "fitted_rows": embedding.fitted_rows,
        "total_rows": embedding.total_rows,
        "description": embedding.description,
    }


def _stored(made: StoredMap) -> dict[str, Any]:
    return {
        "points": made.points,
        "places": made.places,
        "settings": dict(made.settings),
        "notes": list(made.notes),
    }


def _as_stored(parts: dict[str, Any]) -> dict[str, Any]:
    kept = {name: parts[name] for name in ("points", "places", "settings")}
    return {**kept, "notes": tuple(parts["notes"])}


def _linear(made: LinearMap) -> dict[str, Any]:
    return {"mean": made.mean, "components": made.components, "notes": list(made.notes)}


def _as_linear(parts: dict[str, Any]) -> LinearMap:
    return LinearMap(parts["mean"], parts["components"], tuple(parts["notes"]))


def as_embedding(parts: dict[str, Any]) -> Embedding:
    """Return the map that :func:`as_numbers` took apart; it holds no rows.

    Parameters
    ----------
    parts : dict
        What :func:`as_numbers` returned.
    """
    made: Any
    if parts["kind"] == "identity":
        made = IdentityMap()
    elif parts["kind"] == "linear":
        made = _as_linear(parts)
    elif parts["kind"] == "t-SNE":
        reduction = None if parts["reduction"] is None else _as_linear(parts["reduction"])
        made = StoredTSNE(**_as_stored(parts), reduction=reduction)
    elif parts["kind"] == "UMAP":
        made = StoredUMAP(**_as_stored(parts))
    else:
        raise InputError(
            f"the file of a recalibrator must hold maps this version knows; got {parts['kind']!r}."
        )
    return Embedding(
        coordinates=np.empty((0, parts["n_components"])),
        method=parts["method"],
        n_components=parts["n_components"],
        scale=parts["scale"],
        scale_factors=parts["scale_factors"],
        random_state=parts["random_state"],
        fitted_rows=parts["fitted_rows"],
        total_rows=parts["total_rows"],
        n_features=parts["n_features"],
        _map=made,
    )
