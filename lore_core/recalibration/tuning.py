"""Which settings of LoRe predict calibration rows that were left out?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import Binning, accuracy_without_self, confidence_bins
from lore_core.data.probabilities import PROBABILITY_FLOOR
from lore_core.data.progress import Progress, tell
from lore_core.data.validation import InputError, OnMaps, check_integer
from lore_core.embedding.several import maps_by_name
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.dataset_rows import coordinates_of
from lore_core.recalibration.local_correction import corrected, lowest_confidence
from lore_core.recalibration.platt_scaling import PlattScaling
from lore_core.recalibration.temperature_scaling import TemperatureScaling

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset

#: Parts the calibration rows are cut into, so that no base predicts rows it was fitted on.
N_FOLDS = 5


@dataclass(frozen=True)
class Candidate:
    """One setting of LoRe."""

    feature_map: str | None
    gamma: float
    n_bins: int
    base: Recalibrator | None
    prior_strength: float

    @property
    def base_label(self) -> str:
        """What the neighbourhood is pulled toward."""
        return "bin accuracy" if self.base is None else self.base.label


@dataclass(frozen=True)
class Trial:
    """All candidates on the calibration rows, each row predicted without itself."""

    candidates: list[Candidate]  #: What was compared
    confidence: Floats  #: (n_candidates, n); leave-one-out confidence of each row
    #: (n_candidates, n); log of the probability that gives the row's true class.
    log_likelihood: Floats
    rows: Ints  #: (n,); which calibration rows were used
    outcome: Floats  #: (n,); their outcomes
    binning: Binning  #: Shared by all candidates

    @property
    def best(self) -> Candidate:
        """The candidate with the highest leave-one-out likelihood."""
        return self.candidates[self._best]

    @property
    def _best(self) -> int:
        return int(np.argmax(self.log_likelihood.sum(axis=1)))

    @property
    def all_on_the_best(self) -> Floats:
        """Weights that leave the best candidate alone, shape (n_candidates,)."""
        weights = np.zeros(len(self.candidates))
        weights[self._best] = 1.0
        return weights

    def settings(self, candidate: Candidate) -> dict[str, Any]:
        """Keyword arguments of :class:`~lore_core.recalibration.LoRe` for one candidate."""
        return {
            "gamma": candidate.gamma,
            "n_bins": candidate.n_bins,
            "binning": self.binning,
            "floor": True,
            "prior_strength": candidate.prior_strength,
            "base": candidate.base,
            "feature_map": candidate.feature_map,
        }

    def table(self, **columns: Floats) -> dict[str, Any]:
        """Return the columns of a table of all candidates with their leave-one-out NLL, best first.

        ``**columns`` (n_candidates,): more of them.
        """
        loss = -self.log_likelihood.mean(axis=1)
        order = np.argsort(loss, kind="stable")
        ordered = [self.candidates[place] for place in order]
        return {
            "feature_map": [item.feature_map for item in ordered],
            "gamma": np.array([item.gamma for item in ordered]),
            "n_bins": np.array([item.n_bins for item in ordered]),
            "base": [item.base_label for item in ordered],
            "prior_strength": np.array([item.prior_strength for item in ordered]),
            "leave_one_out_nll": loss[order],
            **{name: column[order] for name, column in columns.items()},
        }


def default_tuning_gammas() -> Floats:
    """Bandwidths tried: 0.0125 to 12.8 in octaves, which share their exponentials."""
    return np.asarray(0.0125 * 2.0 ** np.arange(11), dtype=np.float64)


def leave_one_out(
    calibration: Dataset,
    embedding: OnMaps | Mapping[str | None, Floats],
    *,
    gammas: Sequence[float] | None = None,
    n_bins: Sequence[int] = (1, 5, 15),
    bases: Sequence[Recalibrator | None] | None = None,
    prior_strengths: Sequence[float] = (0.0, 1.0, 5.0, 20.0, 80.0),
    binning: Binning = "equal-width",
    max_rows: int = 10_000,
    progress: Progress | None = None,
) -> Trial:
    """Predict every calibration row from the others, with every setting of LoRe.

    Parameters
    ----------
    calibration : Dataset
        The only rows looked at.
    embedding : Embedding, array-like of shape (n, d), or dict of those by name
        Their coordinates; several maps are compared.
    gammas : sequence of float, optional
        Bandwidths; by default 0.0125 to 12.8 in octaves.
    n_bins : sequence of int
        Numbers of confidence bins.
    bases : sequence of Recalibrator or None, optional
        What a neighbourhood is pulled toward: global methods, or None for the accuracy of the bin.
        By default None, temperature scaling and Platt scaling.
    prior_strengths : sequence of float
        Pseudo-rows s; infinity, no local correction at all, is always among the candidates.
    binning : {"equal-width", "equal-mass"}
        How bins are chosen.
    max_rows : int
        Of more calibration rows than this, a random part is used to choose.
    progress : callable, optional
        Called with the share done.

    Notes
    -----
    Leaving row i out of LoRe means leaving k(x_i, x_i) = 1 out of both sums, and row i out of its
    bin's accuracy: exact, and one pass for all rows, γ and s. A base's fit would have to be
    repeated n times; it is cross-fitted on 5 parts instead, so that no row's own base saw its
    outcome. (A neighbour's base may have seen it: one row's pull on one or two parameters.)
    The likelihood is that of the whole probability vector, so that bases which change the classes
    behind the top label differently are compared fairly; probabilities are clipped as in the NLL.
    """
    max_rows = check_integer(max_rows, "max_rows", minimum=2)
    n = len(calibration)
    if n < 2:
        raise InputError("'calibration' must have at least 2 rows to leave one out; got 1.")
    maps = {
        name: coordinates_of(calibration, item, None, "LoRe")
        for name, item in maps_by_name(embedding).items()
    }
    if not maps:
        raise InputError("LoRe must be given an embedding of the rows to be tuned; got none.")
    rows = np.arange(n)
    if n > max_rows:
        rows = np.sort(np.random.default_rng(0).choice(n, max_rows, replace=False))
        calibration = calibration.rows(rows)
        maps = {name: points[rows] for name, points in maps.items()}
    grid = default_tuning_gammas() if gammas is None else np.asarray(gammas, dtype=np.float64)
    strengths = [*dict.fromkeys(float(s) for s in prior_strengths if np.isfinite(s))]
    if any(not s >= 0 for s in strengths) or len(grid) == 0 or len(n_bins) == 0:
        raise InputError(
            "'gammas' and 'n_bins' must not be empty and 'prior_strengths' must be 0 or more; got "
            f"{list(grid)}, {list(n_bins)} and {list(prior_strengths)}."
        )
    chosen = (None, TemperatureScaling(), PlattScaling()) if bases is None else tuple(bases)
    starts = [calibration if base is None else cross_fitted(base, calibration) for base in chosen]
    outcome, confidence = calibration.outcome, calibration.confidence
    lowest = lowest_confidence(calibration.n_classes, True)
    # A column of outcomes for the candidates without a base, one of leftovers for each base.
    values = np.column_stack(
        [
            outcome if base is None else outcome - start.confidence
            for base, start in zip(chosen, starts, strict=True)
        ]
    )
    candidates: list[Candidate] = []
    found: list[Floats] = []
    start_of: list[int] = []
    steps = [(name, bins) for name in maps for bins in dict.fromkeys(n_bins)]
    for step, (name, bins) in enumerate(steps):
        tell(progress, step / len(steps), f"leave one out, {bins} confidence bins")
        partition = confidence_bins(confidence, bins, binning)
        index = partition.assign(confidence)
        means = laplacian_means(
            maps[name],
            None,
            values,
            bandwidth=scaled_bandwidth(grid, maps[name].shape[1]),
            target_groups=index,
            exclude_self=True,
            effective_size=False,
        )
        accuracy = accuracy_without_self(index, outcome, confidence)
        for column, (base, start) in enumerate(zip(chosen, starts, strict=True)):
            based = None if base is None else start.confidence
            settings = [(g, s) for g in range(len(grid)) for s in strengths]
            # Without local correction neither γ nor the map nor, with a base, the bins matter.
            if name == steps[0][0] and (base is None or step == 0):
                settings.append((len(grid) // 2, np.inf))
            for g, s in settings:
                new = corrected(
                    means.mean[g, :, column],
                    means.mass[g],
                    s,
                    confidence=confidence,
                    accuracy=accuracy,
                    start=based,
                )
                candidates.append(Candidate(name, float(grid[g]), int(bins), base, s))
                found.append(np.clip(new, lowest, 1.0))
                start_of.append(column)
    tell(progress, 1.0, "leave one out")
    shares = np.stack([_log_share_of_the_truth(start) for start in starts])
    matrix = np.stack(found)
    return Trial(
        candidates,
        matrix,
        _log_likelihood(matrix, outcome, shares, np.array(start_of)),
        rows,
        outcome,
        binning,
    )


def cross_fitted(base: Recalibrator, calibration: Dataset) -> Dataset:
    """Recalibrate each row by a base fitted on the other parts of the rows."""
    if base.needs_embedding:
        raise InputError(
            f"'bases' must be global methods, which need no embedding; got {type(base).__name__}."
        )
    part = parts(calibration)
    vectors = np.empty_like(calibration.probabilities)
    for fold in np.unique(part):
        rows = part == fold
        fitted = base.clone().fit(calibration.rows(~rows))
        vectors[rows] = fitted.recalibrate(calibration.rows(rows)).probabilities
    return calibration.with_probabilities(vectors)


def parts(calibration: Dataset) -> Ints:
    """Cut rows into parts at random, alike in right and wrong rows; which part each is in."""
    n = len(calibration)
    order = np.random.default_rng(0).permutation(n)
    # Sorted by outcome, every k-th row is of one part.
    order = order[np.argsort(calibration.outcome[order], kind="stable")]
    part = np.empty(n, dtype=np.int64)
    part[order] = np.arange(n) % min(N_FOLDS, n)
    return part


def _log_share_of_the_truth(start: Dataset) -> Floats:
    """Log of the true class's share among the classes that were not predicted; 0 where right."""
    if not start.complete or start.n_classes == 2:
        return np.zeros(len(start))
    rows = np.arange(len(start))
    others = start.probabilities.copy()
    others[rows, start.predictions] = 0.0
    total = others.sum(axis=1)
    share = np.where(total > 0, others[rows, start.labels] / np.where(total > 0, total, 1.0), 0.0)
    share[total <= 0] = 1.0 / (start.n_classes - 1)
    share[start.outcome == 1] = 1.0
    return np.asarray(np.log(np.maximum(share, np.finfo(np.float64).tiny)))


def _log_likelihood(confidence: Floats, outcome: Floats, shares: Floats, start_of: Ints) -> Floats:
    likelihood = np.where(outcome == 1, confidence, 1.0 - confidence)
    likelihood *= np.exp(shares)[start_of]
    return np.asarray(np.log(np.maximum(likelihood, PROBABILITY_FLOOR)))
