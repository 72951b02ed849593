"""Every saved method applied to arrays, with numpy (and, if it is there, numba) alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.data import probabilities as formulas
from lore_core.data.binning import confidence_bins
from lore_core.data.validation import InputError, as_probabilities, check_lengths
from lore_core.metrics.local_error import kernel_means

__all__ = ["METHODS", "Method", "Rows"]


@dataclass(frozen=True)
class Method:
    """A fitted method as the file holds it: its class, and parameters and fit by name."""

    kind: str
    state: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.state[name]


@dataclass(frozen=True)
class Rows:
    """Rows to recalibrate.

    Attributes
    ----------
    probabilities : ndarray of shape (n, K)
    predicted : ndarray of shape (n,)
    place : callable
        Gives the rows' coordinates on a map: its name to an array of shape (n, d).
    groups : callable
        Gives the rows' group names, shape (n,).
    """

    probabilities: NDArray[np.float64]
    predicted: NDArray[np.int64]
    place: Callable[[str | None], NDArray[Any]]
    groups: Callable[[], NDArray[np.object_]]

    def __len__(self) -> int:
        return len(self.predicted)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """Probability of the predicted class, shape (n,)."""
        return np.asarray(self.probabilities[np.arange(len(self)), self.predicted])

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.probabilities.shape[1])

    def take(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return the chosen rows."""
        place, groups = self.place, self.groups
        return Rows(
            as_probabilities(self.probabilities[chosen]),
            self.predicted[chosen],
            lambda name: place(name)[chosen],
            lambda: groups()[chosen],
        )

    # A Dataset divides each row by its sum whenever it is made, which can change the last bit; to
    # give the same numbers these do so equally often.

    def with_confidence(self, confidence: NDArray[np.float64]) -> Rows:
        """See :meth:`lore_core.Dataset.with_confidence`."""
        new = formulas.with_confidence(self.probabilities, self.predicted, confidence)
        return replace(self, probabilities=as_probabilities(new))

    def with_probabilities(self, probabilities: NDArray[np.float64]) -> Rows:
        """See :meth:`lore_core.Dataset.with_probabilities`."""
        return replace(self, probabilities=as_probabilities(as_probabilities(probabilities)))


def _apply(method: Method, rows: Rows) -> Rows:
    return METHODS[method.kind](method, rows)


def _unchanged(_method: Method, rows: Rows) -> Rows:
    return rows


def _tempered(method: Method, rows: Rows) -> Rows:
    logs = formulas.log_probabilities(rows.probabilities)
    return rows.with_probabilities(formulas.softmax(logs / method["temperature_"]))


def _platt(method: Method, rows: Rows) -> Rows:
    odds = formulas.top_log_odds(rows.probabilities, rows.predicted)
    return rows.with_confidence(formulas.expit(method["slope_"] * odds + method["intercept_"]))


def _isotonic(method: Method, rows: Rows) -> Rows:
    return rows.with_confidence(
        np.interp(rows.confidence, method["confidence_"], method["accuracy_"])
    )


def _histogram(method: Method, rows: Rows) -> Rows:
    new = method["accuracy_"][method["bins_"].assign(rows.confidence)]
    return rows.with_confidence(np.where(np.isnan(new), rows.confidence, new))


def _check_dimensions(points: NDArray[Any], fitted: NDArray[Any]) -> None:
    if points.ndim != fitted.ndim or points.shape[1:] != fitted.shape[1:]:
        raise InputError(
            "'coordinates' must have the dimensions the recalibrator was fitted on, "
            f"{fitted.shape[1:]}; got {points.shape[1:]}."
        )


