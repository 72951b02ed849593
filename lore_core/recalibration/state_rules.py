"""What the state of every method must be, so that an edited file is refused and not applied."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lore_core.data.rules import (
    Each,
    Flag,
    Maybe,
    Number,
    Parts,
    Rule,
    Sizes,
    Text,
    Values,
    refuse,
)
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.tree_sums import LARGEST_STEP


class _Fitted:
    """A fitted recalibrator; it is checked for itself."""

    def check(self, value: Any, name: str, _sizes: Sizes) -> None:
        """See :class:`~lore_core.data.rules.Rule`."""
        if not isinstance(value, Recalibrator) or value._state is None:
            raise refuse(name, "a fitted method", value)


class _Anything:
    """What is only shown."""

    def check(self, _value: Any, _name: str, _sizes: Sizes) -> None:
        """See :class:`~lore_core.data.rules.Rule`."""


_BINNING = Text(("equal-width", "equal-mass"))
_POSITIVE = Number(0.0, above=True)
_ANY_GAMMA = Number(0.0, above=True, infinite=True)
_STRENGTH = Number(0.0, infinite=True)
_EDGES = Values(("b+1",), 0.0, 1.0, rising=True)
_INDEX = Values(("n",), 0, whole=True, below="b")
_COUNT = Maybe(Values(("n",), 1, whole=True))
_OTHERS = Parts({"temperature": _POSITIVE, "offset": Number(0.0)})
_TEMPERATURE = {"temperature": _POSITIVE}
_AFFINE: dict[str, Rule] = {
    "centred": Flag(),
    "offset": Number(0.0),
    "diagonal": Values(("K",)),
    "bias": Values(("K",)),
    "rest": Values(("K", "r")),
    "directions": Values(("K", "u")),
    "strength": _STRENGTH,
    "keep_class": Flag(),
}
_LEVELS: dict[str, Rule] = {
    "level_edges": Maybe(Values(("l+1",), 0.0, 1.0, rising=True)),
    "level_confidence": Values(("l",), 0.0, 1.0),
}
_MAPS = Each(Parts({"name": Maybe(Text()), "points": Values(("n", "d"))}))
_MEMBER: dict[str, Rule] = {
    "map": Number(0, whole=True),
    "partition": Number(0, whole=True),
    "gamma": _ANY_GAMMA,
    "weight": Number(0.0, 1.0, above=True),
}
_SMOOTH: dict[str, Rule] = {
    "count": _COUNT,
    "first": _Fitted(),
    "more": Each(_Fitted()),
    "outcome": Values(("n",), 0.0, 1.0),
    "leftover": Values(("n", "m"), -1.0, 1.0),
    "spread": Values(("n", "m"), 0.0, 0.25 + 1e-9),  # means of cells are rounded
    "maps": _MAPS,
    "partitions": Each(Parts({"edges": Maybe(_EDGES), "bin_index": Values(("n",), 0, whole=True)})),
    "members": Each(
        Parts({**_MEMBER, "base": Maybe(Number(0, whole=True)), "strength": _STRENGTH})
    ),
    "line": Each(Number(), fewest=2),
    **_LEVELS,
    "other_classes": _OTHERS,
    "keep_class": Flag(),
    "candidates": _Anything(),
}
#: What a state may hold beside.
_MAY_HOLD: Mapping[str, Mapping[str, Rule]] = {
    name: {"row_weights": Values(("n",), np.finfo(float).tiny)}
    for name in ("LoRe", "SmoothLoRe", "LevelLoRe")
}
#: What a setting must be, by the type of its default.
_SETTINGS: Mapping[type, tuple[Rule, ...]] = {
    bool: (Flag(),),
    int: (Number(whole=True),),
    float: (Number(infinite=True),),
    str: (Text(),),
}
#: By a method's name in a file. (Sizes: K classes, n rows or cells, b bins, d dimensions.)
STATES: Mapping[str, Mapping[str, Rule]] = {
    "NoRecalibration": {},
    "TemperatureScaling": _TEMPERATURE,
    "MMCEOptimization": _TEMPERATURE,
    "VectorScaling": _AFFINE,
    "MatrixScaling": _AFFINE,
    "DirichletCalibration": _AFFINE,
    "PlattScaling": {"slope": Number(), "intercept": Number()},
    "BetaCalibration": {"of_class": Flag(), "coefficients": Values((3,))},
    "IsotonicRegression": {
        "confidence": Values(("n",), 0.0, 1.0, rising=True),
        "accuracy": Values(("n",), 0.0, 1.0, rising=True),
        "count": Values(("n",), 0, whole=True),
    },
    "HistogramBinning": {
        "binning": _BINNING,
        "edges": _EDGES,
        "accuracy": Values(("b",), 0.0, 1.0, missing=True),
        "count": Values(("b",), 0, whole=True),
    },
    "LogisticRecalibration": {
        "slope": Number(),
        "weights": Values(("p",)),
        "centre": Values(("p",)),
        "scale": Values(("p",), np.finfo(float).tiny),
        "of_class": Values(("K",)),
        "strength": _STRENGTH,
        "other_classes": _OTHERS,
    },
    "BoostingRecalibration": {
        "base": _Fitted(),
        "left": Values(("m",), 0, whole=True, below="m"),
        "right": Values(("m",), 0, whole=True, below="m"),
        "root": Values(("t",), 0, whole=True, below="m"),
        "column": Values(("m",), 0, whole=True),
        "threshold": Values(("m",)),
        "step": Values(("m",), -LARGEST_STEP, LARGEST_STEP),
    },
    "LoRe": {
        "gamma": _POSITIVE,
        "floor": Flag(),
        "prior_strength": _STRENGTH,
        "feature_map": Maybe(Text()),
        "binning": _BINNING,
        "edges": _EDGES,
        "count": _COUNT,
        "points": Values(("n", "d")),
        "bin_index": _INDEX,
        "outcome": Values(("n",), 0.0, 1.0),
        "leftover": Values(("n",), -1.0, 1.0),
        "base": Maybe(_Fitted()),
    },
    "SmoothLoRe": _SMOOTH,
    "LevelLoRe": _SMOOTH,
    "VennAbers": {
        "confidence": Values(("m",), 0.0, 1.0, rising=True),
        "accuracy": Values(("m",), 0.0, 1.0),
        "count": Values(("m",), 1, whole=True),
        "lower": Values(("t",), 0.0, np.nextafter(1.0, 0.0)),
        "upper": Values(("t",), 0.0, 1.0),
    },
    "GroupWise": {
        "columns": Maybe(Each(Text(), fewest=1)),
        "groups": Each(
            Parts(
                {
                    "name": Text(),
                    "calibration_rows": Number(0, whole=True),
                    "recalibrator": Maybe(_Fitted()),
                }
            )
        ),
        "everyone": _Fitted(),
    },
}


def check_fitted(made: Recalibrator, n_classes: int, n_features: int) -> None:
    """Refuse a recalibrator from a file, or a part of it, whose state is none of its method.

    ``n_classes``, ``n_features``: of the rows it was fitted on. Raises InputError.
    """
    name = type(made).__name__
    if name not in STATES:  # no fault of the file's, and not to be taken for one
        raise RuntimeError(
            f"what the state of a {name} must be is not said; add it to STATES of {__name__}"
        )
    Text().check(made.label, f"{name}: label", {})
    Number(0, whole=True).check(made.n_rows_, f"{name}: calibration_rows", {})
    _check_settings(made)
    sizes = {"K": n_classes}
    if made.needs_features:
        sizes["p"] = n_features
    Parts(STATES[name], _MAY_HOLD.get(name, {})).check(made._state, name, sizes)
    state = made.state()
    _check_relations(name, state, made, sizes)
    for part in made.parts(state):
        check_fitted(part, n_classes, n_features)


def _check_settings(made: Recalibrator) -> None:
    """Refuse a setting of another kind than its default."""
    given = made.get_params(deep=False)
    for name, parameter in inspect.signature(type(made)).parameters.items():
        for rule in _SETTINGS.get(type(parameter.default), ()):
            rule.check(given[name], f"{type(made).__name__}: {name}", {})


def _check_relations(name: str, state: Mapping[str, Any], made: Recalibrator, sizes: Sizes) -> None:
    """Check what no part tells alone."""
    if name == "BetaCalibration":
        if (state["coefficients"][:2] < 0).any():
            raise refuse(f"{name}: coefficients", "a and b from 0", state["coefficients"])
        if state["of_class"] and sizes["K"] != 2:
            raise refuse(f"{name}: of_class", "true for two classes alone", sizes["K"])
    elif STATES[name] is _AFFINE:
        wide = sizes["u"] or sizes["K"]
        if sizes["r"] not in (0, wide):
            raise refuse(f"{name}: rest", f"0 or {wide} columns", sizes["r"])
    elif name == "VennAbers":
        if sizes["t"] != 2 * sizes["m"] + 1:
            raise refuse(f"{name}: lower", f"{2 * sizes['m'] + 1} numbers", sizes["t"])
    elif name == "BoostingRecalibration":
        _check_trees(name, state, sizes)
    elif name == "LoRe":
        _check_rows(name, state, made)
    elif STATES[name] is _SMOOTH:
        _check_rows(name, state, made)
        _check_members(name, state, 1 + len(state["more"]))
        for part in state["partitions"]:
            bins = sizes["K"] if part["edges"] is None else len(part["edges"]) - 1
            if part["bin_index"].max(initial=0) >= bins:
                raise refuse(f"{name}: bin_index", f"{bins} parts", part["bin_index"].max())
        for part in (state["first"], *state["more"]):
            if part.needs_embedding:
                raise refuse(f"{name}: first", "methods without a map", type(part).__name__)
    if state.get("base") is not None and state["base"].needs_embedding:
        raise refuse(f"{name}: base", "a method without a map", type(state["base"]).__name__)


def _check_trees(name: str, state: Mapping[str, Any], sizes: Sizes) -> None:
    """Every tree has its own nodes, and no way through it leads back."""
    if type(state["base"]).__name__ != "LogisticRecalibration":
        raise refuse(f"{name}: base", "a logistic regression", type(state["base"]).__name__)
    root, m = state["root"], sizes["m"]
    if (np.diff(root, prepend=-1) <= 0).any() or (m > 0) != (len(root) > 0) or root[:1].any():
        raise refuse(f"{name}: root", f"the first nodes of trees, from 0 to {m:,}", root)
    if state["column"].max(initial=0) >= sizes["p"] + 2:
        raise refuse(f"{name}: column", f"one of {sizes['p'] + 2}", state["column"].max())
    own = np.arange(m)
    end = np.append(root[1:], m)[np.searchsorted(root, own, side="right") - 1]
    for side in ("left", "right"):
        child = state[side]
        if ((child < own) | (child >= end)).any():
            raise refuse(f"{name}: {side}", "later nodes of the same tree", child)
    if ((state["left"] == own) != (state["right"] == own)).any():
        raise refuse(f"{name}: left", "two children, or none", state["left"])


def _check_rows(name: str, state: Mapping[str, Any], made: Recalibrator) -> None:
    """Of single rows there are as many as were fitted on, in cells no more."""
    n = len(state["outcome"])
    rows = n if state["count"] is None else int(state["count"].sum())
    if rows > made.n_rows_ or (state["count"] is None and rows != made.n_rows_):
        raise refuse(f"{name}: outcome", f"the {made.n_rows_:,} calibration rows", f"{rows:,}")
    for edges in [state["edges"]] if name == "LoRe" else [p["edges"] for p in state["partitions"]]:
        if edges is not None and (edges[0] != 0 or edges[-1] != 1):
            raise refuse(f"{name}: edges", "numbers from 0 to 1", f"{edges[0]} to {edges[-1]}")


def _check_members(name: str, state: Mapping[str, Any], n_bases: int) -> None:
    members: Sequence[Mapping[str, Any]] = state["members"]
    known = {"map": len(state["maps"]), "partition": len(state["partitions"]), "base": n_bases}
    for part, n in known.items():
        places = [member[part] for member in members if member[part] is not None]
        if max(places, default=-1) >= n:
            raise refuse(f"{name}: {part}", f"one of {n} places", max(places))
    if members and state["leftover"].shape[1] != n_bases:
        raise refuse(f"{name}: leftover", f"{n_bases} columns", state["leftover"].shape)
    total = sum(member["weight"] for member in members)
    if total > 1 + 1e-9:
        raise refuse(f"{name}: weight", "shares of 1", f"{total:g} in all")
    if len(state["line"]) != 2:
        raise refuse(f"{name}: line", "slope and intercept", state["line"])
