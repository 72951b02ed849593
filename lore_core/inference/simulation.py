"""Parametric bootstrap of calibrated models: MLCE, ALCE and the CDF of LCE of a ~ Bernoulli(c)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data import validation
from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.number_text import (
    interval_words,
    neighbours_words,
    p_sentence,
    points_words,
    with_points,
)
from lore_core.data.progress import Progress, tell
from lore_core.data.units import Dependence, drawn_uniform, residual_of_draw
from lore_core.data.weights import as_weights, weighed
from lore_core.kernel_sums import laplacian_means, laplacian_sums
from lore_core.kernel_sums.schedule import thread_count
from lore_core.metrics.bandwidth import default_gammas
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, LocalErrors, scaled_bandwidth
from lore_core.metrics.means import TIE, central_interval
from lore_core.metrics.metric import ChanceKey, CurveKey

#: Values of rows drawn in cells, whose confidences are rounded, are ties when this near.
_CELL_TIE = 2.0**-29
#: Bytes of kernel sums held at once.
_MEMORY = 2.0**27
#: Draws at once at most, and columns where each draw has several.
MAX_DRAWS, MAX_COLUMNS = 64, 256
#: Work of some five seconds on two cores, in the units of `affordable_null_draws`.
SWEEP_BUDGET = 1.5e9
_BLOCKED_BUDGET = 4e10


@dataclass(frozen=True)
class NullBand:
    """Summaries of calibrated data over a grid of bandwidths, draw by draw."""

    gamma: Floats  #: (g,); bandwidths
    #: (b, g); as in :class:`~lore_core.metrics.bandwidth.BandwidthCurve`, for each of b draws.
    mlce: Floats
    mlce_supported: Floats
    alce: Floats

    @property
    def n_draws(self) -> int:
        """b, the number of draws."""
        return len(self.mlce)

    def band(self, metric: CurveKey, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the band that a whole curve of a calibrated model stays in, with chance ``level``.

        Low and high, shape (g,), in [0, 1]: mean of the draws ± so many standard deviations that (1
        − level)/2 of the draws leave on either side somewhere.
        """
        draws, mean, deviation = self._spread(metric)
        tail = (1 - validation.check_share(level, "level")) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.nan_to_num((draws - mean) / deviation, nan=0.0)
        below, above = (
            float(np.quantile(side.max(axis=1), 1 - tail, method="weibull"))
            for side in (-apart, apart)
        )
        low, high = mean - below * deviation, mean + above * deviation
        return np.maximum(low, 0.0), np.minimum(high, 1.0)

    def clear(self, metric: CurveKey, values: Floats) -> Mask:
        """Mask of the bandwidths where ``values`` (g,) are above the band, shape (g,)."""
        return np.asarray(values > self.band(metric)[1])

    def excess(self, metric: CurveKey, values: Floats) -> Floats:
        """Return how many standard deviations ``values`` (g,) lie above the mean of the draws."""
        _, mean, deviation = self._spread(metric)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((values - mean) / deviation)

    def _spread(self, metric: CurveKey) -> tuple[Floats, Floats, Floats]:
        draws: Floats = getattr(self, metric)
        return draws, draws.mean(axis=0), draws.std(axis=0, ddof=1)


