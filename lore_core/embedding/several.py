"""One feature map, or several by name: which of them is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lore_core.data.validation import InputError


def maps_by_name(given: Any) -> dict[str | None, Any]:
    """Return maps by their names: one given without a name has the name None, None is no map."""
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else {None: given}


def chosen_map(given: Any, name: str | None, what: str = "feature_map") -> Any:
    """Return one map: ``given`` itself, or of several by name the named or first one.

    ``name``: None is the first one. ``what``: how an error calls the name. Raises InputError if
    there is none, or none of that name.
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
