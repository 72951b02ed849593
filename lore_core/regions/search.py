"""Miscalibrated regions that find themselves, and are tried again on rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lore_core.chance.significance import Significance, local_significance, two_sided_p_value
from lore_core.data.binning import Binning, confidence_bins
from lore_core.data.progress import Progress
from lore_core.data.validation import (
    InputError,
    Points,
    as_confidence,
    as_coordinates,
    as_outcome,
    check_integer,
    check_lengths,
)
from lore_core.metrics.global_metrics import wilson_interval
from lore_core.metrics.local_error import MIN_EFFECTIVE_SIZE, scaled_bandwidth
from lore_core.regions.joined_rows import grow_regions, nearest_rows, without_small_gaps


@dataclass(frozen=True)
class HeldOut:
    """What a region's rows show when their own outcomes had no part in finding them.

    Attributes
    ----------
    n_rows : int
        Rows that the other half of the data puts into the region.
    gap, gap_low, gap_high : float
        Their mean confidence − accuracy, with its 95 % interval (Wilson).
    p_value : float
        Two-sided, under "each confidence is right".
    confirmed : bool
        The interval of the gap lies on the region's side of 0 and p ≤ 0.05 / number of regions.
    """

    n_rows: int
    gap: float
    gap_low: float
    gap_high: float
    p_value: float
    confirmed: bool


@dataclass(frozen=True)
class MiscalibratedRegion:
    """One place where the confidence is wrong in one direction.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Row numbers.
    sign : int
        +1 = overconfident, −1 = underconfident.
    confidence, accuracy : float
        Their means over the rows.
    gap, gap_low, gap_high : float
        Mean confidence − accuracy with a 95 % interval (Wilson). The rows were chosen because of
        their outcomes, so this gap is optimistic: ``held_out`` is not.
    excess : float
        Rows × gap: how many more mistakes there were than promised (negative: fewer).
    centre : int
        The most typical row: the one nearest to the median of the region's rows.
    held_out : HeldOut or None
        Confirmation; None where neither half of the data finds the region by itself.
    """

    rows: NDArray[np.int64]
    sign: int
    confidence: float
    accuracy: float
    gap: float
    gap_low: float
    gap_high: float
    excess: float
    centre: int
    held_out: HeldOut | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def confirmed(self) -> bool:
        """Whether held-out rows show the same."""
        return self.held_out is not None and self.held_out.confirmed

    def examples(
        self, confidence: ArrayLike, outcome: ArrayLike, n_rows: int = 6
    ) -> NDArray[np.int64]:
        """Return the rows that show the error best.

        Parameters
        ----------
        confidence, outcome : array-like of shape (n,)
            Those the region was found in.
        n_rows : int
            How many to return at most.

        Returns
        -------
        ndarray of int
            The most confident mistakes of an overconfident region, the least confident hits of an
            underconfident one; the most typical row where there are none.
        """
        c, a = as_confidence(confidence)[self.rows], as_outcome(outcome)[self.rows]
        telling = np.flatnonzero(a == (0 if self.sign > 0 else 1))
        order = np.argsort(-self.sign * c[telling], kind="stable")[:n_rows]
        chosen = self.rows[telling[order]]
        return np.asarray(chosen if len(chosen) else [self.centre], dtype=np.int64)

    @property
    def lean(self) -> str:
        """``overconfident`` or ``underconfident``."""
        return "overconfident" if self.sign > 0 else "underconfident"

    @property
    def sentence(self) -> str:
        """The region in plain words; the gap is that of held-out rows where there are any."""
        if self.held_out is None:
            size = self._by(self.gap, self.gap_low, self.gap_high)
            return f"{size} on {self.n_rows:,} rows, not found again on half of the rows"
        held = self.held_out
        size = self._by(held.gap, held.gap_low, held.gap_high)
        said = "confirmed" if self.confirmed else "not confirmed"
        return f"{size} on {self.n_rows:,} rows, {said} on held-out rows"

    def _by(self, gap: float, low: float, high: float) -> str:
        """How far off, in the region's own direction, with the interval."""
        ends = sorted(self.sign * end * 100 for end in (low, high))
        size = f"{self.sign * gap * 100:.0f} points ({ends[0]:.0f} to {ends[1]:.0f})"
        return f"{self.lean} by {size}".replace("-", "−")


