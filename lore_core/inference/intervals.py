"""Confidence intervals of ECE, MCE, ALCE and both MLCE by test inversion: a bootstrap is biased."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.progress import Progress, tell
from lore_core.data.units import Dependence, as_units, drawn_uniform
from lore_core.data.validation import Points, as_coordinates, as_rows, check_integer, check_lengths
from lore_core.data.weights import as_weights, chosen_weights, weighed
from lore_core.inference.simulation import affordable_null_draws
from lore_core.kernel_sums import laplacian_sums
from lore_core.kernel_sums.plain import distances
from lore_core.metrics.catalogue import ALCE, ECE, MCE, MLCE, MLCE_SUPPORTED
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth
from lore_core.metrics.means import TIE, central_interval

#: Simulations of each true error tried.
N_SIMULATED = 60
#: True errors tried, as multiples of the observed pattern; 0 is shared.
_SIZES = (0.15, 0.35, 0.7, 1.0, 1.4, 2.0)
#: How much of the observed pattern is taken to be noise, in squared standard errors.
_NOISE = (0.0, 4.0)
#: True errors tried for local errors: four patterns of every size, and 0.
_MOST_TRIED = 1 + (2 + len(_NOISE)) * len(_SIZES)
#: Share of its kernel that rows around the supported maximum have, if they alone are wrong.
_AROUND = 0.9
#: Rows from which on kernel values are held; pairs of rows in one bin, at most.
_LEAST_HELD, _MOST_HELD = 2_000, 2**23
#: Sums of equal values may be rounded differently: so many decimals keep them equal.
_DECIMALS = 12
#: Bins with so many rows are drawn as a whole.
MANY_ROWS = 5_000
#: Rows × methods whose global metrics alone are simulated within some seconds.
_MOST_ROWS = 3_000_000
_GLOBAL, _LOCAL = (ECE.name, MCE.name), (ALCE.name, MLCE.name, MLCE_SUPPORTED.name)
#: Levels: of the interval, and of the narrow one whose middle is the estimate.
_LEVEL, _MIDDLE = 0.95, 1e-6
ABOUT_INTERVALS = "Noise adds to calibration errors; estimates and intervals are of the true ones."


def calibration_intervals(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points | None = None,
    *,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    bins: ConfidenceBins | None = None,
    weights: ArrayLike | None = None,
    units: ArrayLike | None = None,
    n_draws: int = N_SIMULATED,
    random_state: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Confidence intervals of the calibration errors these rows truly have.

    ``confidence``, ``outcome``, ``gamma``, ``n_bins``, ``binning``, ``weights``, ``progress``: see
    :func:`~lore_core.metrics.local_error.local_errors`. ``embedding`` (n, d): adds ALCE, MLCE and
    supported MLCE. ``bins``: chosen elsewhere, instead of ``n_bins`` and ``binning``. ``units``
    (n,): whose rows go together. ``n_draws``: simulations for each true error tried, at least 39,
    or the tails have none. ``random_state``: their seed.

    Returns a DataFrame: one row a metric: ``value`` (as observed); ``estimate``, ``low``, ``high``
    (95 %) of the true error. Noise adds to what is observed, so the value may lie above the
    interval; the estimate lies within. How tests are inverted: docs/method.md ("Intervals");
    measured coverage: docs/trust.md.
    """
    c, a = as_rows(confidence, outcome)
    w, dependence = as_weights(weights, len(c)), Dependence.of(c, a, as_units(units, len(c)))
    n_draws = check_integer(n_draws, "n_draws", minimum=39)
    index = (confidence_bins(c, n_bins, binning) if bins is None else bins).assign(c)
    rng = np.random.default_rng(random_state)
    # (A sum of rows of units is not normal with the variance of independent ones.)
    few = (np.bincount(index)[index] < MANY_ROWS) | (dependence is not None)
    n_drawn = len(c) if embedding is not None else np.count_nonzero(few)
    if dependence is None:
        uniform, doubt = rng.random((n_draws, n_drawn)), np.ones(len(c))
    else:
        uniform = np.stack([drawn_uniform(dependence, len(c), rng) for _ in range(n_draws)])
        doubt = dependence.inflation(index)
    each = uniform if uniform.shape[1] < len(c) or few.all() else uniform[:, few]
    jobs: list[tuple[tuple[str, ...], Errors, list[Pattern]]] = [
        (_GLOBAL, *_global_parts(c, a, index, few, each, rng, w, doubt))
    ]
    if embedding is not None:
        z = as_coordinates(embedding)
        check_lengths(embedding=z, confidence=c)
        bandwidth = scaled_bandwidth(gamma, z.shape[1])
        jobs.append((_LOCAL, *_local_parts(c, a, index, z, bandwidth, uniform, w, doubt)))
    rows = {}
    done, steps = 0, sum(len(patterns) * len(_SIZES) + 1 for *_, patterns in jobs)
    for names, errors, patterns in jobs:
        observed = errors(a)[:, 0]
        known = names[: len(observed)]
        limits = {of: [(np.inf, -np.inf)] * len(known) for of in (_LEVEL, _MIDDLE)}
        none = errors(c)
        none[:, 0] = 0.0
        done += 1
        for pattern, concerned in patterns:
            made = [none]
            for size in _SIZES:
                made.append(errors(np.clip(c - size * pattern, 0.0, 1.0)))
                done += 1
                tell(progress, done / steps, "intervals")
            values = np.array(made)
            truth, drawn = values[:, :, 0], values[:, :, 1:]
            for of, found in limits.items():
                low, high = central_interval(drawn, of, axis=2)
                for k in concerned:
                    inside = inverted_interval(observed[k], truth[:, k], low[:, k], high[:, k])
                    if inside is not None:
                        found[k] = min(found[k][0], inside[0]), max(found[k][1], inside[1])
        for k, (name, value) in enumerate(zip(known, observed, strict=True)):
            least, most = limits[_LEVEL][k][0], min(limits[_LEVEL][k][1], 1.0)
            # (No gap that was tried gives a metric that most draws come to: then as measured.)
            middle = limits[_MIDDLE][k]
            centre = value if middle[0] > middle[1] else (middle[0] + middle[1]) / 2
            estimate = np.clip(centre, least, most) if least <= most else value
            rows[name] = {"value": value, "estimate": estimate, "low": least, "high": most}
    return pd.DataFrame.from_dict(rows, orient="index")


