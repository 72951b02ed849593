"""Local errors of the whole probability vector: every class at once, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.dataset import Dataset
from lore_core.data.progress import Progress
from lore_core.data.validation import InputError, Points, as_coordinates, check_lengths
from lore_core.kernel_sums import laplacian_means, laplacian_sums
from lore_core.metrics.global_metrics import expected_calibration_error
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth, told

#: What is said instead where rows have weights.
VECTOR_COUNTS_ALIKE = (
    "The whole vector's test lets every row count once: of weighted rows nothing is said of it."
)


@dataclass(frozen=True, eq=False)
class VectorErrors:
    """How far the local mean of the probabilities is from that of the true classes, row by row."""

    #: (n, K); kernel mean of p_k − 1[y = k]: class-wise SLCE; positive = promised too often.
    signed: Floats
    #: (n,); squared length of that vector less its noise, unbiased: below 0 it is all noise.
    squared: Floats
    #: (K,); mean over the supported rows of what each class adds to ``squared``: they sum up to its
    #: mean. NaN without supported rows.
    class_squared: Floats
    effective_size: Floats  #: (n,); n_eff
    bin_index: Ints  #: (n,); bin of the predicted class's confidence, the same for all classes
    gamma: float  #: Bandwidth γ

    @property
    def length(self) -> Floats:
        """Vector LCE without its noise, √max(squared, 0), shape (n,)."""
        return np.sqrt(np.maximum(self.squared, 0.0))

    @cached_property
    def most_wrong(self) -> Ints:
        """Class whose local mean is furthest off, shape (n,)."""
        return np.asarray(np.abs(self.signed).argmax(axis=1))

    @property
    def supported(self) -> Mask:
        """Mask of the rows with ten effective neighbours or more, shape (n,)."""
        return np.asarray(self.effective_size >= MIN_EFFECTIVE_SIZE)

    @property
    def class_length(self) -> Floats:
        """Root mean square of each class's SLCE, without noise, over supported rows, shape (K,)."""
        return np.sqrt(np.maximum(self.class_squared, 0.0))

    @property
    def worst_first(self) -> Ints:
        """Class indices by ``class_squared``, the largest first, shape (K,)."""
        return np.asarray(np.argsort(-self.class_squared, kind="stable"))

    @property
    def largest(self) -> float:
        """Largest vector LCE, without noise, of the supported rows; NaN without any."""
        squared = self.squared[self.supported]
        return float(np.sqrt(max(squared.max(), 0.0))) if len(squared) else float("nan")

    def average(self, rows: Mask | None = None) -> float:
        """Root mean square of the vector LCE, without noise: √max(mean squared, 0).

        ``rows`` (n,): mask of those that count; by default the supported ones. NaN without any.
        """
        squared = self.squared[self.supported if rows is None else rows]
        return float(np.sqrt(max(squared.mean(), 0.0))) if len(squared) else float("nan")


def vector_errors(
    dataset: Dataset,
    embedding: Points,
    *,
    gamma: float = 0.2,
    n_bins: int = 15,
    binning: Binning = "equal-width",
    progress: Progress | None = None,
) -> VectorErrors:
    """Local errors of all class probabilities at every row, from one kernel pass.

    Parameters
    ----------
    dataset : Dataset
        Rows with whole probability vectors p and true classes y.
    embedding : Embedding or array-like of shape (n, d)
        Coordinates z.
    gamma, n_bins, binning, progress
        See :func:`~lore_core.metrics.local_error.local_errors`.

    Raises
    ------
    InputError
        If an argument is out of range, the lengths disagree, or rows have weights.

    Notes
    -----
    With w_ij = k_γ(z_i, z_j) / Σ_j k_γ(z_i, z_j) over the rows of i's bin of the predicted class's
    confidence, and r_j = p_j − onehot(y_j), the local mean m_i = Σ_j w_ij r_j holds the class-wise
    SLCE of every class. Its length is what the multiclass local calibration of Barbera and others
    (arXiv 2510.26566, AISTATS 2026) holds small; they compare with the Jensen-Shannon distance,
    this is the Euclidean one, of which the noise can be taken off.

    A noisy vector is too long: E‖m_i‖² = ‖E m_i‖² + noise. Leaving out every row's product with
    itself, ‖m_i‖² − Σ_j w_ij² ‖r_j‖² has the mean Σ_{j≠l} w_ij w_il E r_j · E r_l, 0 where every
    probability is right. As k_γ² = k_{γ/2}, that is one more sum at γ/2. Class by class the mean
    over the supported rows S is Σ_{i∈S} m_ik² / |S| − Σ_j c_j r_jk² with c_j = Σ_{i∈S} w_ij² / |S|:
    one more sum for all classes.
    """
    z = checked_rows(dataset, embedding)
    bins = confidence_bins(dataset.confidence, n_bins, binning)
    index = bins.assign(dataset.confidence)
    residual = residuals(dataset)
    h = scaled_bandwidth(gamma, z.shape[1])
    means = laplacian_means(
        z, None, residual, bandwidth=h, target_groups=index, progress=told(progress)
    )
    own = laplacian_sums(
        z, None, np.square(residual).sum(axis=1), bandwidth=h / 2, target_groups=index
    )
    known = means.effective_size >= MIN_EFFECTIVE_SIZE
    shares = own_shares(z, known, means.mass, index, h)
    with np.errstate(invalid="ignore"):
        class_squared = np.square(means.mean[known]).sum(axis=0) / known.sum()
    return VectorErrors(
        signed=means.mean,
        squared=np.square(means.mean).sum(axis=1) - own / means.mass**2,
        class_squared=class_squared - shares @ np.square(residual),
        effective_size=means.effective_size,
        bin_index=index,
        gamma=float(gamma),
    )


