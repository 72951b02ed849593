"""Histogram binning: each confidence becomes the accuracy of its bin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self, TypedDict

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
from lore_core.data.rules import EDGES, Values
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.cells import rounded

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


class State(TypedDict):
    """What histogram binning fits."""

    binning: Binning  #: how the bins were chosen
    edges: Annotated[Floats, EDGES, "edges of confidence bins{cuts}"]
    #: NaN where there are no rows
    accuracy: Annotated[
        Floats, Values(("b",), 0.0, 1.0, missing=True), "accuracy of each level{smallest}"
    ]
    count: Annotated[Ints, Values(("b",), 0, whole=True), "how many calibration rows these are of"]


class HistogramBinning(Recalibrator):
    """Replaces the top-label confidence by the calibration accuracy of its bin.

    A bin without calibration rows leaves the confidence as it is.

    Parameters
    ----------
    n_bins : int
        Confidence bins.
    binning : {"equal-width", "equal-mass"}
        How they are chosen (on the calibration rows).

    Attributes
    ----------
    accuracy_ : ndarray of shape (n_bins,)
        Calibration accuracy of each bin, NaN where it is empty.

    Notes
    -----
    A row of weight 2 is two rows where bins are of equal width; bins of equal mass hold as many
    rows each, whatever these weigh.

    References
    ----------
    Zadrozny, Elkan, "Obtaining calibrated probability estimates", ICML 2001.
    """

    label = "Histogram binning"
    color = 2
    takes_weights = True
    state_type = State
    accuracy_: Floats

    def __init__(self, n_bins: int = N_BINS, binning: Binning = "equal-width") -> None:
        self.n_bins = n_bins
        self.binning = binning
        self._check_params()

    def _check_params(self) -> None:
        check_n_bins(self.n_bins)
        check_binning(self.binning)

    @classmethod
    def standard(cls, gamma: float, n_bins: int, binning: Binning) -> Self:
        """Return the method with these bins."""
        return cls(n_bins, binning)

    def _fit_on(self, calibration: Dataset, *_: object) -> State:
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
    def apply(state: State, rows: Rows) -> Rows:
        """Look the confidences' bins up."""
        bins = ConfidenceBins(state["edges"], state["binning"])
        new = state["accuracy"][bins.assign(rows.confidence)]
        return rows.with_confidence(np.where(np.isnan(new), rows.confidence, new))

    @staticmethod
    def in_cells(state: State, size: int) -> tuple[State, None]:
        """Return the bins, those of fewer rows as if they had none."""
        count, edges = state["count"], state["edges"]
        enough = count >= size
        return {
            **state,
            "edges": edges if state["binning"] == "equal-width" else rounded(edges),
            "accuracy": np.where(enough, state["accuracy"], np.nan),
            "count": np.where(enough, count, 0),
        }, None
