"""Steps of the confidence: histogram binning, isotonic regression, and Venn–Abers, fitted twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypedDict

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import (
    Binning,
    ConfidenceBins,
    accuracy_by_bin,
    check_binning,
    check_n_bins,
    confidence_bins,
)
from lore_core.data.defaults import N_BINS
from lore_core.data.rows import Rows
from lore_core.data.rules import EDGES, Sizes, Values, refuse
from lore_core.data.weights import weighed
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.cells import joined_steps, rounded

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class HistogramState(TypedDict):
    """What histogram binning fits."""

    binning: Binning  #: how the bins were chosen
    edges: Annotated[Floats, EDGES, "edges of confidence bins{cuts}"]
    #: NaN where there are no rows
    accuracy: Annotated[
        Floats, Values(("b",), 0.0, 1.0, missing=True), "accuracy of each level{smallest}"
    ]
    count: Annotated[Ints, Values(("b",), 0, whole=True), "how many calibration rows these are of"]


@dataclass(eq=False, repr=False)
class HistogramBinning(Recalibrator):
    """Replaces the top-label confidence by the calibration accuracy of its bin.

    ``n_bins``, ``binning``: confidence bins, "equal-width" or "equal-mass" on the calibration rows.
    A bin without any leaves the confidence as it is. Fitted: ``accuracy_`` (n_bins,), of each bin,
    NaN where it is empty. A row of weight 2 is two rows where bins are of equal width.

    Zadrozny, Elkan, "Obtaining calibrated probability estimates", ICML 2001.
    """

    label = "Histogram binning"
    color = 2
    takes_weights = True
    state_type = HistogramState

    n_bins: int = N_BINS
    binning: Binning = "equal-width"

    def _check_params(self) -> None:
        check_n_bins(self.n_bins)
        check_binning(self.binning)

    def _fit_on(self, calibration: Dataset, *_: object) -> HistogramState:
        bins = confidence_bins(calibration.confidence, self.n_bins, self.binning)
        index = bins.assign(calibration.confidence)
        return {
            "binning": bins.binning,
            "edges": bins.edges,
            "accuracy": accuracy_by_bin(
                index, calibration.outcome, bins.n_bins, calibration.weights
            ),
            "count": np.bincount(index, minlength=bins.n_bins),
        }

    @staticmethod
    def apply(state: HistogramState, rows: Rows) -> Rows:
        """Look the confidences' bins up."""
        bins = ConfidenceBins(state["edges"], state["binning"])
        new = state["accuracy"][bins.assign(rows.confidence)]
        return rows.with_confidence(np.where(np.isnan(new), rows.confidence, new))

    @staticmethod
    def in_cells(state: HistogramState, size: int) -> tuple[HistogramState, None]:
        """Return the bins, those of fewer rows as if they had none."""
        count, edges = state["count"], state["edges"]
        enough = count >= size
        return {
            **state,
            "edges": edges if state["binning"] == "equal-width" else rounded(edges),
            "accuracy": np.where(enough, state["accuracy"], np.nan),
            "count": np.where(enough, count, 0),
        }, None


class IsotonicState(TypedDict):
    """What isotonic regression fits: the corners of the function."""

    confidence: Annotated[
        Floats, Values(("m",), 0.0, 1.0, rising=True), "corners of the step function{cuts}"
    ]
    accuracy: Annotated[
        Floats, Values(("m",), 0.0, 1.0, rising=True), "accuracy of each level{smallest}"
    ]
    #: Of the step
    count: Annotated[Ints, Values(("m",), 0, whole=True), "how many calibration rows these are of"]


class IsotonicRegression(Recalibrator):
    """Replaces the top-label confidence by a non-decreasing function of it.

    Pool-adjacent-violators fit of outcome on confidence by least squares. Its ends are often
    exactly 0 or 1, where a single wrong row costs the likelihood its whole floor. Fitted:
    ``confidence_``, ``accuracy_`` (m,), the function's corners; between them it is a straight line,
    beyond them it is constant. A row of weight 2 is two rows.

    Zadrozny, Elkan, "Transforming classifier scores", KDD 2002.
    """

    label = "Isotonic regression"
    color = 4
    takes_weights = True
    state_type = IsotonicState

    def _fit_on(self, calibration: Dataset, *_: object) -> IsotonicState:
        from scipy.optimize import isotonic_regression  # slow to import

        level, of_row = np.unique(calibration.confidence, return_inverse=True)
        mass = np.bincount(of_row, calibration.weights)
        right = np.bincount(of_row, weighed(calibration.outcome, calibration.weights))
        rising = np.clip(isotonic_regression(right / mass, weights=mass).x, 0.0, 1.0)
        ends = (np.diff(rising, prepend=-1) > 0) | (np.diff(rising, append=2) > 0)
        corners, accuracy = level[ends], rising[ends]
        step, starts = _steps(accuracy)
        of_row = np.searchsorted(corners[starts], calibration.confidence, side="right") - 1
        return {"confidence": corners, "accuracy": accuracy, "count": np.bincount(of_row)[step]}

    @staticmethod
    def apply(state: IsotonicState, rows: Rows) -> Rows:
        """Look the confidences up in the function."""
        return rows.with_confidence(
            np.interp(rows.confidence, state["confidence"], state["accuracy"])
        )

    @staticmethod
    def in_cells(state: IsotonicState, size: int) -> tuple[IsotonicState, None]:
        """Return the function with steps of fewer rows joined to their neighbours."""
        count = state["count"]
        step, starts = _steps(state["accuracy"])
        step = joined_steps(count[starts], size)[step]
        total = np.bincount(step[starts], weights=count[starts])
        right = np.bincount(step[starts], weights=(count * state["accuracy"])[starts])
        ends = np.flatnonzero((np.diff(step, prepend=-1) > 0) | (np.diff(step, append=-1) != 0))
        return {
            "confidence": rounded(state["confidence"][ends]),
            "accuracy": (right / total)[step[ends]],
            "count": total[step[ends]].astype(np.int64),
        }, None


