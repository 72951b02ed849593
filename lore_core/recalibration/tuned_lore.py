"""LoRe that chooses its own settings on the calibration rows, and averages the plausible ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.dataset import Dataset
from lore_core.local_error import Kernel, kernel_means
from lore_core.progress import Progress
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.lore import LoRe, chosen_map, lowest_confidence, pulled
from lore_core.recalibration.no_recalibration import NoRecalibration
from lore_core.recalibration.tuning import Candidate, Trial, leave_one_out
from lore_core.validation import InputError, as_coordinates, check_lengths

__all__ = ["TunedLoRe"]

#: Bayesian-bootstrap resamples behind the weights of the candidates.
_N_RESAMPLES = 100
#: Candidates of less weight than this are left out of the average.
_SMALLEST_WEIGHT = 1e-3


class TunedLoRe(Recalibrator):
    """LoRe with map, γ, bins, base and pseudo-rows weighed by leave-one-out likelihood.

    Fitting looks at calibration rows only and leaves nothing to set. With a single calibration row
    there is nothing to choose by, and every confidence stays.

    Parameters
    ----------
    gammas, n_bins, bases, prior_strengths, binning, kernel, max_rows
        What to choose from: see :func:`~lore_core.recalibration.tuning.leave_one_out`.
    average : bool
        Average the plausible candidates; False takes the best one, as :meth:`LoRe.tuned` does.
    levels : bool
        Pool the corrected confidences to levels that are backed by many calibration rows.

    Attributes
    ----------
    lore_ : LoRe
        The single best candidate, fitted.
    candidates_ : DataFrame
        All candidates with their leave-one-out NLL and ``weight`` in the average, best first.
    levels_ : ConfidenceBins or None
        Which averaged confidences share a level; None without levels.
    level_confidence_ : ndarray of shape (n_levels,)
        What each level says.

    Notes
    -----
    *Average.* On some hundred rows the likelihoods of many settings differ by less than chance,
    and taking the best of them is taking the luckiest. Each candidate's weight is how much of the
    likelihood it holds, exp(Σ_i ℓ_i) normalised, averaged over 100 Bayesian-bootstrap reweightings
    of the rows (pseudo-BMA+ of Yao et al.); the probability vectors are averaged with them.

    *Levels.* An average of local estimates says something slightly different to every row, and some
    of it to a handful of rows only; that can neither be checked nor be relied on, and it is what
    the maxima over bins, places and groups pick out. So averaged confidences are pooled to ∛n
    levels: quantiles of the leave-one-out confidences of the n calibration rows, each told its
    mean. ∛n is the rate at which a step function's resolution and its noise balance. This is the
    binning half of Kumar et al.'s scaling-binning calibrator. It costs a little likelihood
    (``levels=False`` shows how much).

    References
    ----------
    Yao, Vehtari, Simpson, Gelman, "Using stacking to average Bayesian predictive distributions",
    Bayesian Analysis 13, 2018. Kumar, Liang, Ma, "Verified uncertainty calibration", NeurIPS 2019.
    """

    label = "LoRe tuned"
    needs_embedding = True
    #: Candidates of some weight: setting, weight, and which base.
    _members: list[tuple[Candidate, float, int]]

    def __init__(
        self,
        *,
        gammas: Sequence[float] | None = None,
        n_bins: Sequence[int] = (1, 5, 15),
        bases: Sequence[Recalibrator | None] | None = None,
        prior_strengths: Sequence[float] = (0.0, 1.0, 5.0, 20.0, 80.0),
        binning: Binning = "equal-width",
        kernel: Kernel = "laplacian",
        max_rows: int = 10_000,
        average: bool = True,
        levels: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.gammas = gammas
        self.n_bins = n_bins
        self.bases = bases
        self.prior_strengths = prior_strengths
        self.binning = binning
        self.kernel = kernel
        self.max_rows = max_rows
        self.average = average
        self.levels = levels
        self.progress = progress

    def _fit(self, calibration: Dataset, embedding: Any) -> None:
        if len(calibration) < 2:
            # Nothing can be left out and nothing compared: every confidence stays.
            self._members = []
            self.candidates_ = pd.DataFrame()
            self.lore_ = LoRe(kernel=self.kernel, base=NoRecalibration(), prior_strength=np.inf)
            self.lore_.fit(calibration, embedding)
            return
        trial = leave_one_out(
            calibration,
            embedding,
            gammas=self.gammas,
            n_bins=self.n_bins,
            bases=self.bases,
            prior_strengths=self.prior_strengths,
            binning=self.binning,
            kernel=self.kernel,
            max_rows=self.max_rows,
            progress=self.progress,
        )
        weights = np.zeros(len(trial.candidates))
        if self.average:
            weights = model_weights(trial.log_likelihood)
            weights[weights < _SMALLEST_WEIGHT * weights.max()] = 0.0
            weights /= weights.sum()
        else:
            weights[int(np.argmax(trial.log_likelihood.sum(axis=1)))] = 1.0
        self.candidates_ = trial.table(weight=weights)
        self.lore_ = LoRe(**trial.settings(trial.best)).fit(calibration, embedding)
        self._keep(trial, weights, calibration, embedding)
        self.levels_: ConfidenceBins | None = None
        self.level_confidence_ = np.empty(0)
        if self.levels:
            self.levels_, self.level_confidence_ = confidence_levels(
                np.clip(weights @ trial.confidence, 0.0, 1.0),
                max(1, round(len(calibration) ** (1 / 3))),
            )

    def _keep(
        self,
        trial: Trial,
        weights: NDArray[np.float64],
        calibration: Dataset,
        embedding: Any,
    ) -> None:
        """Keep what the candidates of some weight need to correct other rows."""
        self._members = []
        self._bases: list[Recalibrator | None] = []
        known: dict[int, int] = {}
        for candidate, weight in zip(trial.candidates, weights, strict=True):
            if weight == 0:
                continue
            key = id(candidate.base)
            if key not in known:
                known[key] = len(self._bases)
                base = candidate.base
                self._bases.append(None if base is None else base.clone().fit(calibration))
            self._members.append((candidate, float(weight), known[key]))
        self._confidence, self._outcome = calibration.confidence, calibration.outcome
        self._values = np.column_stack(
            [
                self._outcome
                if base is None
                else self._outcome - base.recalibrate(calibration).confidence
                for base in self._bases
            ]
        )
        self._points = {
            name: self._coordinates(embedding, name, calibration)
            for name in dict.fromkeys(member[0].feature_map for member in self._members)
        }

    def _coordinates(self, embedding: Any, name: str | None, dataset: Dataset) -> Any:
        if embedding is None:
            raise InputError("LoRe tuned must be given an embedding of the rows; got None.")
        chosen = chosen_map(embedding, name)
        points = np.asarray(chosen) if self.kernel == "group" else as_coordinates(chosen)
        check_lengths(embedding=points, dataset=dataset)
        return points

    def _recalibrate(self, evaluation: Dataset, embedding: Any) -> Dataset:
        if not self._members:
            return self.lore_.recalibrate(evaluation, embedding)
        lowest = lowest_confidence(evaluation.n_classes, True)
        starts = [
            evaluation if base is None else base.recalibrate(evaluation) for base in self._bases
        ]
        total = np.zeros(len(self._bases))
        mixed = np.zeros((len(self._bases), len(evaluation)))
        for (name, bins), members in self._by_partition().items():
            points = self._coordinates(embedding, name, evaluation)
            partition = confidence_bins(self._confidence, bins, self.binning)
            source_index = partition.assign(self._confidence)
            index = partition.assign(evaluation.confidence)
            grid = np.unique([member[0].gamma for member in members])
            means = kernel_means(
                points,
                index,
                self._points[name],
                source_index,
                self._values,
                gammas=grid,
                kernel=self.kernel,
            )
            accuracy = self._bin_accuracy(source_index, index, evaluation.confidence)
            for candidate, weight, column in members:
                g = int(np.searchsorted(grid, candidate.gamma))
                offset, toward = starts[column].confidence, np.zeros(len(evaluation))
                if candidate.base is None:
                    offset = toward
                    toward = evaluation.confidence if candidate.prior_strength == 0 else accuracy
                local = pulled(
                    means.mean[g, :, column], means.mass[g], toward, candidate.prior_strength
                )
                mixed[column] += weight * np.clip(offset + local, lowest, 1.0)
                total[column] += weight
        vectors = sum(
            weight * start.with_confidence(np.clip(confidence / weight, 0.0, 1.0)).probabilities
            for start, confidence, weight in zip(starts, mixed, total, strict=True)
        )
        averaged = evaluation.with_probabilities(vectors)
        if self.levels_ is None:
            return averaged
        return averaged.with_confidence(
            self.level_confidence_[self.levels_.assign(averaged.confidence)]
        )

    def _by_partition(
        self,
    ) -> dict[tuple[str | None, int], list[tuple[Candidate, float, int]]]:
        parts: dict[tuple[str | None, int], list[tuple[Candidate, float, int]]] = {}
        for member in self._members:
            parts.setdefault((member[0].feature_map, member[0].n_bins), []).append(member)
        return parts

    def _bin_accuracy(
        self,
        source_index: NDArray[np.int64],
        index: NDArray[np.int64],
        confidence: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        size = 1 + max(int(source_index.max()), int(index.max()))
        count = np.bincount(source_index, minlength=size)
        right = np.bincount(source_index, weights=self._outcome, minlength=size)
        return np.where(count[index] > 0, right[index] / np.maximum(count[index], 1), confidence)


def model_weights(log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pseudo-BMA+ weights of candidates, from each row's leave-one-out log-likelihood.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n_candidates, n)
        ℓ_i of every candidate.

    Returns
    -------
    ndarray of shape (n_candidates,)
        Sum to 1.
    """
    n = log_likelihood.shape[1]
    rng = np.random.default_rng(0)
    draws = rng.standard_exponential((n, _N_RESAMPLES))
    draws *= n / draws.sum(axis=0)
    total = log_likelihood @ draws
    share = np.exp(total - total.max(axis=0))
    return np.asarray((share / share.sum(axis=0)).mean(axis=1))


def confidence_levels(
    confidence: NDArray[np.float64], n_levels: int
) -> tuple[ConfidenceBins, NDArray[np.float64]]:
    """Cut confidences into levels of about as many rows, and return the mean of each.

    Parameters
    ----------
    confidence : ndarray of shape (n,)
        Confidences of calibration rows; equal ones share a level.
    n_levels : int
        How many.

    Returns
    -------
    ConfidenceBins, ndarray of shape (n_levels,)
    """
    bins = confidence_bins(confidence, n_levels, "equal-mass")
    level = bins.assign(confidence)
    count = np.bincount(level, minlength=bins.n_bins)
    return bins, np.bincount(level, weights=confidence, minlength=bins.n_bins) / count
