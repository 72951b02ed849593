"""Histogram binning: each confidence bin is told its accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.recalibration.base import Recalibrator

__all__ = ["HistogramBinning"]


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

    References
    ----------
    Zadrozny, Elkan, "Obtaining calibrated probability estimates from decision trees and naive
    Bayesian classifiers", ICML 2001.
    """

    label = "Histogram binning"

    def __init__(self, n_bins: int = 15, binning: Binning = "equal-width") -> None:
        self.n_bins = n_bins
        self.binning = binning

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        confidence = calibration.confidence
        self.bins_ = confidence_bins(confidence, self.n_bins, self.binning)
        index = self.bins_.assign(confidence)
        count = np.bincount(index, minlength=self.bins_.n_bins)
        right = np.bincount(index, weights=calibration.outcome, minlength=self.bins_.n_bins)
        with np.errstate(invalid="ignore"):
            self.accuracy_ = right / count

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        new = self.accuracy_[self.bins_.assign(evaluation.confidence)]
        return evaluation.with_confidence(np.where(np.isnan(new), evaluation.confidence, new))
