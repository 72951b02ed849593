"""Candidates of LoRe smooth on leave-one-out calibration rows, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from lore_core.data.arrays import Floats, Ints
from lore_core.data.binning import (
    ConfidenceBins,
    accuracy_by_bin,
    accuracy_without_self,
    confidence_bins,
)
from lore_core.data.probabilities import PROBABILITY_FLOOR, expit, logit
from lore_core.data.progress import Progress, tell
from lore_core.data.weights import as_weights, weighed
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import scaled_bandwidth
from lore_core.recalibration.affine_softmax import MatrixScaling
from lore_core.recalibration.base import Recalibrator
from lore_core.recalibration.boosting import BoostingRecalibration, fitted_boosting
from lore_core.recalibration.dataset_rows import cross_fitted, parts, sample
from lore_core.recalibration.logistic import LogisticRecalibration, fitted_curve

if TYPE_CHECKING:
    from lore_core.data.dataset import Dataset


#: Confidences stay this far from 0 and 1, so that their log-odds are finite.
_MARGIN = 1e-4
#: Penalties s of corrections in log-odds: so much Σ b(1 − b).
STRENGTHS = (0.25, 1.0, 4.0, 16.0)
#: Bandwidths tried: 0.0125 to 12.8 in octaves, which share their exponentials.
GAMMAS = tuple(0.0125 * 2.0**k for k in range(11))
#: Pseudo-rows that accuracies of neighbours are mixed with.
PSEUDO_ROWS = (0.0, 1.0, 5.0, 20.0)


@dataclass(frozen=True)
class Candidate:
    """One local correction."""

    map: int  #: its place among the maps
    partition: int  #: which of the ways to say whose outcomes count
    gamma: float
    base: int | None  #: which start is corrected; None: it is replaced by the neighbours' accuracy
    strength: float  #: of the pull; infinity: the base as it is


def corrected_confidence(
    base: int | None, strength: float, sums: Floats, mean: Floats, odds: Floats, accuracy: Floats
) -> Floats:
    """Return the confidence that a candidate gives each row, shape (n,).

    ``sums`` (2 n_bases or more, n): Σ k of 1, and last of outcome − base and base · (1 − base).
    ``mean`` (n,): of the outcome. ``odds`` (n_bases, n): log-odds of the bases' confidences. For δ
    see :class:`~lore_core.recalibration.SmoothLoRe`.
    """
    if base is None:
        # (A mass that underflows is 0 also where there are neighbours.)
        share = 1.0 if strength == 0 else sums[0] / (sums[0] + strength)
        pulled = np.nan_to_num(mean) * share + accuracy * (1 - share)
        return confidence_within(np.where(np.isnan(mean), accuracy, pulled))
    if not np.isfinite(strength):
        return expit(odds[base])
    # Without neighbours both sums are 0: nothing is corrected.
    off, against = sums[base - 2 * len(odds)], sums[base - len(odds)]
    return expit(odds[base] + off / np.maximum(against + strength, 1e-300))


def fitted_bases(
    calibration: Dataset, progress: Progress | None = None
) -> tuple[Recalibrator, list[Recalibrator], Dataset, Floats]:
    """Fit matrix scaling; where there are features, boost it and fit a logistic regression on it.

    Returns both; cross-fitted, rows changed by the first, and confidences (n, 1 + len(more)).
    """
    fold = parts(calibration)
    if calibration.features is None:
        first: Recalibrator = MatrixScaling().fit(sample(calibration))
        changed = cross_fitted(MatrixScaling(strength=first.strength_), calibration, fold)
        return first, [], changed, confidence_within(changed.confidence[:, None])
    state, changed = fitted_boosting(calibration, progress)
    first = state["base"]
    if len(state["step"]):
        label, n = BoostingRecalibration.label, len(calibration)
        first = BoostingRecalibration.restored({}, state, label=label, n_rows=n)
    logistic = LogisticRecalibration().fit(sample(changed))
    again = LogisticRecalibration(strength=logistic.strength_)
    starts = [changed.confidence, cross_fitted(again, changed, fold).confidence]
    return first, [logistic], changed, confidence_within(np.column_stack(starts))


def confidence_within(confidence: Floats) -> Floats:
    """Keep confidences so far from 0 and 1 that their log-odds are finite."""
    return np.clip(confidence, _MARGIN, 1.0 - _MARGIN)


def ways_to_part(changed: Dataset, n_bins: Sequence[int]) -> list[ConfidenceBins | None]:
    """Return partitions of rows: by equal-mass bins, or (None) by predicted class."""
    return [*(confidence_bins(changed.confidence, n, "equal-mass") for n in n_bins), None]


def part_of(way: ConfidenceBins | None, confidence: Floats, predicted: Ints) -> Ints:
    """Return the part each row is in, shape (n,)."""
    return predicted if way is None else way.assign(confidence)


def accuracy_of_parts(
    part: Ints, known_part: Ints, outcome: Floats, alone: Floats, weights: Floats | None = None
) -> Floats:
    """Return the accuracy of the known rows in each row's part; ``alone`` where there are none."""
    count = 1 + int(max(part.max(initial=0), known_part.max(initial=0)))
    accuracy = accuracy_by_bin(known_part, outcome, count, weights)[part]
    return np.where(np.isnan(accuracy), alone, accuracy)