def checked_rows(dataset: Dataset, embedding: Points) -> Floats:
    """Return coordinates of rows that all count alike, shape (n, d).

    Raises InputError if the lengths disagree, or rows have weights.
    """
    if dataset.weights is not None:
        raise InputError(
            f"{VECTOR_COUNTS_ALIKE} Look at one class after the other (--target), or leave the "
            'weights out (mapping={"weight": ""}, --column weight=).'
        )
    z = as_coordinates(embedding)
    check_lengths(dataset=dataset.labels, embedding=z)
    return z


def residuals(dataset: Dataset) -> Floats:
    """Return p − onehot(y) of every row, shape (n, K)."""
    result = dataset.probabilities.copy()
    result[np.arange(len(result)), dataset.labels] -= 1.0
    return result


def own_shares(z: Floats, known: Mask, mass: Floats, groups: Ints, h: float) -> Floats:
    """Return c_j = Σ_i w_ij² / |S| over supported rows i, shape (n,); NaN without any.

    ``z`` (n, d): coordinates. ``known`` (n,): mask of the supported rows S. ``mass`` (n,): their
    kernel mass. ``groups`` (n,): bins. ``h``: divisor of distances.
    """
    weight = np.where(known, 1.0 / mass**2, 0.0)
    sums = laplacian_sums(z, None, weight, bandwidth=h / 2, target_groups=groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / known.sum())


def class_table(
    dataset: Dataset,
    errors: VectorErrors,
    *,
    n_bins: int = 15,
    binning: Binning = "equal-width",
) -> pd.DataFrame:
    """Say class by class how far off its probability is.

    Parameters
    ----------
    dataset : Dataset
        The rows of the errors.
    errors : VectorErrors
        Their local errors.
    n_bins, binning
        Bins of each class's own ECE.

    Returns
    -------
    DataFrame
        One row a class, by ``errors.worst_first``: ``promised`` and ``came``, its mean
        probability and share; ``gap``, their difference; ``ece``, its own ECE, in bins of its own
        probability as for the target "class k"; over the supported rows ``local``, the root mean
        square of its SLCE less its noise, and ``alce`` and ``mlce``, noise and all.
    """
    local = np.abs(errors.signed[errors.supported])
    p = dataset.probabilities
    promised = p.mean(axis=0)
    came = np.bincount(dataset.labels, minlength=dataset.n_classes) / len(dataset)
    table = pd.DataFrame(
        {
            "promised": promised,
            "came": came,
            "gap": promised - came,
            "ece": [
                expected_calibration_error(
                    p[:, k], dataset.labels == k, n_bins=n_bins, binning=binning
                )
                for k in range(dataset.n_classes)
            ],
            "local": errors.class_length,
            "alce": local.mean(axis=0) if len(local) else np.nan,
            "mlce": local.max(axis=0) if len(local) else np.nan,
        },
        index=pd.Index([dataset.class_name(k) for k in range(dataset.n_classes)], name="class"),
    )
    return table.iloc[errors.worst_first]
