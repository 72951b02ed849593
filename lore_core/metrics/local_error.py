"""Local calibration errors of each row, of one confidence (SLCE, LCE) and of all classes."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data import validation
from lore_core.data.arrays import Floats, Ints, MapArray, Mask
from lore_core.data.binning import Binning, ConfidenceBins, confidence_bins
from lore_core.data.defaults import GAMMA, N_BINS
from lore_core.data.number_text import percent, share_words, signed_points
from lore_core.data.progress import Progress
from lore_core.data.shown import Shown
from lore_core.data.weights import as_weights, chosen_weights
from lore_core.kernel_sums import laplacian_means, laplacian_sums

if TYPE_CHECKING:  # shipped files come without pandas
    from lore_core.data.dataset import Dataset

#: Fewer effective neighbours than this are no evidence.
MIN_EFFECTIVE_SIZE = 10.0
#: Why nothing is tested for all classes at once where rows have weights.
VECTOR_COUNTS_ALIKE = (
    "The whole vector's test lets every row count once: of weighted rows nothing is said of it."
)


@dataclass(frozen=True, repr=False)
class LocalErrors(Shown):
    """Everything known about each row's neighbourhood at one bandwidth."""

    #: (n,); SLCE in [−1, 1]; positive = overconfident.
    signed: Floats = field(repr=False)
    mass: Floats = field(repr=False)  #: (n,); kernel mass Σk, of weighted rows Σwk
    #: (n,); n_eff = (Σk)² / Σk², the number of equal rows the mean is worth; of wk with weights.
    effective_size: Floats = field(repr=False)
    bin_index: Ints = field(repr=False)  #: (n,); each row's confidence bin
    bins: ConfidenceBins  #: The partition
    gamma: float  #: Bandwidth γ (inf never occurs: the γ→∞ limit is the bin's gap)
    #: (n,); of mean 1; None: all rows count alike.
    weights: Floats | None = field(default=None, repr=False)

    def map_arrays(self, map_array: MapArray) -> LocalErrors:
        """Return the same errors, whose arrays ``map_array`` has moved; weights stay."""
        names = ("signed", "mass", "effective_size", "bin_index")
        moved: dict[str, Any] = {name: map_array(getattr(self, name)) for name in names}
        return dataclasses.replace(self, **moved)

    @property
    def absolute(self) -> Floats:
        """LCE = |SLCE|, shape (n,)."""
        return np.abs(self.signed)

    @property
    def maximum(self) -> float:
        """MLCE."""
        return float(self.absolute.max())

    def supported(self, min_effective_size: float = MIN_EFFECTIVE_SIZE) -> Mask:
        """Mask of the rows with n_eff ≥ ``min_effective_size``, shape (n,)."""
        return np.asarray(self.effective_size >= min_effective_size)

    def supported_maximum(self) -> float:
        """MLCE over the rows with ten effective neighbours or more; NaN where there is none."""
        error = self.absolute[self.supported()]
        return float(error.max()) if len(error) else float("nan")

    @property
    def average(self) -> float:
        """ALCE."""
        return float(np.average(self.absolute, weights=self.weights))


def describe_gaps(
    name: str,
    n_rows: int,
    confidence: float,
    accuracy: float,
    signed: Floats,
    left_out: float,
    *,
    gamma: float,
) -> str:
    """Say mean confidence and accuracy of rows, and the range of ``signed`` errors over the map."""
    start = (
        f"{name}: {n_rows:,} rows, mean confidence {percent(confidence)}, accuracy "
        f"{percent(accuracy)}"
    )
    if not len(signed):
        return (
            f"{start}. No row has {MIN_EFFECTIVE_SIZE:g} effective neighbours at γ = {gamma:g}: "
            "too few to say where."
        )
    low, high = (signed_points(end, 0) for end in (signed.min(), signed.max()))
    few = f"; {share_words(left_out)} of the rows have too few neighbours to say"
    return (
        f"{start}; locally the gap runs from {low} to {high} points"
        f"{few if left_out > 0.005 else ''}."
    )


