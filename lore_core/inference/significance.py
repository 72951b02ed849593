"""Significance of local errors, row by row, against the null model "each confidence is right"."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from lore_core.data.arrays import Floats, Mask
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.progress import Progress
from lore_core.data.validation import Points, as_placed_rows, check_share
from lore_core.data.weights import as_weights
from lore_core.kernel_sums import laplacian_means
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, kernel_progress, scaled_bandwidth

#: Skewness below which the normal distribution is used: gamma and Poisson would be enormous.
_SYMMETRIC = 1e-5
#: Continuity correction, as a share of what one outcome of average weight moves.
_STEP = 0.125


@dataclass(frozen=True)
class Significance:
    """How surprising each signed local error would be if every confidence were right."""

    signed: Floats  #: (n,); SLCE; positive = overconfident
    standard_error: Floats  #: (n,); its standard deviation under the null model
    z: Floats  #: (n,); ``signed / standard_error``; 0 where both are 0
    p_value: Floats  #: (n,); two-sided; NaN where not tested
    #: (n,); p-values after Benjamini and Yekutieli, over all rows tested; NaN where not tested.
    adjusted: Floats
    effective_size: Floats  #: (n,); n_eff = (Σk)² / Σk²; of weighted rows wk stands for k
    min_effective_size: float  #: Rows with a smaller n_eff are not tested

    @property
    def tested(self) -> Mask:
        """Rows with enough effective neighbours to be tested, shape (n,)."""
        return np.isfinite(self.p_value)

    @property
    def masked_share(self) -> float:
        """Share of the rows that are not tested."""
        return float(1.0 - self.tested.mean())

    def significant(self, q: float = 0.05) -> Mask:
        """Return significant rows, shape (n,); in expectation at most a share ``q`` is false."""
        check_share(q, "q")
        with np.errstate(invalid="ignore"):
            return np.asarray(self.adjusted <= q)


def local_significance(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points,
    *,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
    weights: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Significance:
    """Test every row's signed local error: standard error, z and p-value.

    Arguments are those of :func:`~lore_core.metrics.local_error.local_errors`; rows with an n_eff
    below ``min_effective_size`` are not tested.

    Notes
    -----
    *p-values* are Blaker's (2000), with tails of the same first three moments as S: gamma on the
    heavy side, Poisson on the light one, since a few rare mistakes make S skewed. A quarter of the
    step 1/n_eff of one outcome is the continuity correction. Formulas: docs/method.md; how often
    calibrated rows get p ≤ 0.05: docs/trust.md.

    *Many rows* share neighbours, so the false discovery rate is controlled after Benjamini and
    Yekutieli (2001), which holds under any dependence.
    """
    c, a, z = as_placed_rows(confidence, outcome, embedding)
    variance = c * (1 - c)
    table = np.column_stack([c - a, variance, variance * (2 * c - 1)])
    w = as_weights(weights, len(c))
    if w is not None:
        powers = (w / w.max())[:, None] ** np.array([1.0, 2.0, 3.0])
        table = np.column_stack([table * powers, powers])
    means = laplacian_means(
        z,
        None,
        table,
        bandwidth=scaled_bandwidth(gamma / np.array([1.0, 2.0, 3.0]), z.shape[1]),
        target_groups=confidence_bins(c, n_bins, binning).assign(c),
        effective_size=False,
        progress=kernel_progress(progress),
    )
    of_order = np.stack([means.mean[order, :, order] for order in range(3)])
    masses = means.mass
    if w is not None:
        each = np.stack([means.mean[order, :, 3 + order] for order in range(3)])
        of_order, masses = of_order / each, masses * each
    mass, square, cube = masses
    size = mass * (mass / square)  # ratios one by one, so that no small number is squared
    signed = of_order[0]
    error = np.sqrt(np.maximum(of_order[1], 0.0) / size)
    third = of_order[2] * (cube / mass / mass / mass)
    with np.errstate(all="ignore"):
        skewness = np.where(error > 0, third / error**3, 0.0)
    p = two_sided_p_value(signed, error, skewness, size)
    tested = (size >= min_effective_size) & np.isfinite(signed)
    p = np.where(tested, p, np.nan)
    adjusted = np.full(len(p), np.nan)
    if tested.any():
        from scipy import stats

        adjusted[tested] = stats.false_discovery_control(p[tested], method="by")
    with np.errstate(divide="ignore", invalid="ignore"):
        z_scores = np.where(signed == 0, 0.0, signed / error)
    return Significance(
        signed=signed,
        standard_error=error,
        z=z_scores,
        p_value=p,
        adjusted=adjusted,
        effective_size=size,
        min_effective_size=float(min_effective_size),
    )


def two_sided_p_value(
    value: Floats, standard_error: Floats, skewness: Floats, effective_size: ArrayLike
) -> Floats:
    """Return p-values (n,) of skewed means around 0; without variance 1 for 0, else 0."""
    size = np.maximum(np.abs(value) - _STEP / np.maximum(effective_size, 1.0), 0.0)
    with np.errstate(all="ignore"):
        t = size / standard_error
        skew = skewness * np.where(value < 0, -1.0, 1.0)
        # So many Poisson mistakes are as skewed as S; light tail: t of their standard deviations
        # below, and half a mistake more as in a mid-p.
        mistakes = 1.0 / skew**2
        root = np.sqrt(mistakes)
        heavy = special.gammaincc(4 * mistakes, 4 * mistakes + 2 * t * root)
        light = special.gammaincc(np.maximum(mistakes - t * root, 0.0) + 0.5, mistakes)
        tail = np.where(
            skew > _SYMMETRIC, heavy, np.where(skew < -_SYMMETRIC, light, special.ndtr(-t))
        )
        no_mistake = np.where(skew > _SYMMETRIC, np.exp(-mistakes), 0.0)
    p = np.where(tail < no_mistake, tail, np.minimum(2.0 * tail, 1.0))
    p = np.where(size == 0, 1.0, p)
    impossible = (standard_error == 0) & (size > 0)
    return np.where(np.isnan(value), np.nan, np.where(impossible, 0.0, p))