def _steps(accuracy: Floats) -> tuple[Ints, Ints]:
    """Return the step of each corner (m,), which those of one accuracy share, and their firsts."""
    rises = np.diff(accuracy, prepend=-1.0) > 0
    return np.cumsum(rises) - 1, np.flatnonzero(rises)


class VennAbersState(TypedDict):
    """What Venn–Abers fits: the calibration rows by confidence, and p₀ and p₁ of new ones."""

    confidence: Annotated[
        Floats, Values(("m",), 0.0, 1.0, rising=True), "corners of the step function{cuts}"
    ]
    accuracy: Annotated[Floats, Values(("m",), 0.0, 1.0), "accuracy of each level{smallest}"]
    count: Annotated[Ints, Values(("m",), 1, whole=True), "how many calibration rows these are of"]
    #: p₀, t = 2m + 1: below the first confidence, at it, between it and the next, at that, …
    lower: Annotated[
        Floats,
        Values(("t",), 0.0, np.nextafter(1.0, 0.0)),
        "what a row is told as a wrong one, at and between the confidences",
    ]
    upper: Annotated[Floats, Values(("t",), 0.0, 1.0), "the same as a right one"]  #: p₁


class VennAbers(Recalibrator):
    """Replaces the top-label confidence by p₁ / (1 − p₀ + p₁).

    p₀ and p₁: docs/recalibrators.md ("How they work"). Fitted: ``lower_``, ``upper_`` (2m + 1,), p₀
    and p₁ below, at and above each of the m confidences of calibration rows. Rows with weights are
    refused: they are not exchangeable.

    Vovk, Petej, Fedorova, "Large-scale probabilistic predictors", NeurIPS 2015.
    """

    label = "Venn–Abers"
    color = 15
    state_type = VennAbersState

    def _fit_on(self, calibration: Dataset, *_: object) -> VennAbersState:
        values, index = np.unique(calibration.confidence, return_inverse=True)
        count = np.bincount(index)
        right = np.bincount(index, weights=calibration.outcome)
        return _state(np.asarray(values), np.asarray(right), count)

    @staticmethod
    def apply(state: VennAbersState, rows: Rows) -> Rows:
        """Look both probabilities up, and merge them."""
        known = state["confidence"]
        before = np.searchsorted(known, rows.confidence, side="left")
        upto = np.searchsorted(known, rows.confidence, side="right")
        lower, upper = state["lower"][before + upto], state["upper"][before + upto]
        return rows.with_confidence(upper / (1.0 - lower + upper))

    @staticmethod
    def check_state(state: VennAbersState, name: str, sizes: Sizes) -> None:
        """Refuse other numbers than two for each confidence and one more."""
        if sizes["t"] != 2 * sizes["m"] + 1:
            raise refuse(f"{name}: lower", f"{2 * sizes['m'] + 1} numbers", sizes["t"])

    @staticmethod
    def in_cells(state: VennAbersState, size: int) -> tuple[VennAbersState, None]:
        """Join neighbouring confidences until they are of enough rows."""
        count = state["count"]
        joined = joined_steps(count, size)
        total = np.bincount(joined, weights=count)
        right = np.bincount(joined, weights=count * state["accuracy"])
        centre = np.bincount(joined, weights=count * state["confidence"]) / total
        values, index = np.unique(rounded(centre), return_inverse=True)
        return _state(
            values,
            np.asarray(np.bincount(index, weights=right)),
            np.bincount(index, weights=total).astype(np.int64),
        ), None


def _state(values: Floats, right: Floats, count: Ints) -> VennAbersState:
    return {
        "confidence": values,
        "accuracy": right / count,
        "count": count,
        "lower": added(right, count, 0.0),
        "upper": added(right, count, 1.0),
    }


def added(right: Floats, count: Ints, outcome: float) -> Floats:
    """Return isotonic regression at one more row of an ``outcome``, shape (2m + 1,).

    ``right``, ``count`` (m,): right rows, and rows, of each confidence; 2m + 1 as in
    :class:`VennAbersState`.
    """
    m = len(count)
    sums, sizes = ([0, *np.cumsum(of).tolist()] for of in (right, count))

    def block(start: int, stop: int) -> tuple[float, int]:
        return sums[stop] - sums[start], sizes[stop] - sizes[start]

    # The last block of the fit of the first `stop` confidences starts at below[stop]; the one
    # before it is the last of the first below[stop] confidences, and so on. Above likewise.
    below, above = [0] * (m + 1), [m] * (m + 1)
    for stop in range(1, m + 1):
        start = stop - 1
        while start > 0 and not _rises(block(below[start], start), block(start, stop)):
            start = below[start]
        below[stop] = start
    for start in range(m - 1, -1, -1):
        stop = start + 1
        while stop < m and not _rises(block(start, stop), block(stop, above[stop])):
            stop = above[stop]
        above[start] = stop
    found = np.empty(2 * m + 1)
    for at in range(2 * m + 1):
        start, stop = at // 2, (at + 1) // 2
        while True:
            total, size = block(start, stop)
            own = (total + outcome, size + 1)
            if start > 0 and not _rises(block(below[start], start), own):
                start = below[start]
            elif stop < m and not _rises(own, block(stop, above[stop])):
                stop = above[stop]
            else:
                break
        found[at] = own[0] / own[1]
    return found


def _rises(one: tuple[float, int], two: tuple[float, int]) -> bool:
    return one[0] * two[1] < two[0] * one[1]
