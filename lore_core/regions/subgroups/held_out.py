"""Tests of candidate subgroups on rows whose outcomes had no part in choosing them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lore_core.data.arrays import Floats, Ints, Mask
from lore_core.data.weights import chosen_weights, linearised
from lore_core.inference.significance import holm
from lore_core.metrics.global_metrics import NORMAL_95
from lore_core.regions.selection import region_report
from lore_core.regions.subgroups.average import Against, Excess
from lore_core.regions.subgroups.candidates import Candidate, Rows


@dataclass(frozen=True)
class Held:
    """What rows say whose outcomes had no part in finding a subgroup."""

    n_rows: int
    #: Their means.
    confidence: float
    accuracy: float
    #: Mean confidence − accuracy with its 95 % interval (Wilson).
    gap: float
    gap_low: float
    gap_high: float
    #: Gap beyond what the subgroup is compared with, 95 %.
    excess: float
    excess_low: float
    excess_high: float
    #: Gap beyond that of rows of the same confidence, 95 %: what no global recalibration mends.
    beyond: float
    beyond_low: float
    beyond_high: float
    p_value: float  #: One-sided, of so large an excess by chance
    p_adjusted: float  #: The same for all candidates tried on either half (Holm)


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate, its held-out rows, and what they say of it."""

    candidate: Candidate
    rows: Ints
    held: Held

    def confirmed(self, alpha: float, min_gap: float) -> bool:
        """Whether it is significant and itself wrong, by ``min_gap``: not just off the average."""
        low, high = self.held.gap_low, self.held.gap_high
        wrong = low > 0 if self.candidate.sign > 0 else high < 0
        return self.held.p_adjusted <= alpha and wrong and abs(self.held.gap) >= min_gap


def try_on(
    held_out: Ints, candidates: Sequence[Candidate], rows: Rows, against: Against, n_turns: int
) -> list[Tried]:
    """Try candidates on held-out rows; p-values are adjusted for all ``n_turns`` such lists."""
    c, a, w = (
        rows.confidence[held_out],
        rows.outcome[held_out],
        chosen_weights(rows.weights, held_out),
    )
    average, same = (rows.average(held_out, to) for to in (against, "same confidence"))
    masks = [item.inside[held_out] for item in candidates]
    tests = [average.of_rows(mask) for mask in masks]
    p = np.array([float(t.p_value(k.sign)) for t, k in zip(tests, candidates, strict=True)])
    adjusted = np.minimum(holm(p) * n_turns, 1.0)
    return [
        Tried(
            item,
            held_out[mask],
            _held(c, a, w, mask, test, same.of_rows(mask), against, (p[k], adjusted[k])),
        )
        for k, (item, mask, test) in enumerate(zip(candidates, masks, tests, strict=True))
        if mask.any()
    ]


def _held(
    c: Floats,
    a: Floats,
    w: Floats | None,
    mask: Mask,
    test: Excess,
    same: Excess,
    against: Against,
    p_values: tuple[float, float],
) -> Held:
    report = region_report(c, a, mask, weights=w)
    excess, width = float(test.mean), NORMAL_95 * _scatter(c - a, w, mask, against)
    beyond, beyond_width = float(same.mean), NORMAL_95 * float(same.error)
    return Held(
        report.n_rows,
        report.confidence,
        report.accuracy,
        *(report.gap, report.gap_low, report.gap_high),
        *(excess, excess - width, excess + width),
        *(beyond, beyond - beyond_width, beyond + beyond_width),
        *map(float, p_values),
    )


def _scatter(residual: Floats, weights: Floats | None, mask: Mask, against: Against) -> float:
    """Return the standard error of a set's excess, from the scatter inside and outside."""
    n, rest = int(mask.sum()), int((~mask).sum())
    own, others = (
        float(linearised(residual[part], chosen_weights(weights, part)).var())
        for part in (mask, ~mask if rest else mask)
    )
    if against == "zero" or rest == 0:
        return float(np.sqrt(own / n))
    outside = rest / (n + rest)
    if weights is not None:
        outside = float(weights[~mask].sum() / weights.sum())
    return outside * float(np.sqrt(own / n + others / rest))