@dataclass(frozen=True)
class RegionSearch:
    """All regions of one set of rows, and the tests behind them.

    Attributes
    ----------
    regions : list of MiscalibratedRegion
        Overconfident ones first, each kind by excess, largest first.
    label : ndarray of shape (n,)
        Each row's place in ``regions``; −1 for none.
    significance : Significance
        Of every row.
    q : float
        False discovery rate.
    """

    regions: list[MiscalibratedRegion]
    label: NDArray[np.int64]
    significance: Significance
    q: float

    def frame(self) -> pd.DataFrame:
        """Return the regions as a DataFrame, one row each."""
        none = HeldOut(0, np.nan, np.nan, np.nan, np.nan, False)
        return pd.DataFrame(
            [
                {
                    "region": number,
                    "leans": item.lean,
                    "rows": item.n_rows,
                    "confidence": item.confidence,
                    "accuracy": item.accuracy,
                    "gap": item.gap,
                    "gap_low": item.gap_low,
                    "gap_high": item.gap_high,
                    "excess": item.excess,
                    "held_out_rows": held.n_rows,
                    "held_out_gap": held.gap,
                    "held_out_low": held.gap_low,
                    "held_out_high": held.gap_high,
                    "held_out_p": held.p_value,
                    "confirmed": held.confirmed,
                }
                for number, item in enumerate(self.regions, start=1)
                for held in [item.held_out or none]
            ],
            columns=[
                "region", "leans", "rows", "confidence", "accuracy", "gap", "gap_low", "gap_high",
                "excess", "held_out_rows", "held_out_gap", "held_out_low", "held_out_high",
                "held_out_p", "confirmed",
            ],
        )  # fmt: skip


def find_regions(
    confidence: ArrayLike,
    outcome: ArrayLike,
    embedding: Points,
    *,
    gamma: float = 0.2,
    n_bins: int = 1,
    binning: Binning = "equal-width",
    q: float = 0.05,
    edge: float = 0.5,
    min_rows: int = 20,
    min_gap: float = 0.02,
    min_effective_size: float = MIN_EFFECTIVE_SIZE,
    confirm: bool = True,
    random_state: int = 0,
    progress: Progress | None = None,
) -> RegionSearch:
    """Find the places where the confidence is wrong, and try each again on held-out rows.

    Parameters
    ----------
    confidence, outcome, embedding, gamma, binning, min_effective_size, progress
        See :func:`~lore_core.chance.significance.local_significance`.
    n_bins : int
        Confidence bins. With one, all rows of a place are evidence for it: under the null model
        their gaps average to 0 whatever their confidences. More bins find places where high and
        low confidences are wrong in opposite directions, and need more rows.
    q : float
        False discovery rate of the rows that regions are made of.
    edge : float
        Where a region ends, as a share in [0, 1) of the error it reaches: ½ recovers a sharp edge
        that the kernel blurred; more picks out the worst part of a wide slope.
    min_rows : int
        Smaller regions are dropped.
    min_gap : float
        Regions whose mean gap is smaller are dropped: real perhaps, but of no consequence.
    confirm : bool
        Whether to try the regions on held-out rows (about twice the time).
    random_state : int
        Seed of the halves.

    Returns
    -------
    RegionSearch

    Notes
    -----
    *Finding.* Significant rows of one sign are joined with their ten nearest significant
    neighbours where these are near: kernel weight ½ or more, or the usual distance between
    neighbours where that is larger. Connected rows are cut at ``edge`` times the height that the
    error reaches in their confidence bin (its 95 % quantile); what is still connected is a region.

    *Confirmation.* The rows are halved at random. Regions are found on one half by the same
    procedure, and each row of the other half belongs where its nearest row of the same confidence
    bin does; then the halves change roles. A region of all rows is confirmed by the half-regions
    that lie in it (more than half of their rows do): by outcomes that had no part in choosing the
    rows they belong to.
    """
    c, a, z = as_confidence(confidence), as_outcome(outcome), as_coordinates(embedding)
    n = check_lengths(outcome=a, confidence=c, embedding=z)
    check_integer(min_rows, "min_rows")
    if not 0 <= edge < 1:
        raise InputError(f"'edge' must lie in [0, 1); got {edge!r}.")
    bins = confidence_bins(c, n_bins, binning)
    index = bins.assign(c)
    options: dict[str, Any] = {
        "gamma": gamma,
        "n_bins": n_bins,
        "binning": binning,
        "min_effective_size": min_effective_size,
    }
    reach = scaled_bandwidth(gamma, z.shape[1]) * np.log(2.0)

    def found_in(
        rows: NDArray[np.int64], begin: float, share: float
    ) -> tuple[NDArray[np.int64], Significance]:
        def report(done: float, _: str) -> None:
            if progress is not None:
                progress(begin + share * done, "looking for regions")

        tests = local_significance(c[rows], a[rows], z[rows], progress=report, **options)
        # (Bins of equal mass have edges of their own in each half; for the cut the joint ones do.)
        label = grow_regions(tests, index[rows], z[rows], reach, q, edge, min_rows)
        return without_small_gaps(label, c[rows] - a[rows], min_gap), tests

    label, tests = found_in(np.arange(n), 0.0, 0.5 if confirm else 1.0)
    held: dict[int, NDArray[np.int64]] = {}
    if confirm and (label >= 0).any():
        held = _held_out(found_in, label, index, z, random_state)
    n_regions = int(label.max()) + 1
    regions = []
    for number in range(n_regions):
        rows = np.flatnonzero(label == number)
        again, sign = held.get(number), int(np.sign(tests.signed[rows[0]]))
        held_out = None if again is None else _confirmation(again, c, a, sign, n_regions)
        regions.append(_region(rows, c, a, z, sign, held_out))
    order = sorted(range(n_regions), key=lambda i: (-regions[i].sign, -abs(regions[i].excess)))
    place = np.full(n_regions + 1, -1)
    place[order] = np.arange(n_regions)
    return RegionSearch([regions[i] for i in order], place[label].astype(np.int64), tests, float(q))