#: From accuracies of rows to metrics (metrics, 1 + n_draws): of these gaps, then of draws.
Errors = Callable[[Floats], Floats]
#: A gap of every row, and the positions of the metrics it is tried for.
Pattern = tuple[Floats, tuple[int, ...]]


def _global_parts(
    c: Floats,
    a: Floats,
    index: Ints,
    few: Mask,
    uniform: Floats,
    rng: np.random.Generator,
    weights: Floats | None,
    doubt: Floats,
) -> tuple[Errors, list[Pattern]]:
    """Return a function to ECE and MCE, and true errors to try.

    ``few``: rows drawn one by one; ``doubt`` (n,): what units multiply their variances by.
    """
    count, mass = np.bincount(index), np.bincount(index, weights=weights)
    each = np.ones(len(c)) if weights is None else weights
    member = sparse.csr_array(
        (each[few], (index[few], np.arange(np.count_nonzero(few)))),
        shape=(len(count), np.count_nonzero(few)),
    )
    by_bin = np.bincount(index, few) > 0
    deviate = rng.standard_normal((len(count), len(uniform)))
    by_row = np.ascontiguousarray(uniform.T)
    confidence_sum, size = np.bincount(index, weights=each * c), np.where(count > 0, mass, 1)

    def total(values: Floats, power: int = 1) -> Floats:
        return np.asarray(np.bincount(index, weights=each**power * values), dtype=float)

    def metric(right: Floats) -> Floats:
        gap = np.abs(confidence_sum[:, None] - right)
        return np.stack([gap.sum(axis=0) / len(c), (gap / size[:, None]).max(axis=0)])

    def errors(accuracy: Floats) -> Floats:
        expected, spread = total(accuracy), accuracy * (1 - accuracy)
        deviation = np.sqrt(total(spread, 2))[:, None]
        lean = total(spread * (1 - 2 * accuracy), 3)[:, None] / np.maximum(deviation, 1e-12) ** 2
        # (Cornish and Fisher, first two terms: the skewness is lean / deviation.)
        drawn = expected[:, None] + deviation * deviate + lean * (deviate**2 - 1) / 6
        drawn = np.clip(np.rint(drawn) if weights is None else drawn, 0, mass[:, None])
        row_by_row = member @ (by_row < accuracy[few, None]).astype(float)
        right = np.where(by_bin[:, None], row_by_row, drawn)
        return metric(np.column_stack([expected, right]))

    gap = total(c - a) / size
    noise = total(doubt * c * (1 - c), 2) / size**2
    even = np.sign(gap) * metric(total(a)[:, None])[0]
    largest = np.where(np.arange(len(gap)) == np.abs(gap).argmax(), gap, 0.0)
    return errors, [
        (even[index], (0,)),
        *((shrunk_gap(gap, b * noise)[index], (0, 1)) for b in _NOISE),
        (largest[index], (1,)),
    ]


