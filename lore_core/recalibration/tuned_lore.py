"""LoRe that chooses its own settings on the calibration rows, and averages the plausible ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.probabilities import lowest_confidence, on_line, pulled
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError, as_coordinates, check_lengths
from lore_core.metrics.global_metrics import PROBABILITY_FLOOR
from lore_core.metrics.local_error import Kernel, kernel_means
from lore_core.recalibration.averaging import (
    confidence_levels,
    global_line,
    stacked_weights,
)
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.lore import LoRe, chosen_map
from lore_core.recalibration.no_recalibration import NoRecalibration
from lore_core.recalibration.other_classes import OtherClasses
from lore_core.recalibration.tuning import Candidate, Trial, leave_one_out

__all__ = ["TunedLoRe"]

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
    line : bool
        Correct the average as a whole by a logistic curve.
    levels : bool
        Pool the corrected confidences to levels that are backed by many calibration rows.

    Attributes
    ----------
    lore_ : LoRe
        The single best candidate, fitted.
    candidates_ : DataFrame
        All candidates with their leave-one-out NLL (of the whole vector, as LoRe with that base
        gives it) and ``weight`` in the average, best first.
    line_ : tuple of float or None
        Slope and intercept; None without the line.
    levels_ : ConfidenceBins or None
        Which averaged confidences share a level; None without levels.
    level_confidence_ : ndarray of shape (n_levels,)
        What each level says.
    other_classes_ : OtherClasses
        How the rest is shared among the classes that were not predicted.

    Notes
    -----
    Everything after the candidates is fitted to leave-one-out confidences q_i, so no row vouches
    for itself.

    *Average.* On some hundred rows the likelihoods of many settings differ by less than chance,
    and taking the best of them is taking the luckiest. Candidates are averaged,
    q = Σ_m w_m q_m, with weights between pseudo-BMA+ and stacking: see
    :func:`~lore_core.recalibration.averaging.stacked_weights`.

    *Line.* q' = 1/(1 + exp(−(α logit q + β))), with a prior around α = 1, β = 0: see
    :func:`~lore_core.recalibration.averaging.global_line`.

    *Levels.* An average of local estimates says something slightly different to every row, and some
    of it to a handful of rows only; that can neither be checked nor be relied on, and it is what
    the maxima over bins, places and groups pick out. So confidences are pooled to about 0.8·∛n
    levels, each told the mean of its calibration rows: see
    :func:`~lore_core.recalibration.averaging.confidence_levels`. ∛n is the rate at which a step
    function's resolution and its noise balance. This is the binning half of Kumar et al.'s
    scaling-binning calibrator. It costs a little likelihood (``levels=False`` shows how much).

    *Other classes.* The likelihood of a vector is that of the predicted class's confidence times
    that of the other classes' shares of the rest; the two are fitted apart: see
    :class:`~lore_core.recalibration.other_classes.OtherClasses`.

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
        line: bool = True,
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
        self.line = line
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
        outcome = calibration.outcome[trial.rows]
        weights = np.zeros(len(trial.candidates))
        if self.average:
            # Of the predicted class only: the others are fitted apart.
            likelihood = np.where(outcome == 1, trial.confidence, 1.0 - trial.confidence)
            weights = stacked_weights(np.log(np.maximum(likelihood, PROBABILITY_FLOOR)))
            weights[weights < _SMALLEST_WEIGHT * weights.max()] = 0.0
            weights /= weights.sum()
        else:
            weights[int(np.argmax(trial.log_likelihood.sum(axis=1)))] = 1.0
        self.candidates_ = trial.table(weight=weights)
        self.lore_ = LoRe(**trial.settings(trial.best)).fit(calibration, embedding)
        self._keep(trial, weights, calibration, embedding)
        self.other_classes_ = OtherClasses.fit(calibration)
        left_out = np.clip(weights @ trial.confidence, 0.0, 1.0)
        self.line_ = global_line(left_out, outcome) if self.line else None
        self.levels_: ConfidenceBins | None = None
        self.level_confidence_ = np.empty(0)
        if self.levels:
            self.levels_, self.level_confidence_ = confidence_levels(self._straight(left_out))

    def _straight(self, confidence: NDArray[np.float64]) -> NDArray[np.float64]:
        return confidence if self.line_ is None else on_line(confidence, *self.line_)

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
            np.zeros(len(evaluation)) if base is None else base.recalibrate(evaluation).confidence
            for base in self._bases
        ]
        averaged = np.zeros(len(evaluation))
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
                effective_size=False,
            )
            accuracy = self._bin_accuracy(source_index, index, evaluation.confidence)
            for candidate, weight, column in members:
                g = int(np.searchsorted(grid, candidate.gamma))
                toward = np.zeros(len(evaluation))
                if candidate.base is None:
                    toward = evaluation.confidence if candidate.prior_strength == 0 else accuracy
                local = pulled(
                    means.mean[g, :, column], means.mass[g], toward, candidate.prior_strength
                )
                averaged += weight * np.clip(starts[column] + local, lowest, 1.0)
        new = self._straight(np.clip(averaged, 0.0, 1.0))
        if self.levels_ is not None:
            new = self.level_confidence_[self.levels_.assign(new)]
        return self.other_classes_.complete(evaluation, new)

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
