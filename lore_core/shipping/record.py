"""A fitted recalibrator to the bytes of one file, and back."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from lore_core.data.binning import ConfidenceBins
from lore_core.data.validation import InputError
from lore_core.embedding.result import Embedding
from lore_core.embedding.stored import as_embedding, as_numbers
from lore_core.recalibration import (
    GroupWise,
    HistogramBinning,
    IsotonicRegression,
    LoRe,
    MMCEOptimization,
    NoRecalibration,
    PlattScaling,
    Recalibrator,
    TemperatureScaling,
    TunedLoRe,
)
from lore_core.recalibration.base import Maps
from lore_core.recalibration.fitted_on import FittedOn
from lore_core.recalibration.other_classes import OtherClasses
from lore_core.recalibration.tuning import Candidate
from lore_core.shipping.container import pack, unpack
from lore_core.shipping.values import Arrays, Tagged, decode, encode

__all__ = ["SAVED", "load_recalibrator", "recorded"]

#: What can be saved, by its name in the file.
SAVED = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            GroupWise,
            HistogramBinning,
            IsotonicRegression,
            LoRe,
            MMCEOptimization,
            NoRecalibration,
            PlattScaling,
            TemperatureScaling,
            TunedLoRe,
        )
    }
)
#: Of the process, not of the fit.
_LEFT_OUT = {"fitted_on_", "progress"}


def recorded(recalibrator: Recalibrator, *, maps: Maps = True) -> bytes:
    """Return the content of a file with everything a fitted recalibrator needs.

    Parameters
    ----------
    recalibrator : Recalibrator
        Fitted.
    maps : bool, Embedding or dict of those by name
        Also the feature maps, so that new rows need only their features; or the maps themselves,
        where ``fit`` got only their coordinates.

    Raises
    ------
    InputError
        If it is not fitted, belongs to another library, or has a map that no file can hold.
    """
    _check(recalibrator)
    on = recalibrator.fitted_on_
    assert on is not None  # fit sets it with n_rows_
    arrays = Arrays()
    content: dict[str, Any] = {"method": recalibrator, "feature_maps": []}
    for name in _used_maps(recalibrator, on):
        embedding = _map_of(maps, name, on)
        parts = None if embedding is None else as_numbers(embedding)
        content["feature_maps"].append({"name": name, "map": parts})
    what = type(recalibrator).__name__
    header = {
        "written_by": f"lore-lens {_version()}",
        "class": what,
        "label": recalibrator.label,
        "class_names": list(on.class_names),
        "feature_names": list(on.feature_names),
        "group_columns": list(on.group_columns),
        "calibration_rows": recalibrator.n_rows_,
        **{key: encode(value, arrays, _taken_apart, what) for key, value in content.items()},
    }
    return pack(header, arrays.by_name)


def _map_of(maps: Maps, name: str | None, on: FittedOn) -> Embedding | None:
    """Return the map of a name: one that is given now, or the one ``fit`` was given."""
    if isinstance(maps, bool):
        return on.feature_maps[name] if maps else None
    given: Any = maps
    if isinstance(maps, Mapping):
        if name is not None and name not in maps:
            raise InputError(f"'maps' must hold the map {name!r}; got {list(maps)}.")
        given = next(iter(maps.values()), None) if name is None else maps[name]
    if not isinstance(given, Embedding):
        raise InputError(
            "'maps' must be True, False, an Embedding or a dict of those; got "
            f"{type(given).__name__}."
        )
    return given


def _check(recalibrator: Recalibrator) -> None:
    kind = type(recalibrator)
    if SAVED.get(kind.__name__) is not kind:
        raise InputError(
            f"{kind.__name__} cannot be saved: what it fitted belongs to another library, or to "
            f"code that a file does not hold. These can be: {', '.join(SAVED)}."
        )
    if recalibrator.n_rows_ == 0:
        raise InputError(f"{kind.__name__} must be fitted before it can be saved.")


def _used_maps(recalibrator: Recalibrator, on: FittedOn) -> list[str | None]:
    """Names of the maps that recalibrating looks at, in the order they were given."""
    inner = recalibrator.recalibrator if isinstance(recalibrator, GroupWise) else recalibrator
    if not inner.needs_embedding or getattr(inner, "kernel", None) == "group":
        return []
    fitted = [recalibrator]
    if isinstance(recalibrator, GroupWise):
        fitted = [recalibrator.everyone_, *recalibrator.by_group_.values()]
    names: set[str | None] = set()
    for method in fitted:
        if isinstance(method, TunedLoRe) and method._members:
            names.update(member[0].feature_map for member in method._members)
        elif isinstance(method, (LoRe, TunedLoRe)):
            lore = method if isinstance(method, LoRe) else method.lore_
            names.add(lore.feature_map)
    given = list(on.feature_maps)
    # Without a name the first one is meant.
    used = {given[0] if name is None or name not in given else name for name in names}
    return [name for name in given if name in used]


def _taken_apart(value: Any) -> Tagged | None:
    if isinstance(value, ConfidenceBins):
        return "bins", {"edges": value.edges, "binning": value.binning}
    if isinstance(value, OtherClasses):
        return "other_classes", dataclasses.asdict(value)
    if isinstance(value, Candidate):
        return "candidate", {
            item.name: getattr(value, item.name) for item in dataclasses.fields(value)
        }
    if isinstance(value, pd.DataFrame):
        return "table", {str(name): _column(value[name]) for name in value}
    if isinstance(value, Recalibrator):
        if type(value).__name__ not in SAVED:
            _check(value)
        parameters = list(inspect.signature(type(value)).parameters)
        state = {key: item for key, item in vars(value).items() if key not in _LEFT_OUT}
        return "recalibrator", {
            "class": type(value).__name__,
            "parameters": {key: state[key] for key in parameters if key in state},
            "fitted": {key: item for key, item in state.items() if key not in parameters},
        }
    return None


def _column(column: pd.Series[Any]) -> Any:
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        return column.to_numpy()
    return [None if missing else item for item, missing in zip(column, column.isna(), strict=True)]


def _recalibrator(parts: dict[str, Any]) -> Recalibrator:
    kind = SAVED.get(parts["class"])
    if kind is None:
        raise InputError(
            f"the file of a recalibrator must hold one of {', '.join(SAVED)}; got "
            f"{parts['class']!r}."
        )
    made = kind.__new__(kind)
    vars(made).update({**parts["parameters"], **parts["fitted"]})
    if "progress" in inspect.signature(kind).parameters:
        vars(made)["progress"] = None
    return made


def load_recalibrator(source: str | Path | bytes | BinaryIO) -> Recalibrator:
    """Read a recalibrator that ``Recalibrator.save`` wrote; no code is run from the file.

    Parameters
    ----------
    source : str, Path, bytes or binary file
        The file, its content, or something open for reading.

    Returns
    -------
    Recalibrator
        Fitted, giving the same numbers as the one that was saved.

    Raises
    ------
    InputError
        If the file is damaged, changed, of another kind or of a newer schema.

    See Also
    --------
    lore_core.shipping.Predictor : Applies the same file with numpy alone.
    """
    header, arrays = unpack(source)
    build = {
        "bins": lambda parts: ConfidenceBins(np.asarray(parts["edges"]), parts["binning"]),
        "other_classes": lambda parts: OtherClasses(**parts),
        "candidate": lambda parts: Candidate(**parts),
        "table": lambda parts: pd.DataFrame(
            {
                key: np.array(item) if isinstance(item, np.ndarray) else item
                for key, item in parts.items()
            }
        ),
        "recalibrator": _recalibrator,
    }
    try:
        made = decode(header["method"], arrays, build)
        found = decode(header["feature_maps"], arrays, {})
        made.fitted_on_ = FittedOn(
            class_names=tuple(header["class_names"]),
            feature_names=tuple(header["feature_names"]),
            group_columns=tuple(header["group_columns"]),
            feature_maps={
                item["name"]: None if item["map"] is None else as_embedding(item["map"])
                for item in found
            },
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the file of a recalibrator must hold all its parts; {type(error).__name__}: {error}."
        ) from error
    assert isinstance(made, Recalibrator)
    return made


def _version() -> str:
    try:
        return version("lore-lens")
    except PackageNotFoundError:
        return "(not installed)"