@dataclass(frozen=True)
class NullErrors:
    """Summaries of calibrated data at one bandwidth, draw by draw."""

    gamma: float  #: Bandwidth
    #: (b,); of each draw.
    mlce: Floats
    mlce_supported: Floats
    alce: Floats
    ece: Floats
    mce: Floats
    share: Floats  #: (s,); shares of rows, from 0 to 1
    lce: Floats  #: (b, s); the LCE that this share of the rows stays below, for each draw
    #: Estimated cells of like rows whose outcomes were drawn together; None: each row's own
    n_cells: int | None = None

    @property
    def n_draws(self) -> int:
        """b, the number of draws."""
        return len(self.mlce)

    def p_value(self, metric: ChanceKey, observed: float) -> float:
        """How often a calibrated model shows the observed value or a larger one.

        (1 + draws above it + half of those equal to it) / (1 + b), exact without ties; counted
        whole, the ties of sparse data would make p too large. NaN where the value is not known.
        """
        draws = getattr(self, metric)
        if not np.isfinite(observed) or not np.isfinite(draws).all():
            return float("nan")
        near = TIE * observed if self.n_cells is None else _CELL_TIE
        reached = np.sum(draws >= observed - near)
        above = np.sum(draws > observed + near)
        return float((1 + (reached + above) / 2) / (1 + len(draws)))

    def band(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the middle ``level`` of the LCE at each share: low, high of shape (s,)."""
        return central_interval(self.lce, level)


def null_band(
    confidence: ArrayLike,
    embedding: validation.Points,
    gammas: ArrayLike | None = None,
    *,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    n_draws: int = 200,
    weights: ArrayLike | None = None,
    dependence: Dependence | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> NullBand:
    """MLCE and ALCE over γ of a model whose confidences are these and right.

    ``confidence`` (n,): in [0, 1]. ``embedding`` (n, d): coordinates. ``n_draws``: sets of outcomes
    drawn, with seed ``random_state``. ``dependence``: of rows of a unit
    (:meth:`~lore_core.data.units.Dependence.of`). The rest: see
    :func:`~lore_core.metrics.bandwidth.bandwidth_curve`.
    """
    grid = default_gammas() if gammas is None else np.atleast_1d(np.asarray(gammas, np.float64))
    c = validation.as_confidence(confidence)
    index = confidence_bins(c, n_bins, binning).assign(c)
    w = as_weights(weights, len(c))
    drawing = dict[str, Any](n_draws=n_draws, random_state=random_state, progress=progress)
    drawn_errors = _drawn_errors(c, index, embedding, grid, w, dependence=dependence, **drawing)
    drawn = [_summaries(error, supported, w) for _, error, supported in drawn_errors]
    return NullBand(
        grid, **{name: np.concatenate([of[name] for of in drawn], axis=1).T for name in drawn[0]}
    )


def null_errors(
    confidence: ArrayLike,
    embedding: validation.Points,
    *,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    n_draws: int = 200,
    within: Mask | None = None,
    weights: ArrayLike | None = None,
    dependence: Dependence | None = None,
    n_shares: int = 201,
    random_state: int = 0,
    progress: Progress | None = None,
) -> NullErrors:
    """All summaries, and the CDF of LCE, of a model whose confidences are these and right.

    At the one bandwidth ``gamma``; the other arguments are those of :func:`null_band`, and:
    ``within`` (n,): mask of the rows of the CDF (one confidence bin), each counted once, with
    weights too. ``n_shares``: points of the CDF.
    """
    c = validation.as_confidence(confidence)
    grid = np.array([validation.check_positive(gamma, "gamma")])
    chosen = np.ones(len(c), dtype=bool) if within is None else np.asarray(within, dtype=bool)
    validation.check_lengths(confidence=c, within=chosen)
    if not chosen.any():
        raise validation.InputError("'within' must hold at least one row; got none.")
    index = confidence_bins(c, n_bins, binning).assign(c)
    w = as_weights(weights, len(c))
    count = np.bincount(index, weights=w)
    share = np.linspace(0.0, 1.0, validation.check_integer(n_shares, "n_shares", minimum=2))
    ranks = np.linspace(0.0, 1.0, np.count_nonzero(chosen))
    drawn = []
    drawing = dict[str, Any](n_draws=n_draws, random_state=random_state, progress=progress)
    drawn_errors = _drawn_errors(c, index, embedding, grid, w, dependence=dependence, **drawing)
    for gap, error, supported in drawn_errors:
        with ThreadPoolExecutor(thread_count(None)) as threads:
            lce = list(
                threads.map(lambda draw: np.interp(share, ranks, np.sort(draw[chosen])), error[0].T)
            )
        in_bins = weighed(gap, w)
        found = summaries_of_draws(in_bins, error[0], supported[0], index, count, w)
        drawn.append({**found, "lce": np.stack(lce)})
    joined = {name: np.concatenate([of[name] for of in drawn]) for name in drawn[0]}
    return NullErrors(gamma=float(gamma), share=share, n_cells=None, **joined)


def summaries_of_draws(
    gap: Floats,
    error: Floats,
    supported: Mask,
    bins: Ints,
    count: Floats | Ints,
    weights: Floats | Ints | None,
) -> dict[str, Floats]:
    """Return all summaries but the CDF of some draws, (b',) each.

    ``gap``, ``error`` (n, b'): gaps, with their weights, and LCE of rows or cells. ``count``: the
    weight of each bin.
    """
    local = _summaries(error[None], supported[None], weights)
    of_bins = np.abs([np.bincount(bins, column, len(count)) for column in gap.T])
    return {
        **{name: of[0] for name, of in local.items()},
        "ece": of_bins.sum(axis=1) / count.sum(),
        "mce": (of_bins / np.where(count > 0, count, 1)).max(axis=1),
    }


def affordable_null_draws(
    n_rows: int, n_dimensions: int, n_gammas: int = 30, *, wanted: int = 200
) -> int:
    """Return how many draws, ``wanted`` at most, fit an interactive wait of some seconds.

    0 where fewer than 40 would fit, too few for 5 % on either side.
    """
    if n_dimensions <= 3:
        per_draw = n_rows * np.log2(n_rows + 2) ** (n_dimensions - 1) * n_gammas
        fits = int(SWEEP_BUDGET / per_draw)
    else:
        fits = int(_BLOCKED_BUDGET / (float(n_rows) ** 2 * n_gammas))
    return 0 if fits < 40 else min(wanted, fits)


def describe_maximum(errors: LocalErrors, null: NullErrors | None = None) -> str:
    """Say in words what the largest local errors are worth: of supported rows first, then of all.

    ``null``: at the same bandwidth and bins, for p-values.
    """
    supported = errors.supported_maximum()
    rows = f"rows with {MIN_EFFECTIVE_SIZE:g} or more effective neighbours"
    text = f"There are no {rows}."
    if np.isfinite(supported):
        shown = f"{with_points(supported)}{_against_chance(null, 'mlce_supported', supported)}"
        text = f"The largest local error of {rows} is {shown}."
    worst = int(np.nanargmax(errors.absolute))
    text += (
        f" That of all rows (MLCE) is {points_words(errors.maximum)}, set by row {worst} with "
        f"{neighbours_words(errors.effective_size[worst])}"
        f"{_against_chance(null, 'mlce', errors.maximum)}."
    )
    if null is None:
        return text
    drawn = "" if null.n_cells is None else f" (of rows in {null.n_cells:,} cells of like rows)"
    return (
        f"{text} p is how often {null.n_draws} simulations in which every confidence is right show "
        f"as much{drawn}. A large p does not say that a whole subgroup is right."
    )


def _against_chance(null: NullErrors | None, metric: ChanceKey, observed: float) -> str:
    """Say the range under chance alone, and the p-value."""
    if null is None or not np.isfinite(p := null.p_value(metric, observed)):
        return ""
    low, high = central_interval(getattr(null, metric), 0.9)
    band = interval_words(float(low), float(high))
    return f" ({band} in 9 of 10 calibrated models, {p_sentence(p)})"


def _drawn_errors(
    c: Floats,
    index: Ints,
    embedding: validation.Points,
    gammas: Floats,
    weights: Floats | None,
    **drawing: Any,
) -> Iterator[tuple[Floats, Floats, Mask]]:
    """Yield drawn gaps (n, b'), their LCE (g, n, b') and which rows are supported (g, n)."""
    z = validation.as_coordinates(embedding)
    validation.check_lengths(embedding=z, confidence=c)
    bandwidth = scaled_bandwidth(gammas, z.shape[1])
    support = laplacian_means(z, None, c, weights, bandwidth=bandwidth, target_groups=index)
    supported = support.effective_size >= MIN_EFFECTIVE_SIZE
    of_rows = c, z, index, bandwidth, support.mass
    for gap, mean in drawn_means(*of_rows, weights=weights, **drawing):
        yield gap, np.abs(mean, out=mean), supported


def drawn_means(
    predicted: Floats,
    z: Floats,
    groups: Ints,
    bandwidth: Floats,
    mass: Floats,
    *,
    weights: Floats | None = None,
    dependence: Dependence | None = None,
    n_draws: int,
    random_state: int,
    progress: Progress | None,
) -> Iterator[tuple[Floats, Floats]]:
    """Yield residuals of drawn outcomes and their kernel means: (n, b'[, K]) and (g, n, b'[, K]).

    Drawn from ``predicted``, (n,) or (n, K); draws do not depend on b', how many come at a time.
    """
    n_draws = validation.check_integer(n_draws, "n_draws")
    n, n_columns = len(predicted), predicted[0].size
    fitting = _MEMORY / (8 * predicted.size * len(bandwidth))
    # (An eighth of it stays in the heap; less than 16 draws would not share sorting enough.)
    fitting = int(min(fitting, max(fitting / 8, 16)))
    at_once = int(np.clip(fitting, 1, np.clip(MAX_COLUMNS // n_columns, 1, MAX_DRAWS)))
    rng = np.random.default_rng(random_state)
    for start in range(0, n_draws, at_once):
        size = min(at_once, n_draws - start)
        uniform = (drawn_uniform(dependence, n, rng) for _ in range(size))
        residual = np.moveaxis(np.stack([residual_of_draw(predicted, u) for u in uniform]), 0, 1)
        columns = weighed(residual.reshape(n, -1), weights)
        sums = laplacian_sums(z, None, columns, bandwidth=bandwidth, target_groups=groups)
        # Every row has its whole weight in its own mean, so no mass is small.
        sums /= mass[:, :, None]
        yield residual, sums.reshape(len(bandwidth), *residual.shape)
        tell(progress, (start + size) / n_draws, f"simulation {start + size} of {n_draws}")


def _summaries(error: Floats, supported: Mask, weights: Floats | Ints | None) -> dict[str, Floats]:
    """Summarise errors (g, n, b'), shape (g, b'); NaN where no row is supported."""
    # (Errors are not negative. One bandwidth after the other stays in the cache.)
    of_each = zip(error, supported, strict=True)
    largest = np.stack([(of * near[:, None]).max(axis=0) for of, near in of_each])
    return {
        "mlce": error.max(axis=1),
        "mlce_supported": np.where(supported.any(axis=1, keepdims=True), largest, np.nan),
        "alce": np.average(error, axis=1, weights=weights),
    }