def _held_out(
    found_in: Callable[..., tuple[NDArray[np.int64], Significance]],
    label: NDArray[np.int64],
    index: NDArray[np.int64],
    z: NDArray[np.float64],
    random_state: int,
) -> dict[int, NDArray[np.int64]]:
    """Rows of each region whose membership is known without their own half's outcomes."""
    n = len(label)
    order = np.random.default_rng(random_state).permutation(n)
    # Alike in confidence: every other row of those sorted by bin.
    order = order[np.argsort(index[order], kind="stable")]
    halves = [np.sort(order[::2]), np.sort(order[1::2])]
    held: dict[int, list[NDArray[np.int64]]] = {}
    for turn, (searched, tested) in enumerate((halves, halves[::-1])):
        own, _ = found_in(searched, 0.5 + 0.25 * turn, 0.25)
        assigned = np.full(len(tested), -1, dtype=np.int64)
        for b in np.unique(index[searched]):
            points, queries = index[searched] == b, index[tested] == b
            if queries.any() and (own[points] >= 0).any():
                _, closest = nearest_rows(z[searched[points]], z[tested[queries]], 1)
                assigned[queries] = own[points][closest[:, 0]]
        for number in range(int(own.max()) + 1):
            there = label[searched[own == number]]
            inside = there[there >= 0]
            rows = tested[assigned == number]
            if 2 * len(inside) > len(there) and len(rows):
                held.setdefault(int(np.bincount(inside).argmax()), []).append(rows)
    return {number: np.concatenate(parts) for number, parts in held.items()}


def _confirmation(
    rows: NDArray[np.int64],
    c: NDArray[np.float64],
    a: NDArray[np.float64],
    sign: int,
    n_regions: int,
) -> HeldOut:
    n = len(rows)
    promised, got = c[rows], a[rows]
    gap = float(promised.mean() - got.mean())
    low, high = wilson_interval(got.sum(), n)
    variance = promised * (1 - promised)
    error = np.sqrt(variance.sum()) / n
    third = (variance * (2 * promised - 1)).sum() / n**3
    skewness = third / error**3 if error > 0 else 0.0
    p = float(two_sided_p_value(np.array([gap]), np.array([error]), np.array([skewness]), n)[0])
    gap_low, gap_high = float(promised.mean() - high), float(promised.mean() - low)
    sided = gap_low > 0 if sign > 0 else gap_high < 0
    return HeldOut(n, gap, gap_low, gap_high, p, sided and p <= 0.05 / n_regions)


def _region(
    rows: NDArray[np.int64],
    c: NDArray[np.float64],
    a: NDArray[np.float64],
    z: NDArray[np.float64],
    sign: int,
    held_out: HeldOut | None,
) -> MiscalibratedRegion:
    n = len(rows)
    confidence, accuracy = float(c[rows].mean()), float(a[rows].mean())
    low, high = wilson_interval(a[rows].sum(), n)
    middle = np.median(z[rows], axis=0)
    return MiscalibratedRegion(
        rows=rows,
        sign=sign,
        confidence=confidence,
        accuracy=accuracy,
        gap=confidence - accuracy,
        gap_low=confidence - float(high),
        gap_high=confidence - float(low),
        excess=n * (confidence - accuracy),
        centre=int(rows[np.argmin(np.abs(z[rows] - middle).sum(axis=1))]),
        held_out=held_out,
    )
