"""From many leave-one-out predictions to one: weights, a global line, levels."""

from __future__ import annotations

import numpy as np

from lore_core.data.arrays import Floats
from lore_core.data.binning import ConfidenceBins
from lore_core.data.probabilities import expit, logit
from lore_core.data.weights import weighed

#: Bayesian-bootstrap resamples behind the pseudo-BMA+ weights.
_N_RESAMPLES = 100
#: Confidences are kept this far from 0 and 1 before a line goes through their log-odds.
_MARGIN = 1e-4
#: Precision of the prior belief that no global line is needed: standard deviation 0.32.
_LINE_STRENGTH = 10.0
#: Levels for a cube root of rows.
_LEVELS = 0.8
#: Weight of a row whose outcome is certain, so that such rows alone can be cut too.
_SMALLEST_SPREAD = 1e-9


def model_weights(log_likelihood: Floats, rows: Floats | None = None) -> Floats:
    """Return pseudo-BMA+ weights (n_candidates,) from leave-one-out log-likelihoods of rows.

    ``log_likelihood`` (n_candidates, n). ``rows`` (n,): what each row counts for, of mean 1.
    """
    n = log_likelihood.shape[1]
    rng = np.random.default_rng(0)
    draws = rng.standard_exponential((n, _N_RESAMPLES))
    draws *= n / draws.sum(axis=0)
    draws = weighed(draws, rows)
    total = log_likelihood @ draws
    share = np.exp(total - total.max(axis=0))
    return np.asarray((share / share.sum(axis=0)).mean(axis=1))


def stacked_weights(log_likelihood: Floats, n_steps: int, rows: Floats | None = None) -> Floats:
    """Return weights (n_candidates,) of candidates whose *average* predicts left-out rows well.

    Stacking maximises Σ_i log Σ_m w_m p_m(i); each step of EM, w_m ← w_m · n⁻¹ Σ_i p_m(i) / Σ_l w_l
    p_l(i), raises it. From half pseudo-BMA+ and half equal weights, ``n_steps`` stay near both: run
    to the end, the weights would be the ones luckiest together.
    """
    n_candidates, n = log_likelihood.shape
    weights = 0.5 * model_weights(log_likelihood, rows) + 0.5 / n_candidates
    # Only ratios within a row matter.
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=0))
    for _ in range(n_steps):
        weights = weights * (likelihood @ weighed(1.0 / (weights @ likelihood), rows)) / n
    return np.asarray(weights / weights.sum())


def global_line(
    confidence: Floats, outcome: Floats, rows: Floats | None = None
) -> tuple[float, float]:
    """Return slope α and intercept β of a logistic curve through left-out confidences (n,).

    Minimises −Σ log-likelihood of 1/(1 + exp(−(α logit p + β))) plus 5·((α − 1)² + β²), a normal
    prior around "leave it". It takes out what an average is biased by as a whole, by a clip at 1/K
    or a base of the wrong shape.
    """
    from scipy.optimize import minimize

    odds = _log_odds(confidence)
    sign = np.where(outcome == 1, 1.0, -1.0)

    def loss(line: Floats) -> tuple[float, Floats]:
        off = line - np.array([1.0, 0.0])
        margin = sign * (line[0] * odds + line[1])
        slope = weighed(-sign * expit(-margin), rows)
        lost = weighed(np.logaddexp(0.0, -margin), rows)
        value = lost.sum() + _LINE_STRENGTH * (off @ off) / 2
        return float(value), np.array([slope @ odds, slope.sum()]) + _LINE_STRENGTH * off

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS").x
    return float(found[0]), float(found[1])


def on_line(confidence: Floats, slope: float, intercept: float) -> Floats:
    """Draw confidences through a :func:`global_line`, shape (n,)."""
    return expit(slope * _log_odds(confidence) + intercept)


def confidence_levels(confidence: Floats, n_levels: int) -> tuple[ConfidenceBins, Floats]:
    """Cut confidences into at most so many levels of equal weight; return the mean of each, too.

    A row weighs √(p(1 − p)), its outcome's standard deviation: by numbers of rows, a classifier
    that is nearly always right would spend its levels on telling 0.998 from 0.999.
    """
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
    """Cut confidences into as few levels, 0.8·∛n at most, as cost a share ``price`` of their NLL.

    Were confidences c right, other confidences q would have an expected NLL of
    H(q) = −Σ c log q + (1 − c) log(1 − q): a level costs H(q) / H(c) − 1.
    """
    lowest = _expected_nll(confidence, confidence)
    most = most_levels(len(confidence))
    for n_levels in range(1, most):
        levels, means = confidence_levels(confidence, n_levels)
        if _expected_nll(confidence, means[levels.assign(confidence)]) <= lowest * (1 + price):
            return levels, means
    return confidence_levels(confidence, most)


def _expected_nll(confidence: Floats, told: Floats) -> float:
    return -float(confidence @ np.log(told) + (1.0 - confidence) @ np.log1p(-told))


def _log_odds(confidence: Floats) -> Floats:
    return logit(np.clip(confidence, _MARGIN, 1.0 - _MARGIN))
