"""One trial of each promise of the null model, on one made-up world; rows of plain numbers."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from _bootstrap import middle, resampled
from _worlds import World, blobs, shift, slope

import lore_core as lore
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import scaled_bandwidth

#: One seed's numbers, by what they are.
Trial = Callable[..., dict[str, float]]
#: Seeds of simulations are so far from those of the worlds: with the same one both would be drawn
#: from one stream of numbers and not be independent.
APART = 1_000_000


def percent(values: pd.Series, digits: int = 1) -> str:
    """Mean in per cent with its standard error."""
    known = values.dropna()
    if known.empty:
        return "–"
    error = known.std(ddof=0) / np.sqrt(len(known))
    return f"{known.mean() * 100:.{digits}f} ± {error * 100:.{digits}f}"


def points(values: pd.Series) -> str:
    """Mean of differences in points, with its sign."""
    known = values.dropna()
    if known.empty:
        return "–"
    return f"{known.mean() * 100:+.1f}".replace("-", "−")


def summary_tests(seed: int, n: int, gap: float) -> dict[str, float]:
    """p-values of MLCE, ALCE and ECE; gap 0 is a calibrated world."""
    world = blobs(seed, n, gap)
    c, a, z = world.confidence, world.outcome, world.z
    null = lore.null_errors(c, z, n_draws=99, random_state=seed + APART)
    errors = lore.local_errors(c, a, z)
    return {
        "MLCE": null.p_value("mlce", errors.maximum),
        "MLCE, supported": null.p_value("mlce_supported", errors.supported_maximum()),
        "ALCE": null.p_value("alce", errors.average),
        "ECE": null.p_value("ece", lore.expected_calibration_error(c, a)),
    }


def _truth(world: World, n_bins: int, gamma: float) -> dict[str, float]:
    """Return the metrics of the true gaps of these very rows."""
    index = lore.data.confidence_bins(world.confidence, n_bins).assign(world.confidence)
    total = np.abs(np.bincount(index, weights=world.gap))
    count = np.maximum(np.bincount(index), 1)
    local = laplacian_means(
        world.z,
        None,
        world.gap,
        bandwidth=scaled_bandwidth(gamma, world.z.shape[1]),
        target_groups=index,
        effective_size=False,
    ).mean
    return {
        "ECE": float(total.sum() / len(index)),
        "MCE": float((total / count).max()),
        "ALCE": float(np.abs(local).mean()),
        "MLCE": float(np.abs(local).max()),
    }


def intervals(seed: int, n: int, size: float, kind: str) -> dict[str, float]:
    """Whether each interval covers the truth: ours, and the percentile bootstrap's."""
    world = {"slope": slope, "shift": shift}.get(kind, blobs)(seed, n, size)
    c, a, z = world.confidence, world.outcome, world.z
    truth = _truth(world, 15, 0.2)
    ours = lore.calibration_intervals(c, a, z, n_draws=60, random_state=seed + APART)
    plain = middle(resampled(c, a, z, seed=seed + APART))
    table = lore.reliability_table(c, a)
    accuracy = np.bincount(table.bins.assign(c), weights=c - world.gap, minlength=15) / np.maximum(
        table.count, 1
    )
    full = table.count > 0
    bars = (table.accuracy_low <= accuracy) & (accuracy <= table.accuracy_high)
    result = {"Wilson bars": float(bars[full].mean())}
    for name, value in truth.items():
        tiny = 1e-9
        low, high = ours.loc[name, "low"], ours.loc[name, "high"]
        result[name] = float(low - tiny <= value <= high + tiny)
        result[f"{name} width"] = float(high - low)
        low, high = plain.loc[name]
        result[f"{name} bootstrap"] = float(low - tiny <= value <= high + tiny)
    return result
