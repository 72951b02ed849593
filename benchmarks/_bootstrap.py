"""The usual percentile bootstrap of calibration errors, which the product does not use."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from lore_core.data.binning import confidence_bins
from lore_core.kernel_sums import laplacian_sums
from lore_core.metrics.local_error import scaled_bandwidth

Floats = NDArray[np.float64]


def resampled(
    confidence: Floats, outcome: Floats, z: Floats, *, n_draws: int = 60, seed: int = 0
) -> pd.DataFrame:
    """Compute ECE, MCE, ALCE and MLCE of resampled rows: one row a resample."""
    rng, n = np.random.default_rng(seed), len(confidence)
    index = confidence_bins(confidence, 15).assign(confidence)
    counts = [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_draws)]
    drawn = np.stack(counts, axis=1).astype(np.float64)
    gap = drawn * (confidence - outcome)[:, None]
    member = sparse.csr_array((np.ones(n), (index, np.arange(n))))
    total, size = np.abs(member @ gap), member @ drawn
    sums = laplacian_sums(
        z, None, np.concatenate([gap, drawn], axis=1),
        bandwidth=scaled_bandwidth(0.2, z.shape[1]), target_groups=index,
    )  # fmt: skip
    local = np.where(drawn > 0, np.abs(sums[:, :n_draws]) / np.maximum(sums[:, n_draws:], 1e-9), 0)
    return pd.DataFrame(
        {
            "ECE": total.sum(axis=0) / n,
            "MCE": (total / np.maximum(size, 1)).max(axis=0),
            "ALCE": (local * drawn).sum(axis=0) / n,
            "MLCE": local.max(axis=0),
        }
    )


def middle(draws: pd.DataFrame) -> pd.DataFrame:
    """Return the middle 95 % of draws: ``low, high`` by metric."""
    return draws.quantile([0.025, 0.975]).T.set_axis(["low", "high"], axis=1)
