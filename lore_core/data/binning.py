"""Confidence bins."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from lore_core.data.arrays import Floats, Ints
from lore_core.data.defaults import N_BINS
from lore_core.data.errors import check_choice
from lore_core.data.number_text import HUNDREDTHS, decimal, percent
from lore_core.data.validation import as_confidence, check_integer
from lore_core.data.weights import weighed

Binning = Literal["equal-width", "equal-mass"]


@dataclass(frozen=True)
class ConfidenceBins:
    """A partition of [0, 1] by confidence."""

    #: (n_bins + 1,); from 0 to 1. Bins hold their lower edge, the last one also 1.
    edges: Floats
    binning: Binning  #: How the edges were chosen

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    def assign(self, confidence: ArrayLike) -> Ints:
        """Return each row's bin index, 0 … n_bins − 1, shape (n,)."""
        c = np.asarray(confidence, dtype=np.float64)
        if self.binning == "equal-width":
            # Not by the edges: floor(c·K) is the definition, and K/K·edge rounds differently.
            index = np.floor(c * self.n_bins).astype(np.int64)
            return np.minimum(index, self.n_bins - 1)
        return np.searchsorted(self.edges[1:-1], c, side="right").astype(np.int64)

    def name(self, index: int) -> str:
        """Return the bin's range in words, ``"87–93 %"``; digits enough to tell bins apart."""
        low, high = self.edges[index : index + 2]
        return f"{decimal(low * HUNDREDTHS, self._digits)}–{percent(high, self._digits)}"

    @cached_property
    def _digits(self) -> int:
        for digits in range(14):
            if len({percent(edge, digits) for edge in self.edges}) == len(self.edges):
                return digits
        return 15


def check_n_bins(value: int, name: str = "n_bins") -> int:
    """Return a valid number of bins, or raise InputError."""
    return check_integer(value, name, maximum=10_000)


def check_binning(value: Binning) -> Binning:
    """Return a valid way of choosing bins, or raise InputError."""
    return check_choice(value, "binning", get_args(Binning))


def confidence_bins(
    confidence: ArrayLike, n_bins: int = N_BINS, binning: Binning = "equal-width"
) -> ConfidenceBins:
    """Choose ``n_bins`` confidence bins, at least 1.

    ``confidence`` (n,): in [0, 1]; only "equal-mass" looks at them. ``binning``: equal steps of
    confidence, or about as many rows in each. Equal confidences share a bin, so equal-mass bins may
    be fewer than ``n_bins``. Raises InputError if an argument is out of range.
    """
    n_bins, binning = check_n_bins(n_bins), check_binning(binning)
    if binning == "equal-width":
        return ConfidenceBins(np.arange(n_bins + 1) / n_bins, binning)
    c = np.sort(as_confidence(confidence))
    starts = np.ceil(np.arange(1, n_bins) * len(c) / n_bins).astype(np.int64)
    # An edge at the smallest confidence would leave the first bin empty.
    interior = np.unique(c[starts[starts < len(c)]])
    interior = interior[interior > c[0]]
    return ConfidenceBins(np.concatenate([[0.0], interior, [1.0]]), binning)


def accuracy_by_bin(
    index: Ints, outcome: Floats, n_bins: int, weights: Floats | None = None
) -> Floats:
    """Return the (weighted) accuracy in each bin, shape (n_bins,); NaN where it is empty."""
    count = np.bincount(index, weights=weights, minlength=n_bins)
    right = np.bincount(index, weights=weighed(outcome, weights), minlength=n_bins)
    with np.errstate(invalid="ignore"):
        return np.asarray(right / count)


def accuracy_without_self(
    index: Ints,
    outcome: Floats,
    alone: Floats,
    weights: Floats | None = None,
    units: Ints | None = None,
) -> Floats:
    """Return the accuracy of the others in each row's bin, (n,); without others ``alone`` (n,).

    ``units`` (n,): whose rows are no others; None: each row its own.
    """
    own = np.arange(len(index)) if units is None else index * (units.max() + 1) + units
    own = np.unique(own, return_inverse=True)[1]
    columns = np.ones(len(index)), weights, weighed(outcome, weights)
    n, mass, right = (np.bincount(index, of)[index] - np.bincount(own, of)[own] for of in columns)
    others = n > 0
    # (Rounding of the difference may leave [0, 1].)
    return np.where(others, np.clip(right / np.where(others, mass, 1.0), 0.0, 1.0), alone)
