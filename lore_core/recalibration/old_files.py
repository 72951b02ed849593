"""Files of schemas 1 to 3: what the values of that day are called now.

A file of schema 1 holds every attribute of an object, private ones too, one of schema 2 a state
that has changed since. Here each value is given the place it has in the settings and the state of
today; nothing else knows the old names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data.binning import ConfidenceBins, accuracy_by_bin, confidence_bins
from lore_core.data.validation import InputError, as_group_labels
from lore_core.recalibration import group_wise
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.group_wise import GroupWise
from lore_core.recalibration.histogram_binning import HistogramBinning
from lore_core.recalibration.local_correction import corrected
from lore_core.recalibration.registry import saved_class

#: The attributes of an object, by name.
Old = dict[str, Any]

#: Parameters there were; whatever else they say, a fit no longer needs them.
_GONE = ("kernel", "progress")


def _recalibrator(parts: Old) -> Recalibrator:
    kind, parameters = parts["class"], parts["parameters"]
    old = {**parameters, **parts["fitted"]}
    if parameters.get("kernel") == "group":
        return _over_groups(kind, old)
    fitted = "n_rows_" in old
    return saved_class(kind).restored(
        {name: value for name, value in parameters.items() if name not in _GONE},
        _since_schema_2(kind, _STATES[kind](old)) if fitted else None,
        label=old.get("label", saved_class(kind).label),
        n_rows=old.get("n_rows_", 0),
    )


def _of_schema_2(parts: Old) -> Recalibrator:
    kind, state = parts["class"], parts["state"]
    return saved_class(kind).restored(
        parts["settings"],
        None if state is None else _since_schema_2(kind, state),
        label=parts["label"],
        n_rows=parts["calibration_rows"],
    )


def _of_schema_3(parts: Old) -> Recalibrator:
    kind, state = parts["class"], parts["state"]
    if state is not None and kind in ("VectorScaling", "MatrixScaling", "DirichletCalibration"):
        state = {**state, "offset": 0.0}
    return saved_class(kind).restored(
        parts["settings"],
        state,
        label=parts["label"],
        n_rows=parts["calibration_rows"],
    )


def _since_schema_2(kind: str, state: Old) -> Old:
    """Return a state of today, which says the bins of rows and what few rows rest on."""
    if kind not in ("IsotonicRegression", "HistogramBinning", "LoRe", "TunedLoRe"):
        return state
    state = {**state, "count": None}
    if kind != "TunedLoRe":
        return state
    confidence = state.pop("confidence")
    sizes = list(dict.fromkeys(member["n_bins"] for member in state["members"]))
    partitions = [confidence_bins(confidence, n, state["binning"]) for n in sizes]
    return {
        **state,
        "partitions": [
            {"edges": bins.edges, "bin_index": bins.assign(confidence)} for bins in partitions
        ],
        "members": [
            {
                **{name: value for name, value in member.items() if name != "n_bins"},
                "partition": sizes.index(member["n_bins"]),
            }
            for member in state["members"]
        ],
    }


def _histogram(old: Old) -> Old:
    bins: ConfidenceBins = old["bins_"]
    return {"binning": bins.binning, "edges": bins.edges, "accuracy": old["accuracy_"]}


def _lore(old: Old) -> Old:
    bins: ConfidenceBins = old["bins_"]
    return {
        "gamma": float(old["gamma"]),
        "floor": old["floor"],
        "prior_strength": float(old["prior_strength"]),
        "feature_map": old["feature_map"],
        "binning": bins.binning,
        "edges": bins.edges,
        "points": old["points_"],
        "bin_index": old["bin_index_"],
        "outcome": old["outcome_"],
        "leftover": old["value_"],
        "base": old.get("base_"),
    }


def _tuned(old: Old) -> Old:
    if not old["_members"]:
        # Of one calibration row; its confidence, which nothing asks for, was not in the file.
        one = old["lore_"].state()
        old = {
            "_confidence": np.full(1, np.nan),
            "_outcome": one["outcome"],
            "_points": {None: one["points"]},
            "_bases": [],
            "_values": np.empty((1, 0)),
            "line_": None,
            "levels_": None,
            "level_confidence_": np.empty(0),
            "other_classes_": {"temperature": 1.0, "offset": 1e-12},
            **old,
        }
    names = list(old["_points"])
    levels: ConfidenceBins | None = old["levels_"]
    return {
        "binning": old["binning"],
        "confidence": old["_confidence"],
        "outcome": old["_outcome"],
        "maps": [{"name": name, "points": points} for name, points in old["_points"].items()],
        "bases": old["_bases"],
        "leftover": old["_values"],
        "members": [
            {
                "map": names.index(candidate["feature_map"]),
                "base": base,
                "gamma": candidate["gamma"],
                "n_bins": candidate["n_bins"],
                "prior_strength": candidate["prior_strength"],
                "weight": weight,
            }
            for candidate, weight, base in old["_members"]
        ],
        "line": old["line_"],
        "level_edges": None if levels is None else levels.edges,
        "level_confidence": old["level_confidence_"],
        "other_classes": old["other_classes_"],
        "candidates": old["candidates_"],
    }


def _group_wise(old: Old) -> group_wise.State:
    column = old["column"]
    return {
        "columns": [column] if isinstance(column, str) else column and list(column),
        "groups": [
            {"name": name, "calibration_rows": size, "recalibrator": old["by_group_"].get(name)}
            for name, size in old["sizes_"].items()
        ],
        "everyone": old["everyone_"],
    }


_STATES: Mapping[str, Callable[[Old], Any]] = {
    "NoRecalibration": lambda _old: {},
    "TemperatureScaling": lambda old: {"temperature": old["temperature_"]},
    "MMCEOptimization": lambda old: {"temperature": old["temperature_"]},
    "PlattScaling": lambda old: {"slope": old["slope_"], "intercept": old["intercept_"]},
    "IsotonicRegression": lambda old: {
        "confidence": old["confidence_"],
        "accuracy": old["accuracy_"],
    },
    "HistogramBinning": _histogram,
    "LoRe": _lore,
    "TunedLoRe": _tuned,
    "GroupWise": _group_wise,
}


def _over_groups(kind: str, old: Old) -> GroupWise:
    """Return what LoRe was whose kernel was 1 within a group: histogram binning in each group."""
    if kind != "LoRe" or old["base"] is not None or old["floor"] or "n_rows_" not in old:
        raise InputError(
            "this file holds LoRe over groups with a base, a floor or tuning, which this version "
            "does not apply any more. Fit GroupWise(HistogramBinning()) and save that."
        )
    bins: ConfidenceBins = old["bins_"]
    index, outcome = old["bin_index_"], old["outcome_"]
    strength = float(old["prior_strength"])
    everywhere = accuracy_by_bin(index, outcome, bins.n_bins)
    unknown = np.full(bins.n_bins, np.nan)

    def binned(n_rows: int, accuracy: NDArray[np.float64]) -> Recalibrator:
        return HistogramBinning.restored(
            {"n_bins": old["n_bins"], "binning": old["binning"]},
            {"binning": bins.binning, "edges": bins.edges, "accuracy": accuracy, "count": None},
            label=HistogramBinning.label,
            n_rows=n_rows,
        )

    groups: list[group_wise.Group] = []
    names = as_group_labels(old["points_"]).astype(str)
    for name in np.unique(names):
        rows = names == name
        accuracy = corrected(
            accuracy_by_bin(index[rows], outcome[rows], bins.n_bins),
            np.bincount(index[rows], minlength=bins.n_bins).astype(np.float64),
            strength,
            confidence=unknown,
            accuracy=everywhere,
            start=None,
        )
        size = int(rows.sum())
        groups.append(
            {"name": str(name), "calibration_rows": size, "recalibrator": binned(size, accuracy)}
        )
    everyone = binned(len(index), everywhere if strength else unknown)
    return GroupWise.restored(
        {"recalibrator": HistogramBinning(old["n_bins"], old["binning"]), "min_group_size": 1},
        {"columns": None, "groups": groups, "everyone": everyone},
        label=old.get("label", "LoRe"),
        n_rows=old["n_rows_"],
    )


#: How the tagged values of a file are put together, by its schema.
BUILDERS: Mapping[int, Mapping[str, Callable[[Any], Any]]] = {
    1: {
        "bins": lambda parts: ConfidenceBins(np.asarray(parts["edges"]), parts["binning"]),
        "other_classes": lambda parts: parts,
        "candidate": lambda parts: parts,
        "table": lambda parts: parts,
        "recalibrator": _recalibrator,
    },
    2: {"recalibrator": _of_schema_2},
    3: {"recalibrator": _of_schema_3},
}
