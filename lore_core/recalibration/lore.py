"""LoRe, local recalibration: each row is told the accuracy of its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lore_core.binning import Binning, confidence_bins
from lore_core.dataset import Dataset
from lore_core.local_error import Kernel, kernel_means
from lore_core.recalibration.base import Recalibrator
from lore_core.validation import InputError, as_coordinates, check_lengths, check_positive

__all__ = ["LoRe", "LocalAccuracy"]


@dataclass(frozen=True)
class LocalAccuracy:
    """What LoRe found around each row.

    Attributes
    ----------
    accuracy : ndarray of shape (n,)
        Kernel-weighted calibration accuracy in the row's bin; NaN where the bin is empty.
    effective_size : ndarray of shape (n,)
        n_eff of the calibration rows behind it.
    """

    accuracy: NDArray[np.float64]
    effective_size: NDArray[np.float64]

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Rows whose bin holds no calibration row: they keep their confidence."""
        return np.isnan(self.accuracy)


class LoRe(Recalibrator):
    """Replaces the top-label confidence by the kernel-weighted accuracy of its neighbours.

    Parameters
    ----------
    gamma : float
        Bandwidth γ > 0. The paper uses 0.2 on t-SNE and 0.4 on PCA features.
    n_bins : int
        Confidence bins.
    binning : {"equal-width", "equal-mass"}
        How they are chosen (on the calibration rows).
    kernel : {"laplacian", "group"}
        With ``"group"`` the embedding is the group names and LoRe becomes group-wise histogram
        binning.

    Notes
    -----
    p'(x) = Σ_{j∈β(x)} k_γ(x, x_j) a_j / Σ_{j∈β(x)} k_γ(x, x_j) over the calibration rows in x's
    confidence bin. γ→∞ is histogram binning; γ→0 the nearest calibration row, also where every
    weight underflows. A row whose bin holds no calibration row keeps its confidence.

    References
    ----------
    Luo et al., "Local Calibration: Metrics and Recalibration", UAI 2022, eq. 6.
    """

    label = "LoRe"
    needs_embedding = True

    def __init__(
        self,
        gamma: float = 0.2,
        n_bins: int = 15,
        binning: Binning = "equal-width",
        kernel: Kernel = "laplacian",
    ) -> None:
        self.gamma = gamma
        self.n_bins = n_bins
        self.binning = binning
        self.kernel = kernel

    def _points(self, dataset: Dataset, embedding: Any) -> Any:
        if embedding is None:
            raise InputError(
                "LoRe must be given an embedding of the rows; got None. Pass "
                "lore.embed(features) of calibration and evaluation rows together, or group names "
                "with kernel='group'."
            )
        points = np.asarray(embedding) if self.kernel == "group" else as_coordinates(embedding)
        check_lengths(embedding=points, dataset=dataset)
        return points

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        check_positive(self.gamma, "gamma")
        self.points_ = self._points(calibration, embedding)
        confidence = calibration.confidence
        self.bins_ = confidence_bins(confidence, self.n_bins, self.binning)
        self.bin_index_ = self.bins_.assign(confidence)
        self.outcome_ = calibration.outcome

    def local_accuracy(self, evaluation: Dataset, embedding: Any) -> LocalAccuracy:
        """Return the calibration accuracy around each row, and how many rows it rests on.

        Parameters
        ----------
        evaluation : Dataset
            Rows to look around.
        embedding : Embedding or array-like of shape (n, d)
            Their coordinates.
        """
        points = self._points(evaluation, embedding)
        if self.kernel == "laplacian" and points.shape[1] != self.points_.shape[1]:
            raise InputError(
                "'embedding' must have the dimensions LoRe was fitted on; got "
                f"{points.shape[1]}, fitted on {self.points_.shape[1]}."
            )
        means = kernel_means(
            points,
            self.bins_.assign(evaluation.confidence),
            self.points_,
            self.bin_index_,
            self.outcome_[:, None],
            gammas=np.array([self.gamma]),
            kernel=self.kernel,
        )
        return LocalAccuracy(means.mean[0, :, 0], means.effective_size[0])

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        found = self.local_accuracy(evaluation, embedding)
        return evaluation.with_confidence(
            np.where(found.empty, evaluation.confidence, np.clip(found.accuracy, 0.0, 1.0))
        )
