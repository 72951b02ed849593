"""LoRe, local recalibration: each row is told the accuracy of its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.probabilities import lowest_confidence, pulled
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError, as_coordinates, check_lengths, check_positive
from lore_core.kernel_sums import KernelMeans
from lore_core.metrics.local_error import Kernel, kernel_means
from lore_core.recalibration.base import Recalibrator

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


def chosen_map(embedding: Any, name: str | None) -> Any:
    """Return one embedding: ``embedding`` itself, or of several by name the named or first one."""
    if not isinstance(embedding, Mapping):
        return embedding
    if not embedding:
        raise InputError("'embedding' must hold at least one map; got an empty dict.")
    if name is None:
        return next(iter(embedding.values()))
    if name not in embedding:
        raise InputError(f"'feature_map' must be one of {list(embedding)}; got {name!r}.")
    return embedding[name]


class LoRe(Recalibrator):
    """Replaces the top-label confidence by the kernel-weighted accuracy of its neighbours.

    Without options it is exactly the paper's method. The options answer what its plain form
    suffers from on few rows.

    Parameters
    ----------
    gamma : float
        Bandwidth γ > 0. The paper uses 0.2 on t-SNE and 0.4 on PCA features.
    n_bins : int
        Confidence bins; 1 compares rows of any confidence.
    binning : {"equal-width", "equal-mass"}
        How they are chosen (on the calibration rows).
    kernel : {"laplacian", "group"}
        With ``"group"`` the embedding is the group names and LoRe becomes group-wise histogram
        binning.
    floor : bool
        Never below 1/K: the largest of K probabilities cannot be.
    prior_strength : float
        s ≥ 0 pseudo-rows that a neighbourhood is mixed with: the accuracy of its bin or, with a
        base, "no leftover error". ``inf`` leaves only what is pulled toward.
    base : Recalibrator, optional
        A global method fitted first; LoRe then corrects only what it leaves over nearby.
    feature_map : str, optional
        Which embedding to use where several are given by name; by default the first.

    Attributes
    ----------
    candidates_ : DataFrame
        After :meth:`tuned` only: all settings tried, best first.

    Notes
    -----
    p'(x) = Σ_{j∈β(x)} k_γ(x, x_j) a_j / Σ_{j∈β(x)} k_γ(x, x_j) over the calibration rows in x's
    confidence bin. γ→∞ is histogram binning; γ→0 the nearest calibration row, also where every
    weight underflows. A row whose bin holds no calibration row keeps its confidence.

    With s, p' = (Σ k a_j + s·acc(B)) / (Σ k + s). With a base b, p' = b(x) + Σ k (a_j − b_j) /
    (Σ k + s), clipped to [0, 1] or, with the floor, [1/K, 1]; a bin without calibration rows keeps
    b(x). Bins are always those of the classifier's own confidence, with a base too.

    References
    ----------
    Luo et al., "Local Calibration: Metrics and Recalibration", UAI 2022, eq. 6.
    """

    label = "LoRe"
    needs_embedding = True
    candidates_: pd.DataFrame

    def __init__(
        self,
        gamma: float = 0.2,
        n_bins: int = 15,
        binning: Binning = "equal-width",
        kernel: Kernel = "laplacian",
        *,
        floor: bool = False,
        prior_strength: float = 0.0,
        base: Recalibrator | None = None,
        feature_map: str | None = None,
    ) -> None:
        self.gamma = gamma
        self.n_bins = n_bins
        self.binning = binning
        self.kernel = kernel
        self.floor = floor
        self.prior_strength = prior_strength
        self.base = base
        self.feature_map = feature_map

    @classmethod
    def tuned(
        cls,
        calibration: Dataset,
        embedding: Any,
        *,
        gammas: Sequence[float] | None = None,
        n_bins: Sequence[int] = (1, 5, 15),
        bases: Sequence[Recalibrator | None] | None = None,
        prior_strengths: Sequence[float] = (0.0, 1.0, 5.0, 20.0, 80.0),
        binning: Binning = "equal-width",
        kernel: Kernel = "laplacian",
        max_rows: int = 10_000,
        progress: Progress | None = None,
    ) -> Self:
        """Return LoRe fitted with the settings that predict left-out calibration rows best.

        See :func:`~lore_core.recalibration.tuning.leave_one_out` for the arguments and what is
        compared; evaluation rows are never looked at. The table of all candidates is
        ``candidates_``.

        Parameters
        ----------
        calibration : Dataset
            Rows to choose and fit on.
        embedding : Embedding, array-like of shape (n, d), or dict of those by name
            Their coordinates; of several maps the best is chosen (``feature_map``).
        gammas, n_bins, bases, prior_strengths, binning, kernel, max_rows, progress
            What to choose from.
        """
        from lore_core.recalibration.tuning import leave_one_out

        trial = leave_one_out(
            calibration,
            embedding,
            gammas=gammas,
            n_bins=n_bins,
            bases=bases,
            prior_strengths=prior_strengths,
            binning=binning,
            kernel=kernel,
            max_rows=max_rows,
            progress=progress,
        )
        best = cls(**trial.settings(trial.best))
        best.candidates_ = trial.table()
        return best.fit(calibration, embedding)

    def _points(self, dataset: Dataset, embedding: Any) -> Any:
        if embedding is None:
            raise InputError(
                "LoRe must be given an embedding of the rows; got None. Pass "
                "lore.embed(features) of calibration and evaluation rows together, or group names "
                "with kernel='group'."
            )
        chosen = chosen_map(embedding, self.feature_map)
        points = np.asarray(chosen) if self.kernel == "group" else as_coordinates(chosen)
        check_lengths(embedding=points, dataset=dataset)
        return points

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        check_positive(self.gamma, "gamma")
        if not self.prior_strength >= 0:
            raise InputError(
                f"'prior_strength' must be a number of 0 or more; got {self.prior_strength!r}."
            )
        if self.base is not None and self.base.needs_embedding:
            raise InputError(
                f"'base' must be a global method, one that needs no embedding; got "
                f"{type(self.base).__name__}."
            )
        self.points_ = self._points(calibration, embedding)
        confidence = calibration.confidence
        self.bins_ = confidence_bins(confidence, self.n_bins, self.binning)
        self.bin_index_ = self.bins_.assign(confidence)
        self.outcome_ = calibration.outcome
        if self.base is None:
            self.value_ = self.outcome_
            count = np.bincount(self.bin_index_, minlength=self.bins_.n_bins)
            right = np.bincount(self.bin_index_, weights=self.outcome_, minlength=self.bins_.n_bins)
            with np.errstate(invalid="ignore"):
                self.bin_accuracy_ = right / count
        else:
            self.base_ = self.base.clone().fit(calibration)
            self.value_ = self.outcome_ - self.base_.recalibrate(calibration).confidence

    def _neighbours(
        self, evaluation: Dataset, embedding: Any, values: NDArray[np.float64]
    ) -> KernelMeans:
        points = self._points(evaluation, embedding)
        if self.kernel == "laplacian" and points.shape[1] != self.points_.shape[1]:
            raise InputError(
                "'embedding' must have the dimensions LoRe was fitted on; got "
                f"{points.shape[1]}, fitted on {self.points_.shape[1]}."
            )
        return kernel_means(
            points,
            self.bins_.assign(evaluation.confidence),
            self.points_,
            self.bin_index_,
            values[:, None],
            gammas=np.array([self.gamma]),
            kernel=self.kernel,
        )

    def local_accuracy(self, evaluation: Dataset, embedding: Any) -> LocalAccuracy:
        """Return the calibration accuracy around each row, and how many rows it rests on.

        Parameters
        ----------
        evaluation : Dataset
            Rows to look around.
        embedding : Embedding or array-like of shape (n, d)
            Their coordinates.
        """
        means = self._neighbours(evaluation, embedding, self.outcome_)
        return LocalAccuracy(means.mean[0, :, 0], means.effective_size[0])

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        means = self._neighbours(evaluation, embedding, self.value_)
        mean, mass = means.mean[0, :, 0], means.mass[0]
        lowest = lowest_confidence(evaluation.n_classes, self.floor)
        if self.base is None:
            start = evaluation
            # Without pseudo-rows nothing says where a row without neighbours should go.
            toward = (
                np.full(len(evaluation), np.nan)
                if self.prior_strength == 0
                else self.bin_accuracy_[self.bins_.assign(evaluation.confidence)]
            )
            new = pulled(mean, mass, toward, self.prior_strength)
        else:
            start = self.base_.recalibrate(evaluation)
            new = start.confidence + pulled(
                mean, mass, np.zeros(len(evaluation)), self.prior_strength
            )
        new = np.where(np.isnan(new), start.confidence, new)
        return start.with_confidence(np.clip(new, lowest, 1.0))