@overload
def scaled_bandwidth(gamma: float, n_dimensions: int) -> float: ...
@overload
def scaled_bandwidth(gamma: Floats, n_dimensions: int) -> Floats: ...
def scaled_bandwidth(gamma: float | Floats, n_dimensions: int) -> float | Floats:
    """Return d·γ, the divisor of the L1 distance; on overflow the largest number."""
    if isinstance(gamma, np.ndarray):
        return np.array([scaled_bandwidth(float(one), n_dimensions) for one in np.ravel(gamma)])
    return min(validation.check_positive(gamma, "gamma") * n_dimensions, sys.float_info.max)


def kernel_progress(progress: Progress | None) -> Callable[[float], object] | None:
    """Return a callable for the kernel sums that passes on the share done."""
    return None if progress is None else lambda share: progress(share, "kernel sums")


def local_errors(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: validation.Points,
    *,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    weights: ArrayLike | None = None,
    progress: Progress | None = None,
) -> LocalErrors:
    """Signed local calibration error of every row, with its support.

    ``confidence, outcome`` (n,): confidences c in [0, 1]; 1 where the prediction was right, else 0.
    ``embedding`` (n, d): coordinates z. ``gamma``: γ > 0, in units of the embedding's scale.
    ``n_bins, binning``: confidence bins, "equal-width" or "equal-mass". ``weights`` (n,): above 0;
    k_γ(z_i, z_j) is multiplied by w_j. Equal-mass bins ignore them. ``progress``: called with the
    share done and a short message; may raise to cancel.

    Luo et al. 2022, eq. 4 before the absolute value: docs/method.md ("Local calibration error").
    """
    c, a, z = validation.as_placed_rows(confidence, outcome, embedding)
    bins = confidence_bins(c, n_bins, binning)
    index = bins.assign(c)
    w = as_weights(weights, len(c))
    means = laplacian_means(
        z,
        None,
        c - a,
        w,
        bandwidth=scaled_bandwidth(gamma, z.shape[1]),
        target_groups=index,
        progress=kernel_progress(progress),
    )
    return LocalErrors(means.mean, means.mass, means.effective_size, index, bins, float(gamma), w)


def local_calibration_error(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: validation.Points,
    *,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    signed: bool = False,
    exclude_self: bool = False,
    weights: ArrayLike | None = None,
) -> Floats:
    """LCE of every row (Luo et al. 2022, eq. 4), or SLCE with ``signed=True``.

    See :func:`local_errors` for the arguments; ``exclude_self`` leaves each row out of its own mean
    (the paper keeps it in), NaN where no other row is in its bin.

    Returns (n,): in [0, 1]; signed in [−1, 1], positive = overconfident.

    Examples
    --------
    Two rows of one bin at distance 0 share the mean of their gaps:

    >>> local_calibration_error([0.9, 0.9], [1, 0], [[0.0], [0.0]], signed=True)
    array([0.4, 0.4])
    """
    c, a, z = validation.as_placed_rows(confidence, outcome, embedding)
    # Without what local_errors adds, in half its time.
    error = laplacian_means(
        z,
        None,
        c - a,
        as_weights(weights, len(c)),
        bandwidth=scaled_bandwidth(gamma, z.shape[1]),
        target_groups=confidence_bins(c, n_bins, binning).assign(c),
        exclude_self=exclude_self,
        effective_size=False,
    ).mean
    return error if signed else np.abs(error)


def maximum_local_calibration_error(
    confidence: ArrayLike, outcome: ArrayLike, embedding: validation.Points, **options: Any
) -> float:
    """MLCE = max_i LCE(i) (Luo et al. 2022, eq. 5), in [0, 1].

    ``options`` are those of :func:`local_calibration_error`.
    """
    return float(
        np.nanmax(np.abs(local_calibration_error(confidence, outcome, embedding, **options)))
    )


def average_local_calibration_error(
    confidence: ArrayLike, outcome: ArrayLike, embedding: validation.Points, **options: Any
) -> float:
    """ALCE = mean_i LCE(i), in [0, 1].

    ``options`` are those of :func:`local_calibration_error`.
    """
    error = np.abs(local_calibration_error(confidence, outcome, embedding, **options))
    known, weights = np.isfinite(error), as_weights(options.get("weights"), len(error))
    return float(np.average(error[known], weights=chosen_weights(weights, known)))


