"""Feature maps as numbers: which can be applied to new rows from a file, and which cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from lore_core.data.rules import Each, Maybe, Number, Parts, Rule, Text, Values, refuse
from lore_core.data.validation import InputError
from lore_core.embedding.linear import IdentityMap, LinearMap
from lore_core.embedding.neighbour_map import NeighbourMap
from lore_core.embedding.result import Embedding, Map

_Kind = type[IdentityMap] | type[LinearMap] | type[NeighbourMap]
#: What a file calls the maps it can hold: their fields, as numbers and text.
_KINDS: dict[str, _Kind] = {
    "identity": IdentityMap,
    "linear": LinearMap,
    "neighbours": NeighbourMap,
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
    _check(parts)
    return Embedding(
        coordinates=np.empty((0, parts["n_components"])),
        _map=_put_together(_KINDS[parts["kind"]], parts),
        **{name: parts[name] for name in _OWN},
    )


_OWN_RULES: dict[str, Rule] = {
    "kind": Text(),
    "description": Text(),
    "method": Text(("pca", "tsne", "umap", "identity")),
    "n_components": Number(1, whole=True),
    "n_features": Number(1, whole=True),
    "scale": Text(("unit", "isotropic", "none")),
    "scale_factors": Values(("d",), np.finfo(float).tiny),
    "random_state": Number(whole=True),
    "fitted_rows": Number(0, whole=True),
    "total_rows": Number(0, whole=True),
}
_NOTES = Each(Text())
_ROWS: dict[str, Rule] = {"points": Values(("n", "q")), "places": Values(("n", "d"))}
_REDUCTION = Parts({"mean": Values(("p",)), "components": Values(("q", "p")), "notes": _NOTES})
_KIND_RULES: dict[str, dict[str, Rule]] = {
    "identity": {},
    "linear": {"mean": Values(("p",)), "components": Values(("d", "p")), "notes": _NOTES},
    "neighbours": {**_ROWS, "reduction": Maybe(_REDUCTION), "notes": _NOTES},
}


def _check(parts: Mapping[str, Any]) -> None:
    """Refuse numbers that are no map."""
    kind = parts["kind"]
    own = {name: rule for name, rule in _OWN_RULES.items() if name in parts}
    for name in ("n_components", "n_features"):
        own[name].check(parts[name], f"map: {name}", {})
    sizes = {"d": parts["n_components"], "p": parts["n_features"]}
    Parts({**own, **_KIND_RULES[kind]}).check(parts, "map", sizes)
    searched_in = sizes.get("q", sizes["p"])
    if parts.get("reduction") is None and searched_in != sizes["p"]:
        raise refuse("map: points", f"{sizes['p']} columns", searched_in)
    if kind == "identity" and sizes["d"] != sizes["p"]:
        raise refuse("map: n_components", f"{sizes['p']} dimensions", sizes["d"])
    if sizes.get("n", 1) < 1:
        raise refuse("map: points", "some rows", 0)


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