def leave_one_out_smooth(
    maps: Sequence[Floats],
    changed: Dataset,
    starts: Floats,
    ways: Sequence[ConfidenceBins | None],
    gammas: Floats,
    progress: Progress | None,
) -> tuple[list[Candidate], Floats, Floats]:
    """Correct every row by the others, in every way; see :func:`fitted_bases`, `ways_to_part`.

    Returns the candidates, their confidences and log-likelihoods of the outcome, both
    (n_candidates, n).
    """
    outcome, weights = changed.outcome, as_weights(changed.weights)
    values = np.column_stack([outcome, outcome[:, None] - starts, starts * (1.0 - starts)])
    bases, odds = range(starts.shape[1]), logit(starts).T.copy()
    candidates: list[Candidate] = []
    found: list[Floats] = []
    steps = list(product(range(len(maps)), range(len(ways))))
    for step, (m, w) in enumerate(steps):
        tell(progress, step / len(steps), "leave one out")
        part = part_of(ways[w], changed.confidence, changed.predictions)
        means = laplacian_means(
            maps[m],
            None,
            values,
            weights,
            bandwidth=scaled_bandwidth(gammas, maps[m].shape[1]),
            target_groups=part,
            units=changed.units,
            exclude_self=True,
            effective_size=False,
        )
        sums = np.nan_to_num(means.mean.transpose(0, 2, 1) * means.mass[:, None])
        sums[:, 0] = means.mass
        accuracy = accuracy_without_self(part, outcome, starts[:, 0], weights, changed.units)
        pulls = [*product(bases, STRENGTHS), *((None, s) for s in PSEUDO_ROWS)]
        settings = [(g, *pull) for g in range(len(gammas)) for pull in pulls]
        if step == 0:
            settings += [(len(gammas) // 2, base, np.inf) for base in bases]
        for g, base, s in settings:
            candidates.append(Candidate(m, w, float(gammas[g]), base, s))
            mean = means.mean[g, :, 0]
            found.append(corrected_confidence(base, s, sums[g], mean, odds, accuracy))
    tell(progress, 1.0, "leave one out")
    confidence = np.stack(found)
    found.clear()  # hundreds of candidates of many rows are most of the memory of a fit
    likelihood = np.where(outcome == 1, confidence, 1.0 - confidence)
    np.maximum(likelihood, PROBABILITY_FLOOR, out=likelihood)
    return candidates, confidence, np.log(likelihood, out=likelihood)


#: Bayesian-bootstrap resamples behind the pseudo-BMA+ weights.
_N_RESAMPLES = 100
#: Precision of the prior belief that no global line is needed: standard deviation 0.32.
_LINE_STRENGTH = 10.0
#: Levels for a cube root of rows.
_LEVELS = 0.8
#: Standard errors of log-likelihood that leaving out kernel sums may cost.
_PRICE_OF_SUMS = 1 / 3
#: Weight of a row whose outcome is certain, so that such rows alone can be cut too.
_SMALLEST_SPREAD = 1e-9


def model_weights(log_likelihood: Floats, rows: Floats | None = None) -> Floats:
    """Return pseudo-BMA+ weights (n_candidates,); ``rows`` (n,): weights of mean 1."""
    n = log_likelihood.shape[1]
    rng = np.random.default_rng(0)
    draws = rng.standard_exponential((n, _N_RESAMPLES))
    draws *= n / draws.sum(axis=0)
    draws = weighed(draws, rows)
    total = log_likelihood @ draws
    share = np.exp(total - total.max(axis=0))
    return np.asarray((share / share.sum(axis=0)).mean(axis=1))


def stacked_weights(log_likelihood: Floats, n_steps: int, rows: Floats | None = None) -> Floats:
    """Return weights whose average predicts left-out rows well; EM run to the end overfits.

    ``log_likelihood`` becomes likelihoods: of many candidates there is one array in memory.
    """
    n_candidates, n = log_likelihood.shape
    weights = 0.5 * model_weights(log_likelihood, rows) + 0.5 / n_candidates
    log_likelihood -= log_likelihood.max(axis=0)
    likelihood = np.exp(log_likelihood, out=log_likelihood)
    for _ in range(n_steps):
        weights = weights * (likelihood @ weighed(1.0 / (weights @ likelihood), rows)) / n
    return np.asarray(weights / weights.sum())


def fewest_sums(
    sums: Sequence[tuple[float, ...]],
    weights: Floats,
    confidence: Floats,
    outcome: Floats,
    rows: Floats | None,
) -> Floats:
    """Return weights (n_candidates,), 0 of kernel sums without which little is lost.

    ``sums``: of each candidate; the largest are tried first. A sum is left out where the average
    predicts left-out rows (``confidence``) at most a third of a standard error worse without it.
    """
    which = np.unique(np.array(sums), axis=0, return_inverse=True)[1].ravel()
    parts = [weights * (which == k) for k in range(which.max() + 1)]
    of_sums = [part[part > 0] @ confidence[part > 0] for part in parts]

    def log_likelihood(used: list[int]) -> Floats:
        average = sum(of_sums[k] for k in used) / sum(parts[k].sum() for k in used)
        likelihood = np.where(outcome == 1, average, 1.0 - average)
        return np.asarray(np.log(np.maximum(likelihood, PROBABILITY_FLOOR)))

    used = [k for k, part in enumerate(parts) if part.any()]
    of_all = log_likelihood(used)
    for k in used[:0:-1]:
        fewer = [other for other in used if other != k]
        lost = weighed(of_all - log_likelihood(fewer), rows)
        if lost.mean() <= _PRICE_OF_SUMS * lost.std() / np.sqrt(len(lost)):
            used = fewer
    return np.asarray(sum(parts[k] for k in used))


def global_line(
    confidence: Floats, outcome: Floats, rows: Floats | None = None
) -> tuple[float, float]:
    """Return slope and intercept of a logistic curve through left-out confidences (n,)."""
    odds = logit(confidence_within(confidence))
    ends = np.column_stack([odds, np.ones(len(odds))])
    slope, intercept = fitted_curve(ends, outcome, rows, strength=_LINE_STRENGTH).tolist()
    return slope, intercept


def on_line(confidence: Floats, slope: float, intercept: float) -> Floats:
    """Draw confidences through a :func:`global_line`, shape (n,)."""
    return expit(slope * logit(confidence_within(confidence)) + intercept)


def confidence_levels(confidence: Floats, n_levels: int) -> tuple[ConfidenceBins, Floats]:
    """Cut confidences into levels of equal Σ √(p(1 − p)); return the means of levels, too."""
    ordered = np.sort(confidence)
    weight = np.cumsum(np.sqrt(ordered * (1.0 - ordered)) + _SMALLEST_SPREAD)
    shares = weight[-1] * np.arange(1, n_levels) / n_levels
    starts = np.searchsorted(weight, shares) + 1
    edges = np.unique(ordered[starts[starts < len(ordered)]])
    edges = edges[edges > ordered[0]]
    bins = ConfidenceBins(np.concatenate([[0.0], edges, [1.0]]), "equal-mass")
    level = bins.assign(confidence)
    count = np.bincount(level, minlength=bins.n_bins)
    return bins, np.bincount(level, weights=confidence, minlength=bins.n_bins) / count


def most_levels(n_rows: int) -> int:
    """Return 0.8·∛n: ∛n is the rate at which a step function learns."""
    return int(max(1, round(_LEVELS * n_rows ** (1 / 3))))


def fewest_levels(confidence: Floats, price: float) -> tuple[ConfidenceBins, Floats]:
    """Cut confidences into as few levels, 0.8·∛n at most, as cost a share ``price`` of NLL."""
    lowest = _expected_nll(confidence, confidence)
    most = most_levels(len(confidence))
    for n_levels in range(1, most):
        levels, means = confidence_levels(confidence, n_levels)
        if _expected_nll(confidence, means[levels.assign(confidence)]) <= lowest * (1 + price):
            return levels, means
    return confidence_levels(confidence, most)


def _expected_nll(confidence: Floats, other: Floats) -> float:
    return -float(confidence @ np.log(other) + (1.0 - confidence) @ np.log1p(-other))