def _local_parts(
    c: Floats,
    a: Floats,
    index: Ints,
    z: Floats,
    bandwidth: float,
    uniform: Floats,
    weights: Floats | None,
    doubt: Floats,
) -> tuple[Errors, list[Pattern]]:
    """Return a function to ALCE, MLCE and supported MLCE (if any), and true errors to try."""
    order = np.argsort(index, kind="stable")
    c, a, index, z = c[order], a[order], index[order], z[order]
    weights = chosen_weights(weights, order)
    each = np.ones(len(c)) if weights is None else weights
    sums = laplacian_sums(
        z,
        None,
        np.column_stack([each, each * (c - a), each**2 * doubt[order] * c * (1 - c), each**2]),
        bandwidth=[bandwidth, bandwidth / 2],
        target_groups=index,
    )
    mass = sums[0, :, 0]
    signed, noise = sums[0, :, 1] / mass, sums[1, :, 2] / mass**2
    # (The square of a kernel is that of half the bandwidth.)
    supported = mass**2 / sums[1, :, 3] >= MIN_EFFECTIVE_SIZE
    maxima = [np.ones(len(c), dtype=bool), *([supported] if supported.any() else [])]
    kernel_sums = _kernel_product(z, index, bandwidth)

    def errors(accuracy: Floats) -> Floats:
        gaps = c - np.vstack([accuracy[order], (uniform < accuracy)[:, order]])
        error = np.abs(kernel_sums(weighed(gaps.T, weights).T)) / mass
        largest = [(error * rows).max(axis=1) for rows in maxima]
        return np.stack([np.average(error, axis=1, weights=weights), *largest])

    even = np.sign(signed) * np.average(np.abs(signed), weights=weights)
    place = int(np.where(supported, np.abs(signed), 0.0).argmax())
    with np.errstate(under="ignore"):
        kernel = np.exp(-distances(z[[place]], z)[0] / bandwidth) * (index == index[place])
    nearest = np.argsort(-kernel, kind="stable")
    others = np.cumsum(kernel[nearest]) > _AROUND * kernel.sum()
    alone = np.full(len(c), signed[place])
    alone[nearest[1:][others[:-1]]] = 0.0
    even, signed, noise, alone = np.stack([even, signed, noise, alone])[:, np.argsort(order)]
    known = tuple(range(1 + len(maxima)))
    shrunk = ((shrunk_gap(signed, b * noise), known) for b in _NOISE)
    return errors, [(even, known[1:]), *shrunk, (alone, known[2:])]


def _kernel_product(z: Floats, index: Ints, bandwidth: float) -> Callable[[Floats], Floats]:
    """Return a function that sums values (m, n) in sorted bins; in 3-D it may hold the kernels."""
    if len(z) < _LEAST_HELD or z.shape[1] != 3 or np.square(np.bincount(index)).sum() > _MOST_HELD:
        how: dict[str, Any] = {"bandwidth": bandwidth, "target_groups": index}
        return lambda values: laplacian_sums(z, None, values.T, **how).T
    ends = np.flatnonzero(np.diff(index, prepend=-1, append=-1))
    bins = [slice(*between) for between in pairwise(ends)]
    with np.errstate(over="ignore", under="ignore"):
        kernels = [np.exp(distances(z[rows], z[rows]) / -bandwidth) for rows in bins]
    before = sums = np.zeros((1, len(z)))

    def product(values: Floats) -> Floats:
        nonlocal before, sums
        # Most outcomes are those that were drawn for the accuracies before.
        change = sparse.csr_array(values - before)
        before, sums = values, sums + np.zeros((len(values), 1))
        for rows, kernel in zip(bins, kernels, strict=True):
            sums[:, rows] += change[:, rows] @ kernel
        return np.round(sums, _DECIMALS)

    return product


def shrunk_gap(gap: Floats, noise: Floats) -> Floats:
    """Shrink gaps toward 0 by the share of their square that noise explains."""
    square = gap**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(square > 0, gap * np.maximum(0.0, 1.0 - noise / square), 0.0)


def inverted_interval(
    observed: float, truth: Floats, low: Floats, high: Floats
) -> tuple[float, float] | None:
    """Return the smallest and largest truth whose middle range holds the observed value, if any."""
    order = np.argsort(truth, kind="stable")
    truth = truth[order]
    # Larger errors make larger values, but for the noise of the draws.
    low, high = np.maximum.accumulate(low[order]), np.maximum.accumulate(high[order])
    if observed > high[-1] * (1 + TIE):
        return None
    if observed < low[0]:
        return 0.0, 0.0
    smallest = 0.0 if observed <= high[0] else float(np.interp(observed, high, truth))
    return smallest, max(smallest, float(np.interp(observed, low, truth)))


def affordable_intervals(
    n_rows: int, n_dimensions: int | None, *, n_methods: int = 1
) -> dict[str, Any]:
    """Return the intervals that fit an interactive wait (some seconds).

    Returns ``n_draws, local_intervals`` for :func:`~lore_core.comparison.summary.summarize`.
    ``n_dimensions``: of the embedding of local metrics; None without. ``n_draws`` is 0 where even
    global metrics are too slow.
    """
    # Every true error tried costs as much as one bandwidth of a band.
    local = n_dimensions is not None and (
        affordable_null_draws(n_rows, n_dimensions, _MOST_TRIED * n_methods) >= N_SIMULATED
    )
    few = n_rows * n_methods <= _MOST_ROWS
    return {"n_draws": N_SIMULATED if few else 0, "local_intervals": local}