def _lore(method: Method, rows: Rows) -> Rows:
    points = rows.place(method["feature_map"])
    check_lengths(probabilities=rows, coordinates=points)
    if method["kernel"] != "group":
        _check_dimensions(points, method["points_"])
    means = kernel_means(
        points,
        method["bins_"].assign(rows.confidence),
        method["points_"],
        method["bin_index_"],
        method["value_"][:, None],
        gammas=np.array([method["gamma"]]),
        kernel=method["kernel"],
    )
    mean, mass = means.mean[0, :, 0], means.mass[0]
    strength = method["prior_strength"]
    start = rows if method["base"] is None else _apply(method["base_"], rows)
    if method["base"] is not None:
        new = start.confidence + formulas.pulled(mean, mass, np.zeros(len(rows)), strength)
    elif strength == 0:
        new = mean
    else:
        toward = method["bin_accuracy_"][method["bins_"].assign(rows.confidence)]
        new = formulas.pulled(mean, mass, toward, strength)
    new = np.where(np.isnan(new), start.confidence, new)
    lowest = formulas.lowest_confidence(rows.n_classes, method["floor"])
    return start.with_confidence(np.clip(new, lowest, 1.0))


def _tuned(method: Method, rows: Rows) -> Rows:
    if not method["_members"]:
        return _apply(method["lore_"], rows)
    lowest = formulas.lowest_confidence(rows.n_classes, True)
    starts = [
        np.zeros(len(rows)) if base is None else _apply(base, rows).confidence
        for base in method["_bases"]
    ]
    parts: dict[tuple[str | None, int], list[Any]] = {}
    for member in method["_members"]:
        parts.setdefault((member[0]["feature_map"], member[0]["n_bins"]), []).append(member)
    averaged = np.zeros(len(rows))
    known, outcome = method["_confidence"], method["_outcome"]
    for (name, n_bins), members in parts.items():
        points, fitted = rows.place(name), method["_points"][name]
        check_lengths(probabilities=rows, coordinates=points)
        if method["kernel"] != "group":
            _check_dimensions(points, fitted)
        bins = confidence_bins(known, n_bins, method["binning"])
        source_index, index = bins.assign(known), bins.assign(rows.confidence)
        grid = np.unique([member[0]["gamma"] for member in members])
        means = kernel_means(
            points,
            index,
            fitted,
            source_index,
            method["_values"],
            gammas=grid,
            kernel=method["kernel"],
            effective_size=False,
        )
        size = 1 + max(int(source_index.max()), int(index.max()))
        count = np.bincount(source_index, minlength=size)
        right = np.bincount(source_index, weights=outcome, minlength=size)
        accuracy = np.where(
            count[index] > 0, right[index] / np.maximum(count[index], 1), rows.confidence
        )
        for candidate, weight, column in members:
            g = int(np.searchsorted(grid, candidate["gamma"]))
            toward = np.zeros(len(rows))
            if candidate["base"] is None:
                toward = rows.confidence if candidate["prior_strength"] == 0 else accuracy
            local = formulas.pulled(
                means.mean[g, :, column], means.mass[g], toward, candidate["prior_strength"]
            )
            averaged += weight * np.clip(starts[column] + local, lowest, 1.0)
    new = np.clip(averaged, 0.0, 1.0)
    if method["line_"] is not None:
        new = formulas.on_line(new, *method["line_"])
    if method["levels_"] is not None:
        new = method["level_confidence_"][method["levels_"].assign(new)]
    others = method["other_classes_"]
    return rows.with_probabilities(
        formulas.completed(rows.probabilities, rows.predicted, new, **others)
    )


def _group_wise(method: Method, rows: Rows) -> Rows:
    names = rows.groups()
    vectors = np.empty_like(rows.probabilities)
    left = np.ones(len(rows), dtype=bool)
    for name, inner in method["by_group_"].items():
        here = np.asarray(names == name)
        if here.any():
            vectors[here] = _apply(inner, rows.take(here)).probabilities
            left &= ~here
    if left.any():
        vectors[left] = _apply(method["everyone_"], rows.take(left)).probabilities
    return rows.with_probabilities(vectors)


#: How each class of a file is applied.
METHODS: dict[str, Callable[[Method, Rows], Rows]] = {
    "NoRecalibration": _unchanged,
    "TemperatureScaling": _tempered,
    "MMCEOptimization": _tempered,
    "PlattScaling": _platt,
    "IsotonicRegression": _isotonic,
    "HistogramBinning": _histogram,
    "LoRe": _lore,
    "TunedLoRe": _tuned,
    "GroupWise": _group_wise,
}