@dataclass(frozen=True, eq=False)
class VectorErrors:
    """Local errors of the whole probability vector, row by row."""

    #: (n, K); SLCE of every class, of p_k − 1[y = k]; positive = predicted too often.
    signed: Floats
    #: (n,); squared length of that vector less its noise, unbiased: below 0 it is all noise.
    squared: Floats
    #: (K,); addend of each class to the mean of ``squared`` over the supported rows; NaN without.
    class_squared: Floats
    effective_size: Floats  #: (n,); n_eff
    bin_index: Ints  #: (n,); bin of the predicted class's confidence, the same for all classes
    gamma: float  #: Bandwidth γ

    @property
    def absolute(self) -> Floats:
        """Vector LCE without its noise, √max(squared, 0), shape (n,)."""
        return np.asarray(positive_root(self.squared))

    @cached_property
    def most_wrong(self) -> Ints:
        """Class whose local mean is furthest off, shape (n,)."""
        return np.asarray(np.abs(self.signed).argmax(axis=1))

    def supported(self) -> Mask:
        """Mask of the rows with ten effective neighbours or more, shape (n,)."""
        return np.asarray(self.effective_size >= MIN_EFFECTIVE_SIZE)

    def supported_maximum(self) -> float:
        """Largest vector LCE, without noise, of the supported rows; NaN without any."""
        error = self.absolute[self.supported()]
        return float(error.max()) if len(error) else float("nan")

    @property
    def average(self) -> float:
        """Root mean square of the vector LCE, without noise, over the supported rows, or NaN."""
        squared = self.squared[self.supported()]
        return float(positive_root(squared.mean())) if len(squared) else float("nan")


def positive_root(squared: Any) -> Any:
    """Return √max(squared, 0); what is below 0 is all noise."""
    return np.sqrt(np.maximum(squared, 0.0))


def vector_errors(
    dataset: Dataset,
    embedding: validation.Points,
    *,
    gamma: float = GAMMA,
    n_bins: int = N_BINS,
    binning: Binning = "equal-width",
    progress: Progress | None = None,
) -> VectorErrors:
    """Local errors of all class probabilities at every row, from one kernel pass.

    ``dataset``: rows with whole probability vectors p and true classes y, without weights.
    ``embedding``, ``gamma``, ``n_bins``, ``binning``, ``progress``: see :func:`local_errors`.
    See docs/method.md, "The whole vector".
    """
    if dataset.weights is not None:
        raise validation.InputError(
            f"{VECTOR_COUNTS_ALIKE} Look at one class after the other (--target), or leave the "
            'weights out (mapping={"weight": ""}, --column weight=).'
        )
    z = validation.as_coordinates(embedding)
    validation.check_lengths(dataset=dataset.labels, embedding=z)
    residual = dataset.probabilities.copy()
    residual[np.arange(len(residual)), dataset.labels] -= 1.0
    index = confidence_bins(dataset.confidence, n_bins, binning).assign(dataset.confidence)
    h = scaled_bandwidth(gamma, z.shape[1])
    means = laplacian_means(
        z, None, residual, bandwidth=h, target_groups=index, progress=kernel_progress(progress)
    )
    known = means.effective_size >= MIN_EFFECTIVE_SIZE
    square, own = np.square(means.mean), np.square(residual)
    with np.errstate(invalid="ignore"):
        of_class = square[known].sum(axis=0) / known.sum()
    return VectorErrors(
        signed=means.mean,
        squared=square.sum(axis=1) - own_noise(z, own, means.mass, index, h),
        class_squared=of_class - own_shares(z, known, means.mass, index, h) @ own,
        effective_size=means.effective_size,
        bin_index=index,
        gamma=float(gamma),
    )


def own_noise(z: Floats, squares: Floats, mass: Floats, groups: Ints, h: float | Floats) -> Floats:
    """Return Σ_j w_ij² ‖r_j‖², rows' products with themselves, shape ([g,] n[, b])."""
    sums = laplacian_sums(z, None, squares.sum(axis=-1), bandwidth=h / 2, target_groups=groups)
    return np.asarray(sums / np.square(mass if squares.ndim == 2 else mass[..., None]))


def own_shares(z: Floats, known: Mask, mass: Floats, groups: Ints, h: float) -> Floats:
    """Return c_j = Σ_i w_ij² / |S| over the supported rows i, shape (n,); NaN without any."""
    weight = np.where(known, 1.0 / mass**2, 0.0)
    sums = laplacian_sums(z, None, weight, bandwidth=h / 2, target_groups=groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / known.sum())
