"""Feature maps as numbers: which can be applied to new rows from a file, and which cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from lore_core.data.validation import InputError
from lore_core.embedding.linear import IdentityMap, LinearMap
from lore_core.embedding.neighbour_map import NeighbourMap
from lore_core.embedding.result import Embedding, Map
from lore_core.embedding.stored_tsne import StoredTSNE
from lore_core.embedding.stored_umap import StoredUMAP

_Kind = (
    type[IdentityMap] | type[LinearMap] | type[NeighbourMap] | type[StoredTSNE] | type[StoredUMAP]
)
#: What a file calls the maps it can hold: their fields, as numbers and text.
_KINDS: dict[str, _Kind] = {
    "identity": IdentityMap,
    "linear": LinearMap,
    "neighbours": NeighbourMap,
    # Of files of schema 1 and 2, which held all rows a map was drawn from.
    "t-SNE": StoredTSNE,
    "UMAP": StoredUMAP,
}
#: What an embedding says of itself, beside its map and its rows.
_OWN = (
    "method",
    "n_components",
    "n_features",
    "scale",
    "scale_factors",
    "random_state",
    "fitted_rows",
    "total_rows",
)


def as_numbers(embedding: Embedding) -> dict[str, Any]:
    """Return a map as plain values and arrays.

    ``embedding``: its coordinates are not looked at. Raises InputError if a map of this kind cannot
    be applied to new rows from a file.
    """
    made: Any = embedding._map
    name = next((name for name, kind in _KINDS.items() if isinstance(made, kind)), None)
    if name is None:
        raise InputError(
            f"a map of type {type(made).__name__} cannot be applied to new rows from a file. Fit "
            "on PCA, t-SNE, UMAP or identity features; or save with maps=False and pass "
            "coordinates=embedding.transform(features) when you predict."
        )
    own = {part: getattr(embedding, part) for part in _OWN}
    return {"kind": name, **_taken_apart(made), **own, "description": embedding.description}


def as_embedding(parts: Mapping[str, Any]) -> Embedding:
    """Return the map that :func:`as_numbers` took apart; it holds no rows.

    ``parts``: what :func:`as_numbers` returned.
    """
    if parts["kind"] not in _KINDS:
        raise InputError(
            f"the file of a recalibrator must hold maps this version knows; got {parts['kind']!r}."
        )
    return Embedding(
        coordinates=np.empty((0, parts["n_components"])),
        _map=_put_together(_KINDS[parts["kind"]], parts),
        **{name: parts[name] for name in _OWN},
    )


def _taken_apart(made: Any) -> dict[str, Any]:
    found = {item.name: getattr(made, item.name) for item in dataclasses.fields(made)}
    # t-SNE may search its neighbours in principal components: a map of its own.
    return {
        name: _taken_apart(value) if isinstance(value, LinearMap) else value
        for name, value in found.items()
    }


def _put_together(kind: _Kind, parts: Mapping[str, Any]) -> Map:
    found = {item.name: parts[item.name] for item in dataclasses.fields(kind)}
    if found.get("reduction") is not None:
        found["reduction"] = _put_together(LinearMap, found["reduction"])
    if "notes" in found:
        found["notes"] = tuple(found["notes"])
    return kind(**found)
